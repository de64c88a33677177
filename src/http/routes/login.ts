// GET and POST /login, POST /logout
import type { Context } from 'hono';
import * as v from 'valibot';
import { createToken, deleteToken, getLogin } from '../../db/nutzer.ts';
import { isSha1, verifyPassword } from '../../guard/password.ts';
import { runOutsideScope } from '../../guard/request.ts';
import { hashToken, makeToken } from '../../guard/token.ts';
import type { Deps, Env } from '../context.ts';
import { formErrors } from '../openapi/operation.ts';
import { networkOfRequest, requireLoginAllowed } from '../too-often.ts';
import type { Output } from '../wire/input.ts';
import { type Route, route } from './route.ts';

const loginFields = { loginname: v.string('der Anmeldename'), password: v.string('der SHA-1 des Passworts') };

const sha1Example = 'e5e9fa1ba31ecd1ae84f75caaa474f3a663f05f4';
const loginText =
  'Gibt den Zugangsschlüssel, der mit dem Anmeldenamen in den Köpfen X-Auth-Token und X-Auth-User mitgeht. Falsche Angaben und gesperrte Konten: 200 mit leerem Inhalt.';
const shared = { path: '/login', tag: 'Anmeldung', auth: 'none', record: 'Anmeldung', shape: 'bare' } as const;
const loginExample = { summary: 'Falsche Angaben: leerer Inhalt', status: 200 };

export function loginRoutes(deps: Deps): Route[] {
  const { sql } = deps;
  const login = async (c: Context<Env>, { loginname: sent, password }: Output<typeof loginFields>) => {
    // No account has a name as long as that.
    const loginname = sent.slice(0, 500);
    const account = await getLogin(sql, loginname);
    // Checked in any case, so that the time says nothing (D2.9).
    const right = await verifyPassword(isSha1(password) ? password : '', account?.passwordHash ?? null, () =>
      requireLoginAllowed(deps, loginname),
    );
    c.header('Cache-Control', 'private, no-store');
    if (!account?.passwordHash || !right || account.status !== 1) return null;
    const { token, hash } = makeToken();
    // For the password that was verified only: it may have been changed meanwhile. Nobody's request: refused because it has waited for its
    // password already, a right one would stay counted as a wrong one (S2.5).
    const { id, passwordHash } = account;
    const network = networkOfRequest();
    if (!(await runOutsideScope(() => createToken(sql, id, hash, passwordHash, network)))) return null;
    return { name: account.name, id: account.id, token, loginname: account.loginname };
  };
  return [
    route(deps, {
      ...shared,
      operationId: 'login',
      summary: 'Anmelden',
      description: `${loginText} Mit POST steht das Passwort nicht in der Adresse.`,
      query: loginFields,
      errors: ['zu_oft'],
      examples: [
        { ...loginExample, query: { loginname: 'niemand', password: sha1Example } },
        { summary: 'Ohne Passwort', query: { loginname: 'niemand' }, status: 400 },
      ],
      handle: ({ c, query }) => login(c, query),
    }),
    route(deps, {
      ...shared,
      method: 'post',
      operationId: 'loginPerFormular',
      summary: 'Anmelden, per Formular',
      description: loginText,
      form: loginFields,
      formFirst: true,
      errors: [...formErrors, 'zu_oft'],
      examples: [
        { ...loginExample, form: { loginname: 'niemand', password: sha1Example } },
        { summary: 'Ohne Passwort', form: { loginname: 'niemand' }, status: 400 },
        { summary: 'Ohne Formular', headers: { 'content-type': 'text/plain' }, status: 415 },
      ],
      handle: async (asked) => login(asked.c, await asked.readForm()),
    }),
    route(deps, {
      method: 'post',
      path: '/logout',
      operationId: 'logout',
      tag: 'Anmeldung',
      summary: 'Abmelden',
      description: 'Beendet den Zugangsschlüssel, mit dem die Anfrage kommt; andere Schlüssel des Kontos bleiben gültig.',
      auth: 'required',
      record: 'Kennung',
      shape: 'single',
      examples: [
        { summary: 'Abmelden', as: 'nutzer', status: 200 },
        { summary: 'Ohne Anmeldung', status: 401 },
      ],
      async handle({ c, reader }) {
        await deleteToken(sql, hashToken(c.req.header('x-auth-token') ?? ''));
        return JSON.stringify([{ id: reader }]);
      },
    }),
  ];
}

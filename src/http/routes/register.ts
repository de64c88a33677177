// GET and POST /register, POST /passwort, POST /logout
import { type Context, Hono } from 'hono';
import * as v from 'valibot';
import { deleteToken, getNutzerOf, registerNutzer } from '../../db/nutzer.ts';
import { hashToken } from '../../guard/token.ts';
import type { MailJob } from '../../jobs/boss.ts';
import { type Deps, type Env, publicOrigin, requireReader } from '../context.ts';
import { isMailAllowed, requireLinkAllowed, requireRegistrationAllowed } from '../limits.ts';
import { PortalError, sentences } from '../wire/errors.ts';
import * as field from '../wire/fields.ts';
import { readForm } from '../wire/form.ts';
import { checkInput } from '../wire/input.ts';
import type { Parameters } from '../wire/query.ts';
import { queryParameters, readQuery, replyRows, replyValue } from '../wire/reply.ts';

export const registerFields = {
  loginname: field.loginname,
  email: field.email,
  vorname: field.name('der Vorname'),
  nachname: field.name('der Nachname'),
  anonymisiert: v.optional(field.flag, '0'),
  'portal-name': v.optional(field.portalName, ''),
  'portal-url': v.optional(field.portalUrl, ''),
};

// No account has this id: the mail job finds nobody to write to.
const nobody = 0;

const known = v.optional(v.pipe(v.string(), v.maxLength(254, 'ein Text mit höchstens 254 Zeichen')));
export const passwortFields = { loginname: known, email: known };

export function registerRoutes(deps: Deps): Hono<Env> {
  const { sql, queue, config } = deps;
  const jobOf = (c: Context<Env>, kind: MailJob['kind'], nutzerId: number): MailJob => {
    const tenant = c.get('tenant');
    // Never the request's host: a link must not lead to where an attacker says (S2.4).
    return { kind, nutzerId, origin: publicOrigin(tenant, config.publicUrl), portal: tenant.name };
  };

  const register = async (c: Context<Env>, parameters: Parameters) => {
    readQuery(c, {});
    const input = checkInput(c, parameters, registerFields);
    await requireRegistrationAllowed(deps);
    await sql.begin(async (tx) => {
      const { id, isNew } = await registerNutzer(tx, {
        ...input,
        portalName: input['portal-name'],
        portalUrl: input['portal-url'],
      });
      if (await isMailAllowed(tx, input.email))
        await queue.enqueueMail(tx, jobOf(c, isNew ? 'registrierung' : 'adresse vergeben', id));
    });
    c.header('Cache-Control', 'private, no-store');
    return replyValue(c, 'result', { login: input.loginname, name: `${input.vorname} ${input.nachname}`, email: input.email });
  };

  return new Hono<Env>()
    .get('/register', (c) => register(c, queryParameters(c)))
    .post('/register', async (c) => register(c, (await readForm(c, deps)).fields))
    .post('/passwort', async (c) => {
      readQuery(c, {});
      const { loginname = '', email = '' } = checkInput(c, (await readForm(c, deps)).fields, passwortFields);
      if (loginname === '' && email === '') {
        throw new PortalError('ungueltiger_parameter', { loginname: sentences.missing('loginname', 'loginname oder email') });
      }
      await requireLinkAllowed(deps);
      const account = await getNutzerOf(sql, { loginname: loginname || null, email: email || null });
      // What is no account has a mailbox of its own, so that asking for it uses up nobody's.
      const mayMail = await isMailAllowed(sql, account?.emailKey ?? `niemand ${email || loginname}`);
      // A job in every case: without one the answer would come sooner, and tell that there is no such account.
      const recipient = account && mayMail ? account.id : nobody;
      await sql.begin((tx) => queue.enqueueMail(tx, jobOf(c, 'passwort', recipient)));
      return replyRows(c, { rows: '[]' });
    })
    .post('/logout', async (c) => {
      const reader = requireReader(c);
      readQuery(c, {});
      await deleteToken(sql, hashToken(c.req.header('x-auth-token') ?? ''));
      return replyRows(c, { rows: JSON.stringify([{ id: reader }]) });
    });
}

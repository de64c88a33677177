// GET and POST /register, POST /passwort
import * as v from 'valibot';
import type { Mandant } from '../../db/mandant.ts';
import { getNutzerOf, registerNutzer } from '../../db/nutzer.ts';
import { mailAddress } from '../../guard/mail-address.ts';
import type { KontoJob } from '../../jobs/boss.ts';
import { medienLizenzen } from '../../sichtbeobachtung-felder.ts';
import { type Deps, publicOrigin } from '../context.ts';
import { formErrors } from '../openapi/operation.ts';
import { isMailAllowed, limits, requireAllowed } from '../too-often.ts';
import * as field from '../wire/fields.ts';
import type { Output } from '../wire/input.ts';
import { PortalError, sentences } from '../wire/portal-error.ts';
import { type Asked, type Route, route } from './route.ts';

const registerFields = {
  loginname: field.loginname,
  email: mailAddress,
  vorname: field.name('der Vorname'),
  nachname: field.name('der Nachname'),
  anonymisiert: v.optional(field.flag, '0'),
  'portal-name': v.optional(field.portalName, ''),
  'portal-url': v.optional(field.portalUrl, ''),
  medien_lizenz: v.optional(field.orEmpty(field.oneOf(medienLizenzen)), ''),
};

const known = v.optional(v.pipe(v.string(), v.maxLength(254, 'ein Text mit höchstens 254 Zeichen')));

// No account has this id: the mail job finds nobody to write to.
const nobody = 0;

/** A mail with a link; its address is never the request's host, which an attacker may choose (S2.4). */
function toMailJob({ config }: Deps, tenant: Mandant, kind: KontoJob['kind'], nutzerId: number): KontoJob {
  return { kind, nutzerId, origin: publicOrigin(tenant, config.publicUrl), portal: tenant.name };
}

/**
 * Mails a link to the account of a login name or an address. Where there is none, or its mailbox got enough, a job is enqueued too and a
 * mailbox is counted that is nobody's: neither the answer nor its time tells of an account.
 */
export async function enqueueLink(
  deps: Deps,
  tenant: Mandant,
  kind: 'passwort' | 'daten',
  by: { loginname: string | null; email: string | null },
): Promise<void> {
  const account = await getNutzerOf(deps.sql, by);
  const mayMail = await isMailAllowed(deps.sql, account?.emailKey ?? `niemand ${by.email ?? by.loginname}`);
  const job = toMailJob(deps, tenant, kind, account && mayMail ? account.id : nobody);
  await deps.sql.begin((tx) => deps.queue.enqueueMail(tx, job));
}

const registration = { loginname: 'Anna Beispiel', email: 'anna@example.org', vorname: 'Anna', nachname: 'Beispiel' };
const registerText =
  'Legt ein Konto ohne Passwort an und schickt einen Link, der sieben Tage gilt, zum Festlegen des Passworts. Gehört die E-Mail-Adresse schon zu einem Konto, erfährt das nur dessen Postfach.';

const shared = {
  path: '/register',
  tag: 'Anmeldung',
  description: registerText,
  auth: 'none',
  record: 'Registrierung',
  shape: 'bare',
  meanings: {
    medien_lizenz:
      'Lizenz, unter der Ihre Fotos und Tonaufnahmen weitergegeben werden, mit Ihrem Namen, wenn das Konto nicht anonymisiert ist. Leer: alle Rechte vorbehalten.',
  },
} as const;

export function registerRoutes(deps: Deps): Route[] {
  const { sql, queue } = deps;
  const register = async ({ c, tenant }: Pick<Asked, 'c' | 'tenant'>, input: Output<typeof registerFields>) => {
    await requireAllowed(deps, limits.registration);
    await sql.begin(async (tx) => {
      const { id, isNew } = await registerNutzer(tx, {
        ...input,
        portalName: input['portal-name'],
        portalUrl: input['portal-url'],
        medienLizenz: input.medien_lizenz,
      });
      if (await isMailAllowed(tx, input.email))
        await queue.enqueueMail(tx, toMailJob(deps, tenant, isNew ? 'registrierung' : 'adresse vergeben', id));
    });
    c.header('Cache-Control', 'private, no-store');
    return { login: input.loginname, name: `${input.vorname} ${input.nachname}`, email: input.email };
  };

  return [
    route(deps, {
      ...shared,
      operationId: 'register',
      summary: 'Registrieren',
      query: registerFields,
      errors: ['zu_oft'],
      examples: [
        { summary: 'Neues Konto', query: registration, status: 200 },
        { summary: 'Ohne E-Mail-Adresse', query: { ...registration, email: '' }, status: 400 },
      ],
      handle: (asked) => register(asked, asked.query),
    }),
    route(deps, {
      ...shared,
      method: 'post',
      operationId: 'registerPerFormular',
      summary: 'Registrieren, per Formular',
      form: registerFields,
      formFirst: true,
      errors: [...formErrors, 'zu_oft'],
      examples: [
        {
          summary: 'Neues Konto',
          form: { ...registration, loginname: 'Bert Beispiel', email: 'bert@example.org', vorname: 'Bert' },
          status: 200,
        },
        { summary: 'Verbotenes Zeichen', form: { ...registration, loginname: 'Anna!' }, status: 400 },
      ],
      handle: async (asked) => register(asked, await asked.readForm()),
    }),
    route(deps, {
      method: 'post',
      path: '/passwort',
      operationId: 'passwort',
      tag: 'Anmeldung',
      summary: 'Passwort vergessen',
      description:
        'Schickt einen neuen Link zum Festlegen des Passworts. Eines von loginname und email ist nötig. Die Antwort sagt nicht, ob es das Konto gibt.',
      auth: 'none',
      form: { loginname: known, email: known },
      record: 'Leer',
      shape: 'single',
      errors: [...formErrors, 'zu_oft'],
      examples: [
        { summary: 'Per Anmeldename', form: { loginname: 'Anna Beispiel' }, status: 200 },
        { summary: 'Ohne Angabe', form: { loginname: '' }, status: 400 },
      ],
      async handle(asked) {
        const { loginname = '', email = '' } = await asked.readForm();
        if (loginname === '' && email === '') {
          throw new PortalError('ungueltiger_parameter', { loginname: sentences.missing('loginname', 'loginname oder email') });
        }
        await requireAllowed(deps, limits.link);
        await enqueueLink(deps, asked.tenant, 'passwort', { loginname: loginname || null, email: email || null });
        return '[]';
      },
    }),
  ];
}

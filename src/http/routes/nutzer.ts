// /nutzer
import * as v from 'valibot';
import type { Sql } from '../../db/client.ts';
import { getNutzer, listNutzer, requireNutzerRight, updateNutzer } from '../../db/nutzer.ts';
import { mailAddress } from '../../guard/mail-address.ts';
import { hashPassword } from '../../guard/password.ts';
import { medienLizenzen } from '../../sichtbeobachtung-felder.ts';
import type { Deps } from '../context.ts';
import { formErrors, meaning, own, unknown } from '../openapi/operation.ts';
import { limits, requireAllowed, runRegexp } from '../too-often.ts';
import * as field from '../wire/fields.ts';
import { restrictFields } from '../wire/input.ts';
import { readPathId } from '../wire/query.ts';
import { regexp } from '../wire/regexp.ts';
import { override, type Route, route } from './route.ts';

const changeNutzerFields = {
  email: v.optional(field.orEmpty(mailAddress)),
  passwort: v.optional(field.sha1),
  nachname: v.optional(field.orEmpty(field.name('ein Name'))),
  vorname: v.optional(field.orEmpty(field.name('ein Name'))),
  anonymisiert: v.optional(field.flag),
  status: v.optional(field.flag),
  rollen: v.optional(field.listOf(v.picklist(['expert', 'administrator']), 'expert und administrator, mit Komma dazwischen')),
  artengruppenbeschraenkung: v.optional(field.listOf(field.id, 'ids von Artengruppen, mit Komma dazwischen')),
  mandantenbeschraenkung: v.optional(field.listOf(field.kuerzel, 'Abkürzungen von Mandanten, mit Komma dazwischen')),
  medien_lizenz: v.optional(field.orEmpty(field.oneOf(medienLizenzen))),
};

const medienLizenz =
  'Lizenz, unter der Fotos und Tonaufnahmen weitergegeben werden, deren Meldung nichts anderes sagt; genannt wird der Name des Kontos, wenn es nicht anonymisiert ist. Leer: alle Rechte vorbehalten.';
const newAddress = { email: 'neu@example.org' };

export function nutzerRoutes(deps: Deps): Route[] {
  const { sql } = deps;
  const put = route(deps, {
    method: 'put',
    path: '/nutzer/{id}',
    operationId: 'updateNutzer',
    tag: 'Konten',
    summary: 'Konto ändern',
    description:
      'Eigene E-Mail-Adresse, eigenes Passwort und die Lizenz der eigenen Fotos und Tonaufnahmen; alles andere nur Administratoren. Was nicht geschickt wird, bleibt. Ein neues Passwort und eine Sperre beenden alle Zugangsschlüssel des Kontos.',
    auth: 'required',
    form: changeNutzerFields,
    meanings: {
      status: '0 sperren, 1 freischalten (nur Administratoren).',
      medien_lizenz: `${medienLizenz} Was schon weitergegeben ist, bleibt es; neue Dateien zum Veröffentlichen richten sich danach.`,
    },
    record: 'Kennung',
    shape: 'single',
    errors: [...formErrors, 'nicht_erlaubt', 'nicht_gefunden', 'adresse_vergeben', 'letzter_administrator', 'zu_oft'],
    examples: [
      { summary: 'Neue E-Mail-Adresse', as: 'nutzer', path: own, form: newAddress, status: 200 },
      { summary: 'Fotos freigeben', as: 'nutzer', path: own, form: { medien_lizenz: 'CC-BY-4.0' }, status: 200 },
      { summary: 'Sich selbst eine Rolle geben', as: 'nutzer', path: own, form: { rollen: 'expert' }, status: 403 },
      { summary: 'Kein SHA-1', as: 'nutzer', path: own, form: { passwort: 'geheim' }, status: 400 },
      { summary: 'Unbekanntes Konto', as: 'administrator', path: unknown, form: { status: '0' }, status: 404 },
    ],
    async handle(asked) {
      const { c, reader } = asked;
      const id = readPathId(c.req.param('id'));
      // Before anything is read or computed: somebody else's account is none of the reader's.
      await requireNutzerRight(sql, reader, id, []);
      const form = await asked.readForm();
      // Before a password is hashed, which is dear.
      if (form.passwort !== undefined) await requireNutzerRight(sql, reader, id, Object.keys(form));
      // An administrator sees all addresses anyway.
      if (form.email && id === reader) await requireAllowed(deps, limits.email, reader);
      const { passwort, artengruppenbeschraenkung: artengruppen, mandantenbeschraenkung: mandanten, ...input } = form;
      const passwordHash = passwort === undefined ? undefined : await hashPassword(passwort);
      await updateNutzer(sql, reader, c.get('tokenHash') ?? null, id, { ...input, artengruppen, mandanten, passwordHash });
      return JSON.stringify([{ id }]);
    },
  });
  return [
    route(deps, {
      path: '/nutzer',
      operationId: 'listNutzer',
      tag: 'Konten',
      summary: 'Konten auflisten',
      description: 'Administratoren sehen alle Konten, alle anderen nur das eigene.',
      auth: 'required',
      query: {
        email: v.optional(field.text('eine E-Mail-Adresse')),
        name_regexp_ci: v.optional(regexp(deps.regexpSql !== sql)),
        status: v.optional(field.flag),
      },
      meanings: { status: '0 gesperrt, 1 aktiv.' },
      record: 'Nutzer',
      shape: 'list',
      examples: [
        { summary: 'Das eigene', as: 'nutzer', status: 200 },
        { summary: 'Aktive Konten', as: 'administrator', query: { status: '1', limit: '2' }, status: 200 },
        { summary: 'Ohne Anmeldung', status: 401 },
      ],
      handle({ reader, query, beforeId }) {
        const { email = null, name_regexp_ci: nameRegexpCi = null, status = null } = query;
        const filter = { email, nameRegexpCi, status };
        const list = (client: Sql) => listNutzer(client, reader, filter, beforeId, query.limit);
        return nameRegexpCi === null ? list(sql) : runRegexp(deps, list);
      },
    }),
    route(deps, {
      path: '/nutzer/{id}',
      operationId: 'getNutzer',
      tag: 'Konten',
      summary: 'Ein Konto lesen',
      description: 'Das eigene, Administratoren jedes.',
      auth: 'required',
      query: restrictFields,
      record: 'NutzerDetail',
      shape: 'single',
      errors: ['nicht_erlaubt', 'nicht_gefunden'],
      examples: [
        { summary: 'Das eigene', as: 'nutzer', path: own, status: 200 },
        { summary: 'Ein fremdes', as: 'nutzer', path: unknown, status: 403 },
        { summary: 'Ein unbekanntes', as: 'administrator', path: unknown, status: 404 },
      ],
      handle: ({ c, reader }) => getNutzer(sql, reader, readPathId(c.req.param('id'))),
    }),
    put,
    override([put], {
      operationId: 'overrideNutzer',
      summary: 'PUT als POST',
      description: 'Für Clients, die kein PUT senden können: mit X-HTTP-Method-Override: PUT.',
      examples: [
        { summary: 'Neue E-Mail-Adresse', as: 'nutzer', path: own, form: newAddress, ...meaning('PUT'), status: 200 },
        { summary: 'Konten werden nicht gelöscht', as: 'administrator', path: own, ...meaning('DELETE'), status: 405 },
      ],
    }),
  ];
}

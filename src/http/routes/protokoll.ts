// GET /protokoll, GET /qs
import * as v from 'valibot';
import { listProtokoll, listQs } from '../../db/protokoll.ts';
import type { Deps } from '../context.ts';
import * as field from '../wire/fields.ts';
import { type Route, route } from './route.ts';

const range = { datum_von: v.optional(field.date), datum_bis: v.optional(field.date) };

export function protokollRoutes(deps: Deps): Route[] {
  return [
    route(deps, {
      path: '/protokoll',
      operationId: 'listProtokoll',
      tag: 'Protokolle',
      summary: 'Änderungen auflisten',
      description:
        'Jedes Anlegen, Ändern und Löschen einer Beobachtung, die neueste Änderung zuerst. Für Abgleiche: was danach mit 404 antwortet, wird im Abbild gelöscht.',
      auth: 'optional',
      query: range,
      record: 'Protokolleintrag',
      shape: 'list',
      caching: 'protokoll',
      examples: [
        { summary: 'Seit einem Tag', query: { datum_von: '1.1.2026', limit: '5' }, status: 200 },
        { summary: 'Kein Tag', query: { datum_von: '2026-01-01' }, status: 400 },
      ],
      handle: ({ query: { datum_von: von = null, datum_bis: bis = null, limit }, beforeId, reads }) =>
        listProtokoll(reads, { von, bis }, beforeId, limit),
    }),
    route(deps, {
      path: '/qs',
      operationId: 'listQs',
      tag: 'Protokolle',
      summary: 'Statuswechsel auflisten',
      description: 'Nur für Experten und Administratoren; der neueste Wechsel zuerst.',
      auth: 'required',
      query: { ...range, uid: v.optional(field.id), status_aenderung: v.optional(field.status) },
      record: 'QsEintrag',
      shape: 'list',
      errors: ['nicht_erlaubt'],
      examples: [
        { summary: 'Alle', as: 'expert', status: 200 },
        { summary: 'Freigaben', as: 'administrator', query: { status_aenderung: 'freigegeben' }, status: 200 },
        { summary: 'Ohne Rolle', as: 'nutzer', status: 403 },
        { summary: 'Ohne Anmeldung', status: 401 },
      ],
      handle({ reader, query, beforeId }) {
        const { datum_von: von = null, datum_bis: bis = null, uid = null, status_aenderung: statusAenderung = null } = query;
        return listQs(deps.sql, reader, { von, bis, uid, statusAenderung }, beforeId, query.limit);
      },
    }),
  ];
}

// GET /qs
import * as v from 'valibot';
import { listQs } from '../../db/qs.ts';
import type { Deps } from '../context.ts';
import * as field from '../wire/fields.ts';
import { type Route, route } from './route.ts';

const filters = {
  datum_von: v.optional(field.date),
  datum_bis: v.optional(field.date),
  uid: v.optional(field.id),
  status_aenderung: v.optional(field.status),
};

export function qsRoutes(deps: Deps): Route[] {
  return [
    route(deps, {
      method: 'get',
      path: '/qs',
      operationId: 'listQs',
      tag: 'Protokolle',
      summary: 'Statuswechsel auflisten',
      description: 'Nur für Experten und Administratoren; der neueste Wechsel zuerst.',
      auth: 'required',
      query: filters,
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
        const filter = {
          von: query.datum_von ?? null,
          bis: query.datum_bis ?? null,
          uid: query.uid ?? null,
          statusAenderung: query.status_aenderung ?? null,
        };
        return listQs(deps.sql, reader, filter, beforeId, query.limit);
      },
    }),
  ];
}

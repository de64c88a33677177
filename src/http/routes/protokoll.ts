// GET /protokoll
import * as v from 'valibot';
import { listProtokoll } from '../../db/protokoll.ts';
import type { Deps } from '../context.ts';
import * as field from '../wire/fields.ts';
import { type Route, route } from './route.ts';

export function protokollRoutes(deps: Deps): Route[] {
  return [
    route(deps, {
      method: 'get',
      path: '/protokoll',
      operationId: 'listProtokoll',
      tag: 'Protokolle',
      summary: 'Änderungen auflisten',
      description:
        'Jedes Anlegen, Ändern und Löschen einer Beobachtung, die neueste Änderung zuerst. Für Abgleiche: was danach mit 404 antwortet, wird im Abbild gelöscht.',
      auth: 'optional',
      query: { datum_von: v.optional(field.date), datum_bis: v.optional(field.date) },
      record: 'Protokolleintrag',
      shape: 'list',
      caching: 'protokoll',
      examples: [
        { summary: 'Seit einem Tag', query: { datum_von: '1.1.2026', limit: '5' }, status: 200 },
        { summary: 'Kein Tag', query: { datum_von: '2026-01-01' }, status: 400 },
      ],
      handle({ query, beforeId, reads }) {
        const range = { von: query.datum_von ?? null, bis: query.datum_bis ?? null };
        return listProtokoll(reads, range, beforeId, query.limit);
      },
    }),
  ];
}

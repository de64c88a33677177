// GET /stadien, GET /aktivitaeten
import { listAktivitaet, listStadium } from '../../db/art.ts';
import type { Deps } from '../context.ts';
import { type Route, route } from './route.ts';

export function stadienRoutes(deps: Deps): Route[] {
  return [
    route(deps, {
      method: 'get',
      path: '/stadien',
      operationId: 'listStadien',
      tag: 'Arten',
      summary: 'Entwicklungsstadien auflisten',
      description: 'Werte für stadium_id.',
      auth: 'optional',
      record: 'Stadium',
      shape: 'list',
      caching: 'gezeigt',
      examples: [{ summary: 'Alle', status: 200 }],
      handle: ({ query, beforeId, reads }) => listStadium(reads, beforeId, query.limit),
    }),
    route(deps, {
      method: 'get',
      path: '/aktivitaeten',
      operationId: 'listAktivitaeten',
      tag: 'Arten',
      summary: 'Aktivitäten auflisten',
      description: 'Werte für aktivitaet_id.',
      auth: 'optional',
      record: 'Aktivitaet',
      shape: 'list',
      caching: 'gezeigt',
      examples: [{ summary: 'Alle', status: 200 }],
      handle: ({ query, beforeId, reads }) => listAktivitaet(reads, beforeId, query.limit),
    }),
  ];
}

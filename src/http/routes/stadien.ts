// GET /stadien, GET /aktivitaeten
import { listAktivitaet, listStadium } from '../../db/art.ts';
import type { Deps } from '../context.ts';
import { type Route, route } from './route.ts';

const lists = [
  ['/stadien', 'listStadien', 'Entwicklungsstadien auflisten', 'Werte für stadium_id.', 'Stadium', listStadium],
  ['/aktivitaeten', 'listAktivitaeten', 'Aktivitäten auflisten', 'Werte für aktivitaet_id.', 'Aktivitaet', listAktivitaet],
] as const;

export function stadienRoutes(deps: Deps): Route[] {
  return lists.map(([path, operationId, summary, description, record, list]) =>
    route(deps, {
      method: 'get',
      path,
      operationId,
      tag: 'Arten',
      summary,
      description,
      auth: 'optional',
      record,
      shape: 'list',
      caching: 'gezeigt',
      examples: [{ summary: 'Alle', status: 200 }],
      handle: ({ query, beforeId, reads }) => list(reads, beforeId, query.limit),
    }),
  );
}

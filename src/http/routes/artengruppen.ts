// GET /artengruppen
import * as v from 'valibot';
import { listArtengruppe } from '../../db/art.ts';
import type { Deps } from '../context.ts';
import * as field from '../wire/fields.ts';
import { type Route, route } from './route.ts';

export function artengruppenRoutes(deps: Deps): Route[] {
  return [
    route(deps, {
      method: 'get',
      path: '/artengruppen',
      operationId: 'listArtengruppen',
      tag: 'Arten',
      summary: 'Artengruppen auflisten',
      description: 'Alle Artengruppen, die höchste Nummer zuerst.',
      auth: 'optional',
      query: { is_animal: v.optional(field.boolean) },
      record: 'Artengruppe',
      shape: 'list',
      caching: 'gezeigt',
      examples: [
        { summary: 'Tiergruppen', query: { is_animal: 'true' }, status: 200 },
        { summary: 'Kein Wahrheitswert', query: { is_animal: 'vielleicht' }, status: 400 },
      ],
      handle: ({ query, beforeId, reads }) =>
        listArtengruppe(reads, { isAnimal: query.is_animal ?? null }, beforeId, query.limit),
    }),
  ];
}

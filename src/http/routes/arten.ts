// GET /artengruppen, GET /arten, GET /arten/{id}, GET /stadien, GET /aktivitaeten
import * as v from 'valibot';
import { getArt, listAktivitaet, listArt, listArtengruppe, listStadium } from '../../db/art.ts';
import type { Sql } from '../../db/client.ts';
import type { Deps } from '../context.ts';
import { unknown } from '../openapi/operation.ts';
import { runRegexp } from '../too-often.ts';
import * as field from '../wire/fields.ts';
import { restrictFields, textFilter } from '../wire/input.ts';
import { readPathId } from '../wire/query.ts';
import { regexp } from '../wire/regexp.ts';
import { type Route, route } from './route.ts';

const shared = { tag: 'Arten', auth: 'optional', caching: 'gezeigt' } as const;

const lists = [
  ['/stadien', 'listStadien', 'Entwicklungsstadien auflisten', 'Werte für stadium_id.', 'Stadium', listStadium],
  ['/aktivitaeten', 'listAktivitaeten', 'Aktivitäten auflisten', 'Werte für aktivitaet_id.', 'Aktivitaet', listAktivitaet],
] as const;

export function artenRoutes(deps: Deps): Route[] {
  const { sql } = deps;
  return [
    route(deps, {
      ...shared,
      path: '/artengruppen',
      operationId: 'listArtengruppen',
      summary: 'Artengruppen auflisten',
      description: 'Alle Artengruppen, die höchste Nummer zuerst.',
      query: { is_animal: v.optional(field.boolean) },
      record: 'Artengruppe',
      shape: 'list',
      examples: [
        { summary: 'Tiergruppen', query: { is_animal: 'true' }, status: 200 },
        { summary: 'Kein Wahrheitswert', query: { is_animal: 'vielleicht' }, status: 400 },
      ],
      handle: ({ query, beforeId, reads }) =>
        listArtengruppe(reads, { isAnimal: query.is_animal ?? null }, beforeId, query.limit),
    }),
    route(deps, {
      ...shared,
      path: '/arten',
      operationId: 'listArten',
      summary: 'Arten auflisten',
      description: 'Die Arten, die der angesprochene Mandant führt, die höchste Nummer zuerst.',
      query: {
        is_animal: v.optional(field.boolean),
        artengruppe: textFilter,
        gid: v.optional(field.id),
        name_regexp_ci: v.optional(regexp(deps.regexpSql !== sql)),
      },
      record: 'Art',
      shape: 'list',
      examples: [
        { summary: 'Zwei Arten der Gruppe 1', query: { gid: '1', limit: '2' }, status: 200 },
        { summary: 'Suche im Namen', query: { name_regexp_ci: '^[a-m]' }, status: 200 },
        { summary: 'limit zu groß', query: { limit: '1001' }, status: 400 },
      ],
      handle({ tenant, query, beforeId, reads }) {
        const { is_animal: isAnimal = null, artengruppe = null, gid = null, name_regexp_ci: nameRegexpCi = null } = query;
        const filter = { isAnimal, artengruppe, gid, nameRegexpCi };
        const list = (client: Sql) => listArt(client, tenant.id, filter, beforeId, query.limit);
        return nameRegexpCi === null ? list(reads) : runRegexp(deps, list);
      },
    }),
    route(deps, {
      ...shared,
      path: '/arten/{id}',
      operationId: 'getArt',
      summary: 'Eine Art mit Porträt lesen',
      description: 'Mit Porträt, Fotos und ähnlichen Arten. Arten, die der Mandant nicht führt: 404.',
      query: restrictFields,
      record: 'ArtDetail',
      shape: 'single',
      errors: ['nicht_gefunden'],
      examples: [
        { summary: 'Art 2', path: { id: '2' }, status: 200 },
        { summary: 'Unbekannte Art', path: unknown, status: 404 },
      ],
      handle: ({ c, tenant, reads }) => getArt(reads, tenant.id, readPathId(c.req.param('id'), 2147483647)),
    }),
    ...lists.map(([path, operationId, summary, description, record, list]) =>
      route(deps, {
        ...shared,
        path,
        operationId,
        summary,
        description,
        record,
        shape: 'list',
        examples: [{ summary: 'Alle', status: 200 }],
        handle: ({ query, beforeId, reads }) => list(reads, beforeId, query.limit),
      }),
    ),
  ];
}

// GET /arten, GET /arten/{id}
import * as v from 'valibot';
import { getArt, listArt } from '../../db/art.ts';
import type { Sql } from '../../db/client.ts';
import type { Deps } from '../context.ts';
import { unknown } from '../openapi/operation.ts';
import { runRegexp } from '../too-often.ts';
import * as field from '../wire/fields.ts';
import { restrictFields, textFilter } from '../wire/input.ts';
import { regexp } from '../wire/regexp.ts';
import { type Route, readPathId, route } from './route.ts';

export function artenRoutes(deps: Deps): Route[] {
  const { sql } = deps;
  return [
    route(deps, {
      method: 'get',
      path: '/arten',
      operationId: 'listArten',
      tag: 'Arten',
      summary: 'Arten auflisten',
      description: 'Die Arten, die der angesprochene Mandant führt, die höchste Nummer zuerst.',
      auth: 'optional',
      query: {
        is_animal: v.optional(field.boolean),
        artengruppe: textFilter,
        gid: v.optional(field.id),
        name_regexp_ci: v.optional(regexp(deps.regexpSql !== sql)),
      },
      record: 'Art',
      shape: 'list',
      caching: 'gezeigt',
      examples: [
        { summary: 'Zwei Arten der Gruppe 1', query: { gid: '1', limit: '2' }, status: 200 },
        { summary: 'Suche im Namen', query: { name_regexp_ci: '^[a-m]' }, status: 200 },
        { summary: 'limit zu groß', query: { limit: '1001' }, status: 400 },
      ],
      handle({ tenant, query, beforeId, reads }) {
        const filter = {
          isAnimal: query.is_animal ?? null,
          artengruppe: query.artengruppe ?? null,
          gid: query.gid ?? null,
          nameRegexpCi: query.name_regexp_ci ?? null,
        };
        return filter.nameRegexpCi === null
          ? listArt(reads, tenant.id, filter, beforeId, query.limit)
          : runRegexp(deps, (client: Sql) => listArt(client, tenant.id, filter, beforeId, query.limit));
      },
    }),
    route(deps, {
      method: 'get',
      path: '/arten/{id}',
      operationId: 'getArt',
      tag: 'Arten',
      summary: 'Eine Art mit Porträt lesen',
      description: 'Mit Porträt, Fotos und ähnlichen Arten. Arten, die der Mandant nicht führt: 404.',
      auth: 'optional',
      query: restrictFields,
      record: 'ArtDetail',
      shape: 'single',
      caching: 'gezeigt',
      errors: ['nicht_gefunden'],
      examples: [
        { summary: 'Art 2', path: { id: '2' }, status: 200 },
        { summary: 'Unbekannte Art', path: unknown, status: 404 },
      ],
      handle: ({ c, tenant, reads }) => getArt(reads, tenant.id, readPathId(c, 2147483647)),
    }),
  ];
}

// GET /arten, GET /arten/{id}
import { Hono } from 'hono';
import * as v from 'valibot';
import { getArt, listArt } from '../../db/art.ts';
import type { Sql } from '../../db/client.ts';
import type { Deps, Env } from '../context.ts';
import { runRegexp } from '../limits.ts';
import * as field from '../wire/fields.ts';
import { restrictFields, textFilter } from '../wire/input.ts';
import { readPage } from '../wire/page.ts';
import { readPathId, readQuery, replyRows } from '../wire/reply.ts';

export const artenFilters = (deps: Pick<Deps, 'sql' | 'regexpSql'>) => ({
  is_animal: v.optional(field.boolean),
  artengruppe: textFilter,
  gid: v.optional(field.id),
  name_regexp_ci: v.optional(field.regexp(deps.regexpSql !== deps.sql)),
});

export function artenRoutes(deps: Deps): Hono<Env> {
  const filters = artenFilters(deps);
  return new Hono<Env>()
    .get('/arten', async (c) => {
      const { input, beforeId, next } = readPage(c, deps, filters);
      const filter = {
        isAnimal: input.is_animal ?? null,
        artengruppe: input.artengruppe ?? null,
        gid: input.gid ?? null,
        nameRegexpCi: input.name_regexp_ci ?? null,
      };
      const list = (sql: Sql) => listArt(sql, c.get('tenant').id, filter, beforeId, input.limit);
      const page = await (filter.nameRegexpCi === null ? list(deps.sql) : runRegexp(deps, list));
      return replyRows(c, { rows: page.rows, next: next(page.lastId), restrict: input.restrict });
    })
    .get('/arten/:id', async (c) => {
      const { restrict } = readQuery(c, restrictFields);
      const rows = await getArt(deps.sql, c.get('tenant').id, readPathId(c, 2147483647));
      return replyRows(c, { rows, restrict });
    });
}

// GET /qs
import { Hono } from 'hono';
import * as v from 'valibot';
import { listQs } from '../../db/qs.ts';
import { type Deps, type Env, requireReader } from '../context.ts';
import * as field from '../wire/fields.ts';
import { readPage } from '../wire/page.ts';
import { replyRows } from '../wire/reply.ts';

export const qsFilters = {
  datum_von: v.optional(field.date),
  datum_bis: v.optional(field.date),
  uid: v.optional(field.id),
  status_aenderung: v.optional(field.status),
};

export function qsRoutes(deps: Deps): Hono<Env> {
  return new Hono<Env>().get('/qs', async (c) => {
    const reader = requireReader(c);
    const { input, beforeId, next } = readPage(c, deps, qsFilters);
    const filter = {
      von: input.datum_von ?? null,
      bis: input.datum_bis ?? null,
      uid: input.uid ?? null,
      statusAenderung: input.status_aenderung ?? null,
    };
    // Whatever is filtered is looked for by walking back through the log.
    const isFiltered = Object.values(filter).some((value) => value !== null);
    const page = await listQs(isFiltered ? deps.slowSql : deps.sql, reader, filter, beforeId, input.limit);
    return replyRows(c, { rows: page.rows, next: next(page.lastId), restrict: input.restrict });
  });
}

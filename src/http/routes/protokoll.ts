// GET /protokoll
import { Hono } from 'hono';
import * as v from 'valibot';
import { listProtokoll } from '../../db/protokoll.ts';
import type { Deps, Env } from '../context.ts';
import * as field from '../wire/fields.ts';
import { readPage } from '../wire/page.ts';
import { replyRows } from '../wire/reply.ts';

export const protokollFilters = { datum_von: v.optional(field.date), datum_bis: v.optional(field.date) };

export function protokollRoutes(deps: Deps): Hono<Env> {
  return new Hono<Env>().get('/protokoll', async (c) => {
    const { input, beforeId, next } = readPage(c, deps, protokollFilters);
    const range = { von: input.datum_von ?? null, bis: input.datum_bis ?? null };
    // Days are looked for by walking back through the log.
    const isDated = range.von !== null || range.bis !== null;
    const page = await listProtokoll(isDated ? deps.slowSql : deps.sql, range, beforeId, input.limit);
    return replyRows(c, { rows: page.rows, next: next(page.lastId), restrict: input.restrict });
  });
}

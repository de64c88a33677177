// GET /artengruppen
import { Hono } from 'hono';
import * as v from 'valibot';
import { listArtengruppe } from '../../db/art.ts';
import type { Deps, Env } from '../context.ts';
import * as field from '../wire/fields.ts';
import { readPage } from '../wire/page.ts';
import { replyRows } from '../wire/reply.ts';

export const artengruppenFilters = { is_animal: v.optional(field.boolean) };

export function artengruppenRoutes(deps: Deps): Hono<Env> {
  return new Hono<Env>().get('/artengruppen', async (c) => {
    const { input, beforeId, next } = readPage(c, deps, artengruppenFilters);
    const page = await listArtengruppe(deps.sql, { isAnimal: input.is_animal ?? null }, beforeId, input.limit);
    return replyRows(c, { rows: page.rows, next: next(page.lastId), restrict: input.restrict });
  });
}

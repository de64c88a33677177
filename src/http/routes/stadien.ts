// GET /stadien, GET /aktivitaeten
import { Hono } from 'hono';
import { listAktivitaet, listStadium } from '../../db/art.ts';
import type { Deps, Env } from '../context.ts';
import { readPage } from '../wire/page.ts';
import { replyRows } from '../wire/reply.ts';

export function stadienRoutes(deps: Deps): Hono<Env> {
  return new Hono<Env>()
    .get('/stadien', async (c) => {
      const { input, beforeId, next } = readPage(c, deps, {});
      const page = await listStadium(deps.sql, beforeId, input.limit);
      return replyRows(c, { rows: page.rows, next: next(page.lastId), restrict: input.restrict });
    })
    .get('/aktivitaeten', async (c) => {
      const { input, beforeId, next } = readPage(c, deps, {});
      const page = await listAktivitaet(deps.sql, beforeId, input.limit);
      return replyRows(c, { rows: page.rows, next: next(page.lastId), restrict: input.restrict });
    });
}

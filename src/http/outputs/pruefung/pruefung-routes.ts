// The review desk's interface (O6): for experts and administrators.
import { type Context, Hono } from 'hono';
import { type Deps, type Env, readerMiddleware, tenantMiddleware } from '../../context.ts';
import { PortalError } from '../../wire/portal-error.ts';
import { answerEntscheidungen } from './entscheidungen.ts';
import { answerTable, takeTable } from './tabelle.ts';
import { answerWarteschlange } from './warteschlange.ts';

export function pruefungRoutes(deps: Deps): Hono<Env> {
  return new Hono<Env>()
    .use('/pruefung/v1/*', tenantMiddleware(deps), readerMiddleware(deps))
    .get('/pruefung/v1/warteschlange', (c) => answerWarteschlange(c, deps, readerOf(c)))
    .get('/pruefung/v1/entscheidungen.csv', (c) => answerTable(c, deps, readerOf(c)))
    .post('/pruefung/v1/entscheidungen.csv', (c) => takeTable(c, deps, readerOf(c)))
    .post('/pruefung/v1/entscheidungen', (c) => answerEntscheidungen(c, deps, readerOf(c)));
}

/** @throws PortalError 401 when nobody is logged in */
function readerOf(c: Context<Env>): number {
  const reader = c.get('reader');
  if (reader === null) throw new PortalError('nicht_angemeldet');
  return reader;
}

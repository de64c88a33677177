// The review desk's interface (O6): for experts and administrators; recorders' mails and answers.
import { type Context, Hono } from 'hono';
import { type Deps, type Env, readerMiddleware, tenantMiddleware } from '../../context.ts';
import { PortalError } from '../../wire/portal-error.ts';
import { answerEntscheidungen } from './entscheidungen.ts';
import { answerAntwort, answerFragePage } from './frage.ts';
import { answerAbmeldePage, answerAbmeldung, answerMitteilungen, changeMitteilungen } from './mitteilungen.ts';
import { answerTable, takeTable } from './tabelle.ts';
import { answerNachrichten, answerWarteschlange } from './warteschlange.ts';

export function pruefungRoutes(deps: Deps): Hono<Env> {
  return new Hono<Env>()
    .use('/pruefung/v1/*', tenantMiddleware(deps), readerMiddleware(deps))
    .get('/pruefung/v1/warteschlange', (c) => answerWarteschlange(c, deps, readerOf(c)))
    .get('/pruefung/v1/nachrichten/:id', (c) => answerNachrichten(c, deps, readerOf(c)))
    .get('/pruefung/v1/entscheidungen.csv', (c) => answerTable(c, deps, readerOf(c)))
    .post('/pruefung/v1/entscheidungen.csv', (c) => takeTable(c, deps, readerOf(c)))
    .post('/pruefung/v1/entscheidungen', (c) => answerEntscheidungen(c, deps, readerOf(c)))
    .get('/pruefung/v1/mitteilungen', (c) => answerMitteilungen(c, deps, readerOf(c)))
    .put('/pruefung/v1/mitteilungen', (c) => changeMitteilungen(c, deps, readerOf(c)))
    .get('/pruefung/v1/mitteilungen/abmelden/:token', (c) => answerAbmeldePage(c, deps))
    .post('/pruefung/v1/mitteilungen/abmelden/:token', (c) => answerAbmeldung(c, deps))
    .get('/pruefung/v1/beobachtung/:token', (c) => answerFragePage(c, deps))
    .post('/pruefung/v1/beobachtung/:token', (c) => answerAntwort(c, deps));
}

/** @throws PortalError 401 when nobody is logged in */
function readerOf(c: Context<Env>): number {
  const reader = c.get('reader');
  if (reader === null) throw new PortalError('nicht_angemeldet');
  return reader;
}

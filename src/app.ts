// Routes and middleware, and the one place where errors become answers.
import { Hono } from 'hono';
import { isReadOnly } from './db/client.ts';
import { isMigrated } from './db/migrate.ts';
import { currentScope } from './guard/request.ts';
import { type Deps, type Env, readerMiddleware, tenantMiddleware } from './http/context.ts';
import { toPortalError } from './http/errors.ts';
import { methodsOf, protocolMiddleware, refuseOverride } from './http/protocol.ts';
import { artenRoutes } from './http/routes/arten.ts';
import { artengruppenRoutes } from './http/routes/artengruppen.ts';
import { docsRoutes } from './http/routes/docs.ts';
import { kontoRoutes } from './http/routes/konto.ts';
import { loginRoutes } from './http/routes/login.ts';
import { medienRoutes } from './http/routes/medien.ts';
import { countRequests, metricsRoutes } from './http/routes/metrics.ts';
import { nutzerRoutes } from './http/routes/nutzer.ts';
import { protokollRoutes } from './http/routes/protokoll.ts';
import { qsRoutes } from './http/routes/qs.ts';
import { registerRoutes } from './http/routes/register.ts';
import { sichtbeobachtungenRoutes } from './http/routes/sichtbeobachtungen.ts';
import { stadienRoutes } from './http/routes/stadien.ts';
import { scopeMiddleware } from './http/scope.ts';
import { PortalError } from './http/wire/errors.ts';
import { etagMiddleware } from './http/wire/etag.ts';
import { keepAnswers } from './http/wire/kept.ts';
import { replyError } from './http/wire/reply.ts';
import { codeOfFault, describeFault } from './observe/fault.ts';
import { watchOutages } from './observe/outages.ts';

// Reads whose answer to anonymous clients changes with the data only.
const cachedPaths = ['/artengruppen', '/arten/*', '/stadien', '/aktivitaeten', '/sichtbeobachtungen/:id', '/protokoll'];

/** The service as a function from request to answer. Opens nothing and reads no environment. */
export function createApp(deps: Deps): Hono<Env> {
  const app = new Hono<Env>();
  const noteOutage = watchOutages(deps.log);
  app.use(scopeMiddleware(deps), countRequests(deps), protocolMiddleware(deps.drain));

  app.route('/', healthRoutes(deps));
  app.route('/', metricsRoutes(deps));

  const api = new Hono<Env>();
  api.use(refuseOverride(), tenantMiddleware(deps), readerMiddleware(deps));
  const kept = keepAnswers(deps.config.answerCacheBytes);
  for (const path of cachedPaths) api.use(path, etagMiddleware(deps, kept));
  api.use('/sichtbeobachtungen', etagMiddleware(deps, kept, { isTold: true }));
  api.route('/', loginRoutes(deps));
  api.route('/', registerRoutes(deps));
  api.route('/', kontoRoutes(deps));
  api.route('/', nutzerRoutes(deps));
  api.route('/', artengruppenRoutes(deps));
  api.route('/', artenRoutes(deps));
  api.route('/', stadienRoutes(deps));
  api.route('/', sichtbeobachtungenRoutes(deps));
  api.route('/', medienRoutes(deps));
  api.route('/', protokollRoutes(deps));
  api.route('/', qsRoutes(deps));
  api.route('/', docsRoutes(deps));
  app.route('/api/v2', api);
  // Whoever types the address of the service into a browser looks for what there is; a client that asks for nothing gets a 404.
  app.get('/', async (c) =>
    (c.req.header('accept') ?? '').includes('text/html')
      ? c.redirect('/api/v2', 302)
      : replyError(c, new PortalError('nicht_gefunden')),
  );
  app.get('/favicon.ico', (c) => c.redirect('/api/v2/docs/favicon-32x32.png', 302));
  app.get('/api/v2/', (c) => c.redirect('/api/v2', 301));

  app.notFound((c) => {
    const methods = methodsOf(app, c.req.path);
    if (methods === null) return replyError(c, new PortalError('nicht_gefunden'));
    return replyError(c, new PortalError('methode_nicht_erlaubt', {}, { Allow: methods.join(', ') }));
  });
  app.onError((error, c) => {
    const known = toPortalError(error, c.get('sent'));
    // The route instead of the address, the error's code instead of its message: both may carry a user's data.
    if (!known) deps.log.error({ route: c.req.routePath, ...describeFault(error) }, 'unexpected error');
    else if (known.code === 'ueberlastet' && !currentScope()?.hasLeft())
      noteOutage({ code: codeOfFault(error) ?? known.code, route: c.req.routePath });
    return replyError(c, known ?? new PortalError('interner_fehler'));
  });
  return app;
}

/** What supervisors ask. */
export function healthRoutes({ sql, drain }: Pick<Deps, 'sql' | 'drain'>): Hono<Env> {
  return new Hono<Env>()
    .get('/health/live', (c) => c.text('ok'))
    .get('/health/ready', async (c) => {
      if (drain?.active) return c.text('Der Dienst wird beendet.', 503);
      const ready = await isMigrated(sql).catch(() => false);
      if (!ready) return c.text('Die Datenbank antwortet nicht oder ist nicht migriert.', 503);
      // Reads go on: an instance that is taken out of service would answer none.
      return c.text((await isReadOnly(sql).catch(() => false)) ? 'ok, aber die Datenbank ist schreibgeschützt' : 'ok');
    });
}

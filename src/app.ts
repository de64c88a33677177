// Routes and middleware, and the one place where errors become answers.
import { type Context, Hono } from 'hono';
import { currentScope } from './guard/request.ts';
import { type Deps, type Env, readerMiddleware, scopeMiddleware, tenantMiddleware } from './http/context.ts';
import { toPortalError } from './http/errors.ts';
import { methodsOf, protocolMiddleware, refuseOverride } from './http/http-rules.ts';
import { isOutput, outputRoutes } from './http/outputs/outputs.ts';
import { replyProblem } from './http/outputs/problem.ts';
import { noteRequests } from './http/request-log.ts';
import { docsRoutes, sendIcon } from './http/routes/docs.ts';
import { healthRoutes } from './http/routes/health.ts';
import { kontoRoutes } from './http/routes/konto.ts';
import { kontoDatenRoutes } from './http/routes/konto-daten.ts';
import { metricsRoutes } from './http/routes/metrics.ts';
import { listRoutes } from './http/routes/routes.ts';
import { createAnswerCache } from './http/wire/answer-cache.ts';
import { answerConditionally } from './http/wire/etag.ts';
import { PortalError } from './http/wire/portal-error.ts';
import { replyError, respond } from './http/wire/reply.ts';
import { codeOfFault, describeFault } from './observe/fault.ts';
import type { Log } from './observe/log.ts';
import { watchOutages } from './observe/seldom.ts';

/** What a process needs that answers its supervisors alone. */
export type WorkerDeps = Pick<Deps, 'sql' | 'drain' | 'config' | 'metrics' | 'log'>;

/** A process that answers its supervisors alone: /health and /metrics. */
export function createWorkerApp(deps: WorkerDeps): Hono<Env> {
  const app = new Hono<Env>();
  app.use(noteRequests(deps), scopeMiddleware(deps), protocolMiddleware(deps.drain));
  app.route('/', healthRoutes(deps));
  app.route('/', metricsRoutes(deps));
  answerErrors(app, deps.log);
  return app;
}

/** The service as a function from request to answer. Opens nothing and reads no environment. */
export function createApp(deps: Deps): Hono<Env> {
  const app = createWorkerApp(deps);

  const api = new Hono<Env>();
  api.use(refuseOverride(), tenantMiddleware(deps), readerMiddleware(deps));
  const answers = createAnswerCache(deps.config.answerCacheBytes);
  const conditionally = answerConditionally(deps, answers);
  const routes = listRoutes(deps);
  for (const { method, path, caching, answer } of routes) {
    const handler = caching ? conditionally(caching, answer) : respond(answer);
    api.on(method.toUpperCase(), path.replace(/\{(\w+)\}/g, ':$1'), handler);
  }
  api.route('/', kontoRoutes(deps));
  api.route('/', kontoDatenRoutes(deps));
  api.route('/', docsRoutes(deps, routes));
  app.route('/api/v2', api);
  app.get('/', (c) => c.redirect('/karte', 302));
  app.get('/favicon.ico', sendIcon);
  app.get('/api/v2/', (c) => c.redirect('/api/v2', 301));

  app.route('/', outputRoutes(deps, answers));
  return app;
}

function answerErrors(app: Hono<Env>, log: Log): void {
  const noteOutage = watchOutages(log);
  const replyAny = (c: Context<Env>, error: PortalError) =>
    isOutput(c.req.path) ? replyProblem(c, error) : replyError(c, error);
  app.notFound((c) => {
    const methods = methodsOf(app, c.req.path);
    if (methods === null) return replyAny(c, new PortalError('nicht_gefunden'));
    return replyAny(c, new PortalError('methode_nicht_erlaubt', {}, { Allow: methods.join(', ') }));
  });
  app.onError((error, c) => {
    const known = toPortalError(error, c.get('sent'));
    // The route instead of the address, the error's code instead of its message: both may carry a user's data.
    if (!known) log.error({ route: c.req.routePath, ...describeFault(error) }, 'unexpected error');
    else if (known.code === 'ueberlastet' && !currentScope()?.hasLeft()) {
      const code = codeOfFault(error) ?? known.code;
      // What the storage of files says names neither.
      noteOutage({ code, route: c.req.routePath, ...(code === 'STORAGE' && { reason: error.message }) });
    }
    return replyAny(c, known ?? new PortalError('interner_fehler'));
  });
}

// What is noted of every request: a count, its time, a line in the log. Never its address, which may hold a user's data.
import type { Context, MiddlewareHandler } from 'hono';
import { matchedRoutes } from 'hono/route';
import type { Deps, Env } from './context.ts';

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS']);
/** Methods and paths that there are not: clients choose them, so all of them are one. */
const other = 'other';

// Nginx's number for a client that went before it was answered: what is not made for it is no sign of overload.
const goneStatus = 499;

// Asked every few seconds, by machines.
const probes = /^\/(?:health\/|metrics$)/;

/**
 * Counts every request by its route and leaves a line in the log: of level error where the service failed, debug for what
 * supervisors ask, else info. Outside of the request's scope, whose errors end in an answer like all others.
 */
export function noteRequests({ metrics, log }: Pick<Deps, 'metrics' | 'log'>): MiddlewareHandler<Env> {
  return async (c, next) => {
    const begin = performance.now();
    await next();
    const milliseconds = performance.now() - begin;
    const scope = c.get('scope');
    const isGone = scope?.isGone() || (c.res.status === 503 && scope?.hasLeft());
    scope?.disconnect();
    const status = isGone ? goneStatus : c.res.status;
    const method = methods.has(c.req.method) ? c.req.method : other;
    const route = routeOf(c);
    metrics.countRequest({ method, route, status }, milliseconds / 1000);
    const level = status >= 500 ? 'error' : probes.test(route) ? 'debug' : 'info';
    const bytes = method === 'HEAD' ? undefined : scope?.bytes;
    log.noteRequest(level, { request: scope?.id ?? '', method, route, status, milliseconds, bytes });
  };
}

// The template of the path. What only middleware is there for is no path of ours.
function routeOf(c: Context<Env>): string {
  const route = matchedRoutes(c).at(-1);
  return route === undefined || route.method === 'ALL' ? other : route.path;
}

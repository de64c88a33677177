// GET /metrics, and the counting behind it (D5).
import { createHash, timingSafeEqual } from 'node:crypto';
import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { routePath } from 'hono/route';
import type { Config } from '../../config.ts';
import { currentScope } from '../../guard/request.ts';
import type { Metrics } from '../../observe/metrics.ts';
import type { Env } from '../context.ts';
import { PortalError } from '../wire/errors.ts';

export interface MetricsDeps {
  metrics: Metrics;
  config: Pick<Config, 'metricsToken' | 'trustedHops'>;
}

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS']);

// Nginx's number for a client that went before it was answered: what is not made for it is no sign of overload.
const goneStatus = 499;

/** Counts every request by its route, never by its address: that may hold a user's data, and there are too many. */
export function countRequests({ metrics }: MetricsDeps): MiddlewareHandler<Env> {
  return async (c, next) => {
    const begin = performance.now();
    await next();
    const route = routePath(c, -1);
    const scope = currentScope();
    const isGone = scope?.isGone() || (c.res.status === 503 && scope?.hasLeft());
    const status = isGone ? goneStatus : c.res.status;
    metrics.countRequest(
      { method: methods.has(c.req.method) ? c.req.method : 'other', route, status },
      (performance.now() - begin) / 1000,
    );
  };
}

export function metricsRoutes({ metrics, config }: MetricsDeps): Hono<Env> {
  return new Hono<Env>().get('/metrics', async (c) => {
    const address = c.env?.incoming?.socket.remoteAddress ?? '';
    if (config.metricsToken !== null) {
      if (!isEqual(c.req.header('authorization') ?? '', `Bearer ${config.metricsToken}`))
        throw new PortalError('nicht_angemeldet', {}, { 'WWW-Authenticate': 'Bearer' });
    } else if (config.trustedHops > 0 || isForwarded(c) || !/^(::1|(::ffff:)?127\.\d{1,3}\.\d{1,3}\.\d{1,3})$/.test(address)) {
      // Behind a proxy everyone comes from the loopback address, also when nobody said that there is one.
      throw new PortalError('nicht_erlaubt');
    }
    return c.body(await metrics.collect(), 200, { 'Content-Type': metrics.contentType, 'Cache-Control': 'no-store' });
  });
}

function isForwarded(c: Context<Env>): boolean {
  return ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'via'].some(
    (name) => c.req.header(name) !== undefined,
  );
}

// Of hashes, so that the time says nothing about the length either.
function isEqual(a: string, b: string): boolean {
  const hash = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(hash(a), hash(b));
}

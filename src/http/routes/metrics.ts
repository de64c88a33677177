// GET /metrics (D5).
import { createHash, timingSafeEqual } from 'node:crypto';
import { type Context, Hono } from 'hono';
import type { Deps, Env } from '../context.ts';
import { PortalError } from '../wire/portal-error.ts';
import { send } from '../wire/reply.ts';

export function metricsRoutes({ metrics, config }: Pick<Deps, 'metrics' | 'config'>): Hono<Env> {
  return new Hono<Env>().get('/metrics', async (c) => {
    const address = c.env?.incoming?.socket.remoteAddress ?? '';
    if (config.metricsToken !== null) {
      if (!isEqual(c.req.header('authorization') ?? '', `Bearer ${config.metricsToken}`))
        throw new PortalError('nicht_angemeldet', {}, { 'WWW-Authenticate': 'Bearer' });
    } else if (config.trustedHops > 0 || isForwarded(c) || !/^(::1|(::ffff:)?127\.\d{1,3}\.\d{1,3}\.\d{1,3})$/.test(address)) {
      // Behind a proxy everyone comes from the loopback address, also when nobody said that there is one.
      throw new PortalError('nicht_erlaubt');
    }
    c.header('Cache-Control', 'no-store');
    return send(c, { body: await metrics.collect(), type: metrics.contentType, status: 200 });
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

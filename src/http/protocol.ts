// What holds for every request and answer, whatever it is about.
import type { MiddlewareHandler } from 'hono';
import type { Env } from './context.ts';
import { PortalError } from './errors.ts';

/** Refuses requests that two servers in a row could read differently, and sets the headers of every answer (S3.8, S3.10). */
export function protocolMiddleware(): MiddlewareHandler<Env> {
  return async (c, next) => {
    c.header('X-Content-Type-Options', 'nosniff');
    c.header('Referrer-Policy', 'no-referrer');
    // What an answer depends on beside its address.
    c.header('Vary', 'Host, X-Auth-User, X-Auth-Token');
    const raw = c.env?.incoming?.rawHeaders ?? [];
    const hosts = raw.filter((header, index) => index % 2 === 0 && header.toLowerCase() === 'host');
    const target = c.env?.incoming?.url ?? '/';
    if (hosts.length > 1 || !target.startsWith('/')) throw new PortalError('ungueltige_anfrage');
    await next();
  };
}

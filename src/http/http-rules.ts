// What holds for every request and answer, whatever it is about.
import type { Context, Hono, MiddlewareHandler } from 'hono';
import { countHeader, type Deps, type Env } from './context.ts';
import { PortalError, sentences } from './wire/portal-error.ts';

const allowedMethods = 'GET, POST, PUT, DELETE';
const exposedHeaders =
  'Location, ETag, Retry-After, X-Request-Id, Content-Range, Accept-Ranges, Content-Length, Content-Disposition, Content-Crs, Link';
const preflightSeconds = '86400';

/**
 * Refuses requests that two servers in a row could read differently, answers CORS preflights, and sets the headers of every
 * answer (S3.8, S3.10, D1.17, D1.18).
 */
export function protocolMiddleware(drain: Deps['drain']): MiddlewareHandler<Env> {
  return async (c, next) => {
    if (drain?.active) c.header('Connection', 'close');
    c.header('X-Content-Type-Options', 'nosniff');
    c.header('Referrer-Policy', 'no-referrer');
    // What an answer depends on beside its address.
    c.header('Vary', 'Host, X-Auth-User, X-Auth-Token');
    c.header('Access-Control-Allow-Origin', '*');
    c.header('Access-Control-Expose-Headers', exposedHeaders);
    const target = c.env?.incoming?.url ?? '/';
    // One host, as HTTP/1.1 demands.
    const hosts = c.env?.incoming?.httpVersion === '1.1' ? countHeader(c, 'host') : 1;
    if (hosts !== 1 || !target.startsWith('/')) throw new PortalError('ungueltige_anfrage');
    if (c.req.method === 'OPTIONS') {
      c.header('Access-Control-Allow-Methods', allowedMethods);
      // Whatever a library adds: without credentials no header makes a request of another site more than one of anybody.
      c.header('Access-Control-Allow-Headers', c.req.header('access-control-request-headers') ?? '*');
      c.header('Access-Control-Max-Age', preflightSeconds);
      return c.body(null, 204);
    }
    await next();
  };
}

/** On POSTs that are what they are: the header must not ask for something else. */
export function refuseOverride(): MiddlewareHandler<Env> {
  return async (c, next) => {
    if (c.req.method === 'POST') readOverride(c);
    await next();
  };
}

/** The method that a POST asks for instead; null where it asks for none. */
export function readOverride(c: Context<Env>): 'PUT' | 'DELETE' | null {
  const value = c.req.header('x-http-method-override');
  if (value === undefined) return null;
  const method = value.trim().toUpperCase();
  if (countHeader(c, 'x-http-method-override') > 1 || (method !== 'PUT' && method !== 'DELETE')) {
    throw new PortalError('ungueltiger_parameter', { 'X-HTTP-Method-Override': sentences.override });
  }
  return method;
}

/** For a path that exists with other methods: those methods; null for an unknown path. */
export function methodsOf(app: Hono<Env>, path: string): string[] | null {
  const methods = new Set<string>();
  for (const route of app.routes) {
    const pattern = new RegExp(`^${route.path.replaceAll('.', '\\.').replace(/:\w+/g, '[^/]+')}$`);
    if (route.method !== 'ALL' && pattern.test(path)) methods.add(route.method);
  }
  return methods.size > 0 ? [...methods].sort() : null;
}

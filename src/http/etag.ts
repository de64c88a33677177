// Conditional reads of anonymous clients (D2.21).
import { createHmac } from 'node:crypto';
import type { MiddlewareHandler } from 'hono';
import { getStand } from '../db/stand.ts';
import type { Deps, Env } from './context.ts';

/**
 * Gives anonymous reads an ETag and answers 304 when the client has it. The tag is made from a version, before the body is
 * read: a body that is newer than its tag is fetched once more, the other way round a change would be missed. A hash of the
 * body would cost as much as the body.
 * @param isTold the handler reads the version together with the body, and puts `tagOf` it into the answer
 */
export function etagMiddleware({ sql, secretKey }: Deps, { isTold = false } = {}): MiddlewareHandler<Env> {
  return async (c, next) => {
    if (!['GET', 'HEAD'].includes(c.req.method) || c.get('reader') !== null) return next();
    // Of this address only: what another one answers to says nothing about it.
    // With the tenant, because a domain may move to another one; with the key, because cursors end when it changes.
    const address = createHmac('sha256', secretKey)
      .update(`${c.get('tenant').id} ${c.get('origin')} ${c.req.url}`)
      .digest('base64url')
      .slice(0, 12);
    const tagOf = (stand: string) => `"${stand}-${address}"`;
    c.header('Cache-Control', 'no-cache');
    const known = c.req.header('if-none-match');
    if (isTold && known === undefined) {
      c.set('tagOf', tagOf);
      return next();
    }
    const tag = tagOf(await getStand(sql));
    if (matches(known, tag)) return c.body(null, 304, { ETag: tag });
    // Before the answer is made: a header that comes later turns it into a stream, which costs as much as the database does.
    c.header('ETag', tag);
    await next();
  };
}

function matches(header: string | undefined, tag: string): boolean {
  return (header ?? '').split(',').some((candidate) => ['*', tag].includes(candidate.trim().replace(/^W\//, '')));
}

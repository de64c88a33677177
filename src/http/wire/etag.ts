// Conditional reads of anonymous clients (D2.21).
import { createHmac, hash } from 'node:crypto';
import type { MiddlewareHandler } from 'hono';
import { getStand } from '../../db/stand.ts';
import { currentScope } from '../../guard/request.ts';
import type { Deps, Env } from '../context.ts';
import type { KeptAnswers } from './kept.ts';

/**
 * Gives anonymous reads an ETag and answers 304 when the client has it. The tag is made from a version, before the body is
 * read: a body that is newer than its tag is fetched once more, the other way round a change would be missed. A hash of the
 * body would cost as much as the body.
 *
 * An answer that was the same twice is kept, and sent again for as long as its tag holds. The service asks for the version
 * first, as a client would with its own copy: what is sent from memory is what a 304 would have confirmed. What is asked for
 * once, or changes all the time, is not worth the memory, nor a statement of its own for the version.
 * @param isTold the handler reads the version together with the body, and tells it to `conditional`
 */
export function etagMiddleware(
  { sql, secretKey, build }: Deps,
  answers: KeptAnswers,
  { isTold = false } = {},
): MiddlewareHandler<Env> {
  // With the key, because cursors end when it changes; with the build, because it makes the body. Made once: an HMAC for each tag
  // was a fiftieth of what the service computes for a page.
  const secret = createHmac('sha256', secretKey).update(`etag ${build}`).digest('base64url');
  return async (c, next) => {
    if (!['GET', 'HEAD'].includes(c.req.method) || c.get('reader') !== null) return next();
    // Of this address only: what another one answers to says nothing about it. With the tenant, because a domain may move to
    // another one.
    const address = `${c.get('tenant').id} ${c.get('origin')} ${c.req.url}`;
    const kept = answers.get(address);
    let tag = '';
    const conditional = {
      tell(stand: string) {
        // Opaque (D6.7): the version counts what happens here, also what nobody is shown.
        tag = `"${hash('sha256', `${secret} ${stand} ${address}`, 'base64url').slice(0, 22)}"`;
        // Before the answer is made: a header that comes later turns it into a stream, which costs as much as the database does.
        c.header('ETag', tag);
      },
      keep(body: Buffer<ArrayBuffer>, type: string) {
        answers.set(address, kept?.tag === tag ? { tag, answer: { body, type } } : { tag });
      },
    };
    c.header('Cache-Control', 'no-cache');
    c.set('conditional', conditional);
    const known = c.req.header('if-none-match');
    if (isTold && known === undefined && !kept?.answer) return next();
    conditional.tell(await getStand(sql));
    if (matches(known, tag)) return c.body(null, 304);
    if (kept?.tag === tag && kept.answer) {
      currentScope()?.hold(kept.answer.body.length);
      return c.body(kept.answer.body, 200, { 'Content-Type': kept.answer.type });
    }
    await next();
  };
}

function matches(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false;
  return header.split(',').some((candidate) => ['*', tag].includes(candidate.trim().replace(/^W\//, '')));
}

// Conditional reads of anonymous clients (D2.21).
import { createHmac, hash } from 'node:crypto';
import type { Context, Handler } from 'hono';
import { getStand, type Subject } from '../../db/stand.ts';
import { coalesce } from '../../guard/coalesce.ts';
import type { Deps, Env } from '../context.ts';
import type { KeptAnswers } from './kept.ts';
import { type Answer, respond, send } from './reply.ts';

/**
 * Gives anonymous reads an ETag and answers 304 when the client has it. The tag is made from a version, before the body is
 * read: a body that is newer than its tag is fetched once more, the other way round a change would be missed. A hash of the
 * body would cost as much as the body.
 *
 * An answer that was the same twice is kept, and sent again for as long as its tag holds. The service asks for the version
 * first, as a client would with its own copy: what is sent from memory is what a 304 would have confirmed. What is asked for
 * once, or changes all the time, is not worth the memory, nor a statement of its own for the version.
 * @param answers where answers are kept; one for all, because its size is what they may take together
 * @param addressOf what an answer depends on beside the version
 * @returns what makes handlers of reads, of what their answers are made from; of one that is `told`, the answer brings the version along
 */
export function answerConditionally(
  { sql, reads, isMixed, secretKey, build, metrics }: Deps,
  answers: KeptAnswers,
  addressOf = addressAtTenant,
) {
  // With the key, because cursors end when it changes; with the build, because it makes the body. Made once: an HMAC for each tag
  // was a fiftieth of what the service computes for a page.
  const secret = createHmac('sha256', secretKey).update(`etag ${build}`).digest('base64url');
  // Opaque (D6.7): the version counts what changed here.
  const tagOf = (stand: string, address: string) =>
    `"${hash('sha256', `${secret} ${stand} ${address}`, 'base64url').slice(0, 22)}"`;
  // Of replicas each request asks its own.
  const lookAt = (subject: Subject) => (reads === sql ? coalesce(() => getStand(sql, subject)) : () => getStand(reads, subject));
  const looks = { gezeigt: lookAt('gezeigt'), protokoll: lookAt('protokoll') };
  return (subject: Subject | 'told', make: (c: Context<Env>) => Promise<Answer | Response>): Handler<Env> => {
    const respondAlways = respond(make);
    const isTold = subject === 'told';
    return async (c, next) => {
      if (c.get('reader') !== null) return respondAlways(c, next);
      // Of this address only: what another one answers to says nothing about it.
      const address = addressOf(c);
      const kept = answers.get(address);
      const known = c.req.header('if-none-match');
      const reply = (answer: Answer) => (namesAny(known) && answer.status === 200 ? c.body(null, 304) : send(c, answer));
      let tag = '';
      c.header('Cache-Control', 'no-cache');
      if (!isTold || known !== undefined || kept?.answer) {
        tag = tagOf(await looks[isTold ? 'gezeigt' : subject](), address);
        c.header('ETag', tag);
        if (matches(known, tag)) return c.body(null, 304);
        if (kept?.tag === tag && kept.answer) {
          metrics.countAnswer(true);
          return reply({ body: kept.answer.body, type: kept.answer.type, status: 200 });
        }
      }
      metrics.countAnswer(false);
      const made = await make(c);
      if (made instanceof Response) return made;
      const { type, status, stand } = made;
      // The version is one server's, the body another's, which may not show yet what the first one did.
      if (stand === undefined && isMixed?.()) {
        c.header('ETag', undefined);
        return reply({ body: made.body, type, status });
      }
      if (stand !== undefined) {
        tag = tagOf(stand, address);
        // Before it is sent: a header that comes later turns the answer into a stream, which costs as much as the database does.
        c.header('ETag', tag);
      }
      const body = typeof made.body === 'string' ? Buffer.from(made.body) : made.body;
      const response = reply({ body, type, status });
      answers.set(address, kept?.tag === tag ? { tag, answer: { body, type } } : { tag });
      return response;
    };
  };
}

// With the tenant, because a domain may move to another one.
const addressAtTenant = (c: Context<Env>) => `${c.get('tenant').id} ${c.get('origin')} ${c.req.url}`;

/** Whether an If-None-Match names this tag. */
export function matches(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false;
  return header.split(',').some((candidate) => candidate.trim().replace(/^W\//, '') === tag);
}

/** Whether an If-None-Match names whatever there is: only who has read it knows that there is something. */
export function namesAny(header: string | undefined): boolean {
  return header?.trim() === '*';
}

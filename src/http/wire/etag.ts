// Conditional reads of anonymous clients (D2.21).
import { createHmac, hash } from 'node:crypto';
import type { Context, Handler } from 'hono';
import { getStand, getStandOfTeil, type Subject } from '../../db/page.ts';
import { coalesce } from '../../guard/coalesce.ts';
import type { Deps, Env } from '../context.ts';
import type { AnswerCache, CachedAnswer } from './answer-cache.ts';
import { type Answer, respond, send } from './reply.ts';

/** Makes ETags of versions, and looks at the present version. A hash of the body would cost as much as the body. */
export function makeTags({ reads, secretKey, build }: Pick<Deps, 'reads' | 'secretKey' | 'build'>) {
  // With the key, because cursors end when it changes; with the build, because it makes the body.
  const secret = createHmac('sha256', secretKey).update(`etag ${build}`).digest('base64url');
  const looks = {
    gezeigt: coalesce(() => getStand(reads, 'gezeigt')),
    protokoll: coalesce(() => getStand(reads, 'protokoll')),
  };
  return {
    /** Opaque (D6.7): the version counts what changed here. */
    tagOf: (stand: string, address: string) => `"${hash('sha256', `${secret} ${stand} ${address}`, 'base64url').slice(0, 22)}"`,
    look: (subject: Subject) => looks[subject](),
    lookAt: (bloecke: string) => getStandOfTeil(reads, bloecke),
  };
}

/**
 * Gives anonymous reads an ETag and answers 304 when the client has it. The tag is made from the version that came with the body.
 *
 * An answer that was the same twice is cached, and sent again for as long as its tag holds. The service asks for the version
 * first: what is sent from memory is what a 304 would have confirmed.
 * @param answers one cache for all, because its size is what they may take together
 * @param addressOf what an answer depends on beside the version
 * @returns what makes handlers of reads, of what their answers are made from
 */
export function answerConditionally(deps: Deps, answers: AnswerCache, addressOf = addressAtTenant) {
  const { tagOf, look, lookAt } = makeTags(deps);
  /** The tag that an address has now. Of what shows a part of everything only that part is looked at, and only after a change. */
  const presentTag = async (subject: Subject, address: string, cached: CachedAnswer | undefined) => {
    const stand = await look(subject);
    if (!cached?.teil) return tagOf(stand, address);
    if (cached.teil.stand === stand) return cached.tag;
    const present = await lookAt(cached.teil.bloecke);
    const tag = tagOf(present.teil.stand, address);
    if (tag === cached.tag) cached.teil.stand = present.stand;
    return tag;
  };
  return (subject: Subject, make: (c: Context<Env>) => Promise<Answer | Response>): Handler<Env> => {
    const respondAlways = respond(make);
    return async (c, next) => {
      if (c.get('reader') !== null) return respondAlways(c, next);
      // Of this address only: what another one answers to says nothing about it.
      const address = addressOf(c);
      const cached = answers.get(address);
      const known = c.req.header('if-none-match');
      const reply = (answer: Answer) => (namesAny(known) && answer.status === 200 ? c.body(null, 304) : send(c, answer));
      c.header('Cache-Control', 'no-cache');
      if (known !== undefined || cached?.answer) {
        const tag = await presentTag(subject, address, cached);
        c.header('ETag', tag);
        if (matches(known, tag)) return c.body(null, 304);
        if (cached?.tag === tag && cached.answer) {
          deps.metrics.countAnswer(true);
          return reply({ body: cached.answer.body, type: cached.answer.type, status: 200 });
        }
      }
      deps.metrics.countAnswer(false);
      const made = await make(c);
      if (made instanceof Response) return made;
      const { type, status, stand, teil } = made;
      if (stand === undefined) throw new Error('an answer came without its version');
      const tag = tagOf(teil?.stand ?? stand, address);
      // Before it is sent: a header that comes later turns the answer into a stream, which costs as much as the database does.
      c.header('ETag', tag);
      const body = typeof made.body === 'string' ? Buffer.from(made.body) : made.body;
      const response = matches(known, tag) && status === 200 ? c.body(null, 304) : reply({ body, type, status });
      const entry = { tag, ...(teil && { teil: { bloecke: teil.bloecke, stand } }) };
      answers.set(address, cached?.tag === tag ? { ...entry, answer: { body, type } } : entry);
      return response;
    };
  };
}

// With the tenant, because a domain may move to another one.
const addressAtTenant = (c: Context<Env>) => `${c.get('tenant').id} ${c.get('origin')} ${c.req.url}`;

/** Whether an If-None-Match names this tag, also as proxies write it that compress: Apache "TAG-gzip". */
export function matches(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false;
  const begin = tag.slice(0, -1);
  const isPacked = (candidate: string) =>
    candidate.startsWith(begin) && /^--?(?:gzip|br|zstd|deflate)"$/.test(candidate.slice(begin.length));
  const names = (candidate: string) => candidate === tag || isPacked(candidate);
  return header.split(',').some((candidate) => names(candidate.trim().replace(/^W\//, '')));
}

/** What is made of nothing in the database, with the hash of its body as ETag; 304 to who has it. */
export function sendHashed(c: Context<Env>, body: string | Uint8Array<ArrayBuffer>, type: string): Response {
  const tag = `"${hash('sha256', body, 'base64url').slice(0, 22)}"`;
  c.header('ETag', tag);
  const known = c.req.header('if-none-match');
  return matches(known, tag) || namesAny(known) ? c.body(null, 304) : send(c, { body, type, status: 200 });
}

/** Whether an If-None-Match names whatever there is: only who has read it knows that there is something. */
export function namesAny(header: string | undefined): boolean {
  return header?.trim() === '*';
}

// Conditional reads of outputs (O0.5): what they answer depends on nobody, and on no tenant.
import type { Context, Handler } from 'hono';
import { type Deps, type Env, requestOrigin } from '../context.ts';
import type { AnswerCache } from '../wire/answer-cache.ts';
import { answerConditionally } from '../wire/etag.ts';
import type { Answer } from '../wire/reply.ts';

export type AnswerOutput = ReturnType<typeof answerOutput>;

/** Answers of outputs are cached, and have the version of the anonymous view as their ETag. */
export function answerOutput(deps: Deps, answers: AnswerCache) {
  // With the origin, because links are made of it.
  const address = (c: Context<Env>) => `${requestOrigin(c, deps.config.trustedHops)} ${c.req.url}`;
  const conditionally = answerConditionally(deps, answers, address);
  /**
   * Makes the handler of an output's read.
   * @param read checks the request, before the database is asked anything for it, the version of the data included
   */
  return <Q>(read: (c: Context<Env>) => Q, make: (c: Context<Env>, query: Q) => Promise<Answer>): Handler<Env> =>
    (c, next) => {
      const query = read(c);
      // Whoever sends a key is shown no more than others.
      c.set('reader', null);
      return conditionally('gezeigt', () => make(c, query))(c, next);
    };
}

// Conditional reads of outputs (O0.5): what they answer depends on nobody, and on no tenant.
import type { Context, Handler } from 'hono';
import { type Deps, type Env, requestOrigin } from '../context.ts';
import type { AnswerCache } from '../wire/answer-cache.ts';
import { answerConditionally } from '../wire/etag.ts';
import type { Answer } from '../wire/reply.ts';

/** Makes the handler of an output's read, of what its answers are made from. */
export type AnswerOutput = (make: (c: Context<Env>) => Promise<Answer>) => Handler<Env>;

/**
 * Answers of outputs are kept, and have the version of the anonymous view as their ETag.
 * @returns what makes a handler of a read
 */
export function answerOutput(deps: Deps, answers: AnswerCache): AnswerOutput {
  // With the origin, because links are made of it.
  const address = (c: Context<Env>) => `${requestOrigin(c, deps.config.trustedHops)} ${c.req.url}`;
  const conditionally = answerConditionally(deps, answers, address);
  return (make) => {
    const answer = conditionally('gezeigt', make);
    return (c, next) => {
      // Whoever sends a key is shown no more than others.
      c.set('reader', null);
      return answer(c, next);
    };
  };
}

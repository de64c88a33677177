// What is told to whoever can't be served soon.
import type { LimitUsage, RefusalReason } from './usage.ts';

/** There is no connection to be had soon. */
export class OverloadError extends Error {
  readonly code = 'OVERLOADED';
  readonly reason: RefusalReason;
  constructor(reason: RefusalReason) {
    super(sentences[reason]);
    this.reason = reason;
  }
}

const sentences: Record<RefusalReason, string> = {
  queue_full: 'too many wait',
  pushed_out: 'others wait for their first',
  waited_too_long: 'waited too long',
  no_answer: 'no answer in time',
  gone: 'nobody waits for the answer',
};

/** The error for a reason, which is counted. */
export function refusal({ refused }: LimitUsage, reason: RefusalReason): OverloadError {
  refused[reason]++;
  return new OverloadError(reason);
}

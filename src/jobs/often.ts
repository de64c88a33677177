// Works that follow changes some seconds behind. Not by the queue, whose clock knows minutes only.
import { setTimeout as sleep } from 'node:timers/promises';

const pauseMs = 5000;

// After each step for so many times as long, at most for so many milliseconds: an expert who changes records of one city all the time had its
// 400 000 counted all the time, a core's work beside all others.
const restAfterStep = (tookMs: number) => Math.min(4 * tookMs, 10_000);

/**
 * Does a work every few seconds. It rests after each step.
 * @param work done until there is nothing left to do; asks before each step whether it goes on, and tells how long it took
 * @param onError told what went wrong; it is tried again
 * @returns ends it, once the step that is being done is done
 */
export function workOften(
  work: (goesOn: () => boolean, onStep: (done: number, tookMs: number) => Promise<void>) => Promise<void>,
  onError: (error: unknown) => void,
): () => Promise<void> {
  const end = new AbortController();
  let running = Promise.resolve();
  let timer: NodeJS.Timeout;
  const plan = () => {
    timer = setTimeout(() => {
      running = run();
    }, pauseMs);
  };
  const run = async () => {
    try {
      await work(
        () => !end.signal.aborted,
        // Cut short when it is to end.
        (_, tookMs) => sleep(restAfterStep(tookMs), undefined, { signal: end.signal }).catch(() => {}),
      );
    } catch (error) {
      onError(error);
    }
    if (!end.signal.aborted) plan();
  };
  plan();
  return async () => {
    end.abort();
    clearTimeout(timer);
    await running;
  };
}

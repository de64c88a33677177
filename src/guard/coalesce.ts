// One look for many: whoever asks the same at the same time is told the same.
import { runOutsideScope } from './request.ts';

/**
 * Makes of a read one that is done for all who ask before it begins. What is under way already began too early for whoever comes now,
 * because it might not know what was true by then: so one runs, and one waits to.
 */
export function coalesce<T>(look: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | null = null;
  let next: Promise<T> | null = null;
  // Of nobody's request: whoever happened to be the first may leave.
  const run = (): Promise<T> => {
    next = null;
    running = runOutsideScope(look).finally(() => {
      running = null;
    });
    return running;
  };
  return () => {
    if (!running) return next ?? run();
    next ??= running.then(run, run);
    return next;
  };
}

// One look for many: whoever asks the same at the same time is told the same.
import { runOutsideScope } from './request.ts';

/** Whoever waits for a look that takes longer than this gets another one beside it, in milliseconds. */
export const patientMs = 20;

/**
 * Makes of a read one that is done for all who ask before it begins. What is under way already began too early for whoever comes now: it
 * might not know what was true by then. So at most one runs and one waits to, unless the one that runs takes long.
 * @param patience how long that is in milliseconds; null: no second one begins beside it, where it would only stand behind the first
 */
export function shareLooks<T>(look: () => Promise<T>, patience: number | null = patientMs): () => Promise<T> {
  let running = 0;
  let next: { promise: Promise<T>; begin: () => void } | null = null;
  const run = async (): Promise<T> => {
    running++;
    try {
      // Of nobody's request: whoever happened to be the first may leave.
      return await runOutsideScope(look);
    } finally {
      running--;
      next?.begin();
    }
  };
  return () => {
    if (next) return next.promise;
    if (running === 0) return run();
    const { promise, resolve } = Promise.withResolvers<T>();
    const begin = () => {
      clearTimeout(timer);
      next = null;
      resolve(run());
    };
    const timer = patience === null ? undefined : setTimeout(begin, patience);
    next = { promise, begin };
    return promise;
  };
}

// What requests are refused for, so that an outage leaves a trace: a line for each cause at once, then how many more, at most one a
// minute. The line of a request says that it failed, and a full disk refuses thousands: here it is told why, once.
import type { Log } from './log.ts';

export interface Cause {
  /** SQLSTATE, or what the service itself calls it. */
  code: string;
  /** The route, never the address: that may hold a user's data. */
  route: string;
  /** What the storage of media said, which names no address. */
  reason?: string;
}

/** @returns to be told of each request that is refused because the service can't answer it at present */
export function watchOutages(log: Log, everyMs = 60_000): (cause: Cause) => void {
  /** Cause that was told of in the last minute → how many came since. */
  const more = new Map<string, number>();
  const wait = (key: string, cause: Cause) => {
    more.set(key, 0);
    setTimeout(tell, everyMs, key, cause).unref();
  };
  const tell = (key: string, cause: Cause) => {
    const refused = more.get(key) ?? 0;
    more.delete(key);
    if (refused === 0) return;
    log.warn({ ...cause, refused }, 'requests are refused');
    wait(key, cause);
  };
  return (cause) => {
    const key = `${cause.code} ${cause.route}`;
    const count = more.get(key);
    if (count !== undefined) {
      more.set(key, count + 1);
      return;
    }
    log.warn({ ...cause, refused: 1 }, 'requests are refused');
    wait(key, cause);
  };
}

// What comes again and again, so that it leaves a trace and does not fill the log: a line for each cause at once, then how many more, at
// most one a minute. A full disk refuses thousands of requests, and a queue without a database fails ten times a second.
import { describeFault } from './fault.ts';
import type { Log } from './log.ts';

export interface Cause {
  /** SQLSTATE, or what the service itself calls it. */
  code: string;
  /** The route, never the address: that may hold a user's data. */
  route: string;
  /** What the storage of media said, which names no address. */
  reason?: string;
}

const minuteMs = 60_000;

/** @returns to be told of each request that is refused because the service can't answer it at present */
export function watchOutages(log: Log, everyMs = minuteMs): (cause: Cause) => void {
  const note = tellSeldom((cause: Cause, refused) => log.warn({ ...cause, refused }, 'requests are refused'), everyMs);
  return (cause) => note(`${cause.code} ${cause.route}`, cause);
}

/**
 * @param message of the lines
 * @returns to be told of each fault of something that the service does by itself and tries again, and in which part of it
 */
export function watchFaults(log: Log, message: string, everyMs = minuteMs): (error: unknown, part?: { queue?: string }) => void {
  const note = tellSeldom((about: object, times) => log.warn({ ...about, times }, message), everyMs);
  return (error, part = {}) => {
    const fault = describeFault(error);
    note(JSON.stringify([fault.name, fault.code, part]), { ...part, ...fault });
  };
}

function tellSeldom<T>(tell: (about: T, times: number) => void, everyMs: number): (key: string, about: T) => void {
  /** Key that was told of in the last minute → how many came since. */
  const more = new Map<string, number>();
  const wait = (key: string, about: T) => {
    more.set(key, 0);
    setTimeout(tellMore, everyMs, key, about).unref();
  };
  const tellMore = (key: string, about: T) => {
    const times = more.get(key) ?? 0;
    more.delete(key);
    if (times === 0) return;
    tell(about, times);
    wait(key, about);
  };
  return (key, about) => {
    const count = more.get(key);
    if (count !== undefined) {
      more.set(key, count + 1);
      return;
    }
    tell(about, 1);
    wait(key, about);
  };
}

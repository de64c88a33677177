// Watches the service from outside, once a second: how long its event loop stood still, how much memory it has.
import { type Gauges, readGauges, readMainThread } from './gauges.ts';
import type { Service } from './service.ts';

/** What one reading says about the time since the one before. */
export interface Reading extends Gauges {
  /** Seconds in which no event was handled because the service computed. */
  blocked: number;
  /** Share of the time in which the main thread waited for a core that others had. */
  starved: number;
  /** When the time to which the reading belongs began. */
  since: number;
}

export const blockedLimit = 0.25;

export interface Watch {
  /** Reads now; null when the service does not answer. */
  read(signal: AbortSignal): Promise<Reading | null>;
}

export function makeWatch(service: Service): Watch {
  let before = { pid: 0, at: performance.now(), computed: 0, waited: 0 };
  return {
    async read(signal) {
      const gauges = await readGauges(service.port, signal);
      const now = { pid: service.pid(), at: performance.now(), ...(readMainThread(service.pid()) ?? { computed: 0, waited: 0 }) };
      const since = before.at;
      const isSame = now.pid === before.pid;
      const computed = isSame ? now.computed - before.computed : 0;
      const waited = isSame ? now.waited - before.waited : 0;
      before = now;
      if (gauges === null) return null;
      // While the loop lags, the thread either computes or waits for a core that others have.
      const share = computed + waited > 0 ? computed / (computed + waited) : 1;
      // The first reading of a process includes its start.
      return { ...gauges, blocked: isSame ? gauges.lag * share : 0, starved: (waited * 1000) / (now.at - since), since };
    },
  };
}

const heapLimit = 32 * 1024 * 1024;
const residentLimit = 224 * 1024 * 1024;
export const memoryLimits = `heap ${heapLimit / 2 ** 20} MB, resident ${residentLimit / 2 ** 20} MB more than after the warm-up`;

/** What of the memory stayed, beyond the limits; null: nothing. */
export function findMemoryProblem(warm: Gauges, idle: Gauges): string | null {
  const parts: string[] = [];
  for (const [name, limit] of [
    ['heap', heapLimit],
    ['resident', residentLimit],
  ] as const) {
    if (idle[name] - warm[name] > limit) parts.push(`${name} ${megabytes(warm[name])} -> ${megabytes(idle[name])}`);
  }
  return parts.length > 0 ? parts.join(', ') : null;
}

export const megabytes = (bytes: number) => `${Math.round(bytes / 2 ** 20)} MB`;

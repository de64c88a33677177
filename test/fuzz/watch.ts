// Watches the service from outside: how long its event loop stood still, how much memory it has.
import { readFileSync } from 'node:fs';
import { ask, plainDoor } from '../support/proxy.ts';

export interface Gauges {
  /** Longest time since the last reading in which no event was handled, in seconds. */
  lag: number;
  /** Bytes. */
  resident: number;
  heap: number;
}

/** Reads /metrics as another client than the traffic; null when it does not answer. The reading resets the lag: only one may read. */
export async function readGauges(port: number): Promise<Gauges | null> {
  const question = { localAddress: '127.0.0.3', signal: AbortSignal.timeout(30_000) };
  const reply = await ask(plainDoor(port), '127.0.0.1', '/metrics', question).catch(() => null);
  if (reply?.status !== 200) return null;
  const text = reply.body.toString();
  const figureOf = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? Number.NaN);
  return {
    lag: figureOf('nodejs_eventloop_lag_max_seconds'),
    resident: figureOf('process_resident_memory_bytes'),
    heap: figureOf('nodejs_heap_size_used_bytes'),
  };
}

/**
 * Told once a second for how long the loop stood still. On a busy machine it lags because others compute, which is no fault of the
 * service: where the system tells it, the main thread's wait for a core is left out.
 * @returns seconds since the last call in which it computed, and the share of the time for which it waited; null: no answer
 */
export function watchLoop(port: number, pid: number): () => Promise<{ blocked: number; starved: number } | null> {
  let before = { ...readMainThread(pid), at: performance.now() };
  return async () => {
    const gauges = await readGauges(port);
    const now = { ...readMainThread(pid), at: performance.now() };
    const [computed, waited] = [now.computed - before.computed, now.waited - before.waited];
    const seconds = (now.at - before.at) / 1000;
    before = now;
    return gauges && { blocked: gauges.lag * (computed > 0 ? computed / (computed + waited) : 1), starved: waited / seconds };
  };
}

/** Seconds that the main thread of a process has computed, and has waited for a core. */
function readMainThread(pid: number): { computed: number; waited: number } {
  try {
    const [computed = 0, waited = 0] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ').map(Number);
    return { computed: computed / 1e9, waited: waited / 1e9 };
  } catch {
    return { computed: 0, waited: 0 };
  }
}

const limits = { heap: 32 * 2 ** 20, resident: 224 * 2 ** 20 };
export const memoryLimits = `heap ${megabytes(limits.heap)}, resident ${megabytes(limits.resident)} more than after the warm-up`;

/** What of the memory stayed, beyond the limits; null: nothing. */
export function findMemoryProblem(warm: Gauges, idle: Gauges): string | null {
  const parts = (['heap', 'resident'] as const).flatMap((name) =>
    idle[name] - warm[name] > limits[name] ? [`${name} ${megabytes(warm[name])} -> ${megabytes(idle[name])}`] : [],
  );
  return parts.length > 0 ? parts.join(', ') : null;
}

export function megabytes(bytes: number): string {
  return `${Math.round(bytes / 2 ** 20)} MB`;
}

// What the service measures of itself, read from /metrics, and what the system knows of its main thread.
import { readFileSync } from 'node:fs';
import { readAnswers } from './answer.ts';
import { fire } from './wire.ts';

export interface Gauges {
  /** Longest time since the last reading in which no event was handled, in seconds. */
  lag: number;
  /** Bytes. */
  resident: number;
  heap: number;
}

/**
 * Reads /metrics; null when it does not answer. The reading resets the lag: only one may read.
 * @param localAddress another client than the traffic, which may have used up what is allowed to it
 */
export async function readGauges(port: number, signal: AbortSignal): Promise<Gauges | null> {
  const bytes = Buffer.from('GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n');
  const outcome = await fire(port, { bytes, methods: ['GET'], patienceMs: 30_000 }, signal, '127.0.0.3');
  const [answer] = readAnswers(outcome.received, ['GET'], true).answers;
  if (answer?.status !== 200) return null;
  const text = answer.body.toString();
  const figureOf = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? Number.NaN);
  return {
    lag: figureOf('nodejs_eventloop_lag_max_seconds'),
    resident: figureOf('process_resident_memory_bytes'),
    heap: figureOf('nodejs_heap_size_used_bytes'),
  };
}

/**
 * Seconds that the main thread of a process has computed, and has waited for a core. On a busy machine a loop lags because
 * others compute: that is no fault of the service. Null where the system does not say.
 */
export function readMainThread(pid: number): { computed: number; waited: number } | null {
  try {
    const [computed = 0, waited = 0] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ').map(Number);
    return { computed: computed / 1e9, waited: waited / 1e9 };
  } catch {
    return null;
  }
}

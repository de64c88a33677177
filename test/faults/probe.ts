// Questions with an address of their own, whose answers tell whether the service still lives.
import type { Agent } from 'node:http';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { ask, plainDoor } from '../support/proxy.ts';

export interface Question {
  path: string;
  /** A form, which is sent by POST. */
  body?: string;
  headers?: Record<string, string>;
  agent?: Agent;
}

export interface Sample {
  path: string;
  /** null: no answer. */
  status: number | null;
  hasRetryAfter: boolean;
  /** When it was asked, by performance.now(). */
  begin: number;
  /** How long it waited, less the time for which this process did not get to run. */
  ms: number;
}

const bystander = '127.0.0.2';
const patienceMs = 15_000;
const everyMs = 200;

// The longest time for which this process did not get to run, of this second and the one before.
const lag = monitorEventLoopDelay({ resolution: 10 });
lag.enable();
const lags = [0, 0];
setInterval(() => {
  lags.unshift(lag.max / 1e6);
  lags.length = 2;
  lag.reset();
}, 1000).unref();

/** Asks once. */
export async function askOnce(port: number, { path, body, headers, ...how }: Question): Promise<Sample> {
  const begin = performance.now();
  const form = body !== undefined && {
    'Content-Type': 'application/x-www-form-urlencoded',
    'Content-Length': Buffer.byteLength(body),
  };
  const reply = await ask(plainDoor(port), 'localhost', path, {
    localAddress: bystander,
    signal: AbortSignal.timeout(patienceMs),
    headers: { ...headers, ...form },
    ...(body !== undefined && { method: 'POST', body: Buffer.from(body) }),
    ...how,
  }).catch(() => null);
  const ms = Math.max(0, performance.now() - begin - Math.max(...lags, lag.max / 1e6));
  return { path, status: reply?.status ?? null, hasRetryAfter: reply?.headers['retry-after'] !== undefined, begin, ms };
}

/** Asks these paths, each on its own, until it is told to end. */
export function startProbe(port: number, paths: readonly string[]): { samples: Sample[]; end(): Promise<void> } {
  const samples: Sample[] = [];
  let isOver = false;
  const clients = paths.map(async (path) => {
    while (!isOver) {
      samples.push(await askOnce(port, { path }));
      await sleep(everyMs);
    }
  });
  return {
    samples,
    async end() {
      isOver = true;
      await Promise.all(clients);
    },
  };
}

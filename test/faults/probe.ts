// A bystander: a client with an address of its own, whose cheap questions tell whether the service still lives.
import { type Agent, request } from 'node:http';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';

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

const address = '127.0.0.2';
const patienceMs = 15_000;
const everyMs = 200;

/** Asks once. */
export function askOnce(port: number, path: string, agent?: Agent): Promise<Sample> {
  const lag = monitorEventLoopDelay({ resolution: 10 });
  lag.enable();
  const begin = performance.now();
  const { promise, resolve } = Promise.withResolvers<Sample>();
  const end = (status: number | null, hasRetryAfter: boolean) => {
    lag.disable();
    // The timer's own resolution is no lag.
    const ownLag = Math.max(0, lag.max / 1e6 - 10);
    resolve({ path, status, hasRetryAfter, begin, ms: Math.max(0, performance.now() - begin - ownLag) });
  };
  const sent = request({
    port,
    host: '127.0.0.1',
    localAddress: address,
    path,
    agent: agent ?? false,
    headers: { Host: 'localhost' },
  });
  sent.setTimeout(patienceMs, () => sent.destroy());
  sent.on('error', () => end(null, false));
  sent.on('response', (response) => {
    response.resume();
    response.on('error', () => end(null, false));
    response.on('end', () => end(response.statusCode ?? null, response.headers['retry-after'] !== undefined));
  });
  sent.end();
  return promise;
}

/** Asks these paths, each on its own, until it is told to end. */
export function startProbe(port: number, paths: readonly string[]): { samples: Sample[]; end(): Promise<void> } {
  const samples: Sample[] = [];
  let isOver = false;
  const clients = paths.map(async (path) => {
    while (!isOver) {
      samples.push(await askOnce(port, path));
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

// One measurement: by pgbench against the database, or by autocannon against a server.
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import autocannon, { type Request } from 'autocannon';
import type { Call } from './calls.ts';
import { postgresBin, runCommand } from './process.ts';

export interface Measure {
  /** Requests, transactions or rows per second. */
  rate: number;
  /** Milliseconds of one request; with several clients at once these include waiting for each other. */
  p50: number;
  p95: number;
  count: number;
  failed: number;
}

/** How long a measurement takes: by time, or by number where each request can be made only once. */
export type Extent = { seconds: number } | { requests: number };

/** The settings that the service gives its connections. */
const serviceSettings = '-c plan_cache_mode=force_generic_plan -c jit=off';

/**
 * The statements as prepared ones, each as often as the others.
 * @param clients connections at once
 * @param dir where the scripts and the log are written
 */
export async function runPgbench(
  databaseUrl: string,
  statements: readonly string[],
  clients: number,
  extent: Extent,
  dir: string,
): Promise<Measure> {
  const scripts = await Promise.all(
    statements.map(async (statement, index) => {
      const path = join(dir, `call-${index}.sql`);
      await writeFile(path, `${statement};\n`);
      return ['-f', path];
    }),
  );
  const limit =
    'seconds' in extent ? ['-T', String(extent.seconds)] : ['-t', String(Math.max(1, Math.floor(extent.requests / clients)))];
  const args = ['-n', '-M', 'prepared', '-c', String(clients), '-j', String(Math.min(2, clients)), ...limit];
  const out = await runCommand(
    join(postgresBin(), 'pgbench'),
    [...args, '--log', `--log-prefix=${join(dir, 'log')}`, ...scripts.flat(), databaseUrl],
    { env: { ...process.env, PGOPTIONS: serviceSettings } },
  );
  const latencies: number[] = [];
  for (const name of await readdir(dir)) {
    if (!name.startsWith('log')) continue;
    for (const line of (await readFile(join(dir, name), 'utf8')).split('\n')) {
      const time = line.split(' ')[2];
      if (time !== undefined) latencies.push(Number(time) / 1000);
    }
    await rm(join(dir, name));
  }
  const rate = Number(/^tps = ([\d.]+)/m.exec(out)?.[1]);
  return { rate, ...percentilesOf(latencies), count: latencies.length, failed: 0 };
}

/** Autocannon against a server; each connection begins at another request. */
export async function runLoad(url: string, calls: readonly Call[], connections: number, extent: Extent): Promise<Measure> {
  const requests = calls.map(toRequest);
  let started = 0;
  const run = autocannon({
    url,
    connections,
    ...('seconds' in extent ? { duration: extent.seconds } : { amount: extent.requests }),
    requests,
    setupClient(client) {
      const at = Math.floor((started++ * requests.length) / connections);
      client.setRequests([...requests.slice(at), ...requests.slice(0, at)]);
    },
  });
  const latencies: number[] = [];
  let failed = 0;
  const began = performance.now();
  run.on('response', (_client: unknown, status: number, _bytes: number, time: number) => {
    latencies.push(time);
    if (status >= 400) failed++;
  });
  const result = await run;
  const seconds = (performance.now() - began) / 1000;
  return {
    rate: (latencies.length - failed) / seconds,
    ...percentilesOf(latencies),
    count: latencies.length,
    failed: failed + result.errors + result.timeouts,
  };
}

function toRequest({ method, path, headers, body, renew }: Call): Request {
  return {
    method,
    path,
    headers,
    ...(body !== undefined && { body }),
    ...(renew && { setupRequest: (request) => ({ ...request, ...renew() }) }),
  };
}

/** The value that this share of all values does not exceed. */
export function percentileOf(values: readonly number[], share: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export const medianOfNumbers = (values: readonly number[]) => percentileOf(values, 0.5);

function percentilesOf(latencies: number[]): { p50: number; p95: number } {
  return { p50: percentileOf(latencies, 0.5), p95: percentileOf(latencies, 0.95) };
}

/** The median of each figure over the rounds; failures are added up. */
export function medianOf(rounds: readonly Measure[]): Measure {
  const median = (key: keyof Measure) => medianOfNumbers(rounds.map((round) => round[key]));
  const sum = (key: keyof Measure) => rounds.reduce((total, round) => total + round[key], 0);
  return { rate: median('rate'), p50: median('p50'), p95: median('p95'), count: sum('count'), failed: sum('failed') };
}

// One measurement: by pgbench against the database, or by wrk against a server.
import { execFile } from 'node:child_process';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { programs } from '../support/cluster.ts';
import type { Call } from './calls.ts';

const run = promisify(execFile);

export interface Measure {
  /** Requests, transactions or rows per second. */
  rate: number;
  /** Milliseconds of one request; with several clients at once these include waiting for each other. */
  p50: number;
  p95: number;
  count: number;
  failed: Failed;
}

/** Answers that were errors, requests that took longer than two seconds, and connections that broke. */
export interface Failed {
  status: number;
  timeout: number;
  reset: number;
}

const none: Failed = { status: 0, timeout: 0, reset: 0 };

/** The settings that the service gives its connections. */
const serviceSettings = '-c plan_cache_mode=force_generic_plan -c jit=off -c max_parallel_workers_per_gather=0';

/**
 * The statements as prepared ones, each as often as the others.
 * @param clients connections at once
 * @param dir where the scripts and the log are written
 */
export async function runPgbench(
  databaseUrl: string,
  statements: readonly string[],
  clients: number,
  seconds: number,
  dir: string,
): Promise<Measure> {
  const scripts = await Promise.all(
    statements.map(async (statement, index) => {
      const path = join(dir, `call-${index}.sql`);
      await writeFile(path, `${statement};\n`);
      return ['-f', path];
    }),
  );
  const args = ['-n', '-M', 'prepared', '-c', String(clients), '-j', String(Math.min(2, clients)), '-T', String(seconds)];
  const { stdout: out } = await run(
    join(programs ?? '', 'pgbench'),
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
  return { rate, ...percentilesOf(latencies), count: latencies.length, failed: none };
}

// What wrk says at the end of a run; latencies in microseconds.
const luaEnd = `
done = function(summary, latency)
  local errors = summary.errors
  io.write(string.format('{"count":%d,"us":%d,"failed":{"status":%d,"timeout":%d,"reset":%d},"p50":%d,"p95":%d}\\n', summary.requests,
    summary.duration, errors.status, errors.timeout, errors.connect + errors.read + errors.write, latency:percentile(50),
    latency:percentile(95)))
end
`;
const luaAgain = 'request = function() n = n % #requests + 1; return requests[n] end';
/** More writes than any server here takes in a second. */
const mostPerSecond = 2500;

/** wrk against a server, because it leaves the cores to those who are measured: the requests in turn, on all connections. */
export async function runLoad(
  url: string,
  calls: readonly Call[],
  connections: number,
  seconds: number,
  dir: string,
): Promise<Measure> {
  // What is sent once only is made beforehand.
  const writes = calls.filter(({ renew }) => renew).length;
  const count = writes > 0 ? Math.ceil((seconds * mostPerSecond * calls.length) / writes) : calls.length;
  const lines = ['requests = {'];
  for (let n = 0; n < count; n++) lines.push(`${toLua(toHttp(calls[n % calls.length] as Call, new URL(url).host))},`);
  lines.push('}', 'local n = 0', luaAgain, luaEnd);
  const script = join(dir, 'load.lua');
  await writeFile(script, lines.join('\n'));
  const { stdout: out } = await run('wrk', ['-t', '1', '-c', String(connections), '-d', `${seconds}s`, '-s', script, url]);
  const line = /^\{"count".*$/m.exec(out)?.[0];
  if (line === undefined) throw new Error(`wrk said nothing: ${out.slice(-500)}`);
  const result = JSON.parse(line) as { count: number; us: number; failed: Failed } & Percentiles;
  return {
    rate: (result.count - result.failed.status) / (result.us / 1e6),
    p50: result.p50 / 1000,
    p95: result.p95 / 1000,
    count: result.count,
    failed: result.failed,
  };
}

interface Percentiles {
  p50: number;
  p95: number;
}

function toHttp(call: Call, address: string): string {
  const { method, path, headers, body = '' } = { ...call, ...call.renew?.() };
  const all = { host: address, ...headers, ...(body !== '' && { 'content-length': String(Buffer.byteLength(body)) }) };
  const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${head.join('')}\r\n${body}`;
}

function toLua(text: string): string {
  const bytes = Buffer.from(text).toString('latin1');
  return `"${bytes.replace(/[^ !#-[\]-~]/g, (byte) => `\\${String(byte.charCodeAt(0)).padStart(3, '0')}`)}"`;
}

/** The value that this share of all values does not exceed. */
export function percentileOf(values: readonly number[], share: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** The middle value; of an even number of values the mean of the two in the middle. */
export function medianOfNumbers(values: readonly number[]): number {
  const sorted = Float64Array.from(values).sort();
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? Number.NaN) + (sorted[Math.floor(middle)] ?? Number.NaN)) / 2;
}

function percentilesOf(latencies: number[]): Percentiles {
  return { p50: percentileOf(latencies, 0.5), p95: percentileOf(latencies, 0.95) };
}

/** The median of each figure over the rounds; failures are added up. */
export function medianOf(rounds: readonly Measure[]): Measure {
  const median = (key: 'rate' | 'p50' | 'p95') => medianOfNumbers(rounds.map((round) => round[key]));
  const sum = (read: (round: Measure) => number) => rounds.reduce((total, round) => total + read(round), 0);
  return {
    rate: median('rate'),
    p50: median('p50'),
    p95: median('p95'),
    count: sum(({ count }) => count),
    failed: {
      status: sum(({ failed }) => failed.status),
      timeout: sum(({ failed }) => failed.timeout),
      reset: sum(({ failed }) => failed.reset),
    },
  };
}

// The servers that are measured, each a process of its own.
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setInterval } from 'node:timers';
import { promisify } from 'node:util';
import { openDatabase } from '../../src/db/client.ts';
import { type Running, root, untilReady } from '../support/child.ts';
import { freePort } from '../support/port.ts';
import { makeDir, startEntry, startNode } from './process.ts';

export interface Server {
  url: string;
  running: Running;
}

async function answers(url: string, request: RequestInit = {}): Promise<boolean> {
  const response = await fetch(url, request);
  await response.arrayBuffer();
  return response.ok;
}

/** The service as `npm start` runs it. */
export async function startServer(settings: Record<string, string>): Promise<Server> {
  const port = await freePort();
  const running = startEntry('start', 'src/main.ts', [], { PORT: String(port), HOST: '127.0.0.1', ...settings });
  const url = `http://127.0.0.1:${port}`;
  await untilReady(running, () => answers(`${url}/health/ready`));
  return { url, running };
}

/** The same, answering requests only, in the environment of the units and of the image. */
export async function startService(databaseUrl: string, settings: Record<string, string> = {}): Promise<Server> {
  const site = { DATABASE_URL: databaseUrl, DATA_DIR: await makeDir() };
  const process = { PROCESS_ROLE: 'web', LOG_LEVEL: 'warn', NODE_ENV: 'production', MALLOC_ARENA_MAX: '1' };
  return startServer({ ...site, ...process, ...settings });
}

/** The constant body and the naive handler. */
export async function startRival(databaseUrl: string, constant: string): Promise<Server> {
  const port = await freePort();
  const running = startEntry('cli', 'test/bench/rival.ts', [String(port), databaseUrl], { NODE_ENV: 'production' });
  const url = `http://127.0.0.1:${port}`;
  await untilReady(running, () => answers(`${url}/constant`, { method: 'PUT', body: constant }));
  return { url, running };
}

/** PostGraphile, from its own folder; installed there at its first use. Its view is put into the database. */
export async function startPostgraphile(databaseUrl: string, report: (line: string) => void): Promise<Server> {
  const dir = join(root, 'test/bench/postgraphile');
  const installed = await readFile(join(dir, 'node_modules/postgraphile/package.json')).catch(() => null);
  if (installed === null) {
    report('installing PostGraphile');
    await promisify(execFile)('npm', ['install', '--no-package-lock', '--ignore-scripts', '--no-audit', '--no-fund'], {
      cwd: dir,
    });
  }
  const database = await openDatabase({ databaseUrl, dataDir: '' });
  await database
    .connect()
    .unsafe(await readFile(join(dir, 'view.sql'), 'utf8'))
    .simple();
  await database.close();
  const port = await freePort();
  const running = startNode(['server.js', String(port), databaseUrl], dir, {
    NODE_ENV: 'production',
    GRAPHILE_ENV: 'production',
  });
  const url = `http://127.0.0.1:${port}`;
  const question = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"query":"{__typename}"}' };
  await untilReady(running, () => answers(`${url}/graphql`, question));
  return { url, running };
}

/** Resident memory of a process in MB, null where /proc does not tell. */
export async function readMemory(pid: number): Promise<number | null> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const match = /^VmRSS:\s+(\d+) kB/m.exec(status);
  return match ? Number(match[1]) / 1024 : null;
}

/** Watches the memory of a process until it is told to stop; returns the most that was seen in MB. */
export function watchMemory(pid: number): () => number {
  let peak = 0;
  const timer = setInterval(async () => {
    peak = Math.max(peak, (await readMemory(pid)) ?? 0);
  }, 200);
  return () => {
    clearInterval(timer);
    return peak;
  };
}

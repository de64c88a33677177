// The servers that are measured, each a process of its own.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setInterval } from 'node:timers';
import { openDatabase } from '../../src/db/client.ts';
import { freePort } from '../support/port.ts';
import { makeDir, type Running, root, runCommand, startEntry, startProcess, waitFor } from './process.ts';

export interface Server {
  url: string;
  running: Running;
}

async function probe(url: string): Promise<void> {
  const response = await fetch(url);
  await response.arrayBuffer();
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
}

/**
 * The service as `npm start` runs it, answering requests only.
 * @param settings beside the database
 */
export async function startService(databaseUrl: string, settings: Record<string, string> = {}): Promise<Server> {
  const port = await freePort();
  const running = startEntry('start', 'src/main.ts', [], {
    DATABASE_URL: databaseUrl,
    DATA_DIR: await makeDir(),
    PORT: String(port),
    PROCESS_ROLE: 'web',
    LOG_LEVEL: 'warn',
    NODE_ENV: 'production',
    ...settings,
  });
  const url = `http://127.0.0.1:${port}`;
  await waitFor(running, () => probe(`${url}/health/ready`));
  return { url, running };
}

/** The constant body and the naive handler. */
export async function startRival(databaseUrl: string, constant: string): Promise<Server> {
  const port = await freePort();
  const running = startEntry('cli', 'test/bench/rival.ts', [String(port), databaseUrl], { NODE_ENV: 'production' });
  const url = `http://127.0.0.1:${port}`;
  await waitFor(running, () => fetch(`${url}/constant`, { method: 'PUT', body: constant }));
  return { url, running };
}

/** PostGraphile, from its own folder; installed there at its first use. Its view is put into the database. */
export async function startPostgraphile(databaseUrl: string, report: (line: string) => void): Promise<Server> {
  const dir = join(root, 'test/bench/postgraphile');
  const installed = await readFile(join(dir, 'node_modules/postgraphile/package.json')).catch(() => null);
  if (installed === null) {
    report('installing PostGraphile');
    await runCommand('npm', ['install', '--no-package-lock', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: dir });
  }
  const database = await openDatabase({ databaseUrl, dataDir: '' });
  await database
    .connect()
    .unsafe(await readFile(join(dir, 'view.sql'), 'utf8'))
    .simple();
  await database.close();
  const port = await freePort();
  const running = startProcess(process.execPath, ['server.js', String(port), databaseUrl], {
    cwd: dir,
    env: { ...process.env, NODE_ENV: 'production', GRAPHILE_ENV: 'production' },
  });
  const url = `http://127.0.0.1:${port}`;
  const headers = { 'content-type': 'application/json' };
  await waitFor(running, () => fetch(`${url}/graphql`, { method: 'POST', headers, body: '{"query":"{__typename}"}' }));
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

// The service and its commands as an operator runs them: processes of their own.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openDatabase } from '../../src/db/client.ts';
import { databaseUrlOf, dropDatabase, onPostgres } from './database.ts';
import { quickFlags } from './engine.ts';
import { freePort } from './port.ts';
import { copyDirectory, migratedOf } from './template.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const nodeArgs = [
  ...(onPostgres ? [] : quickFlags),
  '--disable-warning=ExperimentalWarning',
  '--import',
  './src/preflight.js',
  '--import',
  'tsx',
];

export interface Outcome {
  code: number | null;
  out: string;
  err: string;
}

/** A place of its own for commands: an empty database and a data directory. */
export interface Site {
  env: Record<string, string>;
  remove(): Promise<void>;
}

let sites = 0;

/** @param isMigrated so that `npm run migrate` has nothing to do, which takes seconds */
export async function makeSite({ isMigrated = false } = {}): Promise<Site> {
  const migrated = migratedOf(process.env.TEST_TEMPLATE ?? '');
  const dataDir = isMigrated && !onPostgres ? copyDirectory(migrated) : await mkdtemp(join(tmpdir(), 'sighting-site-'));
  const env: Record<string, string> = { DATA_DIR: dataDir, DATABASE_URL: '' };
  if (!onPostgres) return { env, remove: () => rm(dataDir, { recursive: true }) };
  const server = await openDatabase({ databaseUrl: process.env.DATABASE_URL ?? '', dataDir: '' });
  const name = `${process.env.TEST_TEMPLATE}_site_${process.pid}_${++sites}`;
  await server.sql.unsafe(`create database ${name} ${isMigrated ? `template ${migrated}` : ''}`);
  return {
    env: { ...env, DATABASE_URL: databaseUrlOf(name) },
    async remove() {
      await dropDatabase(server, name);
      await server.close();
      await rm(dataDir, { recursive: true });
    },
  };
}

function spawnEntry(entry: string, args: string[], env: Record<string, string>): ChildProcess {
  return spawn(process.execPath, [...nodeArgs, entry, ...args], { cwd: root, env: { ...process.env, ...env } });
}

/** Runs a command of src/cli.ts to its end. */
export async function runCli(site: Site, args: string[], input = ''): Promise<Outcome> {
  return finish(spawnEntry('src/cli.ts', args, site.env), input);
}

/** Starts a command of src/cli.ts without waiting for its end. */
export function startCli(site: Site, args: string[]): ChildProcess {
  return spawnEntry('src/cli.ts', args, site.env);
}

/** Runs src/main.ts expecting it to end by itself. */
export async function runMain(env: Record<string, string>, args: string[] = []): Promise<Outcome> {
  return finish(spawnEntry('src/main.ts', args, env), '');
}

async function finish(child: ChildProcess, input: string): Promise<Outcome> {
  let out = '';
  let err = '';
  child.stdout?.on('data', (chunk) => {
    out += chunk;
  });
  child.stderr?.on('data', (chunk) => {
    err += chunk;
  });
  child.stdin?.end(input);
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, out, err };
}

export interface RunningService {
  url: string;
  process: ChildProcess;
  /** What it wrote so far. */
  output(): string;
  /** Sends a signal and waits for the end. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

/**
 * Starts src/main.ts and waits until it answers.
 * @param make the process, where it is not the usual one
 */
export async function startProcess(
  site: Site,
  env: Record<string, string> = {},
  make = (settings: Record<string, string>): ChildProcess => spawnEntry('src/main.ts', [], settings),
): Promise<RunningService> {
  const port = await freePort();
  const child = make({ ...site.env, PORT: String(port), ...env });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk) => {
      output += chunk;
    });
  }
  const closed = once(child, 'close') as Promise<[number | null]>;
  const url = `http://127.0.0.1:${port}`;
  for (let attempt = 0; ; attempt++) {
    if (child.exitCode !== null || attempt > 1800) throw new Error(`the service did not start: ${output}`);
    const ready = await fetch(`${url}/health/ready`).then(
      (response) => response.ok,
      () => false,
    );
    if (ready) break;
    await sleep(100);
  }
  return {
    url,
    process: child,
    output: () => output,
    async stop(signal = 'SIGTERM') {
      child.kill(signal);
      return (await closed)[0];
    },
  };
}

// Processes and directories of a run: whatever happens, they end with it.
import { type ChildProcess, execFileSync, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '../support/port.ts';

export const root = fileURLToPath(new URL('../..', import.meta.url));

const closers: (() => Promise<void>)[] = [];
let closing: Promise<void> | null = null;

/** What must be undone at the end of the run, in reverse order, also after Ctrl-C or an error. */
export function atEnd(close: () => Promise<void>): void {
  closers.push(close);
}

export function closeAll(): Promise<void> {
  closing ??= (async () => {
    for (const close of closers.reverse()) await close().catch((error) => console.error(String(error)));
  })();
  return closing;
}

process.on('SIGINT', () => closeAll().then(() => process.exit(130)));
process.on('SIGTERM', () => closeAll().then(() => process.exit(143)));

/** A directory that is removed at the end. */
export async function makeDir(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'sighting-bench-'));
  await chmod(dir, 0o755);
  atEnd(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

export interface Running {
  process: ChildProcess;
  /** What it wrote so far. */
  output(): string;
  stop(): Promise<void>;
}

/** Starts a process that lives until `stop` or the end of the run. */
export function startProcess(
  command: string,
  args: string[],
  options: SpawnOptions,
  signal: NodeJS.Signals = 'SIGTERM',
): Running {
  // A group of its own: Ctrl-C reaches this process alone, which ends the others in order.
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk) => {
      output = (output + chunk).slice(-20_000);
    });
  }
  const closed = once(child, 'close');
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    await closed;
  };
  atEnd(stop);
  return { process: child, output: () => output, stop };
}

/** Waits until `probe` succeeds. */
export async function waitFor(running: Running, probe: () => Promise<unknown>): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    if (running.process.exitCode !== null || attempt > 600) throw new Error(`did not start: ${running.output()}`);
    try {
      await probe();
      return;
    } catch {
      await sleep(100);
    }
  }
}

/** Runs a command to its end and returns its standard output. */
export async function runCommand(command: string, args: string[], options: SpawnOptions = {}): Promise<string> {
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  let out = '';
  let err = '';
  child.stdout?.on('data', (chunk) => {
    out += chunk;
  });
  child.stderr?.on('data', (chunk) => {
    err += chunk;
  });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`${command} ended with ${code}: ${err.slice(-2000)}`);
  return out;
}

/** Folder of PostgreSQL's own programs. */
export function postgresBin(): string {
  return execFileSync('pg_config', ['--bindir'], { encoding: 'utf8' }).trim();
}

// initdb and postgres refuse to run as root.
function postgresUser(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

/**
 * What differs from PostgreSQL's defaults. Memory and WAL as anybody sets them for a database of this size; nothing that
 * makes a commit less durable, and no planner settings. `wal_level = minimal` spares the load its WAL.
 */
export const clusterSettings = {
  shared_buffers: '2GB',
  effective_cache_size: '8GB',
  maintenance_work_mem: '1GB',
  max_wal_size: '8GB',
  checkpoint_timeout: '15min',
  wal_level: 'minimal',
  max_wal_senders: '0',
} as const;

/**
 * Starts a PostgreSQL of the run's own.
 * @param dir where it is kept for later runs; null: a temporary directory
 * @returns URL of its database `postgres`
 */
export async function startCluster(dir: string | null): Promise<string> {
  const user = postgresUser();
  const home = dir ?? (await makeDir());
  const data = join(home, 'pg');
  await mkdir(home, { recursive: true });
  const bin = postgresBin();
  if (user.uid !== undefined) execFileSync('chown', [`${user.uid}:${user.gid}`, home]);
  try {
    execFileSync('test', ['-f', join(data, 'PG_VERSION')]);
  } catch {
    await runCommand(join(bin, 'initdb'), ['-D', data, '-U', 'postgres', '-E', 'UTF8', '--locale=C.UTF-8', '--auth=trust'], {
      ...user,
      cwd: home,
    });
  }
  const port = await freePort();
  const settings = Object.entries(clusterSettings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const args = ['-D', data, '-p', String(port), '-c', 'listen_addresses=127.0.0.1', '-k', home, ...settings];
  // SIGINT is PostgreSQL's fast shutdown: it does not wait for connections.
  const running = startProcess(join(bin, 'postgres'), args, { ...user, cwd: home }, 'SIGINT');
  await waitFor(running, () => runCommand(join(bin, 'pg_isready'), ['-h', '127.0.0.1', '-p', String(port)]));
  return `postgres://postgres@127.0.0.1:${port}/postgres`;
}

/**
 * An entry of the project as a process of its own.
 * @param script of package.json, whose flags Node is given
 */
export function startEntry(script: 'start' | 'cli', entry: string, args: string[], env: Record<string, string>): Running {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> };
  const nodeArgs = scripts[script]?.split(' ').slice(1, -1) ?? [];
  return startProcess(process.execPath, [...nodeArgs, entry, ...args], { cwd: root, env: { ...process.env, ...env } });
}

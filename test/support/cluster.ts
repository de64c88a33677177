// A PostgreSQL of a test's own, which it may stop and start: with the server programs of this machine, in a temporary directory.
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { chown, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from './port.ts';

const run = promisify(execFile);
/** Folder of PostgreSQL's own programs. */
export const programs = globSync('/usr/lib/postgresql/*/bin').find((directory) => existsSync(join(directory, 'initdb')));
// PostgreSQL refuses to run as root.
const isRoot = process.getuid?.() === 0;
/** Who runs what refuses to run as root; null: nobody here. */
export const account: Account | null = isRoot ? findAccount() : {};

/** Why there can be none, or false. */
export const withoutCluster =
  (!programs && 'the server programs of PostgreSQL are not installed') ||
  (isRoot && !account && 'root can not run PostgreSQL, and there is no account postgres') ||
  (!globSync('/usr/share/postgresql/*/extension/postgis.control').length && 'PostGIS is not installed');

export interface Cluster {
  /** Of the database `postgres`. */
  url: string;
  start(): Promise<void>;
  /** `fast` ends sessions, `immediate` is a crash. */
  stop(mode: 'fast' | 'immediate'): Promise<void>;
  /** All of its processes stand still, and its connections with them, as those of a machine that hangs. */
  freeze(): void;
  thaw(): void;
  /** Makes a replica of it. */
  addStandby(): Promise<Cluster>;
  /** A replica becomes a primary. */
  promote(): Promise<void>;
  /** It is a replica of this one from now on, and what it had before is gone. */
  rebuild(primary: Cluster): Promise<void>;
  remove(): Promise<void>;
}

export interface Account {
  uid?: number;
  gid?: number;
}

function findAccount(): Account | null {
  const { stdout } = spawnSync('id', ['-u', 'postgres'], { encoding: 'utf8' });
  const uid = Number.parseInt(stdout, 10);
  return Number.isNaN(uid) ? null : { uid, gid: Number(execFileSync('id', ['-g', 'postgres'], { encoding: 'utf8' })) };
}

/**
 * Starts one on a free port.
 * @param settings beside the usual ones, as the server takes them
 * @param kept where it stays when it is stopped, and may be already
 */
export async function startCluster(settings = '', kept?: string): Promise<Cluster> {
  const home = await makeHome(kept);
  const data = join(home, 'pg');
  if (!existsSync(data)) await call(home, 'initdb', '-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync');
  return serve(home, settings);
}

async function makeHome(kept?: string): Promise<string> {
  const home = kept ?? (await mkdtemp(join(tmpdir(), 'sighting-cluster-')));
  await mkdir(home, { recursive: true });
  if (account?.uid !== undefined && account.gid !== undefined) await chown(home, account.uid, account.gid);
  return home;
}

const call = (home: string, program: string, ...args: string[]) =>
  run(join(programs ?? '', program), args, { ...account, cwd: home, env: { ...process.env, LC_ALL: 'C.UTF-8' } });

const copyFrom = (url: string, home: string) =>
  call(home, 'pg_basebackup', '-d', url, '-D', join(home, 'pg'), '-R', '-X', 'stream', '-c', 'fast', '--no-sync');

// Starts what was made in a directory.
async function serve(home: string, settings = ''): Promise<Cluster> {
  const data = join(home, 'pg');
  const port = await freePort();
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  const options = [
    `-p ${port} -k ${home} -c listen_addresses=127.0.0.1 -c max_connections=60 -c shared_buffers=32MB`,
    // What a replica missed is kept for it, and it asks soon.
    '-c wal_keep_size=256MB -c wal_retrieve_retry_interval=200ms',
    settings,
  ].join(' ');
  const start = async () => {
    await call(home, 'pg_ctl', '-D', data, '-l', join(home, 'log'), '-w', '-o', options, 'start');
  };
  const stop = async (mode: 'fast' | 'immediate') => {
    await call(home, 'pg_ctl', '-D', data, '-w', '-m', mode, 'stop');
  };
  const tell = (signal: NodeJS.Signals) => {
    const [first = ''] = readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n');
    // The one that starts others stops first.
    process.kill(Number(first), signal);
    for (const pid of readFileSync(`/proc/${first}/task/${first}/children`, 'utf8').trim().split(' ')) {
      try {
        process.kill(Number(pid), signal);
      } catch (error) {
        // Ended before.
        if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
      }
    }
  };
  await start();
  return {
    url,
    start,
    stop,
    freeze: () => tell('SIGSTOP'),
    thaw: () => tell('SIGCONT'),
    async promote() {
      await call(home, 'pg_ctl', '-D', data, '-w', 'promote');
    },
    async addStandby() {
      const other = await makeHome();
      await copyFrom(url, other);
      return serve(other);
    },
    async rebuild(primary) {
      if (existsSync(join(data, 'postmaster.pid'))) await stop('immediate');
      await rm(data, { recursive: true });
      await copyFrom(primary.url, home);
      await start();
    },
    async remove() {
      // A process that stands still does not hear that it is to end.
      if (existsSync(join(data, 'postmaster.pid'))) tell('SIGCONT');
      await stop('immediate').catch(() => {});
      await rm(home, { recursive: true });
    },
  };
}

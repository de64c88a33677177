// HAProxy before a primary and its replicas, as docs/deploy/haproxy.cfg has it, with the ports of a test.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hasProgram, start } from './child.ts';
import type { Cluster } from './cluster.ts';
import { freePort } from './port.ts';

const program = ['/usr/sbin/haproxy', '/usr/local/sbin/haproxy'].find((path) => hasProgram(path, '-v'));

/** Why there can be none, or false. */
export const withoutHaproxy = !program && 'HAProxy is not installed';

export interface Balancer {
  /** Of the database `postgres`. */
  writeUrl: string;
  readUrl: string;
  /** Nothing is read there from now on, or it is again. */
  setReadable(isReadable: boolean): Promise<void>;
  /** The first server is read as well from now on, though it is the primary, or as usual. */
  setMixed(isMixed: boolean): Promise<void>;
  stop(): Promise<void>;
}

/** Starts one before two servers, on which the role haproxy may log in. */
export async function startHaproxy(servers: readonly [Cluster, Cluster]): Promise<Balancer> {
  const home = await mkdtemp(join(tmpdir(), 'sighting-haproxy-'));
  const [write, read] = [await freePort(), await freePort()];
  const socket = join(home, 'admin');
  let lines = readFileSync(new URL('../../docs/deploy/haproxy.cfg', import.meta.url), 'utf8')
    // Replicas that stand still for a test are read all the same.
    .replace("interval '10 seconds'", "interval '10 decades'")
    .replace('global\n', `global\n  stats socket ${socket} level admin\n`)
    .replace(':5000\n', `:${write}\n`)
    .replace(':5001\n', `:${read}\n`);
  for (const [index, { url }] of servers.entries()) lines = lines.replaceAll(`10.0.0.1${index + 1}:5432`, new URL(url).host);
  await writeFile(join(home, 'haproxy.cfg'), lines);
  const running = start(program ?? '', ['-db', '-f', join(home, 'haproxy.cfg')]);
  const tell = async (command: string) => {
    const admin = connect(socket);
    admin.end(`${command}\n`);
    await once(admin.resume(), 'close');
  };
  const urlAt = (port: number) => `postgres://postgres@127.0.0.1:${port}/postgres`;
  return {
    writeUrl: urlAt(write),
    readUrl: urlAt(read),
    async setReadable(isReadable) {
      for (const name of ['db1', 'db2']) {
        await tell(`set server lesen/${name} state ${isReadable ? 'ready' : 'maint'}`);
        await tell(`shutdown sessions server lesen/${name}`);
      }
    },
    async setMixed(isMixed) {
      await tell(`${isMixed ? 'disable' : 'enable'} health lesen/db1`);
      if (isMixed) await tell('set server lesen/db1 health up');
      // New connections go to both.
      for (const name of ['db1', 'db2']) await tell(`shutdown sessions server lesen/${name}`);
    },
    async stop() {
      await running.stop('SIGKILL');
      await rm(home, { recursive: true });
    },
  };
}

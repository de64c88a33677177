// PgBouncer before the databases of a server, in transaction mode, as operators run it.
import { chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { requestSettings, type Sql } from '../../src/db/client.ts';
import { hasProgram, isOpen, start, untilReady } from './child.ts';
import { account } from './cluster.ts';
import { freePort } from './port.ts';

const program = ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer', '/usr/local/bin/pgbouncer'].find((path) =>
  hasProgram(path, '--version'),
);

/** Why there can be none, or false. */
export const withoutPooler =
  (!program && 'PgBouncer is not installed') || (!account && 'root can not run PgBouncer, and there is no account postgres');

/** Gives a role what the service asks for when it is missing: a pooler passes on none of it. */
export async function giveSettings(sql: Sql, role: string): Promise<void> {
  for (const [name, value] of Object.entries(requestSettings)) await sql.unsafe(`alter role ${role} set ${name} = ${value}`);
}

export interface Pooler {
  /** An address of the server as it is through the pooler. */
  through(url: string): string;
  /** Ends all its connections to the server, so that new ones come with new settings. */
  stop(): Promise<void>;
}

/**
 * Starts one before the server of an address.
 * @param roles who may connect, with their passwords
 * @param settings lines of pgbouncer.ini beside the usual ones
 */
export async function startPooler(url: string, roles: Record<string, string>, settings: string[] = []): Promise<Pooler> {
  const { hostname, port: serverPort } = new URL(url);
  const home = await mkdtemp(join(tmpdir(), 'sighting-pooler-'));
  const port = await freePort();
  const users = Object.entries(roles).map(([role, password]) => `"${role}" "${password}"`);
  const lines = [
    '[databases]',
    `* = host=${hostname} port=${serverPort || 5432}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = md5',
    `auth_file = ${join(home, 'users.txt')}`,
    'pool_mode = transaction',
    'default_pool_size = 8',
    'max_client_conn = 200',
    ...settings,
  ];
  await writeFile(join(home, 'users.txt'), `${users.join('\n')}\n`);
  await writeFile(join(home, 'pgbouncer.ini'), `${lines.join('\n')}\n`);
  for (const path of [home, join(home, 'users.txt'), join(home, 'pgbouncer.ini')]) {
    if (account?.uid !== undefined && account.gid !== undefined) await chown(path, account.uid, account.gid);
    await chmod(path, 0o700);
  }
  const running = start(program ?? '', ['-q', join(home, 'pgbouncer.ini')], { ...account });
  await untilReady(running, () => isOpen(port));
  return {
    through(address) {
      const pooled = new URL(address);
      pooled.host = `127.0.0.1:${port}`;
      return pooled.href;
    },
    async stop() {
      await running.stop();
      await rm(home, { recursive: true });
    },
  };
}

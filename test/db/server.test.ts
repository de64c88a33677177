// Addresses of several servers, as libpq has them.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseError, openDatabase } from '../../src/db/client.ts';
import { listServers, readTarget, Server } from '../../src/db/server.ts';
import { watchStandby } from '../../src/db/standby.ts';
import { account, type Cluster, startCluster, withoutCluster } from '../support/cluster.ts';
import { withoutOpenssl } from '../support/proxy.ts';

describe('an address', () => {
  const cases: [address: string, servers: string[]][] = [
    ['postgres://portal@db/portal', ['postgres://portal@db/portal']],
    ['postgres://portal@db1,db2:5433/portal', ['postgres://portal@db1/portal', 'postgres://portal@db2:5433/portal']],
    ['postgresql://db1,db2', ['postgresql://db1', 'postgresql://db2']],
    ['postgres://p:a,b%40c@[::1]:5433,db2/p', ['postgres://p:a,b%40c@[::1]:5433/p', 'postgres://p:a,b%40c@db2/p']],
    [
      'postgres://p@db1,db2/p?target_session_attrs=primary&sslmode=require',
      ['postgres://p@db1/p?sslmode=require', 'postgres://p@db2/p?sslmode=require'],
    ],
    ['postgres://p@db1,db2?options=a@b,c', ['postgres://p@db1?options=a%40b%2Cc', 'postgres://p@db2?options=a%40b%2Cc']],
  ];
  for (const [address, servers] of cases)
    it(`names the servers ${servers.map((server) => new Server(server).name).join(' and ')}: ${address}`, () => {
      // Parameters may be written otherwise, as long as they say the same.
      const plain = (url: string) => decodeURIComponent(url);
      assert.deepEqual(listServers(address).map(plain), servers.map(plain));
    });

  it('says which of them it asks for', () => {
    assert.equal(readTarget('postgres://db1,db2/p?target_session_attrs=read-write'), 'read-write');
    assert.equal(readTarget('postgres://db1,db2/p'), null);
  });

  const modes: [query: string, says: RegExp][] = [
    ['db/p?sslmode=verify_full', /erlaubt sind disable, allow, prefer, require, verify-ca, verify-full/],
    ['192.0.2.1/p?sslmode=verify-full', /gehört dieser Name, nicht die IP-Adresse/],
    ['db1,[::1]:5433/p?sslmode=verify-ca', /gehört dieser Name, nicht die IP-Adresse/],
  ];
  for (const [rest, says] of modes)
    it(`whose sslmode can not be kept is told in a sentence: ${rest}`, async () => {
      await assert.rejects(openDatabase({ databaseUrl: `postgres://p:geheim@${rest}`, dataDir: '' }), (error) => {
        return error instanceof DatabaseError && says.test(error.message) && !/geheim/.test(error.message);
      });
    });

  it('that encrypts without a look at the name may have an IP address', () => {
    for (const mode of ['disable', 'prefer', 'require'])
      assert.equal(listServers(`postgres://192.0.2.1/p?sslmode=${mode}`).length, 1);
  });

  const unreadable = [
    'postgres://p:geheim@db1,,db2/p',
    'postgres://p:geheim@db1:x,db2/p',
    'postgres://p:geheim@,/p',
    'postgres://p:geheim@db:x/p',
    // What stands for something else in an address.
    ...['%', '%zz', '#', '/', '?'].map((sign) => `postgres://p:geheim${sign}@db/p`),
  ];
  for (const databaseUrl of unreadable)
    it(`that can not be read is told in a sentence, without the password: ${databaseUrl}`, async () => {
      await assert.rejects(openDatabase({ databaseUrl, dataDir: '' }), (error) => {
        return error instanceof DatabaseError && /nicht lesbar; erlaubt ist/.test(error.message) && !/geheim/.test(error.message);
      });
    });
});

describe('several servers', { skip: withoutCluster || withoutOpenssl }, () => {
  let cluster: Cluster;
  before(async () => {
    cluster = await startCluster();
    const one = await openDatabase({ databaseUrl: cluster.url, dataDir: '' });
    const [{ directory = '' } = {}] = await one.sql<
      { directory: string }[]
    >`select current_setting('data_directory') as directory`;
    const [key, certificate] = [join(directory, 'server.key'), join(directory, 'server.crt')];
    execFileSync(
      'openssl',
      `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=n.test -keyout ${key} -out ${certificate}`.split(
        ' ',
      ),
      { stdio: 'ignore' },
    );
    const { uid, gid } = account ?? {};
    if (uid !== undefined && gid !== undefined) for (const file of [key, certificate]) chownSync(file, uid, gid);
    chmodSync(key, 0o600);
    await one.sql.unsafe('alter system set ssl = on');
    await one.sql`select pg_reload_conf()`;
    await one.close();
  });
  after(() => cluster.remove());

  // The last error came to nobody, and ended the process.
  const cases: [what: string, path: string, user: string, code: string][] = [
    ['that have no such database', '/gibtsnicht', 'postgres', '3D000'],
    ['that do not know the role', '/postgres', 'gibtsnicht', '28000'],
  ];
  for (const [what, path, user, code] of cases)
    for (const rest of ['', '?sslmode=require'])
      it(`${what} say so, each time: ${rest || 'without it'}`, async () => {
        const { port } = new URL(cluster.url);
        const databaseUrl = `postgres://${user}@localhost:${port},127.0.0.1:${port}${path}${rest}`;
        const database = await openDatabase({ databaseUrl, dataDir: '' });
        try {
          for (let time = 0; time < 3; time++) {
            await assert.rejects(database.sql`select 1`, { code });
            await sleep(300);
          }
        } finally {
          await database.close();
        }
      });

  it('of which no standby confirms what was written: who waits for one is told so, once', { timeout: 30_000 }, async (t) => {
    const database = await openDatabase({ databaseUrl: cluster.url, dataDir: '' });
    t.after(() => database.close());
    const setNames = async (names: string) => {
      await database.sql.unsafe(`alter system set synchronous_standby_names = '${names}'`);
      await database.sql`select pg_reload_conf()`;
    };
    const told: string[] = [];
    t.after(watchStandby(database, (line) => told.push(line), 50));
    await sleep(300);
    assert.deepEqual(told, []);
    await setNames('*');
    // Elsewhere a new process may have read the names before they were changed.
    await sleep(300);
    const written = database.sql`create table awaited ()`.execute();
    while (told.length === 0) await sleep(50);
    await sleep(300);
    await setNames('');
    await written;
    assert.equal(told.length, 1);
    assert.match(told[0] ?? '', /keiner antwortet \(synchronous_standby_names\)/);
  });
});

// A service over a primary and its replicas: what each of them is asked, and what becomes of it when one stops, hangs, lags or becomes
// the primary.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import postgres from 'postgres';
import { Hosts } from '../../src/db/hosts.ts';
import { watchReplicas } from '../../src/db/replicas.ts';
import { sha1OfPlain } from '../../src/guard/password.ts';
import { type Cluster, startCluster, withoutCluster } from '../support/cluster.ts';
import { onPostgres } from '../support/database.ts';
import { type RunningService, runCli, type Site, startProcess } from '../support/process.ts';

const katalog = fileURLToPath(new URL('../support/katalog', import.meta.url));
const skip = (!onPostgres && 'needs PostgreSQL') || withoutCluster;

const nameOf = ({ url }: Cluster) => new URL(url).host;
const run = async (cluster: Cluster, statement: string) => {
  const sql = postgres(cluster.url, { max: 1, onnotice: () => {} });
  try {
    return await sql.unsafe(statement);
  } finally {
    await sql.end();
  }
};

async function until(what: string, isSo: () => Promise<boolean>, ms = 15_000): Promise<void> {
  const begin = performance.now();
  while (!(await isSo())) {
    assert.ok(performance.now() - begin < ms, `not within ${ms / 1000} s: ${what}`);
    await sleep(100);
  }
}

describe('a service over replicas', { skip }, () => {
  let servers: [Cluster, Cluster, Cluster];
  let site: Site;
  let service: RunningService;
  let headers: Record<string, string>;

  const get = (path: string, init: RequestInit = {}) => fetch(`${service.url}/api/v2${path}`, init);
  let reports = 0;
  const report = (remark: string) => {
    const place = { art: '100', lat: '5484000', lon: String(391_000 + ++reports) };
    // A body that goes with its head: whoever is refused at once must not be writing still.
    const body = new URLSearchParams({ ...place, bemerkung: remark, bereich: 'oeffentlich' });
    return get('/sichtbeobachtungen', { method: 'POST', headers, body });
  };
  const release = async (primary: Cluster) => {
    await run(
      primary,
      "update portal.sichtbeobachtung set status = 'freigegeben', experte_id = nutzer_id where status <> 'freigegeben'",
    );
  };
  const count = async () => ((await (await get('/sichtbeobachtungen?limit=100')).json()) as { result: unknown[] }).result.length;
  /** A figure of /metrics by its label. */
  const figures = async (name: string) => {
    const text = await (await fetch(`${service.url}/metrics`)).text();
    return new Map(
      [...text.matchAll(new RegExp(`^${name}\\{\\w+="([^"]+)"\\} (\\S+)$`, 'gm'))].map(([, of, value]) => [of, Number(value)]),
    );
  };
  const isInUse = async (server: Cluster) => (await figures('replica_in_use')).get(nameOf(server)) === 1;
  /** Which servers are read by so many requests, and that all of these say the same. */
  const readBy = async (path: string, requests = 12, init: RequestInit = {}) => {
    const earlier = await figures('database_reads_total');
    const answers = new Set<string>();
    for (let request = 0; request < requests; request++) {
      const answer = await get(path, init);
      answers.add(`${answer.status} ${await answer.text()}`);
    }
    const now = await figures('database_reads_total');
    const read = [...now].filter(([server, value]) => value > (earlier.get(server) ?? 0)).map(([server]) => server ?? '');
    return { read: read.sort(), answers: [...answers] };
  };

  before(async () => {
    if (skip) return;
    const first = await startCluster();
    const dataDir = await mkdtemp(join(tmpdir(), 'sighting-site-'));
    site = { env: { DATA_DIR: dataDir, DATABASE_URL: first.url }, remove: () => rm(dataDir, { recursive: true }) };
    for (const args of [['migrate'], ['catalog', 'import', katalog]]) assert.equal((await runCli(site, args)).code, 0);
    const person = [
      '--loginname',
      'anna',
      '--email',
      'anna@example.org',
      '--vorname',
      'A',
      '--nachname',
      'A',
      '--password-stdin',
    ];
    assert.equal((await runCli(site, ['nutzer', 'create', ...person], 'geheim und lang')).code, 0);
    servers = [first, await first.addStandby(), await first.addStandby()];
    const all = servers.map((server) => new URL(server.url).host).join();
    service = await startProcess(site, {
      DATABASE_URL: `postgres://postgres@${all}/postgres`,
      DATABASE_REPLICA_URL: servers.map(({ url }) => url).join(' '),
      REPLICA_MAX_LAG_S: '2',
    });
    const answer = await get(`/login?loginname=anna&password=${sha1OfPlain('geheim und lang')}`);
    headers = { 'X-Auth-User': 'anna', 'X-Auth-Token': ((await answer.json()) as { token: string }).token };
    for (const remark of ['eins', 'zwei']) assert.equal((await report(remark)).status, 201);
    await release(first);
  });
  after(async () => {
    await service?.stop('SIGKILL');
    for (const server of servers ?? []) await server.remove();
    await site?.remove();
  });

  it('P3.3 reads by them what nobody is logged in with, and by the primary what an account asks', async () => {
    const [first, second, third] = servers;
    await until('both are read', async () => (await isInUse(second)) && (await isInUse(third)));
    assert.equal(await isInUse(first), false);
    await until('the release has arrived', async () => (await count()) === 2);
    const anonymous = await readBy('/sichtbeobachtungen?limit=50');
    assert.deepEqual(anonymous.read, [nameOf(second), nameOf(third)].sort());
    assert.equal(anonymous.answers.length, 1);
    assert.deepEqual((await readBy('/sichtbeobachtungen?limit=50', 5, { headers })).read, ['primary']);
  });

  it('P3.1 tells the same version whichever it reads, and another one after a change', async () => {
    const [first] = servers;
    const tagOf = async () =>
      (await get('/sichtbeobachtungen?limit=20', { headers: { 'If-None-Match': '"x"' } })).headers.get('etag') ?? '';
    const tag = await tagOf();
    const again = await readBy('/sichtbeobachtungen?limit=20', 12, { headers: { 'If-None-Match': tag } });
    assert.deepEqual(again.answers, ['304 ']);
    assert.equal(again.read.length, 2);
    assert.equal((await report('drei')).status, 201);
    await release(first);
    await until('the change has arrived at both', async () => {
      const tags = new Set([await tagOf(), await tagOf(), await tagOf()]);
      return tags.size === 1 && !tags.has(tag);
    });
    assert.equal(await count(), 3);
  });

  it('leaves out one that lags, one that stops and one that hangs, and comes back to it; nobody notices', async () => {
    const [first, second, third] = servers;
    const states: Record<string, { begin(): Promise<unknown>; end(): Promise<unknown> }> = {
      lags: {
        begin: () => run(second, 'select pg_wal_replay_pause()'),
        end: () => run(second, 'select pg_wal_replay_resume()'),
      },
      stops: { begin: () => second.stop('immediate'), end: () => second.start() },
      hangs: { begin: async () => second.freeze(), end: async () => second.thaw() },
    };
    for (const [name, { begin, end }] of Object.entries(states)) {
      const failures: string[] = [];
      let isOver = false;
      // More at once than a replica has connections.
      const readers = Array.from({ length: 24 }, async () => {
        while (!isOver) {
          const answer = await get('/sichtbeobachtungen?limit=50');
          if (!answer.ok) failures.push(`${answer.status} ${await answer.text()}`);
          else await answer.text();
          await sleep(20);
        }
      });
      await begin();
      // A lag shows by what is missing.
      const changing = (async () => {
        while (!isOver) {
          await run(first, 'select private.count_version(shown => 1, protokoll => 0)');
          await sleep(200);
        }
      })();
      await until(`one that ${name} is left out`, async () => !(await isInUse(second)));
      // What was under way there may still end.
      await until(`only the other one is read while one ${name}`, async () => {
        const { read } = await readBy('/sichtbeobachtungen?limit=50', 6);
        return read.includes(nameOf(third)) && !read.includes(nameOf(second));
      });
      await end();
      await until(`one that ${name} no more is read again`, () => isInUse(second));
      isOver = true;
      await Promise.all([...readers, changing]);
      assert.deepEqual(failures, [], name);
    }
  });

  it('S5.2 goes on reading, and says that it is ready, while the primary hangs', async () => {
    const [first, second, third] = servers;
    await until('both are read', async () => (await isInUse(second)) && (await isInUse(third)));
    first.freeze();
    const failures: string[] = [];
    const slow: number[] = [];
    const ask = async (address: string) => {
      const begin = performance.now();
      const answer = await fetch(address);
      const text = await answer.text();
      if (!answer.ok) failures.push(`${answer.status} ${text}`);
      if (performance.now() - begin > 3000) slow.push(performance.now() - begin);
    };
    // Longer than the list of tenants is trusted.
    const until12 = performance.now() + 12_000;
    const clients = [1, 2, 3, 4].map(async () => {
      while (performance.now() < until12) {
        await ask(`${service.url}/api/v2/sichtbeobachtungen?limit=50`);
        await ask(`${service.url}/health/ready`);
        await sleep(50);
      }
    });
    await Promise.all(clients);
    first.thaw();
    assert.deepEqual({ failures, slow }, { failures: [], slow: [] });
    await until('it is written to again', async () => (await report('wieder')).status === 201);
    await release(first);
    await until('all is read', async () => (await count()) === 4);
  });

  it('S5.2 goes on reading without a primary, refuses writes meanwhile, and writes to the one that is promoted', async () => {
    const [first, second, third] = servers;
    await until('both are read', async () => (await isInUse(second)) && (await isInUse(third)));
    const before = await count();
    await first.stop('immediate');
    assert.equal(await count(), before);
    const refused = await report('verloren');
    assert.equal(refused.status, 503);
    assert.ok(Number(refused.headers.get('retry-after')) > 0);
    assert.equal((await get('/sichtbeobachtungen?limit=1', { headers })).status, 503);
    await until('readiness tells of it', async () => {
      const ready = await fetch(`${service.url}/health/ready`);
      return ready.status === 200 && (await ready.text()).includes('nur zum Lesen');
    });
    assert.deepEqual((await readBy('/sichtbeobachtungen?limit=50', 6)).read, [nameOf(second), nameOf(third)].sort());

    const failures: string[] = [];
    let isOver = false;
    const readers = [1, 2, 3, 4].map(async () => {
      while (!isOver) {
        const answer = await get('/sichtbeobachtungen?limit=50');
        if (!answer.ok) failures.push(`${answer.status} ${await answer.text()}`);
        else await answer.text();
      }
    });
    await third.stop('fast');
    await second.promote();
    await until('the new primary is written to', async () => (await report('vier')).status === 201);
    isOver = true;
    await Promise.all(readers);
    assert.deepEqual(failures, []);
    await third.start();
    await release(second);
    // Nothing of what the third still replays is the new primary's.
    await until('the third is left out', async () => !(await isInUse(third)));
    assert.equal(await count(), before + 1);
    await third.follow(second);
    await until('the third is read again', () => isInUse(third));
    assert.equal(await count(), before + 1);
  });

  it('P3.4 writes nothing to a former primary that comes back as it was, and reads nothing there', async () => {
    const [first, second, third] = servers;
    await first.start();
    await sleep(2500);
    for (const remark of ['fünf', 'sechs', 'sieben']) assert.equal((await report(remark)).status, 201);
    const stored = await run(first, "select from portal.sichtbeobachtung where bemerkung in ('vier', 'fünf', 'sechs', 'sieben')");
    assert.equal(stored.length, 0);
    await second.stop('fast');
    await until('nobody is written to', async () => (await report('acht')).status === 503);
    await sleep(2500);
    assert.equal((await report('acht')).status, 503);
    await second.start();
    await until('the primary is back', async () => (await report('acht')).status === 201);
    await first.rebuild(second);
    await until('it is a replica now', () => isInUse(first));
    await until('the other one has followed', () => isInUse(third));
    assert.deepEqual((await readBy('/sichtbeobachtungen?limit=50', 6)).read, [nameOf(first), nameOf(third)].sort());
  });

  it('P3.3 tells why one does not answer', async () => {
    const [, second, third] = servers;
    const elsewhere = new URL(third.url);
    elsewhere.pathname = '/nirgends';
    const hosts = new Hosts(second.url, false);
    const told: unknown[] = [];
    const tell = (name: string, leftOut: string | null, fault: unknown) =>
      told.push([name, leftOut, (fault as { code?: string } | undefined)?.code]);
    const replicas = await watchReplicas(hosts, [elsewhere.href], { maxLagSeconds: 2, connections: 2, tell });
    await replicas.close();
    await hosts.close();
    assert.deepEqual(told, [[nameOf(third), 'no answer', '3D000']]);
  });

  it('S5.2 goes on reading a replica that was promoted until it is known as the primary', async () => {
    const [first, second] = servers;
    const hosts = new Hosts(second.url, false);
    const replicas = await watchReplicas(hosts, [first.url], { maxLagSeconds: 2, connections: 2, tell: () => {} });
    const [replica] = replicas.all;
    const isRead = () => replica?.leftOut === null;
    try {
      await until('the replica is read', async () => isRead());
      await second.stop('immediate');
      await until('the primary is missed', async () => replicas.isPrimaryAway);
      await first.promote();
      // This one is not told of the promoted one: it stays as long as it takes to be found.
      const asked = performance.now();
      await until('it has answered twice', async () => {
        assert.equal(replica?.leftOut, null);
        return (replica?.heardAt ?? 0) > asked + 1000;
      });
      await second.rebuild(first);
    } finally {
      await replicas.close();
      await hosts.close();
    }
  });
});

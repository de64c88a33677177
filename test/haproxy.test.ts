// A service over a primary and a replica behind HAProxy, as docs/operations/database.md has it: one address to write, one to read.
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import postgres from 'postgres';
import { type Cluster, startCluster, withoutCluster } from './support/cluster.ts';
import { onPostgres } from './support/database.ts';
import { type Balancer, startHaproxy, withoutHaproxy } from './support/haproxy.ts';
import { assertAgrees, type Entry, startReports } from './support/ledger.ts';
import { fillSite, logIn, makeSiteOn, type RunningService, runCli, type Site, startProcess } from './support/process.ts';
import { waitFor } from './support/wait.ts';

const skip = (!onPostgres && 'needs PostgreSQL') || withoutCluster || withoutHaproxy;
const page = '/sichtbeobachtungen?limit=50';

const until = (what: string, isSo: () => Promise<boolean>) => waitFor(what, () => isSo().catch(() => false));

describe('a primary and a replica behind HAProxy', { skip }, () => {
  let primary: Cluster;
  let replica: Cluster;
  let balancer: Balancer;
  let site: Site;
  let service: RunningService;
  let headers: Record<string, string>;
  let sql: postgres.Sql;
  let standby: postgres.Sql;

  const connect = ({ url }: Cluster) => postgres(url, { max: 3, onnotice: () => {}, fetch_types: false });
  const get = (path: string, init: RequestInit = {}) => fetch(`${service.url}/api/v2${path}`, init);
  const read = async (init: RequestInit = {}) => {
    const answer = await get(page, init);
    return { tag: answer.headers.get('etag'), text: await answer.text() };
  };
  const shows = async (id: number, init: RequestInit = {}) => (await read(init)).text.includes(`"id":${id},`);
  const isLedTo = async (url: string, isReplica: boolean) => {
    const one = postgres(url, { max: 1, connect_timeout: 1, fetch_types: false });
    const [row] = await one`select pg_is_in_recovery() as replica`.finally(() => one.end({ timeout: 0 }));
    return row?.replica === isReplica;
  };
  let places = 0;
  const make = async () => {
    const place = { art: '100', lat: '5484000', lon: String(391_000 + ++places), bereich: 'oeffentlich' };
    const answer = await get('/sichtbeobachtungen', { method: 'POST', headers, body: new URLSearchParams(place) });
    assert.equal(answer.status, 201);
    return ((await answer.json()) as { result: [{ id: number }] }).result[0].id;
  };
  const release = (id: number) =>
    sql`update portal.sichtbeobachtung set status = 'freigegeben', experte_id = nutzer_id where id = ${id}`;
  const setNames = async (names: string) => {
    await sql.unsafe(`alter system set synchronous_standby_names = '${names}'`);
    await sql`select pg_reload_conf()`;
    await until('the names are known', async () => {
      const [row] = await sql`select count(*)::integer as synchronous from pg_stat_replication where sync_state = 'sync'`;
      return row?.synchronous === (names === '' ? 0 : 1);
    });
  };
  const pause = () => standby`select pg_wal_replay_pause()`;
  const resume = () => standby`select pg_wal_replay_resume()`;

  before(async () => {
    if (skip) return;
    primary = await startCluster();
    site = await makeSiteOn(primary.url);
    assert.equal((await runCli(site, ['migrate'])).code, 0);
    await fillSite(site, { rolle: 'administrator' });
    sql = connect(primary);
    await sql`create role haproxy login`;
    replica = await primary.addStandby();
    standby = connect(replica);
    balancer = await startHaproxy([primary, replica]);
    // At first HAProxy takes every server for a good one.
    for (const [url, isReplica] of [
      [balancer.writeUrl, false],
      [balancer.readUrl, true],
    ] as const)
      await until('HAProxy knows them', async () => {
        for (let time = 0; time < 4; time++) if (!(await isLedTo(url, isReplica))) return false;
        return true;
      });
    service = await startProcess(site, { DATABASE_URL: balancer.writeUrl, DATABASE_READ_URL: balancer.readUrl });
    headers = await logIn(service);
  });
  after(async () => {
    await service?.stop('SIGKILL');
    await balancer?.stop();
    for (const client of [sql, standby]) await client?.end({ timeout: 0 });
    await primary?.remove();
    await replica?.remove();
  });

  it('P3.3 reads by the replica what nobody is logged in with, and by the primary what an account asks', async () => {
    const id = await make();
    await release(id);
    await until('it has arrived', () => shows(id));
    await pause();
    const later = await make();
    await release(later);
    assert.deepEqual([await shows(later), await shows(later, { headers })], [false, true]);
    const feed = await fetch(`${service.url}/abgleich/v1/sichtbeobachtungen`);
    assert.match(await feed.text(), new RegExp(`"id":${later},`));
    await resume();
    await until('it has arrived', () => shows(later));
  });

  it('P3.3 no older page is kept or confirmed under a newer version', async () => {
    const bodies = new Map<string, Set<string>>();
    const note = (tag: string | null, text: string) => {
      assert.ok(tag);
      bodies.set(tag, (bodies.get(tag) ?? new Set()).add(text));
    };
    const readThrice = async () => {
      for (let time = 0; time < 3; time++) {
        const { tag, text } = await read();
        note(tag, text);
      }
    };
    const first = await make();
    await release(first);
    await until('it has arrived', () => shows(first));
    await pause();
    for (let round = 0; round < 3; round++) {
      const id = await make();
      await release(id);
      await readThrice();
      assert.equal(await shows(id), false);
      await balancer.setReadable(false);
      await until('the primary is read', () => shows(id));
      const { tag } = await read();
      await readThrice();
      await balancer.setReadable(true);
      await until('the replica is read', async () => !(await shows(id)));
      await readThrice();
      // What is newer than the replica is no reason to say that nothing has changed.
      assert.equal((await get(page, { headers: { 'If-None-Match': tag ?? '' } })).status, 200);
    }
    // Each statement goes to one of them, whichever has the fewest connections.
    await balancer.setMixed(true);
    const times = new Map<string, number>();
    await until('both are read', async () => {
      await Promise.all(
        Array.from({ length: 8 }, async () => {
          const { tag, text } = await read();
          note(tag, text);
          times.set(text, (times.get(text) ?? 0) + 1);
        }),
      );
      return times.size === 2 && [...times.values()].every((count) => count > 50);
    });
    await balancer.setMixed(false);
    await resume();
    assert.equal(bodies.size, 4);
    for (const [tag, texts] of bodies) assert.equal(texts.size, 1, tag);
  });

  describe('that is named in synchronous_standby_names', () => {
    before(() => setNames('*'));
    afterEach(() => resume().catch(() => {}));

    const hidings: [what: string, hide: (id: number) => Promise<unknown>][] = [
      [
        'a deletion',
        async (id) => {
          const answer = await get(`/sichtbeobachtungen/${id}`, { method: 'DELETE', headers });
          assert.equal(answer.status, 200);
        },
      ],
      ['a withdrawal', (id) => sql`update portal.sichtbeobachtung set bereich = 'privat', status = 'pruefung' where id = ${id}`],
      ['a status', (id) => sql`update portal.sichtbeobachtung set status = 'hinweis' where id = ${id}`],
      ['a mark', (id) => sql`update portal.sichtbeobachtung set sensibel = true where id = ${id}`],
      ['a species', () => sql`update portal.art_mandant set sensibel = not sensibel where art = 100`],
      ['a boundary', () => sql`update portal.mandant set boundary = st_multi(st_buffer(boundary, 1)) where kuerzel = 'AUE'`],
    ];
    for (const [what, hide] of hidings)
      it(`P3.4 acknowledges ${what} that hides something when the replica shows it`, async () => {
        const id = await make();
        await release(id);
        await until('it is shown', () => shows(id));
        const earlier = await read();
        await pause();
        let isAcknowledged = false;
        const hidden = hide(id).then(() => {
          isAcknowledged = true;
        });
        await until('it waits for the replica', async () => {
          const rows = await sql`select from pg_stat_activity where wait_event = 'SyncRep'`;
          return rows.length > 0;
        });
        // What waits for the replica's storage only is acknowledged in the order of the log: this one comes after it.
        await sql`comment on role haproxy is 'asks which server is a replica'`;
        assert.equal(isAcknowledged, false);
        await resume();
        await hidden;
        for (let time = 0; time < 5; time++) assert.notEqual((await read()).tag, earlier.tag);
        if (/deletion|withdrawal|status/.test(what)) assert.equal(await shows(id), false);
      });

    it('P3.4 acknowledges a report as soon as the replica has it', async () => {
      await pause();
      await make();
    });

    it('S5.2 goes on when the primary is gone: nothing acknowledged is lost, and nobody has to start the service anew', async () => {
      const ledger: Entry[] = [];
      const endReports = startReports(ledger, 2, () => service.url, headers);
      const acknowledged = () => ledger.filter(({ status }) => status === 201).length;
      try {
        await until('reports are taken', async () => acknowledged() > 20);
        await primary.stop('immediate');
        await until('somebody is refused', async () => ledger.some(({ status }) => status === 503));
        await replica.promote();
        const earlier = acknowledged();
        await until('reports are taken again', async () => acknowledged() > earlier + 20);
      } finally {
        await endReports();
      }
      const refused = ledger.filter(({ status }) => status === 503);
      assert.ok(refused.every(({ retryAfter }) => retryAfter !== null));
      await assertAgrees(replica.url, ledger, site.env.DATA_DIR);
      // There is no replica: HAProxy takes connections to read and drops them.
      assert.equal((await get(page)).status, 200);
      assert.equal((await fetch(`${service.url}/abgleich/v1/sichtbeobachtungen?limit=1`)).status, 200);

      await primary.rebuild(replica);
      await until('the former primary is read', () => isLedTo(balancer.readUrl, true));
      await until('pages are answered', async () => (await get(page)).status === 200);
    });
  });
});

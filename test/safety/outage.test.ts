// What a service does while its database, its clients or its own process fail: a ledger of what was sent and answered agrees
// with records, files and both logs afterwards.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openDatabase } from '../../src/db/client.ts';
import { sweepStorage } from '../../src/jobs/media.ts';
import { openStorage } from '../../src/media/open-storage.ts';
import { type Cluster, startCluster, withoutCluster } from '../support/cluster.ts';
import { onPostgres } from '../support/database.ts';
import { assertAgrees, type Entry, startReports } from '../support/ledger.ts';
import { makeJpeg } from '../support/photo.ts';
import {
  fillSite,
  logIn,
  makeSite,
  makeSiteOn,
  type RunningService,
  runCli,
  type Site,
  startCli,
  startProcess,
} from '../support/process.ts';
import { collectMedia } from '../support/storage.ts';
import { waitFor } from '../support/wait.ts';

const skip = !onPostgres && 'needs a database that outlives the service';

describe('a service that is killed', { skip }, () => {
  let site: Site;
  before(async () => {
    if (skip) return;
    site = await makeSite({ isMigrated: true });
    await fillSite(site);
  });
  after(() => site?.remove());

  it('S5.1 in the middle of uploads: every 201 is complete, nothing is half visible, and what is left is swept', async () => {
    const photo = new Blob([await makeJpeg({ width: 200, height: 150 })]);
    const ledger: Entry[] = [];
    for (const [round, delay] of [0, 40, 90].entries()) {
      const service = await startProcess(site);
      const endReports = startReports(ledger, 3, () => service.url, await logIn(service), photo);
      // Others are in every stage of their upload when the first ones are acknowledged.
      const acknowledged = () => ledger.filter(({ status }) => status === 201).length;
      await waitFor('an acknowledgement', () => acknowledged() >= 3 * (round + 1));
      await sleep(delay);
      await service.stop('SIGKILL');
      await endReports();
    }
    const statuses = ledger.map(({ status }) => status);
    assert.ok(statuses.includes(201) && statuses.includes(null), `acknowledged and broken off: ${statuses}`);
    const { DATA_DIR = '', DATABASE_URL: databaseUrl = '' } = site.env;
    await assertAgrees(databaseUrl, ledger, DATA_DIR, 2);
    const storage = openStorage({ directory: join(DATA_DIR, 'media') });
    const database = await openDatabase({ databaseUrl, dataDir: '' });
    await sweepStorage(database.sql, storage, new Date(Date.now() + 60_000));
    await assertAgrees(databaseUrl, ledger, DATA_DIR, 2);
    const [named] = await database.sql`select 2 * count(*)::integer as files from portal.sichtbeobachtung`;
    assert.equal((await collectMedia(storage)).length, named?.files, 'files that no record names');
    await database.close();
  });
});

describe('a migration that is killed', { skip }, () => {
  it('S5.8 leaves what the next one completes: the same tables and functions, and one installation', async () => {
    const [killed, whole] = [await makeSite(), await makeSite()];
    const open = (site: Site) => openDatabase({ databaseUrl: site.env.DATABASE_URL ?? '', dataDir: '' });
    const describeAll = async (site: Site) => {
      const database = await open(site);
      const rows = await database.sql`
        select c.relnamespace::regnamespace || '.' || c.relname || ' ' || c.relkind::text as what from pg_class c
        where c.relnamespace::regnamespace::text in ('portal', 'gis') union all
        select p.oid::regprocedure || md5(p.prosrc) from pg_proc p
        where p.pronamespace::regnamespace::text in ('portal', 'private', 'api', 'ausgabe') union all
        select 'installations ' || count(*) from portal.installation order by 1`;
      await database.close();
      return rows.map((row) => row.what);
    };
    const server = await open(killed);
    const isMigrating = async () => {
      const rows = await server.sql`
        select from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend' and xact_start is not null`;
      return rows.length > 0;
    };
    try {
      await runCli(whole, ['migrate']);
      const ends: (NodeJS.Signals | null)[] = [];
      for (const delay of [0, 100, 250]) {
        const migration = startCli(killed, ['migrate']);
        const closed = once(migration, 'close');
        while (migration.exitCode === null && !(await isMigrating())) await sleep(5);
        await sleep(delay);
        migration.kill('SIGKILL');
        ends.push((await closed)[1]);
      }
      assert.ok(ends.includes('SIGKILL'), 'every migration was over before it could be killed');
      const last = await runCli(killed, ['migrate']);
      assert.equal(last.code, 0, last.err);
      assert.deepEqual(await describeAll(killed), await describeAll(whole));
    } finally {
      await server.close();
      await killed.remove();
      await whole.remove();
    }
  });

  it('S5.8 whose last statement the server still runs does not fail the next one', async () => {
    const site = await makeSite();
    const server = await openDatabase({ databaseUrl: site.env.DATABASE_URL ?? '', dataDir: '' });
    try {
      let migrated: ReturnType<typeof runCli> | undefined;
      await server.sql.begin(async (leftBehind) => {
        await leftBehind`create extension if not exists postgis with schema public`;
        migrated = runCli(site, ['migrate']);
        const isWaiting = async () => {
          const rows = await server.sql`
            select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query ~ '^create extension'`;
          return rows.length > 0;
        };
        await waitFor('the wait for the statement that was left behind', isWaiting);
      });
      const ended = await migrated;
      assert.equal(ended?.code, 0, ended?.err);
    } finally {
      await server.close();
      await site.remove();
    }
  });
});

describe('a service whose database is restarted', { skip: skip || withoutCluster }, () => {
  let cluster: Cluster;
  let site: Site;
  before(async () => {
    if (skip || withoutCluster) return;
    cluster = await startCluster();
    site = await makeSiteOn(cluster.url);
    assert.equal((await runCli(site, ['migrate'])).code, 0);
    await fillSite(site);
  });
  after(() => cluster?.remove());

  it('S5.2 fast or by a crash, under load: 503 with Retry-After meanwhile, normal within 5 s, no restart of the service', async () => {
    const service = await startProcess(site);
    const ledger: Entry[] = [];
    const endReports = startReports(ledger, 4, () => service.url, await logIn(service));
    try {
      for (const mode of ['fast', 'immediate'] as const) {
        await sleep(300);
        const stopped = performance.now();
        await cluster.stop(mode);
        assert.equal((await fetch(`${service.url}/health/live`)).status, 200);
        assert.equal((await fetch(`${service.url}/health/ready`)).status, 503);
        await sleep(500);
        await cluster.start();
        const started = performance.now();
        const isNormal = () => {
          const last = ledger.filter(({ at }) => at > Math.max(started, performance.now() - 1000));
          return last.length > 10 && last.every(({ status }) => status === 201);
        };
        while (!isNormal() && performance.now() - started < 7000) await sleep(50);
        // A second of it is the look back.
        assert.ok(performance.now() - started < 6000, `${mode}: not normal 5 s after the database answers`);
        const meanwhile = ledger.filter(({ at }) => at > stopped && at < started);
        assert.ok(
          meanwhile.some(({ status }) => status === 503),
          `${mode}: nobody was told to wait`,
        );
        for (const { status, retryAfter } of meanwhile) {
          assert.ok(status === 503 || status === 201, `${mode}: ${status} while the database is away`);
          assert.ok(status === 201 || Number(retryAfter) > 0, `${mode}: 503 without Retry-After`);
        }
        assert.equal((await fetch(`${service.url}/health/ready`)).status, 200);
      }
      await endReports();
      assert.ok(!ledger.some(({ status }) => status === null), 'a request had no answer at all');
      assert.equal(service.process.exitCode, null);
      const told = service
        .output()
        .split('\n')
        .filter((line) => line.includes('"requests are refused"'));
      const refusals = ledger.filter(({ status }) => status === 503).length;
      assert.ok(told.length > 0 && told.length < 12 && refusals > 3 * told.length, `${refusals} refusals: ${told.join('\n')}`);
      assert.match(told[0] ?? '', /"request":"[0-9a-f-]{36}","code":"\w+","route":"\/api\/v2\/[^"]+","refused":1,/);
      await assertAgrees(cluster.url, ledger, site.env.DATA_DIR);
    } finally {
      await service.stop('SIGKILL');
      await endReports();
    }
  });
});

describe('two instances side by side', { skip }, () => {
  let site: Site;
  before(async () => {
    if (skip) return;
    site = await makeSite({ isMigrated: true });
    await fillSite(site);
  });
  after(() => site?.remove());

  it('S5.7 hand over without a failed request; one that never ends is given up after 15 s, and the code is 0', async () => {
    const instances = [await startProcess(site), await startProcess(site)] as const;
    const [old, young] = instances;
    const headers = await logIn(old);
    let isOver = false;
    // As a proxy does it: kept-alive connections, to the first instance that says it is ready.
    let current: RunningService = old;
    const watch = (async () => {
      while (!isOver) {
        const isReady = await fetch(`${old.url}/health/ready`)
          .then((answer) => answer.ok)
          .catch(() => false);
        current = isReady ? old : young;
        await sleep(100);
      }
    })();
    const failures: string[] = [];
    const read = async () => {
      while (!isOver) {
        await fetch(`${current.url}/api/v2/sichtbeobachtungen?limit=5`)
          .then(async (answer) => {
            await answer.text();
            if (!answer.ok) failures.push(String(answer.status));
          })
          .catch((error: Error) => failures.push(`${error.message} ${error.cause}`));
      }
    };
    const ledger: Entry[] = [];
    const readers = [read(), read()];
    const endReports = startReports(ledger, 1, () => current.url, headers);
    const { hostname, port } = new URL(old.url);
    const stuck = connect(Number(port), hostname);
    stuck.on('error', () => {});
    stuck.write(
      `POST /api/v2/login HTTP/1.1\r\nHost: ${hostname}\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 99\r\n\r\nlogin`,
    );
    try {
      await sleep(500);
      const start = performance.now();
      const ended = old.stop('SIGTERM');
      await sleep(2500);
      isOver = true;
      await Promise.all([...readers, endReports(), watch]);
      assert.deepEqual(failures, []);
      assert.deepEqual(new Set(ledger.map(({ status }) => status)), new Set([201]));
      assert.equal(current, young);
      assert.equal(await ended, 0);
      const seconds = (performance.now() - start) / 1000;
      assert.ok(seconds > 10 && seconds < 20, `it ended after ${seconds} s`);
      await assertAgrees(site.env.DATABASE_URL ?? '', ledger, site.env.DATA_DIR);
    } finally {
      isOver = true;
      stuck.destroy();
      for (const instance of instances) await instance.stop('SIGKILL');
      await endReports();
    }
  });
});

// When the boundary job runs: by schedule, after downtime, once at a time, and again after a kill (S5.9).
import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import type { Database, Sql } from '../../src/db/client.ts';
import { createGrenzlauf } from '../../src/db/grenzlauf.ts';
import { type Boss, startBoss } from '../../src/jobs/boss.ts';
import { type BoundarySettings, boundaryQueue, refreshBoundaries, workBoundaries } from '../../src/jobs/boundaries.ts';
import { createLog } from '../../src/observe/log.ts';
import { makeTenants, readLastRun, type Source, startSource } from '../support/boundaries.ts';
import { onPostgres, openTestDatabase } from '../support/database.ts';
import { waitFor } from '../support/wait.ts';

const log = createLog('silent');
const cron = '0 3 * * *';

let database: Database;
let sql: Sql;
let source: Source;
before(async () => {
  source = await startSource();
  database = await openTestDatabase();
  sql = database.sql;
});

describe('the schedule', () => {
  let boss: Boss;
  const bosses: Boss[] = [];
  const start = async (settings: BoundarySettings = source.settings): Promise<Boss> => {
    const started = await startBoss(database, () => {}, { supervise: false, mayChange: true });
    bosses.push(started);
    await workBoundaries(started, database, { settings, cron, log });
    return started;
  };
  const listJobs = () => sql<{ state: string; retry_count: number }[]>`
    select state::text, retry_count from pgboss.job where name = ${boundaryQueue} order by created_on`;
  const listRuns = async () =>
    (await sql`select ergebnis::text from portal.grenzlauf order by id`).map(({ ergebnis }) => ergebnis);
  const ended = () => waitFor('the end of the job', async () => (await listJobs())[0]?.state === 'completed');
  const setLastRun = (ago: string) => sql`
    insert into portal.grenzlauf (begonnen, beendet, quelle, erzwungen, ergebnis)
    values (now() - ${ago}::text::interval, now(), 'früher', false, 'unveraendert')`;

  before(async () => {
    boss = await startBoss(database, () => {}, { supervise: false, mayChange: true });
  });
  beforeEach(async () => {
    source.serve(makeTenants());
    await sql`delete from portal.grenzlauf`;
    await sql`delete from pgboss.job where name = ${boundaryQueue}`;
  });
  afterEach(async () => {
    for (const started of bosses.splice(0)) await started.stop();
  });
  after(() => boss.stop());

  it('S5.9 has one slot a day, also when the clocks change', () => {
    const preview = (from: string) =>
      boss.boss
        .previewSchedule(cron, { tz: 'Europe/Berlin', from: new Date(from), count: 3 })
        .map((slot) => slot.toISOString().slice(0, 16));
    assert.deepEqual(preview('2026-10-24T12:00:00Z'), ['2026-10-25T02:00', '2026-10-26T02:00', '2026-10-27T02:00']);
    assert.deepEqual(preview('2027-03-27T12:00:00Z'), ['2027-03-28T01:00', '2027-03-29T01:00', '2027-03-30T01:00']);
  });

  it('S5.9 is kept by the queue in the time of Berlin, and makes up for what it missed', async () => {
    await setLastRun('0 seconds');
    const started = await start();
    const schedule = await started.boss.getSchedule(boundaryQueue);
    assert.equal(schedule?.cron, cron);
    assert.equal(schedule?.timezone, 'Europe/Berlin');
    assert.equal(schedule?.options?.missed, 'once');
  });

  it('S5.9 runs at once when there was no run yet', async () => {
    await start();
    await waitFor('a run', async () => (await sql`select from portal.grenzlauf where ergebnis = 'unveraendert'`).length === 1);
  });

  it('S5.9 runs at once when a slot passed while nobody was there, and not for a slot that has had its run', async () => {
    await setLastRun('49 hours');
    await start();
    await waitFor('a run', async () => (await sql`select from portal.grenzlauf`).length === 2);
    await ended();
    await start();
    assert.equal((await listJobs()).length, 1);
  });

  it('S5.9 runs once per slot, however often the slot comes into the queue', async () => {
    await setLastRun('0 seconds');
    const started = await start();
    await started.boss.send(boundaryQueue, {});
    await ended();
    assert.equal((await sql`select from portal.grenzlauf`).length, 1);
  });

  it('S5.9 takes one job of two instances', async () => {
    const { promise: gate, resolve: release } = Promise.withResolvers<void>();
    source.serve((_request, response) => void gate.then(() => response.end(JSON.stringify(makeTenants()))));
    await start();
    await waitFor('a running job', async () => (await sql`select from portal.grenzlauf`).length === 1);
    await start();
    assert.equal((await listJobs()).length, 1);
    release();
    await ended();
    assert.equal((await sql`select from portal.grenzlauf`).length, 1);
  });

  it('tries again what may pass', async () => {
    source.serve((_request, response) => response.writeHead(503).end());
    await start();
    await waitFor('a failed attempt', async () => (await listJobs())[0]?.state === 'retry');
    source.serve(makeTenants());
    // The next attempt is due in ten minutes: not waited for.
    await sql`update pgboss.job set start_after = now() where name = ${boundaryQueue}`;
    await ended();
    assert.deepEqual(await listRuns(), ['fehlgeschlagen', 'unveraendert']);
  });

  it('does not try again what an operator has to mend', async () => {
    await start({ ...source.settings, allowPrivate: false });
    await ended();
    const { ergebnis, grund } = await readLastRun(sql);
    assert.equal(ergebnis, 'fehlgeschlagen');
    assert.match(grund, /private Adresse/);
  });

  it('S5.9 runs again when the worker that had the job was killed', async () => {
    await boss.boss.send(boundaryQueue, {});
    await boss.boss.fetch(boundaryQueue);
    // What it leaves: a job that looks busy, and a run that never ends.
    const killed = database.connect();
    await createGrenzlauf(killed, 'x', false);
    await killed.end({ timeout: 5 });
    await start();
    assert.deepEqual([...(await listJobs())], [{ state: 'active', retry_count: 0 }]);
    await sql`update pgboss.job set heartbeat_on = now() - interval '10 minutes' where name = ${boundaryQueue}`;
    await sql`update pgboss.queue set monitor_on = null, monitor_claim_on = null where name = ${boundaryQueue}`;
    await boss.boss.supervise(boundaryQueue);
    await sql`update pgboss.job set start_after = now() where name = ${boundaryQueue}`;
    await ended();
    assert.deepEqual(await listRuns(), ['abgebrochen', 'unveraendert']);
  });
});

describe('two runs', () => {
  it('at once: the second one fails at once, changes nothing and leaves no record', {
    skip: !onPostgres && 'the embedded database has one session, whose lock is no bar to itself',
  }, async () => {
    const { promise: gate, resolve: release } = Promise.withResolvers<void>();
    const { promise: asked, resolve: tellAsked } = Promise.withResolvers<void>();
    source.serve((_request, response) => {
      tellAsked();
      void gate.then(() => response.end(JSON.stringify(makeTenants(453000))));
    });
    const runs = (await sql`select from portal.grenzlauf`).length;
    const first = refreshBoundaries(database, source.settings);
    await asked;
    await assert.rejects(refreshBoundaries(database, source.settings), {
      fault: 'laeuft',
      message: 'Es läuft schon ein anderer Lauf.',
    });
    release();
    assert.equal((await first).mandanten, 2);
    assert.equal((await sql`select from portal.grenzlauf`).length, runs + 1);
    assert.equal((await readLastRun(sql)).ergebnis, 'erfolgreich');
  });

  it('the first of which was killed: the next one says so of it', async () => {
    const killed = database.connect();
    const id = await createGrenzlauf(killed, 'x', false);
    assert.equal((await readLastRun(sql)).ergebnis, 'laeuft');
    await killed.end({ timeout: 0 });
    source.serve(makeTenants());
    await waitFor('the end of the connection', () => refreshBoundaries(database, source.settings).catch(() => null));
    const [row] = await sql`select ergebnis::text, grund, beendet from portal.grenzlauf where id = ${id}`;
    assert.equal(row?.ergebnis, 'abgebrochen');
    assert.equal(row?.grund, 'Der Lauf wurde abgebrochen.');
    assert.ok(row?.beendet);
  });
});

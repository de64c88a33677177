// The database is busy, locked or gone (S5.2, S5.3).
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { admitCalls } from '../../src/db/admitted.ts';
import { callBounds, callMs, type Database, poolSize } from '../../src/db/client.ts';
import { Limit } from '../../src/guard/limit.ts';
import { onPostgres, openTestDatabase } from '../support/database.ts';
import { startTestService, type TestService } from '../support/service.ts';

describe('while sightings are locked', { skip: !onPostgres && 'needs a second connection' }, () => {
  let database: Database;
  let service: TestService;
  before(async () => {
    database = await openTestDatabase();
    const sql = admitCalls(database.sql, new Limit(callBounds(poolSize)), callMs);
    service = await startTestService({ sql, reads: sql, regexpSql: sql });
  });

  it('S5.3 requests get 503 with Retry-After, and everything goes on afterwards', async () => {
    const holder = database.connect();
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const { promise: locked, resolve: lock } = Promise.withResolvers<void>();
    const holding = holder.begin(async (tx) => {
      await tx`lock table portal.sichtbeobachtung in access exclusive mode`;
      lock();
      await released;
    });
    await locked;
    const start = performance.now();
    const answers = await Promise.all(
      Array.from({ length: 40 }, async () => {
        const answer = await service.request('/sichtbeobachtungen');
        return { ...answer, ms: performance.now() - start };
      }),
    );
    const late = answers.filter(({ ms }) => ms > 2000);
    // Those that had a connection already wait for their own deadline.
    assert.ok(late.length <= poolSize, `${late.length} waited longer than two seconds`);
    for (const answer of answers) {
      assert.equal(answer.status, 503, answer.text);
      assert.equal(answer.json.error.code, 'ueberlastet');
      assert.ok(Number(answer.headers.get('retry-after')) > 0);
    }
    assert.equal((await service.app.request('/health/live')).status, 200);
    release();
    await holding;
    await holder.end({ timeout: 1 });
    assert.equal((await service.request('/sichtbeobachtungen')).status, 200);
  });

  it('S5.2 connections that are cut are made anew', async () => {
    const holder = database.connect();
    assert.equal((await service.request('/sichtbeobachtungen')).status, 200);
    await holder`
      select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`;
    await holder.end({ timeout: 1 });
    const statuses = new Set<number>();
    for (let n = 0; n < 20; n++) statuses.add((await service.request('/sichtbeobachtungen')).status);
    const strange = [...statuses].filter((status) => status !== 200 && status !== 503);
    assert.deepEqual(strange, []);
    assert.equal((await service.request('/sichtbeobachtungen')).status, 200);
  });
});

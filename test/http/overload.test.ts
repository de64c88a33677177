// The database is busy, locked or gone (S5.2, S5.3).
import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import { before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadConfig } from '../../src/config.ts';
import { callBounds, type Database, poolSize, type Sql } from '../../src/db/client.ts';
import { admitCalls } from '../../src/guard/admission.ts';
import { turnMs } from '../../src/guard/computed.ts';
import { OverloadError } from '../../src/guard/overload.ts';
import { sha1OfPlain } from '../../src/guard/password.ts';
import { firstPatienceMs } from '../../src/guard/request.ts';
import { runInTurn } from '../../src/guard/turns.ts';
import { listUsage } from '../../src/guard/usage.ts';
import { listen } from '../../src/http/server.ts';
import { bytesAtOnce } from '../../src/http/wire/body.ts';
import { arten } from '../support/catalogue.ts';
import { onPostgres, openTestDatabase } from '../support/database.ts';
import { startTestService, type TestService, testConfig } from '../support/service.ts';

function compute(ms: number): void {
  for (const until = performance.now() + ms; performance.now() < until; );
}

describe('waiting for a connection', () => {
  it('S5.3 is bounded in number and time, and nobody overtakes', async () => {
    let running = 0;
    let most = 0;
    const order: number[] = [];
    const call = async (n: number) => {
      most = Math.max(most, ++running);
      await sleep(20);
      running--;
      order.push(n);
    };
    const client = admitCalls(Object.assign(call, { begin: call }), { slots: 2, queue: 4, waitMs: 10_000, runMs: 10_000 });
    const outcomes = await Promise.allSettled([0, 1, 2, 3, 4, 5, 6, 7].map((n) => (n % 2 ? client.begin(n) : client(n))));
    assert.equal(most, 2);
    assert.deepEqual(order, [0, 1, 2, 3, 4, 5]);
    assert.deepEqual(outcomes.map((outcome) => outcome.status).slice(6), ['rejected', 'rejected']);

    const impatient = admitCalls(Object.assign(call, { begin: call }), { slots: 1, queue: 4, waitMs: 1, runMs: 10_000 });
    const [first, second] = await Promise.allSettled([impatient(1), impatient(2)]);
    assert.equal(first.status, 'fulfilled');
    assert.ok(second.status === 'rejected' && second.reason instanceof OverloadError);
    await impatient(3);
  });
});

const waitsSkip = !onPostgres && 'the same as with DATABASE_URL';

describe('several waits of one request', { skip: waitsSkip }, () => {
  let database: Database;
  let sql: Sql;
  let service: TestService;
  before(async () => {
    if (waitsSkip) return;
    database = await openTestDatabase();
    sql = admitCalls(database.sql, { name: 'database', slots: 1, queue: 10, waitMs: callBounds.waitMs, runMs: 10_000 });
    service = await startTestService({ sql, config: { ...testConfig, defaultTenant: 'N' } });
    await service.tokenOf('melder');
  });

  it('S5.3 for connections count together: it is refused when it is too old', async () => {
    const hold = (ms: number) => sql.begin(() => sleep(ms));
    const begin = performance.now();
    const first = hold(1000);
    const form = { art: String(arten.amsel), lat: '5530000', lon: '420000' };
    const asking = service.request('/sichtbeobachtungen', { as: 'melder', form });
    // Behind who it is, and before what it wants to write.
    while (listUsage().get('database')?.waiting === 0) await sleep(5);
    const second = hold(2500);
    const { status, text, headers } = await asking;
    const ms = performance.now() - begin;
    await Promise.all([first, second]);
    assert.equal(status, 503, text);
    assert.ok(Number(headers.get('retry-after')) > 0);
    assert.ok(ms > 1000 && ms < 2000, `after ${ms.toFixed(0)} ms`);
  });

  /** What becomes of a login with so many before it in line, and so many steps of what has begun before its body is read. */
  const logInBetween = async (before: number, behind: number, bytes: number) => {
    const server = await listen(service.app.fetch, '127.0.0.1', 0, loadConfig({}));
    const places: ((() => boolean) | null)[] = [];
    const stand = (count: number, isBegun: boolean) => {
      for (let n = 0; n < count; n++) places.push(runInTurn('127.0.0.1', () => compute(turnMs), undefined, isBegun));
    };
    // Once it stands in the line itself.
    server.once('request', () => stand(behind, true));
    const begin = performance.now();
    stand(before, false);
    const { status, headers } = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v2/login`, {
      method: 'POST',
      body: new URLSearchParams({ loginname: 'melder', password: sha1OfPlain('melder'), more: 'x'.repeat(bytes) }),
    });
    const ms = performance.now() - begin;
    for (const leave of places) leave?.();
    server.closeAllConnections();
    server.close();
    assert.equal(status, 503);
    assert.ok(Number(headers.get('retry-after')) > 0);
    assert.ok(ms > firstPatienceMs - 50 && ms < 2000, `after ${ms.toFixed(0)} ms`);
    return headers;
  };

  it('S5.3 for turns: it is refused when it is too old, not when its turn comes, and its connection stays', async () => {
    const headers = await logInBetween(1000, 0, 0);
    assert.notEqual(headers.get('connection'), 'close');
  });

  it('S5.3 for turns in its body', async () => {
    await logInBetween(0, 1000, bytesAtOnce);
  });

  it('S5.3 for turns before it is begun and in its body count together', async () => {
    await logInBetween(150, 1000, bytesAtOnce);
  });
});

describe('while sightings are locked', { skip: !onPostgres && 'needs a second connection' }, () => {
  let database: Database;
  let service: TestService;
  before(async () => {
    database = await openTestDatabase();
    const sql = admitCalls(database.sql, { slots: poolSize, queue: 500, waitMs: 1500, runMs: 10_000 });
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
    assert.ok(
      [...statuses].every((status) => status === 200 || status === 503),
      [...statuses].join(),
    );
    assert.equal((await service.request('/sichtbeobachtungen')).status, 200);
  });
});

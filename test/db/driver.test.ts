// Connections that break, and the driver: whoever asks next must not notice (S5.2), and what a transaction still asks for is not done.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { createServer, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Database, openDatabase, type Sql } from '../../src/db/client.ts';
import { type CreatedDatabase, createDatabase, databaseUrlOf, onPostgres, openTestDatabase } from '../support/database.ts';
import { listenAnywhere } from '../support/port.ts';

const name = `test_driver_${randomBytes(4).toString('hex')}`;
let made: CreatedDatabase;
let database: Database;
let one: Sql;

const codeOf = (error: unknown) => (error instanceof Error && 'code' in error ? String(error.code) : String(error));
const codes = (promise: PromiseLike<unknown>) => Promise.resolve(promise).then(() => 'done', codeOf);
const isLost = /^(CONNECTION_CLOSED|ECONNRESET|EPIPE|57P01)$/;

/** Ends the connection that a statement runs on. */
async function cut(sql: (strings: TemplateStringsArray) => PromiseLike<readonly { pid?: number }[]>): Promise<void> {
  const [row] = await sql`select pg_backend_pid() as pid`;
  await made.server.sql`select pg_terminate_backend(${row?.pid ?? 0})`;
}

it('a database is named as its address does, with what has to be written otherwise there', {
  skip: !onPostgres && 'no address',
}, async () => {
  const odd = `${name} Ä%`;
  const { drop } = await createDatabase(`"${odd}"`);
  try {
    const database = await openDatabase({ databaseUrl: databaseUrlOf(encodeURIComponent(odd)), dataDir: '' });
    assert.deepEqual([...(await database.sql`select current_database() as name`)], [{ name: odd }]);
    await database.close();
  } finally {
    await drop();
  }
});

it('a statement that fails among its rows leaves none of them to the next one', async () => {
  const database = await openTestDatabase();
  const one = database.connect();
  await assert.rejects(async () => one`select 1 / (3 - n) as x from generate_series(1, 9) n`, { code: '22012' });
  assert.deepEqual([...(await one`select 7 as x`)], [{ x: 7 }]);
  await one.end();
});

describe('a connection that breaks', { skip: !onPostgres && 'connections to the embedded database do not break' }, () => {
  before(async () => {
    made = await createDatabase(name);
    database = await openDatabase({ databaseUrl: made.url, dataDir: '' });
    one = database.connect();
    await one`create table kept (n integer)`;
  });
  after(async () => {
    await database.close();
    await made.drop();
  });

  // At once, while the end arrives, and when it is known.
  for (const ms of [0, 1, 5, 20, 60]) {
    it(`in a transaction, ${ms} ms before its next statement: that fails, the next caller is answered at once`, async () => {
      const began = performance.now();
      let inside = '';
      const whole = await codes(
        one.begin(async (tx) => {
          await cut(tx);
          if (ms > 0) await sleep(ms);
          inside = await codes(tx`insert into kept values (1)`);
          await tx`insert into kept values (2)`;
        }),
      );
      assert.match(whole, isLost);
      const [row] = await one`select count(*)::integer as n from kept`;
      assert.equal(row?.n, 0);
      await sleep(100);
      assert.match(inside, isLost);
      assert.deepEqual([...(await one`select count(*)::integer as n from kept`)], [{ n: 0 }]);
      assert.ok(performance.now() - began < 2000);
    });
  }

  it('tells all statements of its transaction, also those that were not sent yet', async () => {
    let told: unknown;
    const whole = await codes(
      one.begin(async (tx) => {
        await cut(tx);
        const all = Promise.all([1, 2, 3].map((n) => codes(tx`select pg_sleep(${n}::double precision)`)));
        told = await Promise.race([all, sleep(2000)]);
      }),
    );
    assert.match(whole, isLost);
    await sleep(100);
    assert.ok(Array.isArray(told));
    for (const code of told) assert.match(code, isLost);
  });

  it('is not used by what its transaction asks for when others have it again', async () => {
    // The transaction may be over before its function has gone that far.
    const late = Promise.withResolvers<string>();
    const others: Promise<unknown>[] = [];
    const whole = await codes(
      one.begin(async (tx) => {
        await cut(tx);
        late.resolve(sleep(150).then(() => codes(tx`insert into kept values (5)`)));
        await sleep(100);
        for (let n = 0; n < 3; n++) others.push(one`select pg_sleep(0.05)`);
        await late.promise;
      }),
    );
    assert.match(whole, isLost);
    assert.match(await late.promise, isLost);
    await Promise.all(others);
    assert.deepEqual([...(await one`select count(*)::integer as n from kept`)], [{ n: 0 }]);
  });
});

it('what takes connections and drops them is told to everybody who waits', async () => {
  let taken = 0;
  const gate = createServer((socket: Socket) => {
    taken++;
    socket.on('error', () => {});
    socket.end();
  });
  const behind = await openDatabase({
    databaseUrl: `postgres://nobody@127.0.0.1:${await listenAnywhere(gate)}/nothing`,
    dataDir: '',
  });
  try {
    assert.match(await codes(behind.sql`select 1`), isLost);
    assert.match(await codes(behind.sql.begin((tx) => tx`select 1`)), isLost);
    assert.ok(taken <= 3, `${taken} connections`);
  } finally {
    await behind.close();
    gate.close();
  }
});

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { after, before, test } from 'node:test';
import postgres from 'postgres';
import { type EmbeddedDatabase, type EmbeddedOptions, openEmbedded } from '../../src/db/embedded/database.ts';
import { makeDice } from '../support/dice.ts';
import { beQuick, makeEmpty } from '../support/engine.ts';
import { waitFor } from '../support/wait.ts';

type Client = postgres.Sql;

let root: string;
let databases = 0;
let database: EmbeddedDatabase;
const clients = new Set<Client>();

const directoryOfNext = () => join(root, String(++databases));
let copyEmpty: (copy: string) => void;

/** An empty one in a directory of its own. */
async function openFresh(options: Omit<EmbeddedOptions, 'dataDir' | 'loadFrom'> = {}): Promise<EmbeddedDatabase> {
  const dataDir = directoryOfNext();
  copyEmpty(dataDir);
  return openEmbedded({ dataDir, ...options });
}

const openCopy = (loadFrom: Uint8Array) => openEmbedded({ dataDir: directoryOfNext(), loadFrom });

/** A pool on the embedded database; ended after the tests. */
function makeClient(options: object = {}, of: EmbeddedDatabase = database): Client {
  const all = { socket: of.socket, max: 6, fetch_types: false, onnotice: () => {}, ...options };
  const sql: Client = postgres(all as postgres.Options<Record<string, never>>);
  clients.add(sql);
  return sql;
}

function sqlState(code: string): (error: unknown) => boolean {
  return (error) => {
    assert.equal((error as { code?: string }).code, code, String(error));
    return true;
  };
}

const delay = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

before(async () => {
  beQuick();
  root = await mkdtemp(join(tmpdir(), 'embedded-'));
  copyEmpty = await makeEmpty(join(root, 'empty'));
  database = await openFresh({ lockTimeoutMs: 1_000 });
});
after(async () => {
  await Promise.all([...clients].map((sql) => sql.end({ timeout: 2 })));
  await database.close();
  await rm(root, { recursive: true });
});

test('3,000 mixed operations of 20 callers: every answer goes to its caller, and the counts agree with a ledger', async () => {
  const patient = await openFresh({ lockTimeoutMs: 60_000 });
  const web = makeClient({ connection: { plan_cache_mode: 'force_generic_plan' } }, patient);
  const other = makeClient({ max: 3, prepare: false, connection: { application_name: 'other' } }, patient);
  await web`create table ledger (id int generated always as identity, caller int not null, token text not null unique)`;

  const callers = 20;
  const rounds = 160;
  const committed: number[] = [];
  const counts = new Map<string, number>();

  async function call(caller: number): Promise<void> {
    const random = makeDice(caller + 1).below;
    let written = 0;
    for (let round = 0; round < rounds; round++) {
      const sql = random(3) === 0 ? other : web;
      const token = `${caller}/${round}/${'x'.repeat(random(300))}`;
      const operations: Record<string, () => Promise<void>> = {
        async 'select, prepared'() {
          const rows = await sql`select ${token}::text as token, ${caller}::int as caller`;
          assert.deepEqual([...rows], [{ token, caller }]);
        },
        async 'select, new text each time'() {
          const rows = await sql.unsafe(`select '${token}' as token`, [], { prepare: round % 2 === 0 });
          assert.equal(rows[0]?.token, token);
        },
        async 'several simple statements'() {
          const results = await sql.unsafe(`select '${token}' as a; select ${caller} as b, '${token}' as c`).simple();
          assert.deepEqual(
            results.map((rows: unknown) => [...(rows as object[])]),
            [[{ a: token }], [{ b: caller, c: token }]],
          );
        },
        async 'error while running'() {
          await assert.rejects(sql`select ${token}::text, 1 / (${caller}::int - ${caller}::int)`, sqlState('22012'));
        },
        async 'error while parsing'() {
          await assert.rejects(sql.unsafe(`selec ${caller}`, [token]), sqlState('42601'));
        },
        async 'error in a simple statement'() {
          await assert.rejects(sql.unsafe(`select 1; select * from absent_${caller}; select 2`).simple(), (error) => {
            assert.match(String(error), new RegExp(`absent_${caller}"`));
            return true;
          });
        },
        async 'rows of many sizes'() {
          const size = random(4) === 0 ? random(4000) : random(20);
          const rows = await sql`select n, ${token} || n as token from generate_series(1, ${size}::int) n`;
          assert.equal(rows.length, size);
          for (const [index, row] of rows.entries()) assert.equal(row.token, `${token}${index + 1}`);
        },
        async 'one long value'() {
          const size = 100_000 + random(900_000);
          const rows = await sql`select ${token} || repeat('z', ${size}::int) as long`;
          assert.equal(rows[0]?.long.length, token.length + size);
          assert.ok(rows[0]?.long.startsWith(token));
        },
        async insert() {
          await sql`insert into ledger (caller, token) values (${caller}, ${token})`;
          written += 1;
        },
        async 'transaction, committed'() {
          await sql.begin(async (transaction) => {
            await transaction`insert into ledger (caller, token) values (${caller}, ${token})`;
            if (random(2) === 0) await delay(random(3));
            const rows = await transaction`select count(*)::int as found from ledger where token = ${token}`;
            assert.equal(rows[0]?.found, 1);
          });
          written += 1;
        },
        async 'transaction, rolled back'() {
          await assert.rejects(
            sql.begin(async (transaction) => {
              await transaction`insert into ledger (caller, token) values (${caller}, ${token})`;
              throw new Error(token);
            }),
            { message: token },
          );
        },
        async 'transaction that PostgreSQL aborts'() {
          await assert.rejects(
            sql.begin(async (transaction) => {
              await transaction`insert into ledger (caller, token) values (${caller}, ${token})`;
              await transaction`insert into ledger (caller, token) values (${caller}, ${token})`;
            }),
            sqlState('23505'),
          );
        },
        async savepoint() {
          await sql.begin(async (transaction) => {
            await transaction`insert into ledger (caller, token) values (${caller}, ${token})`;
            await assert.rejects(
              transaction.savepoint((inner) => inner`insert into ledger (caller, token) values (${caller}, ${token})`),
              sqlState('23505'),
            );
            const rows = await transaction`select ${token} as token`;
            assert.equal(rows[0]?.token, token);
          });
          written += 1;
        },
        async cursor() {
          let seen = 0;
          await sql`select n, ${token} as token from generate_series(1, 50) n`.cursor(7, (rows) => {
            for (const row of rows) assert.equal(row.token, token);
            seen += rows.length;
          });
          assert.equal(seen, 50);
        },
        async 'many at once'() {
          const answers = await Promise.all(
            [1, 2, 3, 4, 5].map((n) => (n === 3 ? sql`select 1 / 0`.catch(() => null) : sql`select ${token + n} as token`)),
          );
          for (const [index, rows] of answers.entries())
            assert.equal(rows?.[0]?.token, index === 2 ? undefined : `${token}${index + 1}`);
        },
      };
      const names = Object.keys(operations);
      const name = names[random(names.length)] as string;
      counts.set(name, (counts.get(name) ?? 0) + 1);
      try {
        await operations[name]?.();
      } catch (error) {
        throw new Error(`caller ${caller}, round ${round}, ${name}`, { cause: error });
      }
    }
    committed[caller] = written;
  }

  await Promise.all(Array.from({ length: callers }, (_, caller) => call(caller)));

  assert.ok([...counts.values()].reduce((sum, count) => sum + count, 0) >= 3_000);
  assert.equal(counts.size, 15, 'every kind of operation took part');
  const rows = await web<
    { caller: number; written: number }[]
  >`select caller, count(*)::int as written from ledger group by caller order by caller`;
  assert.deepEqual(
    rows.map((row) => row.written),
    committed,
  );
  await Promise.all([web.end({ timeout: 2 }), other.end({ timeout: 2 })]);
  await patient.close();
});

test('a query beside an open transaction fails with 55P03 instead of waiting for ever, and then everything works on', async () => {
  const sql = makeClient();
  await sql`create table beside (n int)`;
  const started = performance.now();
  await sql.begin(async (transaction) => {
    await transaction`insert into beside values (1)`;
    await assert.rejects(sql`insert into beside values (${2})`, sqlState('55P03'));
    await assert.rejects(sql`insert into beside values (3)`, sqlState('55P03'));
    await assert.rejects(sql.unsafe('insert into beside values (4)').simple(), (error) => {
      assert.match(String(error), /embedded database/);
      return sqlState('55P03')(error);
    });
    await transaction`insert into beside values (5)`;
  });
  assert.ok(performance.now() - started < 15_000);
  const rows = await sql`select n from beside order by n`;
  assert.deepEqual(
    rows.map((row) => row.n),
    [1, 5],
  );
});

test('waiting in line is fair: a busy connection does not starve another', async () => {
  const busy = makeClient({ max: 1 });
  const other = makeClient({ max: 1 });
  await other`select 1`;
  let stop = false;
  const noise = (async () => {
    while (!stop) await Promise.all(Array.from({ length: 50 }, (_, n) => busy`select ${n}::int`));
  })();
  for (let n = 0; n < 20; n++) assert.equal((await other`select ${n}::int as n`)[0]?.n, n);
  stop = true;
  await noise;
});

test('settings of one pool do not reach another', async () => {
  const german = makeClient({
    connection: { TimeZone: 'Europe/Berlin', search_path: 'pg_catalog, public', plan_cache_mode: 'force_generic_plan' },
  });
  const plain = makeClient({ connection: { work_mem: '8MB', application_name: 'plain' } });
  const show = async (sql: Client) =>
    (
      await sql`select current_setting('TimeZone') as zone, current_setting('search_path') as path,
        current_setting('plan_cache_mode') as plan, current_setting('work_mem') as memory, current_setting('application_name') as name,
        current_user::text as who`
    )[0];

  const expectedGerman = {
    zone: 'Europe/Berlin',
    path: 'pg_catalog, public',
    plan: 'force_generic_plan',
    memory: '4MB',
    name: 'postgres.js',
    who: 'postgres',
  };
  const first = await show(plain);
  for (let n = 0; n < 5; n++) {
    const [left, right] = await Promise.all([show(german), show(plain)]);
    assert.deepEqual({ ...left }, expectedGerman);
    assert.deepEqual(right, first);
  }
  assert.equal(first?.memory, '8MB');
  assert.equal(first?.plan, 'auto');

  // what a connection sets later lasts for its turn
  const own = makeClient({ max: 1, connection: { TimeZone: 'Asia/Tokyo' } });
  await own`create role embedded_reader`;
  const before = await show(own);
  for (const change of [
    `set work_mem = '5MB'`,
    'set search_path = "$user", pg_catalog; set role embedded_reader',
    'reset timezone',
  ]) {
    await own.unsafe(change).simple();
    assert.deepEqual(await show(plain), first);
    assert.deepEqual(await show(german), expectedGerman);
    assert.deepEqual(await show(own), before);
  }

  const wrong = makeClient({ max: 1, connection: { no_such_setting: '1' } });
  await assert.rejects(wrong`select 1`, sqlState('42704'));
  assert.deepEqual(await show(plain), first);
});

test('prepared statements end with their connection', async () => {
  const left = connectRaw(database.socket());
  await left.ask(parse('mine', "select 'left'"), sync);
  assert.match(await left.ask(bind('mine'), execute, sync), /left/);
  assert.match(await left.ask(parse('mine', 'select 2'), sync), /42P05/, 'a name in use is refused');
  left.socket.destroy();
  const sql = makeClient();
  await waitFor('the end of its statements', async () => {
    const [row] = await sql`select count(*)::int as open from pg_prepared_statements where statement like 'select ''left%'`;
    return row?.open === 0;
  });
});

test('after an error messages are ignored until Sync, and one ReadyForQuery answers it', async () => {
  const raw = connectRaw(database.socket());
  assert.equal(kinds(await raw.ask(parse('', 'select 1'), bind(''), execute, sync)), '12DCZ');
  assert.equal(kinds(await raw.ask(parse('', 'selec 1'), bind(''), execute, sync)), 'EZ');
  assert.equal(
    kinds(await raw.ask(parse('', 'select 1/0'), bind(''), execute, parse('', 'select 1'), bind(''), execute, sync)),
    '1EZ',
  );
  raw.send(parse('', 'selec 1'), flush);
  await delay(50);
  raw.send(parse('', 'select 1'), flush, query('select 3'));
  await delay(50);
  assert.equal(kinds(await raw.ask(sync)), 'EZ');
  assert.equal(kinds(await raw.ask(query('select 1; select 1/0; select 2'))), 'TDCEZ');
  raw.socket.destroy();
});

test('a connection that vanishes in a transaction is rolled back', async () => {
  const sql = makeClient();
  await sql`create table vanished (n int)`;
  for (const leave of [
    (raw: Raw) => raw.socket.destroy(),
    (raw: Raw) => raw.socket.end(message('X')),
    // in the middle of the extended protocol, after an error, and while a statement runs
    (raw: Raw) =>
      raw.send(parse('', 'insert into vanished values (2)'), bind(''), execute, flush) &&
      setTimeout(() => raw.socket.destroy(), 20),
    (raw: Raw) => raw.send(parse('', 'selec'), flush) && setTimeout(() => raw.socket.destroy(), 20),
    (raw: Raw) => raw.send(query('select pg_sleep(0.05)')) && setTimeout(() => raw.socket.destroy(), 20),
  ]) {
    const raw = connectRaw(database.socket());
    await raw.ask(query('begin'));
    await raw.ask(query('insert into vanished values (1)'));
    leave(raw);
    const rows = await sql`select count(*)::int as found from vanished`;
    assert.equal(rows[0]?.found, 0, String(leave));
  }
});

test('a connection that vanishes while it waits leaves the line', async () => {
  const sql = makeClient({ max: 1 });
  const waiting = connectRaw(database.socket());
  await sql.begin(async (transaction) => {
    await transaction`select 1`;
    waiting.send(query('create table never_made (n int)'));
    await delay(20);
    waiting.socket.destroy();
  });
  assert.equal((await sql`select to_regclass('never_made') as made`)[0]?.made, null);
});

test('COPY FROM STDIN, which is not understood, fails, and the session goes on', async () => {
  const raw = connectRaw(database.socket());
  await raw.ask(query('create table copied (n int)'));
  assert.match(kinds(await raw.ask(query('copy copied from stdin'))), /EZ$/);
  assert.equal(kinds(await raw.ask(query('select 1'))), 'TDCZ');
  raw.socket.destroy();
});

test('PostGIS, btree_gist, uuid-ossp and pgcrypto work', async () => {
  const sql = makeClient();
  await sql
    .unsafe(
      'create extension if not exists postgis; create extension if not exists btree_gist; create extension if not exists "uuid-ossp"; create extension if not exists pgcrypto',
    )
    .simple();
  const [point] = await sql`select ST_X(p) as x, ST_Y(p) as y from ST_Transform(ST_SetSRID(ST_Point(7.7, 49.45), 4326), 25832) p`;
  // computed by hand with Krüger's series (GRS80, zone 32)
  assert.ok(Math.abs(point?.x - 405_775.5168) < 0.001 && Math.abs(point?.y - 5_478_294.3939) < 0.001, JSON.stringify(point));
  const [back] =
    await sql`select ST_X(p) as lon, ST_Y(p) as lat from ST_Transform(ST_Transform(ST_SetSRID(ST_Point(7.7, 49.45), 4326), 25832), 4326) p`;
  assert.ok(Math.abs(back?.lon - 7.7) < 1e-8 && Math.abs(back?.lat - 49.45) < 1e-8);

  await sql`create table sighted (id bigint generated always as identity primary key, place geometry(Point, 25832))`;
  await sql`insert into sighted (place) select ST_SetSRID(ST_Point(400000 + n % 100, 5480000 + n / 100), 25832) from generate_series(1, 5000) n`;
  await sql`create index on sighted using gist (place, id)`;
  await sql`analyze sighted`;
  const newest = await sql.begin(async (transaction) => {
    await transaction`set local enable_sort = off`;
    const plan =
      await transaction`explain select id from sighted where place && ST_MakeEnvelope(400000, 5480000, 400050, 5480050, 25832) order by id <-> 9007199254740991::bigint limit 20`;
    assert.match(JSON.stringify(plan), /Order By/);
    return await transaction`select id::int from sighted where place && ST_MakeEnvelope(400000, 5480000, 400050, 5480050, 25832) order by id <-> 9007199254740991::bigint limit 20`;
  });
  const ids = newest.map((row) => row.id);
  assert.deepEqual(
    ids,
    [...ids].sort((a, b) => b - a),
  );
  assert.deepEqual(ids.slice(0, 2), [5000, 4950]);

  const [uuid] =
    await sql`select uuid_generate_v5(uuid_ns_url(), 'https://example.org/')::text as v5, encode(digest('a', 'sha256'), 'hex') as hash`;
  assert.equal(uuid?.v5, '527dda32-a0de-5105-a042-cb475b5f7d11');
  assert.match(uuid?.hash, /^ca978112/);
  const [text] =
    await sql`select lower('Ä') as lower, normalize(U&'a\\0308') = 'ä' as same, '2024-07-01 12:00 Europe/Berlin'::timestamptz = '2024-07-01 10:00Z' as summer`;
  assert.deepEqual({ ...text }, { lower: 'ä', same: true, summer: true });
});

test('a dump is a copy that lives on its own', async () => {
  const sql = makeClient();
  await sql`create table dumped (n int)`;
  await sql`insert into dumped values (1)`;
  const dump = await database.dump();
  assert.deepEqual([...dump.subarray(0, 2)], [0x1f, 0x8b]);
  await sql`insert into dumped values (2)`;
  const copies = [await openCopy(dump), await openCopy(dump)];
  for (const [index, copy] of copies.entries()) {
    const inCopy = makeClient({ max: 2 }, copy);
    await inCopy`insert into dumped values (${index + 10})`;
    assert.deepEqual(
      (await inCopy`select n from dumped order by n`).map((row) => row.n),
      [1, index + 10],
    );
    await inCopy.end({ timeout: 2 });
  }
  assert.deepEqual(
    (await sql`select n from dumped order by n`).map((row) => row.n),
    [1, 2],
  );
  await Promise.all(copies.map((copy) => copy.close()));
});

test('errors leave nothing behind, however many there are and however deep', async () => {
  const sql = makeClient({ max: 1 });
  // Found at the bottom of the expression.
  const deep = `select ${'abs('.repeat(400)}1 / 0${')'.repeat(400)}`;
  for (let n = 0; n < 100; n++) await assert.rejects(sql.unsafe(deep), sqlState('22012'));
  const [row] = await sql`select 1 as one`;
  assert.equal(row?.one, 1);
});

test('when the engine dies every caller learns it, and nothing hangs', async () => {
  const crashes: Error[] = [];
  const doomed = await openFresh({ onCrash: (error) => crashes.push(error) });
  const sql = makeClient({ max: 2, backoff: 0.01 }, doomed);
  await sql`select 1`;
  const running = [
    // PGlite can't start programs and throws out of the middle of PostgreSQL
    assert.rejects(sql.unsafe('copy (select 1) to program $$true$$')),
    assert.rejects(sql`select 2`),
    delay(5).then(() => assert.rejects(doomed.dump())),
  ];
  await Promise.all(running);
  assert.equal(crashes.length, 1);
  assert.throws(() => doomed.socket());
  await assert.rejects(sql`select 3`);
  await sql.end({ timeout: 1 });
  await doomed.close();
});

// A client that shows the bare messages.

interface Raw {
  socket: Duplex;
  send(...messages: Buffer[]): true;
  /** sends, and returns everything up to the next ReadyForQuery */
  ask(...messages: Buffer[]): Promise<string>;
}

function message(type: string, ...parts: (string | Buffer)[]): Buffer {
  const body = Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(`${part}\0`) : part)));
  const header = Buffer.alloc(5);
  header.write(type);
  header.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([header, body]);
}

const sync = message('S');
const flush = message('H');
const execute = message('E', '', Buffer.alloc(4));
const parse = (name: string, text: string) => message('P', name, text, Buffer.alloc(2));
const bind = (name: string) => message('B', '', name, Buffer.alloc(6));
const query = (text: string) => message('Q', text);

function split(bytes: Buffer): Buffer[] {
  const messages: Buffer[] = [];
  for (let at = 0; at + 5 <= bytes.length; at += 1 + bytes.readInt32BE(at + 1))
    messages.push(bytes.subarray(at, at + 1 + bytes.readInt32BE(at + 1)));
  return messages;
}

/** The types of the messages, without those that may come at any time. */
function kinds(answer: string): string {
  return split(Buffer.from(answer, 'latin1'))
    .map((bytes) => String.fromCharCode(bytes[0] as number))
    .filter((kind) => !'SNA'.includes(kind))
    .join('');
}

function connectRaw(socket: Duplex): Raw {
  let received = Buffer.alloc(0);
  let wake = () => {};
  socket.on('error', () => {});
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    wake();
  });
  const startup = Buffer.from('\0\0\0\0\0\x03\0\0user\0test\0database\0test\0\0', 'latin1');
  startup.writeInt32BE(startup.length, 0);
  socket.write(startup);
  const greeted = untilReady();

  async function untilReady(): Promise<string> {
    for (;;) {
      const messages = split(received);
      const last = messages.at(-1);
      if (last && last[0] === 0x5a && last.length === 6) {
        // a surplus ReadyForQuery would come right behind
        await delay(5);
        const answer = received.toString('latin1');
        received = Buffer.alloc(0);
        return answer;
      }
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }
  return {
    socket,
    send(...messages) {
      socket.write(Buffer.concat(messages));
      return true;
    },
    async ask(...messages) {
      await greeted;
      socket.write(Buffer.concat(messages));
      return await untilReady();
    },
  };
}

// Locks need rights: no session of an analyst, whatever it holds, stops a report or a migration.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Sql } from '../../src/db/client.ts';
import { listGrantWarnings } from '../../src/db/grants.ts';
import { migrateDatabase } from '../../src/db/migrate.ts';
import { createAnalyst } from '../support/analyst.ts';
import { root } from '../support/child.ts';
import { onPostgres, openTestDatabase } from '../support/database.ts';
import { startTestService, type TestService } from '../support/service.ts';

it('nothing of the service takes an advisory lock, and tables are locked in one file', () => {
  const found: string[] = [];
  for (const file of ['src/**/*.ts', 'sql/code/**/*.sql'].flatMap((pattern) => globSync(pattern, { cwd: root }))) {
    const text = readFileSync(join(root, file), 'utf8').replace(/^\s*(--|\/\/|\*|\/\*).*$/gm, '');
    // Whom the grants leave some to takes none; nor does what an administrator is told to run.
    const runs = file === 'src/db/grants.ts' ? '' : text.replace(/^\s*grant execute .*$/gm, '');
    if (/pg_(try_)?advisory/.test(runs)) found.push(`${file}: advisory`);
    if (/\block table\b/i.test(text) && !/^sql\/code\/locks\.sql$|^src\/db\/migrate\.ts$/.test(file)) found.push(file);
  }
  assert.deepEqual(found, []);
});

/** Takes a lock on a table; what is returned lets go of it. */
async function holdLock(holder: Sql, lock: string): Promise<() => Promise<void>> {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { promise: locked, resolve: tellLocked } = Promise.withResolvers<void>();
  const holding = holder.begin(async (tx) => {
    await tx.unsafe(`lock table ${lock}`);
    tellLocked();
    await released;
  });
  await locked;
  return async () => {
    release();
    await holding;
  };
}

describe('while somebody holds every advisory lock there might be', { skip: !onPostgres && 'needs a second session' }, () => {
  let service: TestService;
  before(async () => {
    service = await startTestService();
  });

  it('reports are taken, boundaries and catalogue change, and a migration ends', async () => {
    const { database } = service;
    const holder = database.connect();
    for (const [a, b] of Array.from({ length: 64 }, (_, n) => [n % 8 < 4 ? 25832 : n, n >> 3] as const))
      await holder`select pg_try_advisory_lock(${a}::integer, ${b}::integer)`;
    await holder`select pg_try_advisory_lock(n) from generate_series(0, 100) n`;
    await service.makeSichtbeobachtung();
    await database.sql`update portal.art_mandant set sensibel = not sensibel where art = 5`;
    const answer = await service.request('/register', {
      form: { loginname: 'trotzdem', email: 'trotzdem@example.org', vorname: 'Trotz', nachname: 'Dem' },
    });
    assert.equal(answer.status, 200, answer.text);
    assert.ok(['unchanged', 'replaced'].includes(await migrateDatabase(database)));
    await holder.end({ timeout: 1 });
  });

  it('an analyst can hold none, nor anything else that would fill the server’s table of locks', async () => {
    // A copy of a database does not have its rights.
    await migrateDatabase(service.database);
    const functions = await service.database.sql<{ call: string }[]>`
      select format('%I(%s)', p.proname, array_to_string(
        array(
          select format('%L::%s', case when t::regtype::text like '%[]' then '{1}' else '1' end, t::regtype)
          from unnest(p.proargtypes) t), ', ')) as call
      from api.list_sperrende_funktion(public_only => false) f
      join pg_proc p on p.oid = f`;
    for (const name of [
      'pg_try_advisory_lock',
      'lo_create',
      'pg_logical_emit_message',
      'brin_summarize_new_values',
      'pg_export_snapshot',
      'nextval',
      'pg_get_object_address',
      'table_to_xmlschema',
    ])
      assert.ok(
        functions.some(({ call }) => call.startsWith(`${name}(`)),
        name,
      );
    const one = await createAnalyst(service.database, 'gis_public');
    await one.run(async (session) => {
      const statements = [...functions.map(({ call }) => `select ${call}`), 'create temporary table meine (id integer)'];
      for (const statement of statements) await assert.rejects(session.unsafe(statement), { code: '42501' }, statement);
      // A view that can be written would be locked for it as its table is, by who only prepares that.
      const views = await session<{ name: string }[]>`
        select c.oid::regclass::text as name from pg_class c where c.relnamespace = 'gis'::regnamespace and c.relkind = 'v'`;
      assert.ok(views.length > 10);
      for (const { name } of views)
        await assert.rejects(session.unsafe(`prepare p as delete from ${name}`), { code: /^55000|42501$/ }, name);
    });
    // The service's own role still may.
    await service.database.sql`select pg_advisory_xact_lock(1)`;
    assert.deepEqual(await listGrantWarnings(service.database.sql), []);
  });

  it('what refuses definitions is back after the next migration, and asked for until then', async () => {
    const { sql } = service.database;
    const list = async () => (await sql`select evtname from pg_event_trigger order by 1`).map(({ evtname }) => evtname);
    const name = 'species_sighting_definition';
    assert.deepEqual(await list(), [name]);
    const gone = [
      `drop event trigger ${name}`,
      `alter event trigger ${name} disable`,
      `alter event trigger ${name} enable replica`,
    ];
    for (const statement of gone) {
      await sql.unsafe(statement);
      const [warning = '', ...others] = await listGrantWarnings(sql);
      assert.match(warning, /^Wer auswertet, kann mit einer Definition /, statement);
      assert.deepEqual(others, []);
      assert.equal(await migrateDatabase(service.database), 'unchanged');
      assert.deepEqual(await list(), [name]);
      assert.deepEqual(await listGrantWarnings(sql), []);
      // As it is printed, too.
      await sql.unsafe(statement);
      await sql.unsafe(warning.replace(/^.*: /, ''));
      assert.deepEqual(await listGrantWarnings(sql), [], statement);
    }
  });

  it('an analyst waits for no lock by what analysts may not define, and fills no table of locks with it', async () => {
    const one = await createAnalyst(service.database, 'gis_public');
    const holder = service.database.connect();
    const release = await holdLock(holder, 'pg_catalog.pg_class in access share mode');
    await one
      .run(async (session) => {
        await session`set lock_timeout = '1s'`;
        for (const statement of [
          'create rule r as on insert to pg_catalog.pg_class do instead nothing',
          'create trigger t before insert on pg_catalog.pg_class execute function suppress_redundant_updates_trigger()',
          'alter index pg_catalog.pg_class_oid_index depends on extension plpgsql',
          'grant select on gis.sichtbeobachtung to public',
          'grant execute on function pg_catalog.now() to public',
          'alter default privileges grant select on tables to gis_public',
          'drop owned by current_user',
          'alter materialized view pg_catalog.pg_class depends on extension plpgsql',
        ])
          await assert.rejects(session.unsafe(statement), { code: '42501', message: /^analysts define nothing / }, statement);
      })
      .finally(release);
    // The service's own role may everything.
    await holder.unsafe('create table public.eigene (id integer)');
    await holder.unsafe('create rule r as on insert to public.eigene do instead nothing');
    await holder.unsafe('drop table public.eigene');
    await holder.end({ timeout: 1 });
  });

  it('an analyst defines nothing, also in a schema of their own', async () => {
    const one = await createAnalyst(service.database, 'gis_public', 'Anna-B');
    const holder = service.database.connect();
    // A release before this one let them.
    await holder.unsafe(`create schema eigenes authorization "${one.name}"`);
    try {
      await one.run(async (session) => {
        await session`set standard_conforming_strings = off`;
        for (const statement of [
          'create table eigenes.kopie as select * from gis.mandant',
          'create table eigenes.punkte (id integer)',
          "do $$ begin execute 'create table eigenes.punkte (id integer)'; end $$",
          'create view eigenes.amseln as select * from gis.sichtbeobachtung',
          'create materialized view eigenes.laender as select * from gis.mandant',
          "create function eigenes.eins() returns integer language sql as 'select 1'",
          'create sequence eigenes.folge',
          "create domain eigenes.wort as text check (value <> '')",
          'comment on schema eigenes is null',
          'drop schema eigenes',
        ])
          await assert.rejects(session.unsafe(statement), { code: '42501', message: /^analysts define nothing / }, statement);
      });
    } finally {
      await holder.unsafe('drop schema if exists eigenes cascade');
      await holder.end({ timeout: 1 });
    }
  });

  it('the next migration gives analysts nothing that locks, whatever rights on schemas they were given', async () => {
    const one = await createAnalyst(service.database, 'gis_public', 'Anna-B');
    const holder = service.database.connect();
    try {
      await holder.unsafe(`grant usage on schema portal to "${one.name}"`);
      await holder.unsafe(
        'grant execute on function pg_advisory_lock(bigint) to public; grant create on schema gis to gis_public',
      );
      await migrateDatabase(service.database);
      assert.ok(!(await listGrantWarnings(holder)).some((line) => line.includes(one.name)));
      await one.run(async (session) => {
        await assert.rejects(async () => void (await session`select pg_advisory_lock(1)`), { code: '42501' });
        const [row] = await session`select has_schema_privilege('gis', 'create') as may`;
        assert.equal(row?.may, false);
        assert.equal((await session`select from gis.mandant limit 1`).length, 1);
      });
    } finally {
      await holder.unsafe(`revoke usage on schema portal from "${one.name}"`);
      await holder.end({ timeout: 1 });
    }
  });

  it('squares are counted while `vacuum` of them waits for an open cursor', async () => {
    await service.makeReleased({ lat: '5530003' });
    const other = service.database.connect();
    try {
      await other.begin(async (vacuum) => {
        await vacuum`lock table portal.raster_zahl in share update exclusive mode`;
        const [counted] = await service.database.sql<{ squares: number }[]>`
          select api.set_raster_zahl(row_limit => 1000) as squares`;
        assert.ok(Number(counted?.squares) > 0);
      });
    } finally {
      await other.end({ timeout: 1 });
    }
  });

  it('the tables that are locked are not theirs to lock', async () => {
    for (const role of ['gis_public', 'gis_exact']) {
      for (const table of [
        'portal.sperre_katalog',
        'portal.sperre_export',
        'portal.sperre_konto',
        'portal.sperre_pruefung',
        'portal.sperre_raster',
        'portal.grenzlauf',
        'portal.sichtbeobachtung',
        'drizzle.sperre_migration',
      ]) {
        const analyst = service.database.connect();
        await analyst`set role ${analyst(role)}`;
        for (const mode of ['access share', 'row share', 'exclusive']) {
          await assert.rejects(
            analyst.begin((tx) => tx.unsafe(`lock table ${table} in ${mode} mode`)),
            { code: '42501' },
            `${role} ${table} ${mode}`,
          );
        }
        await analyst.end({ timeout: 1 });
      }
    }
  });
});

it('a migration that waits for another one says so, and goes on when that has ended', {
  skip: !onPostgres && 'one process only',
}, async () => {
  const database = await openTestDatabase();
  const other = database.connect();
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { promise: locked, resolve: lock } = Promise.withResolvers<void>();
  const holding = other.begin(async (tx) => {
    await tx`lock table drizzle.sperre_migration in exclusive mode`;
    lock();
    await released;
  });
  await locked;
  const lines: string[] = [];
  const migrating = migrateDatabase(database, { report: (line) => lines.push(line) });
  for (let tries = 0; lines.length === 0 && tries < 100; tries++) await sleep(100);
  assert.match(lines.join(), /Eine andere Migration läuft/);
  release();
  await holding;
  assert.equal(await migrating, 'unchanged');
  await other.end({ timeout: 1 });
});

it('a boundary run and accounts do not wait for each other', { skip: !onPostgres && 'needs several connections' }, async () => {
  const service = await startTestService();
  const { database } = service;
  const run = database.connect();
  const [begun] = await run`select api.create_grenzlauf(quelle => 'test', erzwungen => false) as id`;
  const form = { loginname: 'währenddessen', email: 'w@example.org', vorname: 'Wa', nachname: 'Ren' };
  assert.equal((await service.request('/register', { form })).status, 200);
  await assert.rejects(database.sql`select api.create_grenzlauf(quelle => 'test', erzwungen => false)`, { code: 'GLAUF' });
  // A run whose connection has gone was killed: the next one begins.
  await run.end({ timeout: 1 });
  await sleep(200);
  const [next] = await database.sql`select api.create_grenzlauf(quelle => 'test', erzwungen => false) as id`;
  assert.ok(next?.id > begun?.id);
  const [ended] = await database.sql`select ergebnis from portal.grenzlauf where id = ${begun?.id}`;
  assert.equal(ended?.ergebnis, 'abgebrochen');
});

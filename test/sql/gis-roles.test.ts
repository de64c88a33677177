// What an analyst with a login and ill will may do: read the views of the group, and nothing else (S6). Each row is one way.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import postgres from 'postgres';
import type { Database, Sql } from '../../src/db/client.ts';
import { migrateDatabase } from '../../src/db/migrate.ts';
import { startBoss } from '../../src/jobs/boss.ts';
import { type Analyst, type Group, openSecrets, secrets } from '../support/analyst.ts';
import { changeCode } from '../support/code.ts';
import { onPostgres, openTestDatabase } from '../support/database.ts';

const skip = onPostgres ? false : 'the embedded database has one user, who may do everything';

describe('an analyst', { skip }, () => {
  let database: Database;
  let sql: Sql;
  let analysts: Record<Group, Analyst>;
  before(async () => {
    ({ database, sql, analysts } = await openSecrets());
    await (await startBoss(database, () => {}, { supervise: false, mayChange: true })).stop();
  });

  it('S6 in gis_public reads the public views, in gis_exact also true places and the QS log', async () => {
    const views = [
      ...['sichtbeobachtung', 'sichtbeobachtung_raster', 'mandant', 'art', 'stadium', 'protokoll'],
      ...['raster_5km', 'raster_eea10', 'raster_mtb', 'raster_mtbq', 'raster_feld', 'raster_zahl', 'raster_besetzt'],
    ];
    for (const [group, own] of [
      ['gis_public', views],
      ['gis_exact', [...views, 'sichtbeobachtung_exakt', 'qs']],
    ] as const) {
      await analysts[group].run(async (session) => {
        for (const view of own) {
          const rows = await session.unsafe(`select * from gis.${view}`);
          assert.ok(rows.length > 0, `${group} ${view}`);
        }
        const [row] = await session`
          select count(*)::integer as n, count(*) filter (where st_y(place) = 5532500)::integer as masked from gis.sichtbeobachtung`;
        assert.deepEqual({ ...row }, { n: 60, masked: 40 });
      });
    }
    await analysts.gis_exact.run(async (session) => {
      const rows = await session`select st_y(place) as y from gis.sichtbeobachtung_exakt`;
      const found = (y: number) => rows.filter((row) => Math.abs(row.y - y) < 10).length;
      assert.deepEqual(Object.values(secrets).map(found), [20, 20, 0, 0]);
    });
  });

  // [what is tried, the statement, the error]
  const refused: [what: string, statement: string, code: string | RegExp][] = [
    ['read the sightings', 'select * from portal.sichtbeobachtung', '42501'],
    ['read the shown rows past the view', 'select * from portal.sichtbeobachtung_gezeigt', '42501'],
    ['read the true places', 'select * from portal.sichtbeobachtung_exakt', '42501'],
    ['read accounts', 'select * from portal.nutzer', '42501'],
    ['read access keys', 'select * from portal.token', '42501'],
    ['read one column', 'select point from portal.sichtbeobachtung', '42501'],
    ['count sightings', 'select count(*) from portal.sichtbeobachtung', '42501'],
    ['read the jobs', 'select * from pgboss.job', '42501'],
    ['read the migrations', 'select * from drizzle.__drizzle_migrations', '42501'],
    ['read the exact view', 'select * from gis.sichtbeobachtung_exakt', '42501'],
    ['count the exact view', 'select count(*) from gis.sichtbeobachtung_exakt', '42501'],
    [
      'ask for the plan of the exact view',
      'explain select * from gis.sichtbeobachtung_exakt where st_y(place) > 5531777',
      '42501',
    ],
    ['read the QS log', 'select * from gis.qs', '42501'],
    ['ask for the plan of the QS log', 'explain select * from gis.qs where nutzer_id = 4', '42501'],
    ['call a function of the service', 'select api.get_sichtbeobachtung(1, 1, 1)', '42501'],
    ['list as an administrator', 'select api.list_nutzer(1, null, null, null, null, 10)', '42501'],
    ['call a helper', 'select private.to_cell(1)', '42501'],
    ['bring records in line', 'select private.set_gezeigt_all()', '42501'],
    [
      'have a plan with a hidden constant',
      'select * from gis.sichtbeobachtung where place = (select point from portal.sichtbeobachtung limit 1)',
      '42501',
    ],
    ['take the other role', 'set role gis_exact', '42501'],
    ['take the owner role', 'set session authorization postgres', '42501'],
    ['join the other role', 'grant gis_exact to current_user', /^(42501|0LP01)$/],
    ['create a role', 'create role gis_helper', '42501'],
    ['read the shadow passwords', 'select * from pg_authid', '42501'],
    ['read the statistics', 'select * from pg_statistic', '42501'],
    ['insert into a view', "insert into gis.mandant (kuerzel) values ('X')", '55000'],
    ['update a view', "update gis.mandant set name = 'X'", '55000'],
    ['delete from a view', 'delete from gis.protokoll', '55000'],
    ['lock a view', 'do $$ begin lock table gis.sichtbeobachtung in access exclusive mode; end $$', '42501'],
    ['delete sightings', 'delete from portal.sichtbeobachtung', '42501'],
    ['truncate', 'truncate portal.protokoll', '42501'],
    ['change a view', 'create or replace view gis.mandant as select 1 as id', '42501'],
    ['create a view in gis', 'create view gis.meine as select 1 as id', '42501'],
    ['create a table in public', 'create table public.meine (id integer)', '42501'],
    ['create a function in public', "create function public.meine() returns integer language sql as 'select 1'", '42501'],
    [
      'create an operator in public',
      'create operator public.=== (leftarg = integer, rightarg = integer, function = int4eq)',
      '42501',
    ],
    ['create a schema', 'create schema meines', '42501'],
    ['create an extension', 'create extension dblink', /^(42501|0A000|58P01)$/],
    ['connect elsewhere', "select * from dblink('dbname=postgres', 'select 1') t (a integer)", '42883'],
    ['run a program', "copy (select 1) to program 'cat'", '42501'],
    ['write a file', "copy (select 1) to '/x'", '42501'],
    ['read a file', "select pg_read_file('postgresql.conf')", '42501'],
    ['list files', "select pg_ls_dir('.')", '42501'],
    ['import a file', "select lo_import('/etc/passwd')", '42501'],
    ['read rows from disk', "select pg_read_binary_file(pg_relation_filepath('portal.sichtbeobachtung'))", '42501'],
    ['change the server', "alter system set log_statement = 'all'", '42501'],
    ['end the service', 'select pg_terminate_backend(pid) from pg_stat_activity where usename <> current_user', '42501'],
    ['see an extent by PostGIS', "select st_estimatedextent('portal', 'sichtbeobachtung', 'shown_point')", '42501'],
    ['read TWKB, which ends the server', "select public.st_geomfromtwkb('\\x01000204')", '42501'],
    ['read GML, which fills the log', "select public.st_geomfromgml('<a/>')", '42501'],
    ['read KML, which fills the log', "select public.st_geomfromkml('<a/>')", '42501'],
    ['read the memory of the server', "select public.st_fromflatgeobuf(null::gis.art, '')", '42501'],
    ['read the memory of the server by rows of two types', 'select public.st_asflatgeobuf(r) from (values (1)) r', '42501'],
    ['do so by tiles', "select public.st_asmvt(r, 'n') from (values (public.st_point(1, 1))) r (geom)", '42501'],
    ['do so by a row that has no geometry', "select public.st_asgeojson(row('x'::text, 1), 'f1')", '42501'],
    ['do so by Geobuf', 'select public.st_asgeobuf(r) from (values (public.st_point(1, 1))) r (geom)', '42501'],
    ['compute what does not end', 'select public.st_aslatlontext(public.st_makepoint(1e308, -1e308))', '42501'],
    ['put a million marks in order', "select normalize('x', NFD)", '42501'],
    ['compute what can not be ended', "select xpath('//a', '<a/>'::xml)", '42501'],
    ['see whether a path is there', "select xmlexists('//a' passing xml '<a/>')", '42501'],
    ['count what requests read of an index', 'select idx_scan from pg_stat_user_indexes limit 1', '42501'],
    ['count blocks that were read', 'select idx_blks_hit from pg_statio_all_indexes limit 1', '42501'],
    ['count rows that were read', 'select tup_fetched from pg_stat_database', '42501'],
    ['count what is written', 'select wal_bytes from pg_stat_wal', '42501'],
    ['take a number and a lock for each savepoint', 'select public.gettransactionid()', '42501'],
    ['read definitions of coordinate systems', "select public.st_transform(public.st_point(1, 1), '+proj=longlat')", '42501'],
    ['see an extent by searching', "select st_findextent('portal', 'sichtbeobachtung', 'point')", '42501'],
    ['see the last record', 'select last_value from portal.sichtbeobachtung_id_seq', '42501'],
    ['copy a table', 'copy portal.sichtbeobachtung to stdout', '42501'],
    [
      'listen to a trigger',
      'create trigger t after insert on gis.sichtbeobachtung for each row execute function suppress_redundant_updates_trigger()',
      /^(42501|42809)$/,
    ],
    ['hang a rule on a view', 'create rule r as on insert to gis.sichtbeobachtung do nothing', '42501'],
    ['comment on a view', "comment on view gis.sichtbeobachtung is 'meine'", '42501'],
  ];
  for (const [what, statement, code] of refused) {
    it(`S6 in gis_public can't ${what}`, async () => {
      await analysts.gis_public.run((session) => assert.rejects(session.unsafe(statement), { code }));
    });
  }

  it("S6 in gis_exact can't reach more than its two views either", async () => {
    const own = /gis\.(sichtbeobachtung_exakt|qs)\b|set role gis_exact|grant gis_exact/;
    const beyond = refused.filter(([, statement]) => !own.test(statement));
    assert.ok(beyond.length > 40);
    await analysts.gis_exact.run(async (session) => {
      for (const [what, statement, code] of beyond) await assert.rejects(session.unsafe(statement), { code }, what);
    });
  });

  it('S6 may execute no function of the project but those of outputs (O0.1), and otherwise only what comes with PostgreSQL and its extensions', async () => {
    const rows = await sql`
      select distinct r.rolname || ' ' || p.oid::regprocedure as name
      from pg_proc p
      cross join (select rolname from pg_roles where rolname in ('gis_public', 'gis_exact')) r
      where has_function_privilege(r.rolname, p.oid, 'execute')
        and (p.pronamespace in ('private'::regnamespace, 'api'::regnamespace, 'gis'::regnamespace)
          or (has_schema_privilege(r.rolname, p.pronamespace, 'usage')
            and p.pronamespace not in ('pg_catalog'::regnamespace, 'information_schema'::regnamespace, 'ausgabe'::regnamespace)
            and not exists (
              select from pg_depend d
              where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e' and d.refclassid = 'pg_extension'::regclass)))`;
    assert.deepEqual([...rows], []);
  });

  it('S6 may give whole rows and arrays of geometries to no function of PostGIS: some read what stands there as an address, or what stands behind', async () => {
    const rows = await sql`
      select p.oid::regprocedure::text as name
      from pg_proc p
      join pg_depend d on d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e'
      where d.refobjid = (select e.oid from pg_extension e where e.extname = 'postgis')
        and p.proargtypes::oid[] && '{record,anyelement,"geometry[]","geography[]"}'::regtype[]::oid[]
        and 'internal'::regtype <> all (p.proargtypes)
        and has_function_privilege('gis_public', p.oid, 'execute')`;
    assert.deepEqual([...rows], []);
  });

  it('S6 may read no table or view beside those of gis and what PostgreSQL and PostGIS show to everyone', async () => {
    const rows = await sql`
      select r.rolname || ' ' || c.oid::regclass as name
      from pg_class c
      cross join (select rolname from pg_roles where rolname in ('gis_public', 'gis_exact')) r
      where c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
        and c.relnamespace not in ('pg_catalog'::regnamespace, 'information_schema'::regnamespace, 'pg_toast'::regnamespace)
        and (has_table_privilege(r.rolname, c.oid, 'select,insert,update,delete,truncate,references,trigger')
          or (c.relkind <> 'S' and has_any_column_privilege(r.rolname, c.oid, 'select,insert,update,references')))
      order by 1`;
    const both = [
      'gis.art',
      'gis.mandant',
      'gis.protokoll',
      'gis.raster_5km',
      'gis.raster_besetzt',
      'gis.raster_eea10',
      'gis.raster_feld',
      'gis.raster_mtb',
      'gis.raster_mtbq',
      'gis.raster_zahl',
      'gis.sichtbeobachtung',
      'gis.sichtbeobachtung_raster',
      'gis.stadium',
      'geography_columns',
      'geometry_columns',
      'spatial_ref_sys',
    ];
    assert.deepEqual(
      rows.map((row) => row.name),
      [
        ...both.map((name) => `gis_exact ${name}`),
        'gis_exact gis.qs',
        'gis_exact gis.sichtbeobachtung_exakt',
        ...both.map((name) => `gis_public ${name}`),
      ].sort(),
    );
  });

  it('S6 is stopped after the time that the login role says, and writes nothing by default', async () => {
    const { url } = analysts.gis_public;
    const client = postgres(url.href, { max: 1 });
    await assert.rejects(client`select pg_sleep(30)`, { code: '57014' });
    await assert.rejects(client`create temp table meine (id integer)`, { code: '25006' });
    await client.end({ timeout: 1 });
    const rows = await sql`
      select rolname, rolconfig::text as config, rolcanlogin from pg_roles where rolname in ('gis_public', 'gis_exact')`;
    for (const row of rows) {
      assert.equal(row.rolcanlogin, false);
      assert.match(row.config, /statement_timeout=\d+s/);
    }
  });
});

describe('the groups', { skip }, () => {
  const owner = `test_${randomBytes(6).toString('hex')}`;
  after(async () => {
    if (onPostgres) await (await openTestDatabase()).sql.unsafe(`drop role ${owner}`);
  });

  it('are left to the administrator by a migration that may not create roles, and nothing else is missing', async () => {
    const database = await openTestDatabase();
    await database.sql.unsafe(`create role ${owner}`);
    const codeDir = changeCode('grants.sql', (text) =>
      text
        .replaceAll('gis_public', `${owner}_public`)
        .replaceAll('gis_exact', `${owner}_exact`)
        .replace('do $$', `set local role ${owner};\ndo $$$$`)
        .replace('end\n$$;', 'end\n$$$$;\nreset role;'),
    );
    assert.equal(await migrateDatabase(database, { codeDir }), 'replaced');
    const rows = await database.sql`select rolname from pg_roles where rolname like ${`${owner}_%`}`;
    assert.deepEqual([...rows], []);
  });
});

// What an analyst with a login and ill will may do: read the views of the group, and nothing else; and what may be found out by the ways
// around a view: functions and operators of one's own, errors, plans, statistics, and PostGIS's own curiosity (S6). Each row is one way.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import postgres from 'postgres';
import type { Database, Sql } from '../../src/db/client.ts';
import { listGrantWarnings } from '../../src/db/grants.ts';
import { migrateDatabase } from '../../src/db/migrate.ts';
import { countRaster } from '../../src/db/raster.ts';
import { startBoss } from '../../src/jobs/boss.ts';
import { type Analyst, type Group, openSecrets, secrets } from '../support/analyst.ts';
import { changeCode } from '../support/code.ts';
import { onPostgres, openTestDatabase } from '../support/database.ts';

const skip = onPostgres ? false : 'the embedded database has one user, who may do everything';

// Nor may anybody hear of records that are private or unreleased: each of them counts 15 771. As a number of its own that is no
// object's: those of a database begin at 16 384.
const secretText = /553[1-4]777|(?<![\d.])15771(?!\d)/;

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
      ...['raster_grob', 'raster_feature'],
    ];
    await countRaster(sql);
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
      'gis.mandant_teil',
      'gis.mandant_zelle',
      'gis.medium',
      'gis.protokoll',
      'gis.raster_5km',
      'gis.raster_besetzt',
      'gis.raster_eea10',
      'gis.raster_feature',
      'gis.raster_feld',
      'gis.raster_grob',
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

  // PostGIS looks into indexes and statistics without asking whether the caller may.
  const oid =
    "(select c.oid from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = 'portal' and c.relname = 'TABLE')::regclass";
  for (const [table, column] of [
    ['sichtbeobachtung', 'point'],
    ['sichtbeobachtung', 'shown_point'],
    ['sichtbeobachtung_exakt', 'place'],
  ] as const) {
    for (const call of [
      "_postgis_index_extent(TABLE, 'COLUMN')",
      "_postgis_stats(TABLE, 'COLUMN')",
      "_postgis_selectivity(TABLE, 'COLUMN', st_makeenvelope(421234, 5531777, 421235, 5531778, 25832))",
      "_postgis_join_selectivity(TABLE, 'COLUMN', TABLE, 'COLUMN')",
    ]) {
      it(`S6 can't learn from PostGIS's ${call.replaceAll('TABLE', table).replaceAll('COLUMN', column)}`, async () => {
        const statement = `select ${call}`.replaceAll('TABLE', oid.replace('TABLE', table)).replaceAll('COLUMN', column);
        for (const group of ['gis_public', 'gis_exact'] as const) {
          await analysts[group].run((session) => assert.rejects(session.unsafe(statement), { code: '42501' }));
        }
      });
    }
  }

  it('S6 would find no histogram of true places where those are open, and no index on the exact ones', async () => {
    const rows = await sql`
      select a.attrelid::regclass || '.' || a.attname as name
      from pg_statistic s join pg_attribute a on a.attrelid = s.starelid and a.attnum = s.staattnum
      where (a.attrelid = 'portal.sichtbeobachtung'::regclass and a.attname = 'point')
        or (a.attrelid = 'portal.sichtbeobachtung_exakt'::regclass and a.attname in ('place', 'bemerkung'))
      union all
      select i.indexrelid::regclass::text from pg_index i
      where i.indrelid = 'portal.sichtbeobachtung_exakt'::regclass and not i.indisprimary`;
    assert.deepEqual([...rows], []);
  });

  it('leaves the operator nothing to close on a server that the service set up itself', async () => {
    // A copy of a database does not have its rights.
    await migrateDatabase(database);
    assert.deepEqual(await listGrantWarnings(sql), []);
  });

  // Everything that comes back, and every notice, is searched for a northing that must not be known.
  const searched: [what: string, statements: string[]][] = [
    [
      "a cheap function of one's own in a where-clause",
      [
        `create function pg_temp.spy(what text) returns boolean language plpgsql cost 0.0000001 as $$
         begin raise notice '%', what; return true; end $$`,
        'select * from gis.sichtbeobachtung s where pg_temp.spy(s::text) and unschaerfe_m > 0',
        'select count(*) from gis.sichtbeobachtung where pg_temp.spy(bemerkung)',
        `create function pg_temp.spy(what geometry) returns boolean language plpgsql cost 0.0000001 as $$
         begin raise notice '%', st_astext(what); return true; end $$`,
        'select count(*) from gis.sichtbeobachtung where pg_temp.spy(place)',
        'select count(*) from gis.raster_5km where pg_temp.spy(cell)',
        `create function pg_temp.spy(what integer) returns boolean language plpgsql cost 0.0000001 as $$
         begin raise notice '%', what; return true; end $$`,
        'select count(*) from gis.sichtbeobachtung where pg_temp.spy(anzahl)',
        'select * from gis.raster_5km r where pg_temp.spy(r::text)',
        'select * from gis.protokoll p join gis.sichtbeobachtung s on s.id = p.sichtbeobachtung_id where pg_temp.spy(s::text || p::text)',
      ],
    ],
    [
      "an operator of one's own, which the planner tries on statistics",
      [
        `create function pg_temp.spy(a double precision, b double precision) returns boolean language plpgsql cost 0.0000001 as $$
         begin raise notice '% %', a, b; return true; end $$`,
        `create operator pg_temp.<<<< (leftarg = double precision, rightarg = double precision, function = pg_temp.spy, restrict = scalarltsel)`,
        'explain select * from gis.sichtbeobachtung where st_y(place) operator(pg_temp.<<<<) 1',
      ],
    ],
    ['a cast that fails', ['select st_astext(place)::integer from gis.sichtbeobachtung where unschaerfe_m > 0']],
    [
      'a division by zero that depends on the place',
      ['select 1 / (st_y(place) - 5532500)::integer from gis.sichtbeobachtung where unschaerfe_m > 0'],
    ],
    [
      'the plan and its estimates',
      [
        'explain (analyze, verbose, buffers) select * from gis.sichtbeobachtung where place && st_makeenvelope(421234, 5531770, 421235, 5531780, 25832)',
      ],
    ],
    ['statistics', ['select * from pg_stats', 'select * from pg_stats_ext', 'select * from pg_stats_ext_exprs']],
    [
      'the activity of others',
      ['select * from pg_stat_activity', 'select * from pg_locks', 'select * from pg_prepared_statements'],
    ],
    [
      'the catalogue of the database',
      [
        'select * from information_schema.columns',
        'select * from pg_indexes',
        'select * from pg_views',
        'select * from pg_description',
      ],
    ],
    ['system columns', ['select * from gis.sichtbeobachtung order by 1']],
    [
      'the schema as XML',
      [
        "select schema_to_xml('gis', true, true, '')",
        "select query_to_xml('select * from gis.sichtbeobachtung', true, true, '')",
      ],
    ],
    ['a cursor', ['declare c scroll cursor with hold for select * from gis.sichtbeobachtung', 'fetch all from c']],
    [
      'a copy',
      [
        'create temp table meine as select * from gis.sichtbeobachtung',
        'analyze meine',
        "select * from pg_stats where tablename = 'meine'",
      ],
    ],
  ];
  for (const [what, statements] of searched) {
    it(`S6 learns nothing from ${what}`, async () => {
      const said = await analysts.gis_public.run(async (session, notices) => {
        const answers: unknown[] = [];
        for (const statement of statements) {
          answers.push(await session.unsafe(statement).catch((error: Error) => [error.message, { ...error }]));
        }
        return JSON.stringify([answers, notices], (_key, value) => (typeof value === 'bigint' ? String(value) : value));
      });
      assert.ok(said.length > 50, said);
      assert.doesNotMatch(said, secretText);
    });
  }

  it('S6 gets the same plans and estimates wherever in their cells the protected records lie', async () => {
    const boxes = [secrets.protected, secrets.elsewhere, 5532500, 5530111].map(
      (y) => `st_makeenvelope(421000, ${y - 5}, 422000, ${y + 5}, 25832)`,
    );
    const plans = () =>
      analysts.gis_public.run(async (session) => {
        const texts: string[] = [];
        for (const box of boxes) {
          for (const from of [`gis.sichtbeobachtung where place && ${box}`, `gis.raster_5km where cell && ${box}`]) {
            const rows = await session.unsafe(`explain select * from ${from}`);
            texts.push(rows.map((row) => row['QUERY PLAN']).join('\n'));
          }
        }
        return texts;
      });
    const before_ = await plans();
    await sql`update portal.sichtbeobachtung set point = st_translate(point, -700, -800) where schutz > 0`;
    await sql`analyze`;
    assert.deepEqual(await plans(), before_);
    await sql`update portal.sichtbeobachtung set point = st_translate(point, 700, 800) where schutz > 0`;
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

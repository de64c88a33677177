// What an analyst may find out by the ways around a view: functions and operators of one's own, errors, plans, statistics, and
// PostGIS's own curiosity (S6). Each row is one way.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { Database, Sql } from '../../src/db/client.ts';
import { listGrantWarnings } from '../../src/db/grants.ts';
import { migrateDatabase } from '../../src/db/migrate.ts';
import { type Analyst, type Group, openSecrets, secrets } from '../support/analyst.ts';
import { onPostgres } from '../support/database.ts';

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

// The views and grants of analysts when the database is migrated: what is theirs stays, and nobody has to wait for them.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { Database, Sql } from '../../src/db/client.ts';
import { migrateDatabase } from '../../src/db/migrate.ts';
import { arten } from '../support/catalogue.ts';
import { changeCode, copyCode } from '../support/code.ts';
import { onPostgres, openTestDatabase } from '../support/database.ts';
import { listWrong } from '../support/truth.ts';

let database: Database;
let sql: Sql;
before(async () => {
  database = await openTestDatabase();
  sql = database.sql;
  await sql`
    insert into portal.sichtbeobachtung (nutzer_id, art, point, datum, bereich, status)
    select (select min(id) from portal.nutzer), ${arten.uhu}::integer + n % 2, st_setsrid(st_makepoint(420000 + n * 700, 5530000), 25832),
      date '2001-01-01' + n, 'oeffentlich', 'freigegeben'
    from generate_series(1, 40) n`;
});

const views = 'gis/analyst_views.sql';
const canRead = async (view: string) => {
  const [row] = await sql`select has_table_privilege('gis_public', ${view}, 'select') as can`;
  return row?.can;
};

describe('a migration', () => {
  it("leaves analysts' own views working, with their own rights", async () => {
    await sql`create schema anna`;
    await sql`create view anna.uhu as select * from gis.sichtbeobachtung where art = ${sql.unsafe('1')}`;
    assert.equal(await migrateDatabase(database, { codeDir: copyCode('-- new', views) }), 'replaced');
    const [row] = await sql`select count(*)::integer as n from anna.uhu`;
    assert.equal(row?.n, 20);
    assert.equal(await canRead('gis.sichtbeobachtung'), true);
    assert.equal(await canRead('gis.sichtbeobachtung_exakt'), false);
  });

  it('adds columns at the end of a view, and keeps the views that stand on it', async () => {
    const codeDir = changeCode(views, (text) => text.replace('as phaenogramm\nfrom', 'as phaenogramm, 1 as neu\nfrom'));
    assert.equal(await migrateDatabase(database, { codeDir }), 'replaced');
    const [row] = await sql`select neu, art from gis.sichtbeobachtung limit 1`;
    assert.equal(row?.neu, 1);
    const [own] = await sql`select count(*)::integer as n from anna.uhu`;
    assert.equal(own?.n, 20);
    await sql`drop schema anna cascade`;
    await sql`drop view gis.sichtbeobachtung`;
    assert.equal(await migrateDatabase(database, { codeDir: copyCode('-- back', views) }), 'replaced');
  });

  it('drops a view that an older release left over; one that others stand on loses its rights instead', async () => {
    await sql`create view gis.alt as select id from gis.sichtbeobachtung`;
    await sql`create view gis.alt_gebraucht as select id from gis.sichtbeobachtung`;
    await sql`create view public.meine as select id from gis.alt_gebraucht`;
    await sql`grant select on gis.alt_gebraucht to gis_public`;
    assert.equal(await migrateDatabase(database, { codeDir: copyCode('-- left over', views) }), 'replaced');
    const [row] = await sql`
      select to_regclass('gis.alt') is null as dropped, to_regclass('gis.alt_gebraucht') is not null as kept,
        (select count(*)::integer from public.meine) as n`;
    assert.deepEqual({ ...row }, { dropped: true, kept: true, n: 40 });
    assert.equal(await canRead('gis.alt_gebraucht'), false);
    await sql`drop view gis.alt_gebraucht cascade`;
  });

  it('gives the roles what is theirs and takes what is not, also when the code is unchanged', async () => {
    await migrateDatabase(database);
    await sql`revoke select on gis.sichtbeobachtung from gis_public`;
    await sql`grant select on gis.qs to gis_public`;
    assert.equal(await migrateDatabase(database), 'unchanged');
    assert.equal(await canRead('gis.sichtbeobachtung'), true);
    assert.equal(await canRead('gis.qs'), false);
  });

  it("does not wait for an analyst's open transaction, as long as the views stay as they are", {
    skip: onPostgres ? false : 'the embedded database runs one transaction at a time',
  }, async () => {
    const analyst = database.connect();
    const undo = new Error('rolled back');
    await assert.rejects(
      analyst.begin(async (tx) => {
        await tx`select count(*) from gis.sichtbeobachtung`;
        assert.equal(await migrateDatabase(database, { codeDir: copyCode('-- functions only') }), 'replaced');
        throw undo;
      }),
      undo,
    );
    await analyst.end({ timeout: 1 });
  });

  it('fills what analysts read from the sightings that are there already', async () => {
    const rows = () => sql`select count(*)::integer as n, min(id), max(place::text) from portal.sichtbeobachtung_gezeigt`;
    const before_ = [...(await rows())];
    await sql`truncate portal.sichtbeobachtung_gezeigt, portal.sichtbeobachtung_exakt, portal.raster_zelle`;
    assert.equal(await migrateDatabase(database, { codeDir: copyCode('-- a later release') }), 'replaced');
    assert.deepEqual([...(await rows())], before_);
    assert.deepEqual(await listWrong(sql), []);
    const [row] = await sql`
      select count(*)::integer as n, min(cell_x) as x, max(cell_y) as y, (select sum(meldungen)::integer from gis.raster_5km) as counted
      from portal.raster_zelle`;
    assert.deepEqual({ ...row }, { n: 241 * 261, x: 0, y: 1260, counted: 40 });
  });
});

// What a migration leaves of a database that is in use: analysts keep what is theirs, and what an earlier release filled is taken over.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { Database, Sql } from '../../src/db/client.ts';
import { migrateDatabase } from '../../src/db/migrate.ts';
import { arten } from '../support/catalogue.ts';
import { changeCode, copyCode } from '../support/code.ts';
import { onPostgres, openTestDatabase } from '../support/database.ts';
import { makeRecord, takeBack } from '../support/records.ts';
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
    const codeDir = changeCode(views, (text) => text.replace('g.ctid as zeile\nfrom', 'g.ctid as zeile, 1 as neu\nfrom'));
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
    await takeBack(analyst, async (tx) => {
      await tx`select count(*) from gis.sichtbeobachtung`;
      assert.equal(await migrateDatabase(database, { codeDir: copyCode('-- functions only') }), 'replaced');
    });
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

describe('questions that the release before had yet to mail', () => {
  it('are told by the next mails, those that are still open', async () => {
    const [person] = await sql<{ id: number }[]>`
      insert into portal.nutzer (loginname, email, vorname, nachname) values ('gefragt', 'gefragt@example.org', 'G', 'G')
      returning id::integer as id`;
    const make = async (status: string) => {
      const id = await makeRecord(sql, { nutzer: 'gefragt', bereich: 'oeffentlich', status });
      await sql`insert into portal.nachricht (sichtbeobachtung_id, nutzer_id, text, offen) values (${id}, null, 'Sicher?', true)`;
      return id;
    };
    const open = await make('hinweis');
    await make('freigegeben');
    const readWaiting = () => sql`
      select o.sichtbeobachtung_id::integer as id, o.nutzer_id::integer as person, o.faellig <= now() + interval '3 minutes' as soon
      from portal.mitteilung_offen o`;
    const expected = [{ id: open, person: person?.id, soon: true }];
    assert.equal(await migrateDatabase(database, { codeDir: copyCode('-- questions') }), 'replaced');
    assert.deepEqual([...(await readWaiting())], expected);
    await sql`delete from portal.mitteilung_offen`;
    assert.equal(await migrateDatabase(database, { codeDir: copyCode('-- once') }), 'replaced');
    assert.deepEqual([...(await readWaiting())], []);
  });
});

describe('links of tenants', () => {
  before(async () => {
    await sql`
      insert into portal.sichtbeobachtung (nutzer_id, art, point, datum, bereich, status)
      select n.id, a.id, st_setsrid(st_makepoint(m.x, m.y), 25832), date '2024-05-01' + (row_number() over ())::integer, b.bereich, s.status
      from (select min(id) as id from portal.nutzer) n, (select min(id) as id from portal.art) a,
        (select st_x(st_pointonsurface(boundary)) as x, st_y(st_pointonsurface(boundary)) as y from portal.mandant order by id limit 1) m,
        unnest(enum_range(null::portal.bereich)) b (bereich), unnest(enum_range(null::portal.status)) s (status)
      where b.bereich = 'oeffentlich' or s.status <> 'freigegeben'`;
  });

  const readLinks = () => sql`select l.* from portal.mandant_sichtbeobachtung l order by l.sichtbeobachtung_id, l.mandant_id`;
  const hasOld = async () => {
    const [row] = await sql<{ old: boolean }[]>`
      select to_regclass('portal.sichtbeobachtung_mandant') is not null or to_regclass('portal.sichtbeobachtung_raster') is not null as old`;
    return row?.old;
  };

  it('are taken over from the table of the release before, which goes the next time', async () => {
    assert.equal(await hasOld(), false, 'a new database has none');
    const links = await readLinks();
    assert.deepEqual(new Set(links.map(({ frei }) => frei)), new Set([true, false]));

    // As 0002 left it, written by the code of that release until now.
    await sql`
      create table portal.sichtbeobachtung_mandant as
      select l.mandant_id, l.sichtbeobachtung_id, l.gid, l.exakt from portal.mandant_sichtbeobachtung l`;
    await sql`
      alter table portal.sichtbeobachtung_mandant
        add foreign key (mandant_id) references portal.mandant (id), add foreign key (sichtbeobachtung_id) references portal.sichtbeobachtung (id)`;
    await sql`create index sichtbeobachtung_raster on portal.sichtbeobachtung using gist (raster_point)`;
    await sql`truncate portal.mandant_sichtbeobachtung`;

    assert.equal(await migrateDatabase(database, { codeDir: copyCode('-- another hash') }), 'replaced');
    assert.deepEqual(await readLinks(), links);
    assert.deepEqual(await listWrong(sql), []);
    assert.equal(await hasOld(), true);

    assert.equal(await migrateDatabase(database, { codeDir: copyCode('-- a third hash') }), 'replaced');
    assert.equal(await hasOld(), false);
    assert.deepEqual(await readLinks(), links);
  });

  it('go with their records, and with all tenants at once', async () => {
    const [first] = await readLinks();
    await sql`delete from portal.sichtbeobachtung where id = ${first?.sichtbeobachtung_id}`;
    const left = await readLinks();
    assert.ok(left.length > 0 && left.every((link) => link.sichtbeobachtung_id !== first?.sichtbeobachtung_id));
    await sql`delete from portal.nutzer_mandant`;
    await sql`truncate portal.mandant cascade`;
    assert.equal((await readLinks()).length, 0);
  });
});

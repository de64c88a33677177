// What sql/code does once for databases that an earlier release filled.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { Database, Sql } from '../../src/db/client.ts';
import { migrateDatabase } from '../../src/db/migrate.ts';
import { copyCode } from '../support/code.ts';
import { openTestDatabase } from '../support/database.ts';
import { listWrong } from '../support/truth.ts';

describe('links of tenants', () => {
  let database: Database;
  let sql: Sql;

  before(async () => {
    database = await openTestDatabase();
    sql = database.sql;
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
    await sql`truncate portal.mandant cascade`;
    assert.equal((await readLinks()).length, 0);
  });
});

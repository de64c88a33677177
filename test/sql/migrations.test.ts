// Migrations that carry data over, on databases that have some.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { openTestDatabase } from '../support/database.ts';
import { listWrong } from '../support/truth.ts';

describe('0003_released_links', () => {
  it('tells of every link whether its record is released, and leaves the table as a new database has it', async () => {
    const { sql } = await openTestDatabase();
    await sql`
      insert into portal.sichtbeobachtung (nutzer_id, art, point, datum, bereich, status)
      select n.id, a.id, st_setsrid(st_makepoint(m.x, m.y), 25832), date '2024-05-01' + (row_number() over ())::integer, b.bereich, s.status
      from (select min(id) as id from portal.nutzer) n, (select min(id) as id from portal.art) a,
        (select st_x(st_pointonsurface(boundary)) as x, st_y(st_pointonsurface(boundary)) as y from portal.mandant order by id limit 1) m,
        unnest(enum_range(null::portal.bereich)) b (bereich), unnest(enum_range(null::portal.status)) s (status)
      where b.bereich = 'oeffentlich' or s.status <> 'freigegeben'`;
    const describeTable = () => sql`
      select a.attname::text as name, format_type(a.atttypid, a.atttypmod) || ' ' || a.attnotnull as what
      from pg_attribute a where a.attrelid = 'portal.sichtbeobachtung_mandant'::regclass and a.attnum > 0
      union all
      select k.conname, pg_get_constraintdef(k.oid)
      from pg_constraint k
      where k.conrelid = 'portal.sichtbeobachtung_mandant'::regclass and k.contype <> 'n'
      union all
      select i.indexname, i.indexdef from pg_indexes i where i.schemaname = 'portal' and i.tablename = 'sichtbeobachtung_mandant'
      order by name, what`;
    const readLinks = () => sql`
      select l.* from portal.sichtbeobachtung_mandant l order by l.sichtbeobachtung_id, l.mandant_id`;
    const [table, links] = [await describeTable(), await readLinks()];
    assert.deepEqual(new Set(links.map(({ frei }) => frei)), new Set([true, false]));

    // The table as 0002 left it.
    await sql`
      alter table portal.sichtbeobachtung_mandant drop constraint sichtbeobachtung_mandant_pk, drop column frei`;
    await sql`
      alter table portal.sichtbeobachtung_mandant add constraint sichtbeobachtung_mandant_pk primary key (mandant_id, sichtbeobachtung_id)`;
    await sql`create index sichtbeobachtung_mandant_gruppe on portal.sichtbeobachtung_mandant (mandant_id, gid, sichtbeobachtung_id)`;
    await sql`alter table portal.sichtbeobachtung_mandant add foreign key (sichtbeobachtung_id) references portal.sichtbeobachtung (id)`;
    await sql`create index sichtbeobachtung_mandant_sichtbeobachtung on portal.sichtbeobachtung_mandant (sichtbeobachtung_id)`;
    await sql`drop trigger _200_mandant_delete on portal.sichtbeobachtung`;

    const migration = await readFile(new URL('../../sql/migrations/0003_released_links.sql', import.meta.url), 'utf8');
    await sql.begin((tx) => tx.unsafe(migration).simple());
    assert.deepEqual(await describeTable(), table);
    assert.deepEqual(await readLinks(), links);
    assert.deepEqual(await listWrong(sql), []);
    // By the trigger of the migration.
    await sql`delete from portal.sichtbeobachtung`;
    assert.equal((await readLinks()).length, 0);
  });
});

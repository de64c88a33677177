// What the database derives on every write, by whomever: protection, shown place, tenants, guid, protokoll and qs.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { v5 } from 'uuid';
import type { Sql } from '../../src/db/client.ts';
import { arten } from '../support/catalogue.ts';
import { openTestDatabase } from '../support/database.ts';
import { linksOf, logsOf, makeRecord, setSensibel } from '../support/records.ts';

let sql: Sql;
before(async () => {
  sql = (await openTestDatabase()).sql;
});

// Where a point may lie in the test catalogue, as the easting of a place at northing 5 530 000.
const places = { inN: 420000, borderN: 451000, borderS: 453000, inS: 480000, inW: 320000, outside: 380000 };

interface Protection {
  schutz: number;
  sensible_art: boolean;
  shown: 'cell' | 'exact' | 'elsewhere';
}
async function protectionOf(id: number): Promise<Protection> {
  const [row] = await sql<Protection[]>`
    select schutz, sensible_art, case when st_orderingequals(shown_point, raster_point) then 'cell'
      when st_orderingequals(shown_point, point) then 'exact' else 'elsewhere' end as shown
    from portal.sichtbeobachtung where id = ${id}`;
  assert.ok(row);
  return { ...row };
}
const open: Protection = { schutz: 0, sensible_art: false, shown: 'exact' };
const elsewhere: Protection = { schutz: 1, sensible_art: false, shown: 'exact' };
const masked: Protection = { schutz: 2, sensible_art: true, shown: 'cell' };
const marked: Protection = { schutz: 2, sensible_art: false, shown: 'cell' };

const updates = (...ids: number[]) => ids.map((id) => `UPDATE ${id}`);

describe('protection of a new record', () => {
  const table: [art: keyof typeof arten, place: keyof typeof places, protection: Protection, links: string][] = [
    ['uhu', 'inN', masked, 'N'],
    ['uhu', 'borderN', masked, 'N (S)'],
    ['uhu', 'borderS', masked, '(N) S'],
    ['uhu', 'inW', masked, 'W'],
    ['uhu', 'outside', elsewhere, ''],
    ['amsel', 'inN', open, 'N'],
    ['amsel', 'borderN', open, 'N'],
    ['amsel', 'borderS', open, 'S'],
    ['amsel', 'inW', open, 'W'],
    ['amsel', 'outside', open, ''],
    ['wanderfalke', 'inN', elsewhere, 'N'],
    ['wanderfalke', 'borderN', masked, 'N (S)'],
    ['wanderfalke', 'borderS', masked, '(N) S'],
    ['wanderfalke', 'inS', masked, 'S'],
    ['wanderfalke', 'inW', elsewhere, 'W'],
    ['rotmilan', 'inN', elsewhere, 'N'],
    ['rotmilan', 'borderN', elsewhere, 'N (S)'],
    ['rotmilan', 'inW', masked, 'W'],
    ['rotmilan', 'outside', elsewhere, ''],
    ['gelbflechte', 'inS', open, 'S'],
  ];
  for (const [art, place, protection, links] of table) {
    it(`${art} ${place}: schutz ${protection.schutz}, tenants ${links || 'none'}; with the recorder's mark schutz 2`, async () => {
      const id = await makeRecord(sql, { art: arten[art], x: places[place] });
      assert.deepEqual(await protectionOf(id), protection);
      assert.equal(await linksOf(sql, id), links);
      const withMark = await makeRecord(sql, { art: arten[art], x: places[place], sensibel: true });
      assert.deepEqual(await protectionOf(withMark), { ...protection, schutz: 2, shown: 'cell' });
      const cell = place === 'borderN' ? 'N (S)' : place === 'borderS' ? '(N) S' : links;
      assert.equal(await linksOf(sql, withMark), cell);
    });
  }

  it('on the border itself belongs to both tenants', async () => {
    assert.equal(await linksOf(sql, await makeRecord(sql, { x: 452000 })), 'N S');
  });
});

describe('a change of a record', () => {
  it('S1.5 to sensibel and back masks and shows it, with its tenants and one entry each', async () => {
    const id = await makeRecord(sql, { x: places.borderS });
    for (let round = 0; round < 3; round++) {
      const mark = await logsOf(sql, () => sql`update portal.sichtbeobachtung set sensibel = true where id = ${id}`);
      assert.deepEqual(mark.protokoll, updates(id));
      assert.deepEqual(await protectionOf(id), marked);
      assert.equal(await linksOf(sql, id), '(N) S');
      const unmark = await logsOf(sql, () => sql`update portal.sichtbeobachtung set sensibel = false where id = ${id}`);
      assert.deepEqual(unmark.protokoll, updates(id));
      assert.deepEqual(await protectionOf(id), open);
      assert.equal(await linksOf(sql, id), 'S');
    }
  });

  it('S1.6 of its species or place derives everything anew', async () => {
    const id = await makeRecord(sql, { art: arten.amsel, x: places.inN });
    const steps: [change: string, protection: Protection, links: string][] = [
      [`art = ${arten.uhu}`, masked, 'N'],
      [`art = ${arten.wanderfalke}`, elsewhere, 'N'],
      ['point = st_setsrid(st_makepoint(453000, 5530000), 25832)', masked, '(N) S'],
      ['point = st_setsrid(st_makepoint(451000, 5530000), 25832)', masked, 'N (S)'],
      [`art = ${arten.tagpfauenauge}`, open, 'N'],
      ['point = st_setsrid(st_makepoint(380000, 5530000), 25832)', open, ''],
      [`art = ${arten.uhu}`, elsewhere, ''],
      ['point = st_setsrid(st_makepoint(320000, 5530000), 25832)', masked, 'W'],
    ];
    for (const [change, protection, links] of steps) {
      const { protokoll } = await logsOf(sql, () => sql.unsafe(`update portal.sichtbeobachtung set ${change} where id = ${id}`));
      assert.deepEqual(protokoll, updates(id), change);
      assert.deepEqual(await protectionOf(id), protection, change);
      assert.equal(await linksOf(sql, id), links, change);
    }
    const [row] = await sql`
      select cell_x, cell_y, st_astext(raster_point) as centre, s.gid = a.gid as same_group, jahr = extract(year from datum) as same_year
      from portal.sichtbeobachtung s join portal.art a on a.id = s.art where s.id = ${id}`;
    assert.deepEqual(
      { ...row },
      { cell_x: 64, cell_y: 1106, centre: 'POINT(322500 5532500)', same_group: true, same_year: true },
    );
  });

  it('of the group of its species reaches the record and its links, and is no change of the record', async () => {
    const id = await makeRecord(sql, { art: arten.hornisse });
    const { protokoll } = await logsOf(sql, () => sql`update portal.art set gid = 3 where id = ${arten.hornisse}`);
    assert.deepEqual(protokoll, []);
    const [row] = await sql`select gid from portal.sichtbeobachtung where id = ${id}`;
    assert.equal(row?.gid, 3);
    assert.equal(await linksOf(sql, id), 'N');
    await sql`update portal.art set gid = 2 where id = ${arten.hornisse}`;
  });
});

describe('derived columns', () => {
  const values = `
    guid = '00000000-0000-4000-8000-000000000000', gid = 3, cell_x = 1, cell_y = 2, sensible_art = false, schutz = 0,
    raster_point = st_setsrid(st_makepoint(1, 2), 25832), shown_point = st_setsrid(st_makepoint(3, 4), 25832)`;
  const read = async (id: number) => {
    const [row] = await sql`
      select guid, gid, cell_x, cell_y, sensible_art, schutz, st_astext(raster_point) as raster, st_astext(shown_point) as shown
      from portal.sichtbeobachtung where id = ${id}`;
    return { ...row };
  };
  const guidOf = async (id: number) => {
    const [row] = await sql`select guid_namespace as namespace from portal.installation`;
    return v5(String(id), row?.namespace);
  };

  it("are the service's own: what a writer by SQL puts into them is overwritten, on insert and on update", async () => {
    const [row] = await sql.unsafe(`
      insert into portal.sichtbeobachtung
        (nutzer_id, art, point, datum, gid, cell_x, cell_y, sensible_art, schutz, raster_point, shown_point)
      values ((select min(id) from portal.nutzer), ${arten.uhu}, st_setsrid(st_makepoint(404552, 5530000), 25832), '1999-09-09',
        3, 1, 2, false, 0,
        st_setsrid(st_makepoint(1, 2), 25832), st_setsrid(st_makepoint(3, 4), 25832))
      returning id`);
    const id = row?.id;
    const centre = 'POINT(402500 5532500)';
    const expected = {
      guid: await guidOf(id),
      gid: 1,
      cell_x: 80,
      cell_y: 1106,
      sensible_art: true,
      schutz: 2,
      raster: centre,
      shown: centre,
    };
    assert.deepEqual(await read(id), expected);
    await sql.unsafe(`update portal.sichtbeobachtung set ${values} where id = ${id}`);
    assert.deepEqual(await read(id), expected);
  });

  it('keep the guid that a record had in another portal, for ever', async () => {
    const guid = '9f1c2f0e-31c5-5a44-8f3e-2b4f4f6f1a11';
    const [row] = await sql`
      insert into portal.sichtbeobachtung (nutzer_id, art, point, datum, guid)
      values ((select min(id) from portal.nutzer), ${arten.hornisse}, st_setsrid(st_makepoint(404553, 5530000), 25832), '1999-09-09', ${guid})
      returning id, guid`;
    assert.equal(row?.guid, guid);
    await sql.unsafe(`update portal.sichtbeobachtung set ${values} where id = ${row?.id}`);
    assert.equal((await read(row?.id)).guid, guid);
  });

  it("S1.9 give each record the guid that npm's uuid gives its id, for ever and whatever it holds", async () => {
    const ids = [
      await makeRecord(sql, { art: arten.uhu }),
      await makeRecord(sql, { x: places.inW }),
      await makeRecord(sql, { sensibel: true }),
    ];
    for (const id of ids) {
      const guid = await guidOf(id);
      assert.equal((await read(id)).guid, guid);
      await sql`
        update portal.sichtbeobachtung set art = ${arten.hornisse}, bemerkung = 'anders', point = st_translate(point, 10, 10) where id = ${id}`;
      assert.equal((await read(id)).guid, guid);
    }
  });
});

describe('a species', () => {
  const art = arten.hornisse;
  let ids: Record<'inN' | 'borderS' | 'inS' | 'inW' | 'outside' | 'markedInN', number>;
  before(async () => {
    ids = {
      inN: await makeRecord(sql, { art }),
      borderS: await makeRecord(sql, { art, x: places.borderS }),
      inS: await makeRecord(sql, { art, x: places.inS }),
      inW: await makeRecord(sql, { art, x: places.inW }),
      outside: await makeRecord(sql, { art, x: places.outside }),
      markedInN: await makeRecord(sql, { art, sensibel: true }),
    };
    // Others of the same species made by tests before would be logged too.
    await sql`delete from portal.sichtbeobachtung where art = ${art} and id <> all (${`{${Object.values(ids)}}`}::bigint[])`;
  });
  const open_ = () => updates(ids.inN, ids.borderS, ids.inS, ids.inW, ids.outside);
  const read = async () =>
    Object.fromEntries(await Promise.all(Object.entries(ids).map(async ([k, id]) => [k, await protectionOf(id)])));

  it('S1.5 that becomes sensitive at N masks its old records there at once and logs each record that is shown elsewhere now', async () => {
    const { protokoll, qs } = await logsOf(sql, () => setSensibel(sql, 'N', art, true));
    assert.deepEqual(await read(), {
      inN: masked,
      borderS: masked,
      inS: elsewhere,
      inW: elsewhere,
      outside: elsewhere,
      markedInN: masked,
    });
    assert.equal(await linksOf(sql, ids.borderS), '(N) S');
    // The marked one was shown as its cell before.
    assert.deepEqual(protokoll.sort(), open_().sort());
    assert.deepEqual(qs, []);
  });

  it('that becomes sensitive at W too logs what W shows elsewhere now: not what is masked everywhere already', async () => {
    const { protokoll } = await logsOf(sql, () => setSensibel(sql, 'W', art, true));
    assert.deepEqual(protokoll.sort(), updates(ids.inS, ids.inW, ids.outside).sort());
    assert.deepEqual(await protectionOf(ids.inW), masked);
    assert.deepEqual(await protectionOf(ids.inS), elsewhere);
    const stop = await logsOf(sql, () => setSensibel(sql, 'W', art, false));
    assert.deepEqual(stop.protokoll.sort(), updates(ids.inS, ids.inW, ids.outside).sort());
    assert.deepEqual(await protectionOf(ids.inW), elsewhere);
  });

  it('whose definition is written without a change of sensitivity logs nothing', async () => {
    const { protokoll } = await logsOf(sql, async () => {
      await setSensibel(sql, 'N', art, true);
      await sql`update portal.art_mandant set name_deutsch = 'Hornisse' where art = ${art}`;
      await sql`update portal.art set name_deutsch = 'Hornisse' where id = ${art}`;
    });
    assert.deepEqual(protokoll, []);
  });

  it('S1.5 that stops being sensitive is shown again, but not the record that its recorder marked', async () => {
    const { protokoll } = await logsOf(sql, () => setSensibel(sql, 'N', art, false));
    assert.deepEqual(await read(), { inN: open, borderS: open, inS: open, inW: open, outside: open, markedInN: marked });
    assert.equal(await linksOf(sql, ids.borderS), 'S');
    assert.deepEqual(protokoll.sort(), open_().sort());
  });

  it('S1.6 is masked and shown by a definition that comes and goes, one entry each', async () => {
    const [row] = await sql`
      select am.* from portal.art_mandant am join portal.mandant m on m.id = am.mandant_id where m.kuerzel = 'S' and am.art = ${art}`;
    const remove = () => sql`delete from portal.art_mandant where mandant_id = ${row?.mandant_id} and art = ${art}`;
    assert.deepEqual((await logsOf(sql, remove)).protokoll, []);
    const add = await logsOf(
      sql,
      () =>
        sql`insert into portal.art_mandant (mandant_id, art, art_id, sensibel) values (${row?.mandant_id}, ${art}, ${row?.art_id}, true)`,
    );
    assert.deepEqual(add.protokoll.sort(), open_().sort());
    assert.deepEqual(await protectionOf(ids.inS), masked);
    assert.deepEqual((await logsOf(sql, remove)).protokoll.sort(), open_().sort());
    assert.deepEqual(await protectionOf(ids.inS), open);
  });
});

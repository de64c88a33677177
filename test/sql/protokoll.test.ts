// Both logs, and what no writer may do, for writers by SQL (D3.2, D3.9, D3.10, D3.14, D3.15, S4.2).
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { Sql, Transaction } from '../../src/db/client.ts';
import { arten } from '../support/catalogue.ts';
import { openTestDatabase } from '../support/database.ts';
import { logsOf } from '../support/records.ts';

let sql: Sql;
let melder: number;
let expertin: number;
before(async () => {
  sql = (await openTestDatabase()).sql;
  const [row] = await sql`
    select max(id) filter (where loginname = 'melder') as melder, max(id) filter (where loginname = 'expertin') as expertin
    from portal.nutzer`;
  melder = row?.melder;
  expertin = row?.expertin;
});

let days = 0;
/** Stores Amseln in the middle of N in one statement; each has a day of its own, so that none is a duplicate. */
async function make(
  count = 1,
  { bereich = 'privat', status = 'pruefung', experte = null as number | null } = {},
): Promise<number[]> {
  days += count;
  const rows = await sql`
    insert into portal.sichtbeobachtung (nutzer_id, art, point, datum, bereich, status, experte_id)
    select ${melder}, ${arten.amsel}, st_setsrid(st_makepoint(420000, 5530000), 25832), date '2000-01-01' + ${days}::integer - n,
      ${bereich}, ${status}, ${experte}::bigint
    from generate_series(1, ${count}::integer) n
    returning id`;
  return rows.map((row) => row.id);
}

/** Entries of these records, in their order. */
const all = (entry: string, ids: number[]) => ids.map((id) => entry.replace('ID', String(id)));
const set = (change: string, ...ids: (number | undefined)[]) =>
  sql.unsafe(`update portal.sichtbeobachtung set ${change} where id in (${ids})`);
const statusOf = async (id: number | undefined) => {
  const [row] = await sql`select bereich || ' ' || status as text from portal.sichtbeobachtung where id = ${id ?? 0}`;
  return row?.text;
};

describe('the protokoll', () => {
  it('S4.2 has one entry for each record of a statement, in the order of their ids', async () => {
    let ids: number[] = [];
    const created = await logsOf(sql, async () => {
      ids = await make(5);
    });
    assert.deepEqual(created.protokoll, all('CREATE ID', ids));
    assert.deepEqual((await logsOf(sql, () => set('anzahl = anzahl + 1', ...ids))).protokoll, all('UPDATE ID', ids));
    assert.deepEqual((await logsOf(sql, () => set('anzahl = anzahl', ...ids))).protokoll, all('UPDATE ID', ids));
    const deleted = await logsOf(sql, () => sql`delete from portal.sichtbeobachtung where id = any (${`{${ids}}`}::bigint[])`);
    assert.deepEqual(deleted.protokoll, all('DELETE ID', ids));
    assert.deepEqual((await logsOf(sql, () => set('anzahl = 1', ...ids))).protokoll, []);
  });

  it('S4.2 has one entry for each change of one record in one transaction', async () => {
    let id = 0;
    const { protokoll } = await logsOf(sql, () =>
      sql.begin(async (tx) => {
        const [row] = await tx`
          insert into portal.sichtbeobachtung (nutzer_id, art, point, datum)
          values (${melder}, ${arten.amsel}, st_setsrid(st_makepoint(420000, 5530000), 25832), '1990-01-01') returning id`;
        id = row?.id;
        await tx`update portal.sichtbeobachtung set sensibel = true where id = ${id}`;
        await tx`update portal.sichtbeobachtung set bemerkung = 'x' where id = ${id}`;
        await tx`delete from portal.sichtbeobachtung where id = ${id}`;
      }),
    );
    assert.deepEqual(protokoll, [`CREATE ${id}`, `UPDATE ${id}`, `UPDATE ${id}`, `DELETE ${id}`]);
  });

  it('S4.2 has none of what was rolled back, as a whole or to a savepoint', async () => {
    const [id] = await make(1, { bereich: 'oeffentlich' });
    const undo = new Error('rolled back');
    const change = async (tx: Transaction) => {
      await tx`update portal.sichtbeobachtung set status = 'hinweis' where id = ${id ?? 0}`;
      await tx`delete from portal.sichtbeobachtung where id = ${id ?? 0}`;
      throw undo;
    };
    const logs = await logsOf(sql, async () => {
      await assert.rejects(sql.begin(change), undo);
      await sql.begin(async (tx) => {
        await assert.rejects(tx.savepoint(change), undo);
        await tx`update portal.sichtbeobachtung set bemerkung = 'x' where id = ${id ?? 0}`;
      });
    });
    assert.deepEqual(logs, { protokoll: [`UPDATE ${id}`], qs: [] });
  });

  it('S4.2 tells the two halves of an upsert apart, and has no entry for a duplicate that was passed over', async () => {
    const [known] = await make();
    const copy = `insert into portal.sichtbeobachtung (nutzer_id, art, point, datum)
      select nutzer_id, art, point, datum + n from portal.sichtbeobachtung, (values (0), (-40000)) t (n) where id = ${known}
      on conflict (nutzer_id, art, datum, round(st_x(point) * 1000), round(st_y(point) * 1000))`;
    const { protokoll } = await logsOf(sql, () => sql.unsafe(`${copy} do update set anzahl = 7`));
    const [created] = await sql`select max(id) as id from portal.sichtbeobachtung`;
    assert.deepEqual(protokoll.sort(), [`CREATE ${created?.id}`, `UPDATE ${known}`]);
    assert.deepEqual((await logsOf(sql, () => sql.unsafe(`${copy} do nothing`))).protokoll, []);
  });

  it('S4.2 has an entry for records that lose their expert, and for nothing else of a deleted account', async () => {
    const [row] = await sql`
      insert into portal.nutzer (loginname, loginname_key) values ('vorübergehend', 'x') returning id`;
    const ids = await make(2, { bereich: 'oeffentlich', status: 'freigegeben', experte: row?.id });
    const logs = await logsOf(sql, () => sql`delete from portal.nutzer where id = ${row?.id}`);
    assert.deepEqual(logs.protokoll.sort(), all('UPDATE ID', ids).sort());
    assert.deepEqual(logs.qs, []);
  });
});

describe('the qs log', () => {
  it('S4.2 has an entry for a record that is published at once, and none for a private one', async () => {
    assert.deepEqual((await logsOf(sql, () => make(2))).qs, []);
    let ids: number[] = [];
    const { qs } = await logsOf(sql, async () => {
      ids = await make(2, { bereich: 'oeffentlich' });
    });
    assert.deepEqual(qs, all('ID pruefung', ids));
  });

  it('S4.2 names the expert where a record is released or rejected, and nobody otherwise', async () => {
    const [id] = await make(1, { bereich: 'oeffentlich' });
    const steps: [change: string, entry: string | null][] = [
      [`status = 'hinweis', experte_id = ${expertin}`, `${id} hinweis`],
      ["status = 'hinweis'", null],
      ["bemerkung_experte = 'Foto?'", null],
      [`status = 'freigegeben', experte_id = ${expertin}`, `${id} freigegeben by ${expertin}`],
      [`status = 'abgelehnt', experte_id = ${expertin}`, `${id} abgelehnt by ${expertin}`],
      ["status = 'pruefung'", `${id} pruefung`],
    ];
    for (const [change, entry] of steps) {
      assert.deepEqual((await logsOf(sql, () => set(change, id))).qs, entry === null ? [] : [entry], change);
    }
    const [row] = await sql`
      select q.nutzer_id, q.art, q.datum_beobachtung = s.datum as same_date
      from portal.qs q join portal.sichtbeobachtung s on s.id = q.sichtbeobachtung_id where s.id = ${id ?? 0} limit 1`;
    assert.deepEqual({ ...row }, { nutzer_id: melder, art: arten.amsel, same_date: true });
  });

  it('names nobody for a record that is stored unreviewed, whatever its writer puts into experte_id', async () => {
    let ids: number[] = [];
    const { qs } = await logsOf(sql, async () => {
      ids = [
        ...(await make(1, { bereich: 'oeffentlich', experte: expertin })),
        ...(await make(1, { bereich: 'oeffentlich', status: 'freigegeben', experte: expertin })),
      ];
    });
    assert.deepEqual(qs, [`${ids[0]} pruefung`, `${ids[1]} freigegeben by ${expertin}`]);
  });

  it('S4.2 has an entry for each record that a statement publishes, and none for private ones whose status changes', async () => {
    const ids = await make(3);
    // One whose status stays as it is, and two that are reset to pruefung.
    assert.deepEqual((await logsOf(sql, () => set("status = 'hinweis'", ...ids.slice(1)))).qs, []);
    assert.deepEqual((await logsOf(sql, () => set("bereich = 'oeffentlich'", ...ids))).qs, all('ID pruefung', ids));
    assert.deepEqual((await logsOf(sql, () => set("bereich = 'oeffentlich'", ...ids))).qs, []);
    assert.deepEqual((await logsOf(sql, () => set("bereich = 'privat'", ...ids))).qs, []);
  });
});

describe('publishing', () => {
  for (const status of ['pruefung', 'hinweis', 'abgelehnt']) {
    it(`sets a private record that is ${status} to pruefung`, async () => {
      const [id] = await make(1, { status });
      await set("bereich = 'oeffentlich'", id);
      assert.equal(await statusOf(id), 'oeffentlich pruefung');
      const [other] = await make();
      await set(`bereich = 'oeffentlich', status = '${status}'`, other);
      assert.equal(await statusOf(other), 'oeffentlich pruefung');
    });
  }

  it('keeps freigegeben when the record is released in the same stroke', async () => {
    const [id] = await make();
    const { qs } = await logsOf(sql, () => set(`bereich = 'oeffentlich', status = 'freigegeben', experte_id = ${expertin}`, id));
    assert.equal(await statusOf(id), 'oeffentlich freigegeben');
    assert.deepEqual(qs, [`${id} freigegeben by ${expertin}`]);
  });

  it('is no way to a private record that is released: refused on insert, release and withdrawal', async () => {
    await assert.rejects(make(1, { status: 'freigegeben' }), { code: '23514' });
    const [id] = await make();
    await assert.rejects(set("status = 'freigegeben'", id), { code: '23514' });
    await set("bereich = 'oeffentlich', status = 'freigegeben'", id);
    await assert.rejects(set("bereich = 'privat'", id), { code: '23514' });
    assert.equal(await statusOf(id), 'oeffentlich freigegeben');
  });
});

describe('a writer by SQL', () => {
  const insert = (datum: string, point: string, art: number = arten.amsel) =>
    sql.unsafe(`insert into portal.sichtbeobachtung (nutzer_id, art, point, datum)
      values (${melder}, ${art}, st_setsrid(${point}, 25832), ${datum}) returning id`);
  const today = "(now() at time zone 'Europe/Berlin')::date";
  const inside = 'st_makepoint(430000, 5530000)';

  for (const datum of [`${today} + 1`, "'infinity'", "date '1799-12-31'", "'-infinity'"]) {
    it(`can't store or set the date ${datum}`, async () => {
      await assert.rejects(insert(datum, inside), { code: 'DATUM', column_name: 'datum' });
      const [id] = await make();
      await assert.rejects(set(`datum = ${datum}`, id), { code: 'DATUM', column_name: 'datum' });
    });
  }

  it('may store today in Berlin and the first day of 1800', async () => {
    await insert(today, inside);
    await insert("'1800-01-01'", inside);
  });

  for (const point of [
    'st_makepoint(-0.001, 5530000)',
    'st_makepoint(1200000.001, 5530000)',
    'st_makepoint(430000, 4999999.999)',
    'st_makepoint(5530000, 430000)',
    "st_makepoint('NaN', 5530000)",
    "st_makepoint(430000, 'Infinity')",
    "st_geomfromtext('POINT EMPTY')",
  ]) {
    it(`can't store or move to ${point}`, async () => {
      await assert.rejects(insert("'1990-05-05'", point), { code: 'GBIET', column_name: 'lat' });
      const [id] = await make();
      await assert.rejects(set(`point = st_setsrid(${point}, 25832)`, id), { code: 'GBIET', column_name: 'lat' });
    });
  }

  it("can't store an unknown species, nor leave out what a record needs", async () => {
    await assert.rejects(insert("'1990-05-05'", inside, 999), { code: 'ARTUN', column_name: 'art' });
    const [id] = await make();
    await assert.rejects(set('art = 999', id), { code: 'ARTUN' });
    await assert.rejects(set('datum = null', id), { code: '23502' });
    await assert.rejects(set('point = null', id), { code: /^(GBIET|23502)$/ });
    await assert.rejects(set('anzahl = 20001', id), { code: '23514' });
  });

  it('S4.2 leaves nothing behind in the logs when refused', async () => {
    const logs = await logsOf(sql, async () => {
      await assert.rejects(insert(`${today} + 1`, inside));
      await assert.rejects(insert("'1990-05-06'", 'st_makepoint(0, 0)'));
    });
    assert.deepEqual(logs, { protokoll: [], qs: [] });
  });
});

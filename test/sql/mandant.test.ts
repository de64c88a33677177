// Tenants of points, their cells, and what a change of boundary does to stored sightings (D3.14).
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import fc from 'fast-check';
import type { Sql } from '../../src/db/client.ts';
import { arten } from '../support/catalogue.ts';
import { openTestDatabase } from '../support/database.ts';
import { makeDice } from '../support/dice.ts';
import { linksOf, logsOf, makeRecord, moveBorder, setBorders, takeBack } from '../support/records.ts';

let sql: Sql;
before(async () => {
  sql = (await openTestDatabase()).sql;
  await sql`
    insert into portal.mandant (kuerzel, name, domains, boundary)
    values ('I', 'Inselland', '{i.test}', st_multi(st_geomfromtext(${island}, 25832)))`;
  // As a record is given its tenants, when nobody protects it.
  await sql`
    create function public.list_mandant_of_point(point public.geometry) returns setof integer language sql stable as $$
      select k.mandant_id
      from private.list_mandant_of_sichtbeobachtung(
        point, private.to_cell(public.st_x(point)), private.to_cell(public.st_y(point)), schutz => 0::smallint) k
    $$`.simple();
});

// A coast of 700 corners with a lake of 300, so that it is cut into several parts; around (720 000, 5 600 000).
function ring(corners: number, radius: number, spread: number): [number, number][] {
  const { roll } = makeDice(corners);
  const points = Array.from({ length: corners }, (_, n): [number, number] => {
    const r = radius + spread * roll();
    const angle = (2 * Math.PI * n) / corners;
    return [720000 + Math.round(1000 * r * Math.cos(angle)) / 1000, 5600000 + Math.round(1000 * r * Math.sin(angle)) / 1000];
  });
  return [...points, points[0] ?? [0, 0]];
}
const coast = ring(700, 30000, 9000);
const lake = ring(300, 6000, 3000);
const text = (points: [number, number][]) => `(${points.map(([x, y]) => `${x} ${y}`).join(',')})`;
const island = `POLYGON(${text(coast)},${text(lake)})`;

const logOf = async (work: () => Promise<unknown>) => (await logsOf(sql, work)).protokoll.sort();
const updates = (ids: (number | undefined)[]) => ids.map((id) => `UPDATE ${id}`).sort();

describe('the tenants of a point', () => {
  const table: [what: string, x: number, y: number, tenants: string][] = [
    ['inside N', 420000, 5530000, 'N'],
    ['inside S', 480000, 5530000, 'S'],
    ['inside W', 320000, 5530000, 'W'],
    ['between W and N', 380000, 5530000, ''],
    ['on the border of N and S', 452000, 5530000, 'N S'],
    ['a millimetre west of it', 451999.999, 5530000, 'N'],
    ['a millimetre east of it', 452000.001, 5530000, 'S'],
    ['on the corner of N and S', 452000, 5560000, 'N S'],
    ['on the western edge of N', 400000, 5530000, 'N'],
    ['a millimetre outside of it', 399999.999, 5530000, ''],
    ['on the eastern edge of W, which is the edge of a cell', 340000, 5530000, 'W'],
    ['on a corner of W', 300000, 5500000, 'W'],
    ['a millimetre above W', 320000, 5560000.001, ''],
    ['in the lake of the island', 720000, 5600000, ''],
    ['on the island, in a cell without a border', 742000, 5602000, 'I'],
    ['far away', -5e8, 5e8, ''],
  ];
  for (const [what, x, y, tenants] of table) {
    it(`${what}: ${tenants || 'none'}`, async () => {
      const rows = await sql`
        select m.kuerzel
        from list_mandant_of_point(st_setsrid(st_makepoint(${x}::float8, ${y}::float8), 25832)) k (id)
        join portal.mandant m using (id) order by m.kuerzel`;
      assert.equal(rows.map((row) => row.kuerzel).join(' '), tenants);
    });
  }

  it('are those whose boundary intersects it, everywhere', async () => {
    const near = (edges: number[], spread: number) =>
      fc.tuple(fc.constantFrom(...edges), fc.double({ min: -spread, max: spread, noNaN: true })).map(([edge, d]) => edge + d);
    const xs = [300000, 340000, 400000, 452000, 500000];
    const ys = [5500000, 5530000, 5560000];
    const point = fc.oneof(
      fc.tuple(near(xs, 6000), near(ys, 6000)),
      fc.tuple(fc.constantFrom(...xs), near(ys, 31000)),
      fc.tuple(near(xs, 31000), fc.constantFrom(5500000, 5560000)),
      fc.tuple(fc.double({ min: 680000, max: 760000, noNaN: true }), fc.double({ min: 5560000, max: 5640000, noNaN: true })),
      fc.constantFrom(...coast, ...lake),
      fc
        .tuple(fc.constantFrom(...coast, ...lake), fc.double({ min: -1, max: 1, noNaN: true }))
        .map(([[x, y], d]) => [x + d, y - d]),
      fc.tuple(fc.integer({ min: 136, max: 152 }), fc.integer({ min: 1112, max: 1128 })).map(([i, j]) => [i * 5000, j * 5000]),
    );
    let inside = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(point, { minLength: 200, maxLength: 400 }), async (points) => {
        const rows = await sql<{ x: number; y: number; found: string; expected: string }[]>`
          select x, y,
            coalesce((select string_agg(id::text, ' ' order by id) from list_mandant_of_point(p) k (id)), '') as found,
            coalesce((select string_agg(m.id::text, ' ' order by m.id) from portal.mandant m where st_intersects(m.boundary, p)), '')
              as expected
          from unnest(${`{${points.map(([x]) => x)}}`}::float8[], ${`{${points.map(([, y]) => y)}}`}::float8[]) t (x, y),
            lateral (select st_setsrid(st_makepoint(x, y), 25832) as p) k`;
        assert.equal(rows.length, points.length);
        for (const { x, y, found, expected } of rows) {
          assert.equal(found, expected, `tenants of (${x} ${y})`);
          if (expected) inside++;
        }
      }),
      { numRuns: 10 },
    );
    assert.ok(inside > 500, `${inside} points in a tenant`);
  });
});

describe('the cells of a tenant', () => {
  // By PostGIS from the whole boundary, cell by cell.
  const listExpected = () => sql`
    select x as cell_x, y as cell_y, st_contains(boundary, cell) and not st_intersects(st_boundary(boundary), cell) as ganz
    from (select st_union(boundary) as boundary from portal.mandant where kuerzel = 'I') m,
      generate_series(floor(st_xmin(boundary) / 5000)::integer - 2, floor(st_xmax(boundary) / 5000)::integer + 2) x,
      generate_series(floor(st_ymin(boundary) / 5000)::integer - 2, floor(st_ymax(boundary) / 5000)::integer + 2) y,
      lateral (select st_makeenvelope(x * 5000, y * 5000, x * 5000 + 5000, y * 5000 + 5000, 25832) as cell) c
    where st_intersects(boundary, cell)
    order by x, y`;
  const listStored = (kuerzel: string) => sql`
    select z.cell_x, z.cell_y, z.ganz from portal.mandant_zelle z join portal.mandant m on m.id = z.mandant_id
    where m.kuerzel = ${kuerzel} order by z.cell_x, z.cell_y`;

  it('are all that its boundary touches, whole where no border runs, for a coast with a lake', async () => {
    const stored = [...(await listStored('I'))];
    assert.deepEqual(stored, [...(await listExpected())]);
    assert.ok(stored.some((cell) => cell.ganz) && stored.some((cell) => !cell.ganz));
    const [parts] = await sql`
      select count(*)::integer as n, max(st_npoints(t.teil)) as points,
        abs(sum(st_area(t.teil)) - max(st_area(m.boundary))) < 1 as same_area
      from portal.mandant_teil t join portal.mandant m on m.id = t.mandant_id where m.kuerzel = 'I'`;
    assert.ok(parts?.n > 4 && parts?.points <= 129 && parts?.same_area, JSON.stringify(parts));
  });

  it('include the neighbours that only share an edge or a corner, because the edge belongs to the tenant', async () => {
    const cells = new Map((await listStored('W')).map((cell) => [`${cell.cell_x} ${cell.cell_y}`, cell.ganz]));
    // W: 8 × 12 cells, and a frame of neighbours around them
    assert.equal(cells.size, 10 * 14);
    assert.equal([...cells.values()].filter(Boolean).length, 6 * 10);
    assert.equal(cells.get('68 1106'), false);
    assert.equal(cells.get('68 1112'), false);
    assert.equal(cells.get('67 1106'), false);
    assert.equal(cells.get('66 1106'), true);
    assert.equal(cells.has('69 1106'), false);
  });

  it('follow its boundary, and leave nothing of the old one', async () => {
    await setBorders(sql, 'W', 310000, 352000);
    const xs = new Set((await listStored('W')).map((cell) => cell.cell_x));
    assert.deepEqual([...xs], [61, 62, 63, 64, 65, 66, 67, 68, 69, 70]);
    const [parts] = await sql`
      select st_equals(st_union(t.teil), st_makeenvelope(310000, 5500000, 352000, 5560000, 25832)) as same
      from portal.mandant_teil t join portal.mandant m on m.id = t.mandant_id where m.kuerzel = 'W'`;
    assert.equal(parts?.same, true);
    await setBorders(sql, 'W', 300000, 340000);
  });
});

describe('a change of boundary', () => {
  it('inside a cell logs the open records that change sides, and none that is shown as the cell', async () => {
    const changing = {
      amsel: await makeRecord(sql, { x: 452500 }),
      onTheNewBorder: await makeRecord(sql, { x: 453000 }),
      openHere: await makeRecord(sql, { art: arten.rotmilan, x: 452500 }),
    };
    const hidden = {
      uhu: await makeRecord(sql, { art: arten.uhu, x: 452500 }),
      wanderfalke: await makeRecord(sql, { art: arten.wanderfalke, x: 452500 }),
      marked: await makeRecord(sql, { art: arten.hornisse, x: 452500, sensibel: true }),
    };
    for (const x of [451000, 453000.001, 470000, 320000, 380000]) await makeRecord(sql, { x });
    assert.equal(await linksOf(sql, changing.amsel), 'S');
    assert.equal(await linksOf(sql, hidden.uhu), '(N) S');

    const expected = updates(Object.values(changing));
    assert.deepEqual(await logOf(() => setBorders(sql, 'N', 400000, 453000)), expected);
    assert.equal(await linksOf(sql, changing.amsel), 'N S');
    assert.equal(await linksOf(sql, changing.onTheNewBorder), 'N S');
    assert.equal(await linksOf(sql, hidden.uhu), 'N S');
    assert.deepEqual(await logOf(() => setBorders(sql, 'N', 400000, 452000)), expected);
    assert.equal(await linksOf(sql, changing.amsel), 'S');
    assert.equal(await linksOf(sql, changing.openHere), '(N) S');
    assert.equal(await linksOf(sql, hidden.marked), '(N) S');
  });

  it('that reaches another cell logs its protected records too, wherever in it they lie', async () => {
    const changing = [
      await makeRecord(sql, { art: arten.uhu, x: 457000 }),
      await makeRecord(sql, { art: arten.uhu, x: 459900, y: 5530100 }),
      await makeRecord(sql, { art: arten.wanderfalke, x: 459000 }),
      await makeRecord(sql, { art: arten.hornisse, x: 459000, sensibel: true }),
      await makeRecord(sql, { x: 457000 }),
    ];
    const same = await makeRecord(sql, { x: 459000 });
    const earlier =
      await sql`select id from portal.sichtbeobachtung where st_x(point) between 452000.001 and 454999 and schutz < 2`;
    const [wanderfalke, amsel] = [changing[2] ?? 0, changing[4] ?? 0];
    assert.equal(await linksOf(sql, wanderfalke), 'S');

    const expected = updates([...changing, ...earlier.map((row) => row.id)]);
    assert.deepEqual(await logOf(() => setBorders(sql, 'N', 400000, 458000)), expected);
    assert.equal(await linksOf(sql, wanderfalke), '(N) S');
    assert.equal(await linksOf(sql, amsel), 'N S');
    assert.equal(await linksOf(sql, same), 'S');
    assert.deepEqual(await logOf(() => setBorders(sql, 'N', 400000, 452000)), expected);
    assert.equal(await linksOf(sql, wanderfalke), 'S');
  });

  it('that leaves a cell shows what only this tenant protected, and coming back masks it again, one entry each', async () => {
    const falke = await makeRecord(sql, { art: arten.wanderfalke, x: 496000 });
    const amsel = await makeRecord(sql, { x: 496000 });
    await makeRecord(sql, { x: 470000 });
    const shown = async () => {
      const [row] = await sql`
        select schutz, sensible_art, st_equals(shown_point, point) as exact from portal.sichtbeobachtung where id = ${falke}`;
      return { ...row };
    };
    assert.deepEqual(await shown(), { schutz: 2, sensible_art: true, exact: false });
    assert.deepEqual(await logOf(() => setBorders(sql, 'S', 452000, 490000)), updates([falke, amsel]));
    assert.deepEqual(await shown(), { schutz: 1, sensible_art: false, exact: true });
    assert.equal(await linksOf(sql, falke), '');
    assert.deepEqual(await logOf(() => setBorders(sql, 'S', 452000, 500000)), updates([falke, amsel]));
    assert.deepEqual(await shown(), { schutz: 2, sensible_art: true, exact: false });
    assert.equal(await linksOf(sql, falke), 'S');
  });

  it('logs nothing when the boundary stays, or the transaction is rolled back', async () => {
    assert.deepEqual(await logOf(() => sql`update portal.mandant set name = name || ' neu', boundary = boundary`), []);
    assert.deepEqual(await logOf(() => takeBack(sql, (tx) => setBorders(tx, 'S', 0, 1000))), []);
    assert.equal(await linksOf(sql, await makeRecord(sql, { x: 481000 })), 'S');
  });

  it('of two tenants in one statement logs each record once', async () => {
    const amsel = await makeRecord(sql, { x: 452400 });
    const rows = await sql`select id from portal.sichtbeobachtung where st_x(point) between 452000 and 453000 and schutz < 2`;
    const entries = await logOf(() => moveBorder(sql, 453000));
    assert.equal(await linksOf(sql, amsel), 'N');
    await moveBorder(sql, 452000);
    assert.deepEqual(entries, updates(rows.map((row) => row.id)));
  });
});

describe('a tenant', () => {
  const frame = (x1: number, x2: number) => sql`
    insert into portal.mandant (kuerzel, name, domains, boundary)
    values ('X', 'Neuland', '{X.test}', st_multi(st_makeenvelope(${x1}::float8, 5500000, ${x2}::float8, 5560000, 25832)))`;

  it('that is new takes the sightings in it and logs exactly these; deleting it logs them again', async () => {
    const inside = await makeRecord(sql, { x: 373000 });
    const marked = await makeRecord(sql, { art: arten.amsel, x: 373001, sensibel: true });
    await makeRecord(sql, { x: 385000 });
    assert.deepEqual(await logOf(() => frame(370000, 377000)), updates([inside, marked]));
    assert.equal(await linksOf(sql, inside), 'X');
    const entries = await logOf(() => sql`delete from portal.mandant where kuerzel = 'X'`);
    assert.equal(await linksOf(sql, inside), '');
    assert.equal(await linksOf(sql, marked), '');
    // D3.14: their tenants change, so mirrors must hear of it.
    assert.deepEqual(entries, updates([inside, marked]));
  });

  it('that is deleted protects nothing any more and leaves no cells, parts, domains or definitions', async () => {
    const milan = await makeRecord(sql, { art: arten.rotmilan, x: 320000 });
    const elsewhere = await makeRecord(sql, { art: arten.rotmilan, x: 420000 });
    const [before] = await sql`select schutz from portal.sichtbeobachtung where id = ${milan}`;
    assert.equal(before?.schutz, 2);
    const [mandant] = await sql`select id from portal.mandant where kuerzel = 'W'`;
    const entries = await logOf(() => sql`delete from portal.mandant where kuerzel = 'W'`);
    for (const id of [milan, elsewhere]) {
      const [row] = await sql`
        select schutz, sensible_art, st_equals(shown_point, point) as exact from portal.sichtbeobachtung where id = ${id}`;
      assert.deepEqual({ ...row }, { schutz: 0, sensible_art: false, exact: true });
      assert.equal(entries.filter((entry) => entry === `UPDATE ${id}`).length, 1);
    }
    assert.equal(await linksOf(sql, milan), '');
    assert.equal(await linksOf(sql, elsewhere), 'N');
    for (const table of ['mandant_zelle', 'mandant_teil', 'mandant_domain', 'art_mandant', 'mandant_sichtbeobachtung']) {
      const rows = await sql`select from ${sql(`portal.${table}`)} where mandant_id = ${mandant?.id}`;
      assert.equal(rows.length, 0, table);
    }
  });

  it('that an expert is restricted to stays, whatever way it is removed: who is restricted to none decides everywhere', async () => {
    const restrictions = () => sql`
      select u.loginname, m.kuerzel from portal.nutzer_mandant n
      join portal.nutzer u on u.id = n.nutzer_id join portal.mandant m on m.id = n.mandant_id`;
    const expected = [{ loginname: 'südexpertin', kuerzel: 'S' }];
    await assert.rejects(sql`delete from portal.mandant where kuerzel = 'S'`, /nutzer_mandant/);
    await assert.rejects(sql`truncate portal.mandant cascade`, { code: 'LEERN' });
    assert.deepEqual([...(await restrictions())], expected);
    await takeBack(sql, async (tx) => {
      await tx`delete from portal.nutzer_mandant`;
      await tx`truncate portal.mandant cascade`;
    });
  });
});

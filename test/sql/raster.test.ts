// The grids of other systems: codes and squares, from the shown place only.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { Sql } from '../../src/db/client.ts';
import { arten } from '../support/catalogue.ts';
import { openTestDatabase } from '../support/database.ts';

let sql: Sql;
before(async () => {
  sql = (await openTestDatabase()).sql;
});

const dhdn = '+proj=longlat +ellps=bessel +towgs84=598.1,73.7,418.2,0.202,0.045,-2.455,6.7';
const utm = '+proj=utm +zone=32 +ellps=GRS80 +towgs84=0,0,0,0,0,0,0 +units=m +no_defs';

let day = 0;
/** Stores a released record at a point that SQL gives; returns its id. */
async function makeAt(point: string, art: number = arten.gelbflechte): Promise<number> {
  const [row] = await sql.unsafe(`
    insert into portal.sichtbeobachtung (nutzer_id, art, point, datum, bereich, status, anzahl)
    values ((select min(id) from portal.nutzer), ${art}, ${point}, date '1900-01-01' + ${++day}, 'oeffentlich', 'freigegeben', 2)
    returning id`);
  return row?.id;
}
const atDegrees = (lon: number, lat: number, system: string) =>
  `st_setsrid(st_transform(st_makepoint(${lon}, ${lat}), '${system}', '${utm}'), 25832)`;
const remove = (id: number) => sql`delete from portal.sichtbeobachtung where id = ${id}`;

async function codesOf(art: number): Promise<[eea10: unknown, mtb: unknown, mtbq: unknown]> {
  const [row] = await sql`
    select (select string_agg(code, ' ' order by code) from gis.raster_eea10 where art = ${art}) as eea10,
      (select string_agg(code, ' ' order by code) from gis.raster_mtb where art = ${art}) as mtb,
      (select string_agg(code, ' ' order by code) from gis.raster_mtbq where art = ${art}) as mtbq`;
  return [row?.eea10, row?.mtb, row?.mtbq];
}

describe('codes', () => {
  // A hair inside the corner, in degrees of DHDN.
  const hair = 1e-6;
  const rows: [what: string, lon: number, lat: number, mtb: string | null, mtbq: string | null][] = [
    ['Mannheim', 8.4692, 49.4875, '6516', '6516/2'],
    ['the middle of 6517', 8 + 35 / 60 + hair, 49.45 - hair, '6517', '6517/4'],
    ['its first quadrant', 8 + 31 / 60, 49.49, '6517', '6517/1'],
    ['its second quadrant', 8 + 39 / 60, 49.49, '6517', '6517/2'],
    ['its third quadrant', 8 + 31 / 60, 49.41, '6517', '6517/3'],
    ['O2.2 its western edge', 8.5, 49.49, '6517', '6517/1'],
    ['O2.2 its northern edge', 8 + 31 / 60, 49.5, '6517', '6517/1'],
    ['O2.2 its eastern edge', 8 + 40 / 60, 49.49, '6518', '6518/1'],
    ['O2.2 its southern edge', 8 + 31 / 60, 49.4, '6617', '6617/1'],
    ['O2.2 the line between its quadrants', 8 + 35 / 60, 49.45, '6517', '6517/4'],
    ['beyond its western edge', 8.5 - hair, 49.49, '6516', '6516/2'],
    ['O2.2 the first column', 5 + 50 / 60, 50.45, '5501', '5501/3'],
    ['O2.2 no column', 5 + 50 / 60 - 1e-6, 50.45, null, null],
    ['O2.2 the first row', 9.01, 55.9, '0120', '0120/1'],
    ['O2.2 no row', 9.01, 55.9 + 1e-6, null, null],
  ];
  for (const [what, lon, lat, mtb, mtbq] of rows) {
    it(`${what}: ${mtbq}`, async () => {
      const id = await makeAt(atDegrees(lon, lat, dhdn));
      const codes = await codesOf(arten.gelbflechte);
      await remove(id);
      assert.deepEqual(codes.slice(1), [mtb, mtbq]);
    });
  }

  it('10kmE432N321 is the square of the origin of EPSG:3035', async () => {
    for (const [x, y, code] of [
      [4321000, 3210000, '10kmE432N321'],
      [4320000.01, 3210000.01, '10kmE432N321'],
      [4329999.9, 3219999.9, '10kmE432N321'],
      [4319999.9, 3209999.9, '10kmE431N320'],
    ] as const) {
      const id = await makeAt(`st_transform(st_setsrid(st_makepoint(${x}, ${y}), 3035), 25832)`);
      const [eea10] = await codesOf(arten.gelbflechte);
      await remove(id);
      assert.equal(eea10, code, `${x} ${y}`);
    }
  });
});

describe('squares', () => {
  it('are those that the pinned transformation gives, hold their places, and count them as gis.sichtbeobachtung does', async () => {
    for (let n = 0; n < 60; n++) {
      const point = `st_setsrid(st_makepoint(${280_123.45 + ((n * 7919) % 600) * 1000}, ${5_280_321.5 + ((n * 104729) % 780) * 1000}), 25832)`;
      await makeAt(point, n % 2 ? arten.hornisse : arten.uhu);
    }
    const [places] = await sql`
      select count(*)::integer as n, sum(anzahl)::integer as individuen from gis.sichtbeobachtung where art in (${arten.hornisse}, ${arten.uhu})`;
    const expected = await sql`
      select string_agg(distinct lpad(floor(560 - 10 * st_y(p))::text, 2, '0') || lpad((floor(6 * st_x(p) - 35) + 1)::text, 2, '0'), ' ') as codes
      from (select st_transform(place, ${utm}, ${dhdn}) as p from gis.sichtbeobachtung where art in (${arten.hornisse}, ${arten.uhu})) t`;
    const [codes] = await sql`
      select string_agg(distinct code, ' ') as codes from gis.raster_mtb where art in (${arten.hornisse}, ${arten.uhu})`;
    assert.equal(codes?.codes, expected[0]?.codes);
    for (const view of ['raster_eea10', 'raster_mtb', 'raster_mtbq']) {
      const [counted] = await sql.unsafe(`
        select sum(meldungen)::integer as n, sum(individuen)::integer as individuen, count(distinct id) = count(*) as unique,
          (select count(*)::integer from gis.sichtbeobachtung s
            where s.art in (${arten.hornisse}, ${arten.uhu}) and not exists (
              -- Its sides are straight here and bend in the other system, by less than 10 m.
              select from gis.${view} r where r.art = s.art and r.jahr = s.jahr and st_dwithin(r.cell, s.place, 10))) as outside,
          bool_and(st_isvalid(cell) and st_npoints(cell) = 5) as squares
        from gis.${view} where art in (${arten.hornisse}, ${arten.uhu})`);
      assert.deepEqual({ ...counted }, { ...places, unique: true, outside: 0, squares: true }, view);
    }
    const corners = await sql`
      select distinct max(st_distance(st_pointn(st_exteriorring(cell), 1), st_setsrid(st_transform(st_makepoint(
        (35 + substr(code, 3, 2)::integer - 1) / 6.0, (560 - left(code, 2)::integer) / 10.0), ${dhdn}, ${utm}), 25832))) < 0.001 as near
      from gis.raster_mtb`;
    assert.deepEqual([...corners], [{ near: true }]);
    await sql`delete from portal.sichtbeobachtung`;
  });

  it('O0.4 of a protected record are those of its cell, wherever in it the record lies', async () => {
    const seen = new Set<string>();
    for (const [x, y] of [
      [420_000, 5_530_000],
      [424_999, 5_534_999],
      [420_001, 5_534_999],
      [422_500, 5_532_500],
    ]) {
      const id = await makeAt(`st_setsrid(st_makepoint(${x}, ${y}), 25832)`, arten.uhu);
      seen.add(JSON.stringify(await codesOf(arten.uhu)));
      await remove(id);
    }
    assert.equal(seen.size, 1, [...seen].join('\n'));
    const open = new Set<string>();
    for (const [x, y] of [
      [420_000, 5_530_000],
      [424_999, 5_534_999],
    ]) {
      const id = await makeAt(`st_setsrid(st_makepoint(${x}, ${y}), 25832)`, arten.gelbflechte);
      open.add(JSON.stringify(await codesOf(arten.gelbflechte)));
      await remove(id);
    }
    assert.equal(open.size, 2, 'an open record in the same cell has the squares of its own place');
  });
});

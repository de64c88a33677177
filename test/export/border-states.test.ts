// Masked records at the French border, with the real boundaries (O5.3): what the archive says of a cell that lies half abroad.
// VG250, © GeoBasis-DE / BKG 2018, dl-de/by-2-0; the file is not part of the project.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openTestDatabase } from '../support/database.ts';
import { readArchive, setLizenz, writeFiles } from '../support/export.ts';

const path = fileURLToPath(new URL('../../../shared/data/laender_vg250.geojson', import.meta.url));
const skip = existsSync(path) ? false : 'needs ../shared/data/laender_vg250.geojson';

// Where the border is, and no third state near: south of Saarbrücken, and the Rhine at Kehl.
const borders = [
  { kuerzel: 'SL', name: 'Saarland', key: '10', lon: 6.97, lat: 49.19 },
  { kuerzel: 'BW', name: 'Baden-Württemberg', key: '08', lon: 7.8, lat: 48.57 },
];

for (const { kuerzel, name, key, lon, lat } of borders)
  it(`${name}: a masked record may be on either side of the border for all that the archive says`, { skip }, async () => {
    const { sql } = await openTestDatabase();
    await sql`delete from portal.nutzer_mandant`;
    await sql`delete from portal.mandant`;
    const { features } = JSON.parse(await readFile(path, 'utf8'));
    const parts = features.filter(
      ({ properties }: { properties: { SN_L: string; GF: number } }) => properties.SN_L === key && properties.GF === 4,
    );
    await sql`
      insert into portal.mandant (kuerzel, name, domains, boundary)
      select ${kuerzel}, ${name}, '{x.test}', st_multi(st_union(st_transform(st_setsrid(st_geomfromgeojson(p), 4326), 25832)))
      from json_array_elements_text(${JSON.stringify(parts.map(({ geometry }: { geometry: object }) => geometry))}::text::json) p`;
    await setLizenz(sql, kuerzel);
    // Of each cell with its centre in the state: one in it, and one abroad.
    const records = await sql`
      insert into portal.sichtbeobachtung (nutzer_id, art, point, datum, sensibel, bereich, status)
      select (select min(id) from portal.nutzer), 2, st_pointonsurface(side.area), date '2001-01-01', true, 'oeffentlich', 'freigegeben'
      from portal.mandant m
      join portal.mandant_zelle z on z.mandant_id = m.id
      cross join lateral (
        select st_makeenvelope(5000 * z.cell_x, 5000 * z.cell_y, 5000 * z.cell_x + 5000, 5000 * z.cell_y + 5000, 25832) as area) cell
      cross join lateral (values (st_intersection(cell.area, m.boundary)), (st_difference(cell.area, m.boundary))) side (area)
      where not z.ganz and st_intersects(m.boundary, st_centroid(cell.area))
        and st_dwithin(cell.area, st_transform(st_setsrid(st_makepoint(${lon}::float8, ${lat}::float8), 4326), 25832), 5000)
      returning id`;
    assert.ok(records.length >= 4 && records.length % 2 === 0, `${records.length} records`);

    const { occurrences } = await readArchive((await writeFiles(sql, kuerzel, ['dwca.zip'])).bytesOf('dwca.zip'));
    assert.deepEqual(
      occurrences.map(({ catalogNumber }) => Number(catalogNumber)).sort((a, b) => a - b),
      records.map(({ id }) => Number(id)).sort((a, b) => a - b),
    );
    const abroad = await sql`
      select s.id from portal.sichtbeobachtung s, portal.mandant m where not st_intersects(m.boundary, s.point)`;
    assert.equal(abroad.length, records.length / 2);
    for (const row of occurrences) {
      assert.deepEqual([row.countryCode, row.stateProvince], ['', ''], row.catalogNumber);
      const [facts] = await sql`
        with f as (
          select st_geomfromtext(${row.footprintWKT ?? ''}::text, 4326) as area,
            st_setsrid(st_makepoint(${row.decimalLongitude ?? ''}::text::float8, ${row.decimalLatitude ?? ''}::text::float8), 4326) as point)
        select st_covers(f.area, st_transform(s.point, 4326)) as holds_place,
          (select max(st_distance(f.point::geography, d.geom::geography)) from st_dumppoints(f.area) d) as farthest
        from portal.sichtbeobachtung s, f where s.id = ${row.catalogNumber ?? ''}::text::bigint`;
      assert.equal(facts?.holds_place, true, row.catalogNumber);
      assert.ok(
        Number(row.coordinateUncertaintyInMeters) >= facts?.farthest,
        `${row.coordinateUncertaintyInMeters}: ${facts?.farthest}`,
      );
    }
  });

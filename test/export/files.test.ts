// Files to publish (O5): all of them hold the same records, those of the tenant as everybody may see them, and the same data give the same bytes.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { before, describe, it } from 'node:test';
import { parse } from 'csv-parse/sync';
import { exportDateien, listExport } from '../../src/db/export.ts';
import { contentTypes } from '../../src/export/licences.ts';
import { arten } from '../support/catalogue.ts';
import { onPostgres } from '../support/database.ts';
import { makeDice } from '../support/dice.ts';
import { readArchive, setLizenz, writeFiles } from '../support/export.ts';
import { makeRecord } from '../support/records.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { startTwins } from '../support/twins.ts';

let service: TestService;
const sqlOf = () => service.database.sql;
const released = { bereich: 'oeffentlich', status: 'freigegeben' };
const remark = '=1+1, "er\tsagte"\r\nnichts;\\N';

before(async () => {
  service = await startTestService();
  const sql = sqlOf();
  for (const [art, x] of [
    [arten.amsel, 420456],
    [arten.uhu, 420456],
    [arten.gelbflechte, 401000],
    // Of the cells that the border of N and S cuts, on either side of it.
    [arten.amsel, 451999],
    [arten.amsel, 452001],
    [arten.uhu, 451000],
    [arten.uhu, 454000],
    [arten.uhu, 320000],
    [arten.amsel, 380000],
  ] as const)
    await makeRecord(sql, { art, x, y: 5530123, ...released, bemerkung: 'am Horst' });
  await makeRecord(sql, { x: 430000, ...released, bemerkung: remark });
  // The first one's species and square.
  await makeRecord(sql, { x: 421456, y: 5530123, ...released, sensibel: true });
  await makeRecord(sql, { x: 430000, bereich: 'privat', status: 'pruefung' });
  await makeRecord(sql, { x: 430000, bereich: 'oeffentlich', status: 'pruefung' });
  for (const kuerzel of ['N', 'S']) await setLizenz(sql, kuerzel);
});

/** The tests' own reading of which records a tenant publishes: id → shown place. */
async function listExpected(kuerzel: string): Promise<Map<number, { x: number; y: number; masked: boolean }>> {
  const rows = await sqlOf()`
    select g.id, st_x(g.place) as x, st_y(g.place) as y, g.unschaerfe_m > 0 as masked
    from gis.sichtbeobachtung g, portal.mandant m
    where m.kuerzel = ${kuerzel} and st_intersects(m.boundary, g.place)`;
  return new Map(rows.map(({ id, x, y, masked }) => [Number(id), { x, y, masked }]));
}

const sorted = (ids: Iterable<unknown>) => [...ids].map(Number).sort((a, b) => a - b);

for (const kuerzel of ['N', 'S']) {
  describe(`O5 the files of ${kuerzel}`, () => {
    it('have the same records and places', async () => {
      const expected = await listExpected(kuerzel);
      assert.ok(expected.size >= 3);
      const { bytesOf, written } = await writeFiles(sqlOf(), kuerzel);
      const ids = sorted(expected.keys());
      const { occurrences } = await readArchive(bytesOf('dwca.zip'));
      const table: Record<string, string>[] = parse(bytesOf('sichtbeobachtung.csv'), { columns: true });
      const { type, features } = JSON.parse(bytesOf('sichtbeobachtung.geojson').toString());
      assert.equal(type, 'FeatureCollection');
      assert.deepEqual(sorted(occurrences.map((row) => row.catalogNumber)), ids);
      assert.deepEqual(sorted(table.map(({ id }) => id)), ids);
      assert.deepEqual(sorted(features.map(({ id }: { id: number }) => id)), ids);
      for (const { datei, anzahl } of written) if (datei !== 'cube.csv') assert.equal(anzahl, expected.size, datei);

      const degrees = new Map(
        (
          await sqlOf()`
            select id, st_x(p) as lon, st_y(p) as lat from (select id, st_transform(place, 4326) as p from gis.sichtbeobachtung) g`
        ).map(({ id, lon, lat }) => [Number(id), [lon, lat] as [number, number]]),
      );
      const assertNear = (id: number, lon: unknown, lat: unknown) => {
        const [x, y] = degrees.get(id) ?? [0, 0];
        assert.ok(Math.abs(Number(lon) - x) < 1e-7 && Math.abs(Number(lat) - y) < 1e-7, `${id}: ${lon} ${lat}, ${x} ${y}`);
      };
      for (const { catalogNumber, decimalLongitude, decimalLatitude } of occurrences)
        assertNear(Number(catalogNumber), decimalLongitude, decimalLatitude);
      for (const { id, lon, lat } of table) assertNear(Number(id), lon, lat);
      const database = openGeoPackage((await writeFiles(sqlOf(), kuerzel, ['sichtbeobachtung.gpkg'])).directory);
      const points = database.prepare('select id, geom from beobachtung').all() as { id: number; geom: Uint8Array }[];
      assert.deepEqual(sorted(points.map(({ id }) => id)), ids);
      for (const { id, geom } of points) {
        const point = Buffer.from(geom);
        const { x, y } = expected.get(id) ?? { x: 0, y: 0 };
        assert.deepEqual([point.readDoubleLE(13), point.readDoubleLE(21)], [x, y]);
      }
      database.close();
    });

    it('say of each file what it is', async () => {
      const { bytesOf, written } = await writeFiles(sqlOf(), kuerzel);
      assert.deepEqual(
        written.map(({ datei }) => datei),
        exportDateien,
      );
      for (const { datei, path, bytes, sha256 } of written) {
        assert.equal(statSync(path).size, bytes);
        assert.equal(createHash('sha256').update(bytesOf(datei)).digest('hex'), sha256);
        assert.ok(contentTypes[datei]);
      }
    });
  });
}

const openGeoPackage = (directory: string) => new DatabaseSync(`${directory}/sichtbeobachtung.gpkg`, { readOnly: true });

describe('O5 the files', () => {
  it('have the features that /ogc has', async () => {
    const { features } = JSON.parse((await writeFiles(sqlOf(), 'N')).bytesOf('sichtbeobachtung.geojson').toString());
    const { json } = await service.request('/ogc/collections/sichtbeobachtung/items?f=json&limit=1000', { below: '' });
    const offered = new Map(json.features.map((feature: { id: number }) => [feature.id, feature]));
    for (const feature of features) assert.deepEqual(feature, offered.get(feature.id));
    assert.ok(features.some(({ geometry }: { geometry: { type: string } }) => geometry.type === 'Polygon'));
  });

  it('O2.16 let no spreadsheet compute what somebody wrote, and quote as tables do', async () => {
    const table: Record<string, string>[] = parse((await writeFiles(sqlOf(), 'N')).bytesOf('sichtbeobachtung.csv'), {
      columns: true,
    });
    assert.ok(table.some(({ bemerkung }) => bemerkung === `'${remark}`));
    const [first] = table;
    const shown = ['lon', 'lat', 'unschaerfe_m', 'zelle_wkt'];
    const columns = await sqlOf()`
      select column_name from information_schema.columns
      where table_schema = 'gis' and table_name = 'sichtbeobachtung' and column_name not in ('place', 'zeile') order by ordinal_position`;
    assert.deepEqual(
      Object.keys(first ?? {}).filter((name) => !shown.includes(name)),
      columns.map(({ column_name }) => column_name).filter((name) => !shown.includes(name)),
    );
    assert.ok(shown.every((name) => name in (first ?? {})));
    for (const { unschaerfe_m, zelle_wkt } of table) assert.equal(zelle_wkt === '', unschaerfe_m === '0');
  });

  it('count by square, year and species; without an uncertainty where one place is exact', async () => {
    const { bytesOf } = await writeFiles(sqlOf(), 'N');
    const cube: Record<string, string>[] = parse(bytesOf('cube.csv'), { columns: true });
    assert.match(
      bytesOf('cube.csv').toString(),
      /^eeacellcode,year,specieskey,species,occurrences,mincoordinateuncertaintyinmeters\r?\n/,
    );
    const { occurrences } = await readArchive(bytesOf('dwca.zip'));
    const uncertainty = new Map(occurrences.map((row) => [row.catalogNumber, row.coordinateUncertaintyInMeters ?? '']));
    // By the square of the shown place.
    const expected = await sqlOf()`
      select format('10kmE%sN%s', e.eea10 / 1000, e.eea10 % 1000) as code, g.jahr, g.name_wissenschaftlich as name,
        string_agg(g.id::text, ' ') as ids, bool_or(e.eea10 <> private.to_eea10(s.point)) as elsewhere
      from gis.sichtbeobachtung g
      join portal.sichtbeobachtung s on s.id = g.id
      cross join lateral (select private.to_eea10(g.place) as eea10) e
      where g.id = any (${`{${[...uncertainty.keys()]}}`}::bigint[])
      group by 1, 2, 3`;
    const valuesOf = (ids: string) => ids.split(' ').map((id) => uncertainty.get(id) ?? '');
    const smallestOf = (values: string[]) => (values.includes('') ? '' : String(Math.min(...values.map(Number))));
    const line = (...values: unknown[]) => values.join(' ');
    assert.deepEqual(
      cube
        .map((row) => line(row.eeacellcode, row.year, row.species, row.occurrences, row.mincoordinateuncertaintyinmeters))
        .sort(),
      expected.map(({ code, jahr, name, ids }) => line(code, jahr, name, valuesOf(ids).length, smallestOf(valuesOf(ids)))).sort(),
    );
    assert.ok(
      expected.some(({ ids }) => new Set(valuesOf(ids)).size > 1),
      'masked and exact ones together',
    );
    assert.ok(
      expected.some(({ elsewhere }) => elsewhere),
      'one that is in another square than its cell',
    );
    assert.ok(cube.some((row) => Number(row.mincoordinateuncertaintyinmeters) > 3536));
  });

  it('are the same bytes for the same data, and none is left in parts', async () => {
    const one = await writeFiles(sqlOf(), 'N');
    const other = await writeFiles(sqlOf(), 'N');
    assert.deepEqual(
      other.written.map(({ datei, sha256 }) => [datei, sha256]),
      one.written.map(({ datei, sha256 }) => [datei, sha256]),
    );
    assert.deepEqual(readdirSync(one.directory).sort(), [...exportDateien].sort());
  });

  it('O5.1 are none without a licence, and no archive with one that GBIF does not take', async () => {
    assert.deepEqual(await listExport(sqlOf(), 'W'), []);
    await setLizenz(sqlOf(), 'W', 'dl-de/by-2-0');
    const { written } = await writeFiles(sqlOf(), 'W');
    assert.deepEqual(
      written.map(({ datei }) => datei),
      exportDateien.filter((datei) => datei !== 'dwca.zip'),
    );
  });

  it('are whole without any record', async () => {
    await sqlOf()`
      insert into portal.mandant (kuerzel, name, domains, boundary)
      values ('L', 'Leerland', '{l.test}', st_multi(st_makeenvelope(600000, 5500000, 620000, 5520000, 25832)))`;
    await setLizenz(sqlOf(), 'L', 'CC0-1.0');
    const { bytesOf, written } = await writeFiles(sqlOf(), 'L');
    assert.ok(written.every(({ anzahl }) => anzahl === 0));
    assert.deepEqual(JSON.parse(bytesOf('sichtbeobachtung.geojson').toString()).features, []);
    const { texts, occurrences } = await readArchive(bytesOf('dwca.zip'));
    assert.deepEqual(occurrences, []);
    assert.match(texts.get('eml.xml') ?? '', /<pubDate>\d{4}-\d\d-\d\d<\/pubDate>/);
    assert.doesNotMatch(texts.get('eml.xml') ?? '', /temporalCoverage/);
  });

  it('O0.4 are the same bytes wherever in their cells masked records lie', async () => {
    const twins = await startTwins(makeDice(50));
    await twins.change(async (sql) => {
      for (const kuerzel of ['N', 'S']) await setLizenz(sql, kuerzel);
      await sql`update portal.mandant set stand = timestamptz '2026-01-01'`;
    });
    const isMasked = ({ art, sensibel }: { art: number; sensibel: boolean }) =>
      sensibel || ([arten.uhu, arten.wanderfalke, arten.rotmilan] as number[]).includes(art);
    await twins.arrange(isMasked);
    for (const kuerzel of onPostgres ? ['N', 'S'] : ['N']) {
      const [first, second] = await Promise.all(
        [twins.first, twins.second].map(({ database }) => writeFiles(database.sql, kuerzel)),
      );
      assert.ok((first?.written[0]?.anzahl ?? 0) > 5);
      for (const datei of exportDateien) assert.ok(first?.bytesOf(datei).equals(second?.bytesOf(datei) as Buffer), datei);
    }
  });
});

// The sixteen real states as a source: from the rough outlines of the demo to theirs, and a border that moves.
// VG250, © GeoBasis-DE / BKG 2018, dl-de/by-2-0; the file is not part of the project.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { loadDemo } from '../../src/catalog/demo.ts';
import type { Database, Sql } from '../../src/db/client.ts';
import { type BoundarySettings, refreshBoundaries } from '../../src/jobs/boundaries.ts';
import {
  assertPlacements,
  listChanged,
  listLogged,
  makeCollection,
  readLastRun,
  readPlacements,
  type Source,
  scatterSichtbeobachtungen,
  startSource,
} from '../support/boundaries.ts';
import { openTestDatabase } from '../support/database.ts';

const path = fileURLToPath(new URL('../../../shared/data/laender_vg250.geojson', import.meta.url));
const skip = existsSync(path) ? false : 'needs ../shared/data/laender_vg250.geojson';

describe('the real states', { skip }, () => {
  let database: Database;
  let sql: Sql;
  let source: Source;
  let settings: BoundarySettings;
  before(async () => {
    source = await startSource();
    settings = { ...source.settings, key: 'SN_L', filter: { property: 'GF', value: '4' } };
    database = await openTestDatabase();
    sql = database.sql;
    // The demo's tenants instead of the test catalogue's.
    await sql`delete from portal.nutzer_mandant`;
    await sql`delete from portal.mandant`;
    await loadDemo(database, { step: () => {}, end: () => {} });
    await scatterSichtbeobachtungen(sql, [280000, 5240000, 920000, 6100000], 500);
    // around the border of Rheinland-Pfalz and Hessen
    await scatterSichtbeobachtungen(sql, [425000, 5490000, 465000, 5640000], 700);
    const document = await readFile(path);
    source.serve((_request, response) => response.end(document));
  });

  it('differ too much from the outlines of the demo to be taken without force', async () => {
    await assert.rejects(refreshBoundaries(database, settings), {
      fault: 'mandanten',
      message: /^Die Fläche von H[BH] änderte sich um/,
    });
    assert.equal((await readLastRun(sql)).ergebnis, 'fehlgeschlagen');
  });

  it('become the boundaries of all sixteen tenants, by their schluessel', async () => {
    const before = await readPlacements(sql);
    let outcome = { mandanten: 0, zugeordnet: 0, maskiert: 0, uebergangen: 0 };
    const logged = await listLogged(sql, async () => {
      outcome = await refreshBoundaries(database, settings, { force: true });
    });
    assert.deepEqual(logged, listChanged(before, await readPlacements(sql)));
    assert.equal(outcome.mandanten, 16);
    assert.equal(outcome.zugeordnet, logged.length);
    assert.ok(logged.length > 20, `${logged.length} records`);
    await assertPlacements(sql);
    // capitals, each in its state and in no other
    const rows = await sql<{ place: string; tenants: string }[]>`
      select t.place, (
        select string_agg(m.kuerzel, ' ') from portal.mandant m
        where st_intersects(m.boundary, st_transform(st_setsrid(st_makepoint(lon, lat), 4326), 25832))) as tenants
      from (values ('RP', 8.271, 49.993), ('BY', 11.576, 48.137), ('HH', 9.993, 53.551), ('HB', 8.807, 53.076), ('BE', 13.405, 52.52),
        ('BB', 13.058, 52.4), ('SL', 6.997, 49.234), ('SH', 10.135, 54.323), ('MV', 11.415, 53.629)) t (place, lon, lat)`;
    for (const { place, tenants } of rows) assert.equal(tenants, place);
  });

  it('change nothing the second time', async () => {
    const logged = await listLogged(sql, async () => {
      assert.deepEqual(await refreshBoundaries(database, settings), { mandanten: 0, zugeordnet: 0, maskiert: 0, uebergangen: 0 });
    });
    assert.deepEqual(logged, []);
  });

  it('with a border moved by 3 km change the records between the old and the new border alone', async () => {
    const document = await moveBorder('RP', 'HE');
    source.serve(document);
    const before = await readPlacements(sql);
    const logged = await listLogged(sql, async () => {
      assert.equal((await refreshBoundaries(database, source.settings)).mandanten, 2);
    });
    const now = await readPlacements(sql);
    assert.deepEqual(logged, listChanged(before, now));
    assert.ok(logged.length > 20 && logged.length < 300, `${logged.length} records`);
    for (const id of logged) {
      const tenants = `${before.get(id)?.links} ${now.get(id)?.links}`;
      assert.match(tenants, /RP|HE/, `record ${id}: ${tenants}`);
    }
    await assertPlacements(sql);
  });

  it('with their waters, several features each, are merged', async () => {
    source.serve((_request, response) => void readFile(path).then((document) => response.end(document)));
    const { mandanten } = await refreshBoundaries(database, { ...settings, filter: null }, { force: true });
    assert.ok(mandanten >= 5, `${mandanten} tenants`);
    const [row] = await sql`select st_area(boundary) / 1e6 as area from portal.mandant where kuerzel = 'SH'`;
    assert.ok(row?.area > 18000, `Schleswig-Holstein with its sea: ${row?.area} km²`);
    await assertPlacements(sql);
  });

  /** All tenants as a source, with 3 km of the second one along the common border given to the first. */
  async function moveBorder(taker: string, giver: string): Promise<object> {
    const rows = await sql<{ feature: string }[]>`
      with frontier as (select st_buffer(boundary, 3000) as geom from portal.mandant where kuerzel = ${taker}),
      given as (select st_intersection(m.boundary, f.geom, 0.001) as geom from portal.mandant m, frontier f where m.kuerzel = ${giver})
      select json_build_object('type', 'Feature', 'properties', json_build_object('kuerzel', m.kuerzel), 'geometry', st_asgeojson(
        case m.kuerzel when ${taker} then st_union(m.boundary, g.geom, 0.001) when ${giver} then st_difference(m.boundary, f.geom, 0.001)
          else m.boundary end, 15, 0)::json)::text as feature
      from portal.mandant m, frontier f, given g`;
    return makeCollection(rows.map((row) => JSON.parse(row.feature)));
  }
});

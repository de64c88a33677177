// sichtbeobachtung.gpkg (O5): what the standard (OGC 12-128) wants of it, and what an office sees.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { before, describe, it } from 'node:test';
import { arten } from '../support/catalogue.ts';
import { openTestDatabase } from '../support/database.ts';
import { setLizenz, writeFiles } from '../support/export.ts';
import { makeRecord } from '../support/records.ts';
import type { Json } from '../support/service.ts';

let path = '';
let database: DatabaseSync;
let masked = 0;
const all = (query: string): Json[] =>
  database
    .prepare(query)
    .all()
    .map((row) => ({ ...row }));
const value = (query: string) => Object.values(all(query)[0] ?? {})[0];

before(async () => {
  const { sql } = await openTestDatabase();
  await setLizenz(sql, 'N');
  const released = { bereich: 'oeffentlich', status: 'freigegeben' };
  await makeRecord(sql, { ...released, x: 401234.567, y: 5512345.678, bemerkung: 'im Park' });
  masked = await makeRecord(sql, { ...released, art: arten.uhu, x: 421111, y: 5531111 });
  await makeRecord(sql, { ...released, art: arten.uhu, x: 422222, y: 5532222 });
  path = join((await writeFiles(sql, 'N', ['sichtbeobachtung.gpkg'])).directory, 'sichtbeobachtung.gpkg');
  database = new DatabaseSync(path, { readOnly: true });
});

describe('O5 sichtbeobachtung.gpkg', () => {
  it('is a GeoPackage, whole, with the tables that each has', () => {
    assert.equal(value('pragma application_id'), 0x47504b47);
    assert.ok([10300, 10400].includes(Number(value('pragma user_version'))));
    assert.equal(value('pragma integrity_check'), 'ok');
    assert.deepEqual(all('pragma foreign_key_check'), []);
    const systems = all(
      'select srs_id, organization, organization_coordsys_id as code, definition from gpkg_spatial_ref_sys order by 1',
    );
    assert.deepEqual(
      systems.map(({ srs_id, organization, code }) => [srs_id, organization, code]),
      [
        [-1, 'NONE', -1],
        [0, 'NONE', 0],
        [4326, 'EPSG', 4326],
        [25832, 'EPSG', 25832],
      ],
    );
    assert.match(systems[3]?.definition, /^PROJCS\["ETRS89 \/ UTM zone 32N"/);
  });

  it('names its layers with their system, and boxes that hold their features', () => {
    const layers = all(`
      select c.table_name as name, c.data_type, c.srs_id, c.last_change, c.min_x, c.min_y, c.max_x, c.max_y, g.geometry_type_name as type, g.z, g.m
      from gpkg_contents c join gpkg_geometry_columns g using (table_name) order by 1`);
    assert.deepEqual(
      layers.map(({ name, data_type, srs_id, type, z, m }) => [name, data_type, srs_id, type, z, m]),
      [
        ['artenkataster', 'features', 25832, 'POINT', 0, 0],
        ['beobachtung', 'features', 25832, 'POINT', 0, 0],
        ['zelle', 'features', 25832, 'POLYGON', 0, 0],
      ],
    );
    for (const { name, last_change } of layers) assert.match(last_change, /^\d{4}-\d\d-\d\dT00:00:00\.000Z$/, name);
    const boxOf = (layer: string) => {
      const { min_x, min_y, max_x, max_y } = layers.find(({ name }) => name === layer);
      return [min_x, min_y, max_x, max_y];
    };
    assert.deepEqual(boxOf('beobachtung'), [401234.567, 5512345.678, 422500, 5532500]);
    assert.deepEqual(boxOf('zelle'), [420000, 5530000, 425000, 5535000]);
  });

  it('keeps geometries as the standard does, squares with their envelope', () => {
    for (const { geom } of all('select geom from beobachtung union all select geom from zelle')) {
      const bytes = Buffer.from(geom);
      assert.equal(bytes.toString('latin1', 0, 2), 'GP');
      assert.deepEqual([bytes[2], bytes.readInt32LE(4)], [0, 25832]);
      const envelope = ((bytes[3] ?? 0) >> 1) & 7;
      const kind = bytes.readUInt32LE((envelope === 0 ? 8 : 40) + 1);
      assert.deepEqual([envelope, kind], kind === 1 ? [0, 1] : [1, 3]);
      if (kind === 3)
        assert.deepEqual(
          [8, 16, 24, 32].map((at) => bytes.readDoubleLE(at)),
          [420000, 425000, 5530000, 5535000],
        );
    }
  });

  it('finds each feature by its R-tree, and says that it has one', () => {
    for (const layer of ['beobachtung', 'zelle']) {
      const tree = `rtree_${layer}_geom`;
      assert.equal(value(`select count(*) from ${tree}`), value(`select count(*) from ${layer}`));
      assert.deepEqual(all(`select id from ${layer} where id not in (select id from ${tree})`), []);
      assert.equal(value(`select rtreecheck('${tree}')`), 'ok');
      assert.equal(value(`select extension_name from gpkg_extensions where table_name = '${layer}'`), 'gpkg_rtree_index');
      assert.ok(Number(value(`select count(*) from sqlite_master where type = 'trigger' and tbl_name = '${layer}'`)) >= 6);
    }
    const found = all(
      'select id from rtree_beobachtung_geom where minx <= 422501 and maxx >= 422499 and miny <= 5532501 and maxy >= 5532499',
    );
    assert.equal(found.length, 2);
  });

  it('O5.3 has a masked record in the middle of its square, with the square beside it', () => {
    assert.deepEqual(all(`select unschaerfe_m, bemerkung from beobachtung where id = ${masked}`), [
      { unschaerfe_m: 3536, bemerkung: null },
    ]);
    assert.deepEqual(all('select cell_x, cell_y, meldungen, arten from zelle'), [
      { cell_x: 84, cell_y: 1106, meldungen: 2, arten: 1 },
    ]);
  });

  it('says whose it is and under which licence, and how it is drawn', () => {
    const about = String(value('select metadata from gpkg_metadata m join gpkg_metadata_reference r on r.md_file_id = m.id'));
    for (const part of ['Landesamt & Söhne', 'arten@example.org', 'Funde <im> Land', 'creativecommons.org/licenses/by/4.0'])
      assert.ok(about.includes(part), part);
    // Never a dot for a place that is only known to lie in a square.
    for (const [layer, renderer] of Object.entries({
      beobachtung: /type="RuleRenderer".*filter="&quot;unschaerfe_m&quot; > 0"/,
      artenkataster: /type="RuleRenderer".*filter="&quot;UNSCHAERFE&quot; > 0"/,
      zelle: /type="singleSymbol"/,
    }))
      assert.match(String(value(`select styleQML from layer_styles where f_table_name = '${layer}'`)), renderer);
    assert.deepEqual(Object.keys(all('select * from artenkataster')[0]).slice(2), [
      'ART_ID',
      'ART_WISS',
      'ART_DEUTSCH',
      'ARTENGRUPPE',
      'DATUM',
      'JAHR',
      'ANZAHL',
      'STADIUM',
      'VERHALTEN',
      'BEMERKUNG',
      'UNSCHAERFE',
      'GUID',
    ]);
  });

  const missing = spawnSync('ogrinfo', ['--version']).error ? 'no ogrinfo here' : false;
  it('is read by GDAL', { skip: missing }, () => {
    const { status, stdout, stderr } = spawnSync('ogrinfo', ['-ro', '-so', '-al', path], { encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    // As the standard writes types (requirement 13).
    for (const { sql } of all("select sql from sqlite_master where type = 'table' and name like 'gpkg%'"))
      assert.doesNotMatch(sql, / (text|integer|double|datetime)\b/);
    assert.doesNotMatch(stderr, /warning|error/i);
    const counts = [...stdout.matchAll(/^Layer name: (\w+)[\s\S]*?^Feature Count: (\d+)/gm)].map(
      ([, name, count]) => `${name} ${count}`,
    );
    assert.deepEqual(counts.sort(), ['artenkataster 3', 'beobachtung 3', 'layer_styles 3', 'zelle 1']);
    assert.match(stdout, /ID\["EPSG",25832\]/);
  });
});

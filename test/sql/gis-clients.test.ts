// The programs that analysts use, as an analyst runs them: GDAL's ogr2ogr and ogrinfo, and QGIS's library where it is installed.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import postgres from 'postgres';
import { type Analyst, createAnalyst } from '../support/analyst.ts';
import { arten } from '../support/catalogue.ts';
import { hasProgram } from '../support/child.ts';
import { databaseUrlOf, dropDatabase, onPostgres } from '../support/database.ts';
import { makeDirectory } from '../support/end.ts';
import { type Json, startTestService, type TestService } from '../support/service.ts';

const run = promisify(execFile);
const needsPostgres = onPostgres ? false : 'the embedded database takes no other programs';
const python = ['python3', '/usr/bin/python3'].find((program) => onPostgres && hasProgram(program, '-c', 'import qgis.core'));

let service: TestService;
let analyst: Analyst;
let env: NodeJS.ProcessEnv;
let source: string;
before(async () => {
  if (!onPostgres) return;
  service = await startTestService();
  let day = 0;
  const places = [420000.25, 449000.5, 453000, 480123.45, 320000, 380000];
  for (const art of [arten.uhu, arten.amsel, arten.wanderfalke, arten.rotmilan]) {
    for (const lon of places) {
      const datum = `${(++day % 28) + 1}.${(day % 12) + 1}.2021`;
      await service.makeReleased({
        art: String(art),
        lon: String(lon),
        lat: '5530123.75',
        datum,
        sensibel: String(day % 5 === 0),
      });
    }
  }
  await service.makeSichtbeobachtung();
  analyst = await createAnalyst(service.database, 'gis_public');
  const { hostname, port, pathname, username, password } = analyst.url;
  source = `PG:host=${hostname} port=${port || 5432} dbname=${pathname.slice(1)} user=${username}`;
  env = { ...process.env, PGPASSWORD: password };
});

/** Everything that the interface shows to everyone at one tenant, by id. */
async function listByApi(host: string): Promise<Map<number, Json>> {
  const { json } = await service.request('/sichtbeobachtungen?limit=1000', { host });
  assert.equal(json.next, undefined);
  return new Map(json.result.map((record: Json) => [record.id, record]));
}

describe('ogr2ogr', { skip: needsPostgres || (!hasProgram('ogr2ogr', '--version') && 'GDAL is not installed') }, () => {
  it('writes the public layer to a GeoPackage, with the records and places that the interface shows', async () => {
    const file = join(await makeDirectory(), 'sichtbeobachtung.gpkg');
    await run('ogr2ogr', ['-f', 'GPKG', file, source, 'gis.sichtbeobachtung', '-nln', 'sichtbeobachtung'], { env });
    const { stdout } = await run('ogr2ogr', ['-f', 'GeoJSON', '/vsistdout/', file, '-lco', 'COORDINATE_PRECISION=6']);
    const { features, crs } = JSON.parse(stdout);
    assert.match(crs.properties.name, /25832$/);

    const shown = await Promise.all(['n.test', 's.test', 'w.test'].map(listByApi));
    assert.deepEqual(
      features.map((feature: Json) => feature.properties.id).sort((a: number, b: number) => a - b),
      [...(shown[0]?.keys() ?? [])].sort((a, b) => a - b),
    );
    const kinds = { exact: 0, everywhere: 0, somewhere: 0 };
    for (const { properties, geometry } of features) {
      const records = shown.map((list) => list.get(properties.id));
      const masked = records.filter((record) => record.is_rasterized);
      // No tenant is addressed here: what one of them protects is protected.
      assert.equal(properties.unschaerfe_m, masked.length > 0 ? 3536 : 0, `unschaerfe_m of ${properties.id}`);
      for (const record of masked.length > 0 ? masked : records) {
        assert.deepEqual(geometry.coordinates, [record.lon, record.lat], `place of ${properties.id}`);
      }
      assert.equal(properties.anzahl, Number(records[0].anzahl));
      kinds[masked.length === 0 ? 'exact' : masked.length === 3 ? 'everywhere' : 'somewhere']++;
    }
    assert.ok(Math.min(...Object.values(kinds)) > 3, JSON.stringify(kinds));
  });

  it('shows the comments, the type and the coordinate system of each layer', async () => {
    for (const [layer, type, comment] of [
      ['sichtbeobachtung', 'Point', 'Public released sightings'],
      ['raster_5km', 'Polygon', 'counted per cell'],
      ['mandant', 'Multi Polygon', 'Tenants of the portal'],
    ] as const) {
      const { stdout } = await run('ogrinfo', ['-ro', '-so', source, `gis.${layer}`], { env });
      assert.match(stdout, new RegExp(`Geometry: ${type}\\n`));
      assert.match(stdout, new RegExp(`DESCRIPTION=.*${comment}`));
      assert.match(stdout, /ID\["EPSG",25832\]/);
      assert.match(stdout, /Feature Count: [1-9]/);
      assert.match(stdout, /Extent: /);
    }
  });

  it('gets neither true places nor the QS log', async () => {
    for (const layer of ['gis.sichtbeobachtung_exakt', 'gis.qs', 'portal.sichtbeobachtung', 'portal.sichtbeobachtung_exakt']) {
      const outcome = await run('ogr2ogr', ['-f', 'CSV', '/vsistdout/', source, layer], { env }).catch((error: Json) => error);
      assert.match(outcome.stderr, /permission denied/, layer);
      assert.ok(outcome.stdout.trim().split('\n').length < 2, `${layer}: a header at most`);
    }
  });
});

it('a database of one’s own shows the same by foreign tables, as analysts.md says', { skip: needsPostgres }, async (t) => {
  const { sql } = service.database;
  const [there] = await sql`select from pg_available_extensions where name = 'postgres_fdw'`;
  if (!there) return t.skip('the server has no postgres_fdw');
  const [, printed = ''] =
    /^## Tables and views of your own$.*?^```sql$(.*?)^```$/ms.exec(readFileSync('docs/analysts.md', 'utf8')) ?? [];
  const { hostname, port, pathname, username, password } = analyst.url;
  const statements = printed
    .replace("host 'db', dbname 'portal'", `host '${hostname}', port '${port || 5432}', dbname '${pathname.slice(1)}'`)
    .replace("user 'anna', password '…'", `user '${username}', password '${password}'`);
  assert.notEqual(statements, printed);
  const name = `${pathname.slice(1)}_anna`;
  await sql.unsafe(`create database ${name} template template0`);
  const own = postgres(databaseUrlOf(name), { max: 1 });
  try {
    await own.unsafe(statements).simple();
    const [foreign] = await own`select count(*), st_extent(place)::text as extent, string_agg(id::text, ' ' order by id) as ids
      from gis.sichtbeobachtung`;
    const [shown] = await analyst.run(
      (session) => session`select count(*), public.st_extent(place)::text as extent, string_agg(id::text, ' ' order by id) as ids
        from gis.sichtbeobachtung`,
    );
    assert.deepEqual(foreign, shown);
    assert.ok((await own`select from amseln`).length > 0);
    assert.ok((await own`select from arten_je_jahr`).length > 0);
    // The portal computes the box.
    const plan = await own`explain verbose
      select * from gis.sichtbeobachtung where place && st_makeenvelope(400000, 5500000, 450000, 5550000, 25832)`;
    assert.match(JSON.stringify(plan), /Remote SQL: .* WHERE .*place OPERATOR/);
    // What their group may not read is not among them.
    const [others] = await own`select count(*)::integer as count from pg_class
      where relnamespace = 'gis'::regnamespace and relname in ('qs', 'sichtbeobachtung_exakt')`;
    assert.equal(others?.count, 0);
  } finally {
    await own.end({ timeout: 1 });
    await dropDatabase(service.database, name);
  }
});

describe('QGIS', { skip: needsPostgres || (python ? false : 'its Python library is not installed') }, () => {
  const script = `
import json, os
from qgis.core import QgsApplication, QgsDataSourceUri, QgsFeatureRequest, QgsRectangle, QgsVectorLayer, QgsWkbTypes
application = QgsApplication([], False)
application.initQgis()
found = {}
for table, geometry, key in [('sichtbeobachtung', 'place', 'id'), ('raster_5km', 'cell', 'id'), ('mandant', 'boundary', 'id'), ('art', None, 'id'), ('protokoll', None, 'id'), ('sichtbeobachtung_exakt', 'place', 'id'), ('qs', None, 'id')]:
    for estimated in (False, True):
        uri = QgsDataSourceUri()
        uri.setConnection(os.environ['GIS_HOST'], os.environ['GIS_PORT'], os.environ['GIS_DATABASE'], os.environ['GIS_USER'], os.environ['PGPASSWORD'])
        uri.setDataSource('gis', table, geometry, '', key)
        uri.setUseEstimatedMetadata(estimated)
        layer = QgsVectorLayer(uri.uri(False), table, 'postgres')
        name = table + (' estimated' if estimated else '')
        if not layer.isValid():
            found[name] = None
            continue
        features = list(layer.getFeatures())
        again = layer.getFeature(features[0].id())
        box = QgsFeatureRequest().setFilterRect(QgsRectangle(400000, 5500000, 452000, 5560000))
        found[name] = {
            'type': QgsWkbTypes.displayString(layer.wkbType()), 'crs': layer.crs().authid(), 'rows': len(features),
            'key': [layer.fields()[index].name() for index in layer.primaryKeyAttributes()],
            'same': again.attributes() == features[0].attributes(), 'commented': all(field.comment() for field in layer.fields()),
            'inBox': sum(1 for feature in layer.getFeatures(box)) if geometry else None}
print(json.dumps(found))
application.exitQgis()
`;

  it('opens each public layer by its key, with type, coordinate system and comments, and no other', async () => {
    const { hostname, port, pathname, username } = analyst.url;
    const { stdout } = await run(python ?? '', ['-c', script], {
      env: {
        ...env,
        QT_QPA_PLATFORM: 'offscreen',
        GIS_HOST: hostname,
        GIS_PORT: port || '5432',
        GIS_DATABASE: pathname.slice(1),
        GIS_USER: username,
      },
    });
    const found = JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
    const layer = (type: string, rows: number, inBox: number | null) => ({
      type,
      crs: type === 'NoGeometry' ? '' : 'EPSG:25832',
      rows,
      key: ['id'],
      same: true,
      commented: true,
      inBox,
    });
    const [cells] = await service.database.sql`
      select count(*)::integer as n, count(*) filter (where cell && st_makeenvelope(400000, 5500000, 452000, 5560000, 25832))::integer as here
      from gis.raster_5km`;
    const [entries] = await service.database.sql`select count(*)::integer as n from gis.protokoll`;
    const [points] = await service.database.sql`
      select count(*)::integer as here from gis.sichtbeobachtung where place && st_makeenvelope(400000, 5500000, 452000, 5560000, 25832)`;
    for (const suffix of ['', ' estimated']) {
      assert.deepEqual(found[`sichtbeobachtung${suffix}`], layer('Point', 24, points?.here));
      assert.deepEqual(found[`raster_5km${suffix}`], layer('Polygon', cells?.n, cells?.here));
      assert.deepEqual(found[`mandant${suffix}`], layer('MultiPolygon', 3, 2));
      assert.deepEqual(found[`art${suffix}`], layer('NoGeometry', 7, null));
      assert.deepEqual(found[`protokoll${suffix}`], layer('NoGeometry', entries?.n, null));
      assert.equal(found[`sichtbeobachtung_exakt${suffix}`], null);
      assert.equal(found[`qs${suffix}`], null);
    }
  });
});

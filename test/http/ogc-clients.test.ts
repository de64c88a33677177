// The programs that GIS people use on /ogc, over a real connection: GDAL's ogrinfo and ogr2ogr, and a library of web maps.
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { OgcApiEndpoint } from '@camptocamp/ogc-client';
import { arten } from '../support/catalogue.ts';
import { serveApp } from '../support/listen.ts';
import { idsOf, sorted, walkOgc } from '../support/ogc.ts';
import { type Json, startTestService } from '../support/service.ts';

const run = promisify(execFile);
const tell = (program: string, ...args: string[]) => spawnSync(program, args, { encoding: 'utf8', timeout: 30_000 });
const hasGdal = /OAPIF/.test(tell('ogr2ogr', '--formats').stdout ?? '');
// Of the system: QGIS comes with its packages.
const python = '/usr/bin/python3';
const hasQgis = tell(python, '-c', 'import qgis.core').status === 0;

const count = 130;
const service = await startTestService();
const { sql } = service.database;
const first = await service.makeReleased({ lat: '5531000', lon: '420000.25' });
// By SQL, because they are many: each a kilometre further, every tenth one sensitive.
await sql`
  insert into portal.sichtbeobachtung (nutzer_id, art, anzahl, sensibel, datum, bereich, status, point, experte_id)
  select s.nutzer_id, case when i % 10 = 0 then ${arten.uhu}::integer else s.art end, i, false, s.datum - i, s.bereich, s.status,
    st_setsrid(st_makepoint(402000.5 + 700 * i, 5503000.25 + 350 * i), 25832), s.experte_id
  from portal.sichtbeobachtung s, generate_series(2, ${count}::integer) i
  where s.id = ${first}`;
const root = `http://127.0.0.1:${await serveApp(service.app.fetch)}/ogc`;
const directory = await mkdtemp(join(tmpdir(), 'sighting-ogc-'));
after(() => rm(directory, { recursive: true }));

const names = [
  'sichtbeobachtung',
  'sichtbeobachtung_punkt',
  'sichtbeobachtung_quadrat',
  'raster_5km',
  'raster_eea10',
  'raster_mtb',
  'raster_mtbq',
  'verbreitung_eea10',
  'mandant',
];

describe('GDAL', { skip: hasGdal ? false : 'ogr2ogr is not installed, or has no OAPIF driver' }, () => {
  const copy = async (layer: string, ...options: string[]): Promise<Json[]> => {
    const file = join(directory, `${layer}-${options.length}.geojson`);
    await run('ogr2ogr', ['-f', 'GeoJSON', ...options, file, `OAPIF:${root}`, layer], { timeout: 60_000 });
    return JSON.parse(await readFile(file, 'utf8')).features;
  };

  it('O2 lists the collections', async () => {
    const { stdout } = await run('ogrinfo', ['-q', `OAPIF:${root}`], { timeout: 60_000 });
    for (const name of names) assert.match(stdout, new RegExp(`\\b${name}\\b`));
  });

  it('O2 copies all sightings, page by page, to where SQL says that they are', async () => {
    const features = await copy('sichtbeobachtung', '-oo', 'PAGE_SIZE=20');
    const rows = await sql<{ id: number; x: number; y: number }[]>`
      select id, st_x(st_transform(place, 4326)) as x, st_y(st_transform(place, 4326)) as y from gis.sichtbeobachtung order by id`;
    assert.equal(features.length, count);
    const byId = new Map(features.map((feature) => [feature.id ?? feature.properties.id, feature]));
    for (const { id, x, y } of rows) {
      const { geometry, properties } = byId.get(id);
      assert.equal(geometry.type, properties.unschaerfe_m > 0 ? 'Polygon' : 'Point');
      if (geometry.type === 'Point') {
        assert.ok(Math.abs(geometry.coordinates[0] - x) < 1e-6 && Math.abs(geometry.coordinates[1] - y) < 1e-6, String(id));
      } else {
        const [corners] = geometry.coordinates;
        const middle = [0, 1].map((axis) =>
          corners.slice(0, 4).reduce((sum: number, each: number[]) => sum + (each[axis] ?? 0) / 4, 0),
        );
        assert.ok(Math.abs((middle[0] ?? 0) - x) < 1e-4 && Math.abs((middle[1] ?? 0) - y) < 1e-4, String(id));
      }
    }
  });

  it('O2 copies the sightings of a box', async () => {
    const features = await copy('sichtbeobachtung', '-spat', '7.7', '49.7', '8', '49.8');
    const expected = await walkOgc(service, '/collections/sichtbeobachtung/items?bbox=7.7,49.7,8,49.8');
    assert.ok(expected.length > 0 && expected.length < count);
    const found = features.map((feature) => feature.id ?? feature.properties.id);
    assert.deepEqual(sorted(found), sorted(idsOf(expected)));
  });

  it('O2 copies counts and boundaries', async () => {
    for (const name of names.slice(3)) {
      const expected = await walkOgc(service, `/collections/${name}/items`);
      const key = { mandant: 'kuerzel', verbreitung_eea10: 'id' }[name] ?? 'code';
      const features = await copy(name, '-oo', 'PAGE_SIZE=7');
      assert.deepEqual(sorted(features.map(({ properties }) => properties[key])), sorted(expected.map(({ id }) => id)), name);
    }
  });
});

describe('GDAL to a shapefile', { skip: hasGdal ? false : 'ogr2ogr is not installed, or has no OAPIF driver' }, () => {
  // A shapefile is of one kind of geometry.
  for (const [name, type] of [
    ['sichtbeobachtung_punkt', 'Point'],
    ['sichtbeobachtung_quadrat', 'Polygon'],
    ['raster_mtbq', 'Polygon'],
    ['mandant', 'Polygon'],
  ] as const) {
    it(`O2.14 copies ${name} whole`, async () => {
      const file = join(directory, `${name}.shp`);
      await run('ogr2ogr', ['-oo', 'PAGE_SIZE=20', file, `OAPIF:${root}`, name], { timeout: 60_000 });
      const { stdout } = await run('ogrinfo', ['-so', file, name], { timeout: 60_000 });
      const expected = await walkOgc(service, `/collections/${name}/items`);
      assert.ok(expected.length > 1);
      assert.match(stdout, new RegExp(`^Geometry: ${type}$`, 'm'));
      assert.match(stdout, new RegExp(`^Feature Count: ${expected.length}$`, 'm'));
    });
  }
});

describe('QGIS', { skip: hasQgis ? false : 'PyQGIS is not installed (python3-qgis)' }, () => {
  it('O2, O3 reads features page by page and of a box, counts and boundaries, and draws tiles', async () => {
    const box = '7.7,49.7,8,49.8';
    const script = fileURLToPath(new URL('../support/ask_qgis.py', import.meta.url));
    const { stdout } = await run(python, [script, root.replace(/\/ogc$/, ''), box], { timeout: 120_000, maxBuffer: 2 ** 26 });
    const answers = JSON.parse(stdout) as Record<string, Json>;
    const expected: Record<string, Json[]> = {
      sightings: await walkOgc(service, '/collections/sichtbeobachtung/items'),
      inBox: await walkOgc(service, `/collections/sichtbeobachtung/items?bbox=${box}`),
      squares: await walkOgc(service, '/collections/raster_5km/items'),
      tenants: await walkOgc(service, '/collections/mandant/items'),
    };
    for (const [what, features] of Object.entries(expected)) {
      const { isValid, problem, features: got } = answers[what];
      assert.ok(isValid, `${what}: ${problem}`);
      assert.deepEqual(sorted(got.map(({ id }: Json) => id)), sorted(features.map(({ id }) => id)), what);
    }
    const places = new Map<number, string>(answers.sightings.features.map(({ id, place }: Json) => [id, place]));
    for (const { id, geometry } of expected.sightings ?? []) {
      const [, type = '', ...numbers] = /^(\w+) \(+(-?[\d.]+) (-?[\d.]+)/.exec(places.get(id) ?? '') ?? [];
      const first = geometry.type === 'Point' ? geometry.coordinates : geometry.coordinates[0][0];
      assert.equal(type, geometry.type);
      for (const axis of [0, 1]) assert.ok(Math.abs(Number(numbers[axis]) - first[axis]) < 1e-6, `${id}: ${places.get(id)}`);
    }
    assert.ok(answers.tiles.isValid && answers.tiles.drawn > 100, JSON.stringify(answers.tiles));
  });
});

it('O2 a library of web maps finds its way from the landing page to the features', async () => {
  const endpoint = new OgcApiEndpoint(root);
  assert.equal((await endpoint.info).title, 'Artbeobachtungen');
  assert.equal(await endpoint.hasFeatures, true);
  assert.deepEqual(sorted(await endpoint.featureCollections), sorted(names));
  const info = await endpoint.getCollectionInfo('sichtbeobachtung');
  assert.ok(info.crs.some((crs: string) => /25832/.test(crs)));
  const items = await endpoint.getCollectionItems('sichtbeobachtung', 7);
  assert.equal(items.length, 7);
  const more = await endpoint.getCollectionItems('sichtbeobachtung', 7, 5);
  assert.deepEqual(idsOf(more.slice(0, 2)), idsOf(items.slice(5)));
  assert.equal((await endpoint.getCollectionItem('mandant', 'N')).id, 'N');
});

// A refresh of the boundaries: what changes with it, and only that; sources that are refused, of which the run says why (S5.6).
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, beforeEach, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { Database, Sql } from '../../src/db/client.ts';
import { type BoundarySettings, type RefreshOptions, refreshBoundaries } from '../../src/jobs/boundaries.ts';
import { BoundaryError, type BoundaryFault } from '../../src/jobs/boundary-source.ts';
import {
  assertNothingLeftOver,
  assertPlacements,
  frame,
  listChanged,
  listLogged,
  makeCollection,
  makeFeature,
  makeTenants,
  type Ring,
  readBoundaries,
  readLastRun,
  readPlacements,
  type Source,
  scatterSichtbeobachtungen,
  startSource,
} from '../support/boundaries.ts';
import { openTestDatabase } from '../support/database.ts';
import { makeDirectory } from '../support/end.ts';
import { moveBorder, setBorders } from '../support/records.ts';

let database: Database;
let sql: Sql;
let source: Source;
before(async () => {
  source = await startSource();
  database = await openTestDatabase();
  sql = database.sql;
  await scatterSichtbeobachtungen(sql, [296000, 5496000, 510000, 5564000], 600);
  await scatterSichtbeobachtungen(sql, [447000, 5500000, 458000, 5560000], 400);
});

const refresh = (options: RefreshOptions = {}, settings: Partial<BoundarySettings> = {}) =>
  refreshBoundaries(database, { ...source.settings, ...settings }, options);

describe('a bad source leaves everything as it was, and a failed run with its reason', () => {
  let stored: object;
  beforeEach(async () => {
    stored = await readBoundaries(sql);
  });
  const n = makeFeature({ kuerzel: 'N' }, frame(400000, 452000));
  const s = makeFeature({ kuerzel: 'S' }, frame(452000, 500000));
  const ring = (...numbers: number[]): Ring => numbers.flatMap((x, i) => (i % 2 === 0 ? [[x, numbers[i + 1] ?? 0]] : []));
  const placed = (geometry: object | null) => makeCollection([n, s, { type: 'Feature', properties: { kuerzel: 'W' }, geometry }]);
  const withW = (...polygons: Ring[]) => makeCollection([n, s, makeFeature({ kuerzel: 'W' }, ...polygons)]);
  const lifted = (dx: number, dy: number) => frame(300000 + dx, 340000 + dx).map(([x, y]): [number, number] => [x, y + dy]);
  const limits = { bytes: 100_000, totalMs: 300, connectMs: 300 };
  type Answer = Parameters<Source['serve']>[0];

  const table: [what: string, answer: Answer, fault: BoundaryFault, reason: RegExp, settings?: Partial<BoundarySettings>][] = [
    ['down', makeTenants(), 'unerreichbar', /Verbindung abgelehnt/, { url: 'http://127.0.0.1:1/x' }],
    ['failing', (_request, response) => response.writeHead(503).end(), 'status', /Status 503/],
    ['slow', () => {}, 'zeit', /in 0.3 Sekunden nicht alles/],
    ['huge', { ...makeTenants(455000), x: 'x'.repeat(200_000) }, 'groesse', /größer als/],
    ['empty', (_request, response) => response.end(), 'inhalt', /leer/],
    ['HTML', (_request, response) => response.end('<html>Wartung</html>'), 'inhalt', /HTML oder XML/],
    [
      'truncated',
      (_request, response) => response.end(JSON.stringify(makeTenants(455000)).slice(0, -30)),
      'inhalt',
      /kein vollständiges JSON/,
    ],
    [
      'on another host',
      (_request, response) => response.writeHead(302, { location: 'http://localhost/x' }).end(),
      'umleitung',
      /anderen Server/,
    ],
    ['on a private address', makeTenants(455000), 'adresse', /private Adresse \(127\.0\.0\.1\)/, { allowPrivate: false }],
    [
      'in another system',
      makeCollection([n, s], { type: 'name', properties: { name: 'EPSG:31467' } }),
      'bezugssystem',
      /EPSG:31467/,
    ],
    ['a page of several', { ...makeTenants(455000), totalFeatures: 43 }, 'unvollstaendig', /nur 3 von 43 Features/],
    ['a page of several by a flag', { ...makeTenants(455000), exceededTransferLimit: true }, 'unvollstaendig', /nur 3 Features/],
    [
      'a page with a next one',
      { ...makeTenants(455000), links: [{ rel: 'next', href: 'x' }] },
      'unvollstaendig',
      /nur 3 Features/,
    ],
    ['without a tenant', makeCollection([n, s]), 'mandanten', /^Mandant W fehlt in der Quelle\.$/],
    ['with a tenant that has no place', placed(null), 'mandanten', /^Mandant W fehlt in der Quelle\.$/],
    ['under another key', makeTenants(455000), 'inhalt', /kein Feature mit der Eigenschaft SN_L/, { key: 'SN_L' }],
    ['with a filter that nothing passes', makeTenants(455000), 'inhalt', /GF=4/, { filter: { property: 'GF', value: '4' } }],
    ['with a point for a boundary', placed({ type: 'Point', coordinates: [1, 2] }), 'inhalt', /Das Gebiet „W“ ist keine Fläche/],
    [
      'with coordinates that are none',
      placed({ type: 'Polygon', coordinates: [[['a', null], 7]] }),
      'inhalt',
      /Das Gebiet „W“ ist keine Fläche/,
    ],
    [
      'with a boundary that folds into a line',
      withW(ring(300000, 5500000, 340000, 5500000, 300000, 5500000, 320000, 5500000)),
      'inhalt',
      /Das Gebiet „W“ ist keine Fläche/,
    ],
    [
      'with a boundary that crosses itself and loses half of its area',
      withW(ring(300000, 5500000, 340000, 5560000, 340000, 5500000, 300000, 5560000)),
      'mandanten',
      /Fläche von W änderte sich um -50 %/,
    ],
    ['with metres that are called degrees', { ...makeTenants(455000), crs: null }, 'bezugssystem', /nicht zum Bezugssystem/],
    [
      'with degrees that are called metres',
      withW(ring(7, 49, 8, 49, 8, 50)),
      'bezugssystem',
      /„W“ hat Koordinaten, die nicht zum Bezugssystem/,
    ],
    [
      'with latitude before longitude',
      makeCollection([makeFeature({ kuerzel: 'W' }, ring(49, 7, 49, 8, 50, 8))], null),
      'mandanten',
      /Die Grenze von W liegt außerhalb des Gebiets .* vertauscht\?/,
    ],
    [
      'with the area of another tenant',
      makeCollection([n, s, makeFeature({ kuerzel: 'W' }, frame(401000, 453000))]),
      'mandanten',
      /Die Grenze von W ist dieselbe wie die eines anderen Mandanten/,
    ],
    [
      'at the other end of the world',
      makeCollection(
        [
          makeFeature(
            { kuerzel: 'W' },
            frame(0, 1).map(([x]): [number, number] => [x + 170, x - 30]),
          ),
        ],
        null,
      ),
      'bezugssystem',
      /„W“ liegt außerhalb des Gebiets/,
    ],
    ['partly outside the service area', withW(lifted(-301000, 0)), 'mandanten', /Die Grenze von W liegt nicht ganz im Gebiet/],
    ['in the neighbouring zone', withW(lifted(400000, 0)), 'mandanten', /Die Grenze von W deckte nur 0 % der bisherigen Fläche/],
    ['with two tenants mixed up', makeTenants(520000), 'mandanten', /Fläche von N/],
    ['with a tenant that grew by 6 %', withW(frame(300000, 342400)), 'mandanten', /Fläche von W änderte sich um 6 %/],
    [
      'with a tenant of 99 km²',
      withW(frame(300000, 301650)),
      'mandanten',
      /Fläche von W wäre 99 km², mindestens sind es 100 km²/,
    ],
  ];
  for (const [what, answer, fault, reason, settings] of table) {
    it(`S5.6 ${what}: ${fault}`, async () => {
      source.serve(answer);
      const runs = await sql`select from portal.grenzlauf`;
      const error = await refresh({ limits }, settings).then(
        () => assert.fail('it was taken'),
        (caught: unknown) => caught,
      );
      assert.ok(error instanceof BoundaryError, String(error instanceof Error ? error.stack : error));
      assert.equal(error.fault, fault, error.message);
      assert.match(error.message, reason);
      const { ergebnis, grund, mandanten } = await readLastRun(sql);
      assert.deepEqual({ ergebnis, grund, mandanten }, { ergebnis: 'fehlgeschlagen', grund: error.message, mandanten: 0 });
      assert.equal((await sql`select from portal.grenzlauf`).length, runs.length + 1);
      assert.deepEqual(await readBoundaries(sql), stored);
      await assertNothingLeftOver(sql);
    });
  }

  it('S5.6 force does not help against a missing or tiny tenant, or one outside', async () => {
    for (const [answer, reason] of [
      [makeCollection([n, s]), /fehlt/],
      [withW(frame(300000, 301650)), /99 km²/],
      [withW(lifted(-301000, 0)), /im Gebiet/],
    ] as const) {
      source.serve(answer);
      await assert.rejects(refresh({ force: true }), reason);
    }
    assert.deepEqual(await readBoundaries(sql), stored);
  });

  it('many faults are told as five and a number', async () => {
    await sql`
      insert into portal.mandant (kuerzel, name, domains, boundary)
      select 'Z' || n, 'Z', array['z' || n || '.test'], st_multi(st_makeenvelope(700000 + n * 1000, 5500000, 701000 + n * 1000, 5500100, 25832))
      from generate_series(1, 6) n`;
    source.serve(makeTenants());
    await assert.rejects(refresh(), /: (Mandant Z\d fehlt in der Quelle\. ){5}Das sind 5 von 6 Mängeln\.$/);
    await sql`delete from portal.mandant where kuerzel like 'Z%'`;
  });
});

describe('a refresh', () => {
  it('from a source that says the same changes nothing, and writes nothing but its run', async () => {
    const stored = await readBoundaries(sql);
    for (const answer of [makeTenants(), makeTenants()]) {
      source.serve(answer);
      assert.deepEqual(await refresh(), { mandanten: 0, zugeordnet: 0, maskiert: 0, uebergangen: 0 });
      const { ergebnis, grund, beendet, erzwungen, quelle } = await readLastRun(sql);
      assert.deepEqual([ergebnis, grund, erzwungen, quelle], ['unveraendert', null, false, source.url]);
      assert.ok(beendet instanceof Date);
    }
    assert.deepEqual(await readBoundaries(sql), stored);
    await assertNothingLeftOver(sql);
  });

  it('that moves a border by 2 km touches the records between old and new border alone, and logs each once', async () => {
    for (const x of [449900, 452000]) {
      const [before, boundaryOfW] = [
        await readPlacements(sql),
        await sql`select stand, xmin from portal.mandant where kuerzel = 'W'`,
      ];
      source.serve(makeTenants(x));
      let outcome = {};
      const logged = await listLogged(sql, async () => {
        outcome = await refresh();
      });
      await assertPlacements(sql);
      const now = await readPlacements(sql);
      assert.deepEqual(logged, listChanged(before, now));
      assert.ok(logged.length > 100 && logged.length < 500, `${logged.length} records`);
      const remasked = logged.filter((id) => before.get(id)?.schutz !== now.get(id)?.schutz).length;
      assert.ok(remasked > 0);
      assert.deepEqual(outcome, { mandanten: 2, zugeordnet: logged.length, maskiert: remasked, uebergangen: 0 });
      const { ergebnis, mandanten, zugeordnet, maskiert } = await readLastRun(sql);
      assert.deepEqual([ergebnis, mandanten, zugeordnet, maskiert], ['erfolgreich', 2, logged.length, remasked]);
      assert.deepEqual(await sql`select stand, xmin from portal.mandant where kuerzel = 'W'`, boundaryOfW);
      await assertNothingLeftOver(sql);
    }
  });

  it('leaves what a boundary written by SQL leaves', async () => {
    source.serve(makeTenants(454321.5));
    await refresh();
    const strip = async () => {
      const { boundaries, entries, ...derived } = await readBoundaries(sql);
      return derived;
    };
    const byJob = await strip();
    await moveBorder(sql, 452000);
    assert.notDeepEqual(await strip(), byJob);
    await moveBorder(sql, 454321.5);
    assert.deepEqual(await strip(), byJob);
    await moveBorder(sql, 452000);
    await assertPlacements(sql);
  });

  it('tells with each boundary where it comes from and since when', async () => {
    const read = async () => {
      const [row] = await sql`select quelle, stand from portal.mandant where kuerzel = 'S'`;
      return row as { quelle: string; stand: Date };
    };
    const [first] = await sql<{ now: Date }[]>`select now()`;
    source.serve(makeTenants(453000));
    await refresh({}, { url: `${source.url.replace('//', '//anna:geheim@')}?token=geheim` });
    const byJob = await read();
    assert.equal(byJob.quelle, `${source.url}?token=…`);
    assert.ok(first && byJob.stand >= first.now);
    await sql`update portal.mandant set name = name, boundary = boundary where kuerzel = 'S'`;
    assert.deepEqual(await read(), byJob);
    await setBorders(sql, 'S', 452000, 500000);
    const bySql = await read();
    assert.equal(bySql.quelle, 'SQL');
    assert.ok(bySql.stand > byJob.stand);
    const [row] =
      await sql`select st_asgeojson(st_transform(boundary, 4326), 9) as geojson, name, domains from portal.mandant where kuerzel = 'S'`;
    await sql`select api.set_mandant('S', ${row?.name}::text, '02', array['s.test', 's2.test'], ${row?.geojson}::text, 'zeigen')`;
    assert.equal((await read()).quelle, 'Katalog');
    source.serve(makeTenants());
    await refresh();
    await assertPlacements(sql);
  });

  it('merges features of a tenant, knows it by schluessel or kuerzel, and counts what names none', async () => {
    const halves = makeCollection([
      makeFeature({ land: '01' }, frame(400000, 430000)),
      makeFeature({ land: 'n' }, frame(430000, 452000)),
      makeFeature({ land: '02' }, frame(452000, 470000), frame(480000, 500000)),
      makeFeature({ land: 'S' }, frame(465000, 485000)),
      makeFeature({ land: 'w' }, frame(300000, 340000)),
      makeFeature({ land: '99' }, frame(600000, 640000)),
      makeFeature({ land: 'Frankreich' }, frame(200000, 290000)),
    ]);
    source.serve(halves);
    const outcome = await refresh({}, { key: 'land' });
    assert.equal(outcome.uebergangen, 2);
    assert.equal((await readLastRun(sql)).uebergangen, 2);
    const rows = await sql`
      select m.kuerzel, st_equals(m.boundary, st_makeenvelope(x1, 5500000, x2, 5560000, 25832)) as same
      from portal.mandant m
      join (values ('N', 400000, 452000), ('S', 452000, 500000), ('W', 300000, 340000)) t (kuerzel, x1, x2) using (kuerzel)`;
    assert.deepEqual(
      rows.map((row) => row.same),
      [true, true, true],
    );
    await assertPlacements(sql);
    assert.deepEqual((await refresh({}, { key: 'land' })).mandanten, 0);
  });

  it('reprojects degrees, with and without a crs member', async () => {
    const [row] = await sql<{ json: string }[]>`
      select json_agg(json_build_object('type', 'Feature', 'properties', json_build_object('kuerzel', m.kuerzel),
        'geometry', st_asgeojson(st_transform(st_segmentize(case m.kuerzel
          when 'S' then st_makeenvelope(452000, 5500000, 502000, 5560000, 25832) else m.boundary end, 5000), 4326), 12)::json))::text as json
      from portal.mandant m`;
    const features = JSON.parse(row?.json ?? '[]') as object[];
    source.serve(makeCollection(features, null));
    await refresh();
    const [moved] = await sql`select st_xmax(boundary) as east from portal.mandant where kuerzel = 'S'`;
    assert.ok(Math.abs(moved?.east - 502000) < 0.01, String(moved?.east));
    await assertPlacements(sql);
    source.serve(makeCollection(features, { type: 'name', properties: { name: 'urn:ogc:def:crs:OGC:1.3:CRS84' } }));
    assert.equal((await refresh()).mandanten, 0);
  });

  it('reads a file', async () => {
    const path = join(await makeDirectory(), 'grenzen.geojson');
    await writeFile(path, JSON.stringify(makeTenants()));
    await refresh({}, { url: pathToFileURL(path).href, allowPrivate: false });
    assert.equal((await readLastRun(sql)).quelle, 'file: grenzen.geojson');
    await assertPlacements(sql);
  });

  it('S5.6 accepts a large change by force only, and a self-intersecting boundary made valid', async () => {
    const smaller = makeCollection([
      makeFeature({ kuerzel: 'N' }, frame(400000, 452000)),
      makeFeature({ kuerzel: 'S' }, frame(452000, 496000)),
      // the upper half crosses itself at a single point
      makeFeature({ kuerzel: 'W' }, [
        [300000, 5500000],
        [340000, 5500000],
        [340000, 5559000],
        [330000, 5559000],
        [320000, 5561000],
        [330000, 5561000],
        [320000, 5559000],
        [300000, 5560000],
      ]),
    ]);
    source.serve(smaller);
    await assert.rejects(refresh(), /Fläche von S änderte sich um -8,3 %/);
    assert.equal((await refresh({ force: true })).mandanten, 2);
    const { erzwungen, ergebnis } = await readLastRun(sql);
    assert.deepEqual({ erzwungen, ergebnis }, { erzwungen: true, ergebnis: 'erfolgreich' });
    const [valid] = await sql`select bool_and(st_isvalid(boundary)) as valid from portal.mandant`;
    assert.equal(valid?.valid, true);
    await assertPlacements(sql);
    source.serve(makeTenants());
    await refresh({ force: true });
    await assertPlacements(sql);
  });
});

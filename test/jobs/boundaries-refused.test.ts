// Sources that are refused: everything stays as it was, and the run says why (S5.6).
import assert from 'node:assert/strict';
import { before, beforeEach, describe, it } from 'node:test';
import type { Database, Sql } from '../../src/db/client.ts';
import { type BoundarySettings, type RefreshOptions, refreshBoundaries } from '../../src/jobs/boundaries.ts';
import { BoundaryError, type BoundaryFault } from '../../src/jobs/boundary-source.ts';
import {
  assertNothingLeftOver,
  frame,
  makeCollection,
  makeFeature,
  makeTenants,
  type Ring,
  readBoundaries,
  readLastRun,
  type Source,
  scatterSichtbeobachtungen,
  startSource,
} from '../support/boundaries.ts';
import { openTestDatabase } from '../support/database.ts';

let database: Database;
let sql: Sql;
let source: Source;
before(async () => {
  source = await startSource();
  database = await openTestDatabase();
  sql = database.sql;
  await scatterSichtbeobachtungen(sql, [296000, 5496000, 510000, 5564000], 100);
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
    ['without a tenant', makeCollection([n, s]), 'mandanten', /^Mandant W fehlt in der Quelle\.$/],
    [
      'with a tenant that has no place',
      makeCollection([n, s, { type: 'Feature', properties: { kuerzel: 'W' }, geometry: null }]),
      'mandanten',
      /^Mandant W fehlt in der Quelle\.$/,
    ],
    ['under another key', makeTenants(455000), 'inhalt', /kein Feature mit der Eigenschaft SN_L/, { key: 'SN_L' }],
    ['with a filter that nothing passes', makeTenants(455000), 'inhalt', /GF=4/, { filter: { property: 'GF', value: '4' } }],
    [
      'with a point for a boundary',
      makeCollection([n, s, { type: 'Feature', properties: { kuerzel: 'W' }, geometry: { type: 'Point', coordinates: [1, 2] } }]),
      'inhalt',
      /Das Gebiet „W“ ist keine Fläche/,
    ],
    [
      'with coordinates that are none',
      makeCollection([
        n,
        s,
        { type: 'Feature', properties: { kuerzel: 'W' }, geometry: { type: 'Polygon', coordinates: [[['a', null], 7]] } },
      ]),
      'inhalt',
      /Das Gebiet „W“ ist keine Fläche/,
    ],
    [
      'with a boundary that folds into a line',
      withW([
        [300000, 5500000],
        [340000, 5500000],
        [300000, 5500000],
        [320000, 5500000],
      ]),
      'inhalt',
      /Das Gebiet „W“ ist keine Fläche/,
    ],
    [
      'with a boundary that crosses itself and loses half of its area',
      withW([
        [300000, 5500000],
        [340000, 5560000],
        [340000, 5500000],
        [300000, 5560000],
      ]),
      'mandanten',
      /Fläche von W änderte sich um -50 %/,
    ],
    ['with metres that are called degrees', { ...makeTenants(455000), crs: null }, 'bezugssystem', /nicht zum Bezugssystem/],
    [
      'with degrees that are called metres',
      withW([
        [7, 49],
        [8, 49],
        [8, 50],
      ]),
      'bezugssystem',
      /„W“ hat Koordinaten, die nicht zum Bezugssystem/,
    ],
    [
      'with latitude before longitude',
      makeCollection(
        [
          makeFeature({ kuerzel: 'W' }, [
            [49, 7],
            [49, 8],
            [50, 8],
          ]),
        ],
        null,
      ),
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

// Boundaries in a catalogue: a wrong one would show protected places, so it is refused before anything is written.
import assert from 'node:assert/strict';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, beforeEach, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { importCatalogue } from '../../src/catalog/catalogue.ts';
import { ImportError } from '../../src/catalog/csv.ts';
import type { Database } from '../../src/db/client.ts';
import { closeAtEnd, openTestDatabase } from '../support/database.ts';

const katalog = fileURLToPath(new URL('../support/katalog', import.meta.url));
type Position = [number, number];
type Polygon = Position[][];
const box = (x1: number, x2: number, y1 = 49, y2 = 50): Polygon => [
  [
    [x1, y1],
    [x2, y1],
    [x2, y2],
    [x1, y2],
    [x1, y1],
  ],
];
const swap = (polygon: Polygon): Polygon => polygon.map((ring) => ring.map(([x, y]): Position => [y, x]));
const aue = (polygon: unknown, more: object = {}) => ({
  type: 'Feature',
  properties: { kuerzel: 'AUE', name: 'Auenland', domains: ['aue.localhost'], schluessel: '91', ...more },
  geometry: { type: 'Polygon', coordinates: polygon },
});
const berg = (polygon: unknown) =>
  aue(polygon, { kuerzel: 'BERG', name: 'Bergland', domains: ['berg.localhost'], schluessel: null });

let database: Database;
let dir = '';
before(async () => {
  database = await openTestDatabase();
  dir = await mkdtemp(join(tmpdir(), 'katalog-'));
  await cp(katalog, dir, { recursive: true });
  closeAtEnd(() => rm(dir, { recursive: true }));
});

/** What the import says, or the warnings that it gives. */
async function load(features: object[], force = false): Promise<string[]> {
  await writeFile(join(dir, 'mandanten.geojson'), JSON.stringify({ type: 'FeatureCollection', features }));
  const warnings: string[] = [];
  const progress = { step: () => {}, end: () => {} };
  try {
    await importCatalogue(database, dir, { force, progress, warn: (sentence) => warnings.push(sentence) });
    return warnings;
  } catch (error) {
    if (!(error instanceof ImportError)) throw error;
    return error.problems.map(({ file, line, message }) => `refused ${file}:${line}: ${message}`);
  }
}
const readAreas = async () =>
  Object.fromEntries(
    (
      await database.sql`select kuerzel, round(st_area(boundary) / 1e6)::integer as area from portal.mandant
      where kuerzel in ('AUE', 'BERG') order by id`
    ).map(({ kuerzel, area }) => [kuerzel, area]),
  );

const fine = [aue(box(7, 8)), berg(box(8, 9))];
const bowTie: Polygon = [
  [
    [7, 49],
    [8, 50],
    [8, 49],
    [7, 50],
    [7, 49],
  ],
];
const star = (corners: number): Polygon => [
  Array.from({ length: corners + 1 }, (_, n): Position => {
    const angle = (2 * Math.PI * (n % corners) * Math.floor(corners / 2)) / corners;
    return [7.5 + 0.5 * Math.cos(angle), 49.5 + 0.5 * Math.sin(angle)];
  }),
];

describe('the first import', () => {
  const table: [what: string, features: object[], says: RegExp[]][] = [
    [
      'latitude and longitude swapped',
      [aue(swap(box(7, 8))), berg(swap(box(8, 9)))],
      [
        /^refused mandanten.geojson:1: Feature 1 \(AUE\): .*sind Länge und Breite vertauscht\? Zuerst steht die Länge$/,
        /Feature 2 \(BERG\): .*vertauscht/,
      ],
    ],
    [
      'outside the service area',
      [aue(box(20, 21)), berg(box(8, 9))],
      [/Feature 1 \(AUE\): die Grenze liegt nicht ganz im Gebiet/],
    ],
    ['far outside', [aue(box(100, 101)), berg(box(8, 9))], [/Feature 1 \(AUE\): die Grenze liegt außerhalb des Gebiets/]],
    [
      'metres',
      [aue([box(400_000, 450_000, 5_500_000, 5_600_000)[0]]), berg(box(8, 9))],
      [/Feature 1 \(AUE\): die Koordinaten sind keine Grad, nötig ist EPSG:4326/],
    ],
    [
      'smaller than 100 km²',
      [aue(box(7, 7.05, 49, 49.05)), berg(box(8, 9))],
      [/Feature 1 \(AUE\): die Fläche wäre 20,\d km², mindestens sind es 100 km²$/],
    ],
    [
      'a line',
      [
        aue([
          [
            [7, 49],
            [8, 49],
            [7, 49],
            [7, 49],
          ],
        ]),
        berg(box(8, 9)),
      ],
      [/Feature 1 \(AUE\): die Grenze ist keine Fläche/],
    ],
    [
      'two corners',
      [
        aue([
          [
            [7, 49],
            [8, 49],
          ],
        ]),
        berg(box(8, 9)),
      ],
      [/Feature 1: .*erlaubt ist ein Ring mit mindestens drei Ecken$/, /gibt es nicht/, /gibt es nicht/],
    ],
    ['two tenants that are the same area', [aue(box(7, 8)), berg(box(7.01, 8.01))], [/AUE und BERG haben dieselbe Grenze$/]],
    [
      'a tenant without domains',
      [aue(box(7, 8), { domains: undefined }), berg(box(8, 9))],
      [/Feature 1: properties.domains fehlt$/, /gibt es nicht/, /gibt es nicht/],
    ],
    ['what is no feature', [{}, aue(box(7, 8)), berg(box(8, 9))], [/Feature 1: properties fehlt$/]],
    [
      'a tenant in two features',
      [aue(box(7, 7.5)), aue(box(7.5, 8)), berg(box(8, 9))],
      [
        /Feature 2: kuerzel aue steht schon in Feature 1; Teile eines Mandanten müssen ein MultiPolygon sein$/,
        /Domain/,
        /schluessel/,
      ],
    ],
    [
      'a ring that crosses itself hundreds of times',
      [aue([...box(7, 8), ...star(401)]), berg(box(8, 9))],
      [/Feature 1 \(AUE\), Ring 2: seine Linien kreuzen sich öfter als 200 Mal/],
    ],
  ];
  for (const [what, features, says] of table) {
    it(`is refused whole for ${what}, with feature and reason`, async () => {
      const said = await load(features);
      assert.equal(said.length, says.length, said.join('\n'));
      for (const [index, pattern] of says.entries()) assert.match(said[index] ?? '', pattern);
      for (const sentence of said) assert.match(sentence, /^refused /);
      assert.deepEqual(await readAreas(), {});
    });
  }
});

describe('an import without records', () => {
  beforeEach(() => load(fine, true));

  it('may change areas as it likes', async () => {
    assert.deepEqual(await load([aue(box(7, 7.5)), berg(box(8, 9))]), []);
    assert.equal((await readAreas()).AUE, 4026);
  });

  it('closes a ring, and says so', async () => {
    const open = box(7, 8).map((ring) => ring.slice(0, -1));
    assert.deepEqual(await load([aue(open), berg(box(8, 9))]), [
      'mandanten.geojson: Feature 1 (AUE), Ring 1: war nicht geschlossen, seine erste Ecke wurde am Ende wiederholt',
    ]);
    const { AUE } = await readAreas();
    assert.ok(AUE > 8000, String(AUE));
  });

  it('repairs a bow-tie, and says so', async () => {
    assert.deepEqual(await load([aue(bowTie), berg(box(8, 9))]), [
      'mandanten.geojson: Feature 1 (AUE), Ring 1: seine Linien kreuzen sich, die Grenze wurde repariert',
    ]);
    const { AUE } = await readAreas();
    assert.ok(AUE > 3900 && AUE < 4200, String(AUE));
  });
});

describe('an import where there are records', () => {
  before(async () => {
    await load(fine, true);
    await database.sql`
      insert into portal.sichtbeobachtung (nutzer_id, art, point, datum, bereich)
      select min(n.id), (select min(a.id) from portal.art a), st_setsrid(st_makepoint(420000, 5500000), 25832), date '2026-09-01', 'privat'
      from portal.nutzer n`;
  });

  it('changes areas by at most 5 %, and does not move them, but with --force', async () => {
    const before = await readAreas();
    for (const [polygon, says] of [
      [
        box(7, 7.9),
        /Feature 1 \(AUE\): die Fläche änderte sich um -10 %; es gibt schon Beobachtungen, ohne --force sind höchstens 5 %/,
      ],
      [box(9, 10), /Feature 1 \(AUE\): die Grenze deckte nur 0 % der bisherigen Fläche; .* ohne --force/],
    ] as const) {
      const said = await load([aue(polygon), berg(box(8, 9))]);
      assert.match(said.join('\n'), says);
      assert.deepEqual(await readAreas(), before);
    }
    assert.deepEqual(await load([aue(box(7, 7.97)), berg(box(8, 9))]), []);
    assert.deepEqual(await load([aue(box(7, 7.5)), berg(box(8, 9))], true), []);
    assert.equal((await readAreas()).AUE, 4026);
    // What is never right is refused with it too.
    assert.match((await load([aue(swap(box(7, 8))), berg(box(8, 9))], true)).join(), /vertauscht/);
  });
});

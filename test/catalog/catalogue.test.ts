// A catalogue: a wrong boundary would show protected places, so it is refused before anything is written; what may be left out; and it goes
// out and comes in again, an empty one to fill in, and the one that is there.
import assert from 'node:assert/strict';
import { appendFile, cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { importCatalogue } from '../../src/catalog/catalogue.ts';
import { ImportError } from '../../src/catalog/problems.ts';
import { arten } from '../support/catalogue.ts';
import { closeAtEnd, onPostgres, openTestDatabase } from '../support/database.ts';
import { makeSite, runCli, type Site } from '../support/process.ts';
import { pluck } from '../support/service.ts';

const katalog = fileURLToPath(new URL('../support/katalog', import.meta.url));
const options = { force: false, progress: { step: () => {}, end: () => {} }, warn: () => {} };

/** A copy of the example, which a test may change. */
async function copyKatalog(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'katalog-'));
  closeAtEnd(() => rm(dir, { recursive: true }));
  await cp(katalog, dir, { recursive: true });
  return dir;
}

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

const database = await openTestDatabase();
const dir = await copyKatalog();

/** What the import says, or the warnings that it gives. */
async function load(features: object[], force = false, more: object = {}): Promise<string[]> {
  await writeFile(join(dir, 'mandanten.geojson'), JSON.stringify({ type: 'FeatureCollection', features, ...more }));
  const warnings: string[] = [];
  try {
    await importCatalogue(database, dir, { ...options, force, warn: (sentence) => warnings.push(sentence) });
    return warnings;
  } catch (error) {
    if (!(error instanceof ImportError)) throw error;
    return error.problems.map(({ file, line, message }) => `refused ${file}:${line}: ${message}`);
  }
}
async function readAreas() {
  const rows = await database.sql`
    select kuerzel, round(st_area(boundary) / 1e6)::integer as area from portal.mandant where kuerzel in ('AUE', 'BERG') order by id`;
  return Object.fromEntries(pluck(rows, 'kuerzel', 'area'));
}

/** Auenland with this boundary, and Bergland as it is. */
const withBerg = (polygon: unknown, more: object = {}) => [aue(polygon, more), berg(box(8, 9))];
const fine = withBerg(box(7, 8));
const bowTie = box(7, 8).map(([a, b, c, d, end]) => [a, c, b, d, end]);
const star = (corners: number): Polygon => [
  Array.from({ length: corners + 1 }, (_, n): Position => {
    const angle = (2 * Math.PI * (n % corners) * Math.floor(corners / 2)) / corners;
    return [7.5 + 0.5 * Math.cos(angle), 49.5 + 0.5 * Math.sin(angle)];
  }),
];

describe('the first import', () => {
  // The corners of a box, without those that make it one.
  const line = box(7, 8).map(([first = [0, 0], second = [0, 0]]) => [first, second, first, first]);
  const twoCorners = box(7, 8).map((ring) => ring.slice(0, 2));
  const table: [what: string, features: object[], ...says: RegExp[]][] = [
    [
      'latitude and longitude swapped',
      [aue(swap(box(7, 8))), berg(swap(box(8, 9)))],
      /^refused mandanten.geojson:1: Feature 1 \(AUE\): .*sind Länge und Breite vertauscht\? Zuerst steht die Länge$/,
      /Feature 2 \(BERG\): .*vertauscht/,
    ],
    ['outside the service area', withBerg(box(20, 21)), /Feature 1 \(AUE\): die Grenze liegt nicht ganz im Gebiet/],
    ['far outside', withBerg(box(100, 101)), /Feature 1 \(AUE\): die Grenze liegt außerhalb des Gebiets/],
    ['metres', withBerg(box(4e5, 4.5e5, 55e5, 56e5)), /Feature 1 \(AUE\): die Koordinaten sind keine Grad, nötig ist EPSG:4326/],
    [
      'smaller than 100 km²',
      withBerg(box(7, 7.05, 49, 49.05)),
      /Feature 1 \(AUE\): die Fläche wäre 20,\d km², mindestens sind es 100 km²$/,
    ],
    ['a line', withBerg(line), /Feature 1 \(AUE\): die Grenze ist keine Fläche/],
    [
      'two corners',
      withBerg(twoCorners),
      /Feature 1: .*erlaubt ist ein Ring mit mindestens drei Ecken$/,
      /gibt es nicht/,
      /gibt es nicht/,
    ],
    [
      'a licence that there is not',
      withBerg(box(7, 8), { lizenz: 'CC BY' }),
      /Feature 1: properties.lizenz ist ungültig, erlaubt ist CC0-1.0, CC-BY-4.0, CC-BY-NC-4.0, dl-de\/by-2-0, dl-de\/zero-2-0, ODbL-1.0$/,
      /gibt es nicht/,
      /gibt es nicht/,
    ],
    [
      'a licence alone',
      withBerg(box(7, 8), { lizenz: 'CC0-1.0', titel: 'Funde', beschreibung: 'Alle' }),
      /Feature 1 \(AUE\): zu lizenz fehlt herausgeber$/,
      /Feature 1 \(AUE\): zu lizenz fehlt kontakt$/,
    ],
    [
      'a contact that is no address',
      withBerg(box(7, 8), { kontakt: 'Amt' }),
      /Feature 1: properties.kontakt ist ungültig, erlaubt ist eine E-Mail-Adresse wie name@example.org$/,
      /gibt es nicht/,
      /gibt es nicht/,
    ],
    [
      'a long title',
      withBerg(box(7, 8), { titel: 'x'.repeat(201) }),
      /Feature 1: properties.titel ist ungültig, erlaubt ist ein Text mit höchstens 200 Zeichen$/,
      /gibt es nicht/,
      /gibt es nicht/,
    ],
    ['two tenants that are the same area', [aue(box(7, 8)), berg(box(7.01, 8.01))], /AUE und BERG haben dieselbe Grenze$/],
    [
      'a tenant without domains',
      withBerg(box(7, 8), { domains: undefined }),
      /Feature 1: properties.domains fehlt$/,
      /gibt es nicht/,
      /gibt es nicht/,
    ],
    ['what is no feature', [{}, ...fine], /Feature 1: properties fehlt$/],
    [
      'a tenant in two features',
      [aue(box(7, 7.5)), ...withBerg(box(7.5, 8))],
      /Feature 2: kuerzel aue steht schon in Feature 1; Teile eines Mandanten müssen ein MultiPolygon sein$/,
      /Domain/,
      /schluessel/,
    ],
    [
      'a ring that crosses itself hundreds of times',
      withBerg([...box(7, 8), ...star(401)]),
      /Feature 1 \(AUE\), Ring 2: seine Linien kreuzen sich öfter als 200 Mal/,
    ],
  ];
  for (const [what, features, ...says] of table) {
    it(`is refused whole for ${what}, with feature and reason`, async () => {
      const said = await load(features);
      assert.equal(said.length, says.length, said.join('\n'));
      for (const [index, pattern] of says.entries()) assert.match(said[index] ?? '', pattern);
      for (const sentence of said) assert.match(sentence, /^refused /);
      assert.deepEqual(await readAreas(), {});
    });
  }
});

it('a file of tenants that is a part by its own words is refused', async () => {
  for (const [more, says] of [
    [{ numberMatched: 3 }, 'nur 2 von 3 Features'],
    [
      { properties: { exceededTransferLimit: true } },
      'nur 2 Features: sie sagt selbst, dass es mehr gibt (exceededTransferLimit)',
    ],
    [{ links: [{ rel: 'next', href: 'x' }] }, 'nur 2 Features: sie sagt selbst, dass es mehr gibt (next)'],
  ] as const) {
    assert.deepEqual(await load(fine, false, more), [`refused mandanten.geojson:1: Die Datei enthält ${says}`]);
    assert.deepEqual(await readAreas(), {});
  }
});

describe('an import without records', () => {
  beforeEach(() => load(fine, true));

  it('may change areas as it likes', async () => {
    assert.deepEqual(await load(withBerg(box(7, 7.5))), []);
    assert.equal((await readAreas()).AUE, 4026);
  });

  it('closes a ring, and says so', async () => {
    const open = box(7, 8).map((ring) => ring.slice(0, -1));
    assert.deepEqual(await load(withBerg(open)), [
      'mandanten.geojson: Feature 1 (AUE), Ring 1: war nicht geschlossen, seine erste Ecke wurde am Ende wiederholt',
    ]);
    const { AUE } = await readAreas();
    assert.ok(AUE > 8000, String(AUE));
  });

  it('repairs a bow-tie, and says so', async () => {
    assert.deepEqual(await load(withBerg(bowTie)), [
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
      const said = await load(withBerg(polygon));
      assert.match(said.join('\n'), says);
      assert.deepEqual(await readAreas(), before);
    }
    assert.deepEqual(await load(withBerg(box(7, 7.97))), []);
    assert.deepEqual(await load(withBerg(box(7, 7.5)), true), []);
    assert.equal((await readAreas()).AUE, 4026);
    // What is never right is refused with it too.
    assert.match((await load(withBerg(swap(box(7, 8))), true)).join(), /vertauscht/);
  });
});

describe('a catalogue', () => {
  it('a species needs no German name, and a tenant no number of its own for it: that is the general one', async () => {
    const database = await openTestDatabase();
    const dir = await copyKatalog();
    await appendFile(join(dir, 'arten.csv'), '\n901,,10,Udea ferrugalis,,\n902,,10,Udea numeralis,,\n');
    await appendFile(join(dir, 'arten_mandanten.csv'), '\nAUE,901,,,,false,,\nBERG,901,Z-1,,,false,,\n');
    await importCatalogue(database, dir, options);
    const rows = await database.sql`
    select a.name_deutsch, am.art_id from portal.art a join portal.art_mandant am on am.art = a.id where a.id = 901 order by am.art_id`;
    assert.deepEqual(
      [...rows],
      [
        { name_deutsch: null, art_id: '901' },
        { name_deutsch: null, art_id: 'Z-1' },
      ],
    );

    // What it stands for must be free, as if it were written there.
    await appendFile(join(dir, 'arten_mandanten.csv'), 'AUE,902,901,,,false,,\n');
    await assert.rejects(importCatalogue(database, dir, options), (error) => {
      assert.ok(error instanceof ImportError);
      assert.match(error.problems[0]?.message ?? '', /^mandant, art_id „aue 901“ steht schon in Zeile \d+$/);
      return true;
    });
  });

  it('names have one form, however a document wrote them', async () => {
    const database = await openTestDatabase();
    const dir = await copyKatalog();
    await appendFile(
      join(dir, 'arten.csv'),
      '\n901,,10,Salix\u00a0×\u00a0rubens,Fahl\u00adweide,\n902,,10,Salix  ×\u202frubens\u200b,"Fahl\nweide",\n903,,10,Salix \u2007× \t rubens,A\u0308sche\ufeff,\n',
    );
    await appendFile(join(dir, 'stadien.csv'), '\n91,Larve\u00a0 (jung),true\n');
    const named = aue(box(7, 8), { name: 'Auen\u00ad\u00a0 Land ', schluessel: ' 91\u00a0a' });
    await writeFile(
      join(dir, 'mandanten.geojson'),
      JSON.stringify({ type: 'FeatureCollection', features: [named, berg(box(8, 9))] }),
    );
    await importCatalogue(database, dir, options);
    const rows = await database.sql`
      select name_wissenschaftlich as a, name_deutsch as b from portal.art where id > 900 union all
      select name, null from portal.stadium where id = 91 union all
      select name, schluessel from portal.mandant where kuerzel = 'AUE'`;
    assert.deepEqual(pluck([...rows], 'a', 'b').sort(), [
      ['Auen Land', '91 a'],
      ['Larve (jung)', null],
      ['Salix × rubens', 'Fahl weide'],
      ['Salix × rubens', 'Fahlweide'],
      ['Salix × rubens', 'Äsche'],
    ]);
  });

  it('is loaded as programs on Windows save it: their letters, line ends, rows and columns without content', async () => {
    const database = await openTestDatabase();
    const dir = await copyKatalog();
    await writeFile(join(dir, 'mandanten.geojson'), `\ufeff${await readFile(join(dir, 'mandanten.geojson'), 'utf8')}`);
    for (const name of ['artengruppen.csv', 'arten.csv', 'stadien.csv']) {
      const [header, ...rows] = (await readFile(join(dir, name), 'utf8')).trimEnd().split('\n');
      const content = `${header},,\r\n${rows.join('\n')}\n${',,,,,,\r\n'.repeat(40)}`;
      await writeFile(join(dir, name), Buffer.from(content, 'latin1'));
    }
    const hints: string[] = [];
    await importCatalogue(database, dir, { ...options, warn: (sentence) => hints.push(sentence) });
    assert.deepEqual(
      hints,
      ['artengruppen.csv', 'arten.csv', 'stadien.csv'].map((name) => `${name}: 40 leere Zeilen ausgelassen`),
    );
    const [art] = await database.sql`select name_deutsch, lebensraum from portal.art where id = 100`;
    assert.deepEqual({ ...art }, { name_deutsch: 'Grünes Heupferd', lebensraum: 'Gärten, Äcker\nund Gebüsch' });
  });

  it('tables of records keep no statistics of their emptiness, by which plans would read all of them ever after; those that hold many get new ones', async () => {
    const database = await openTestDatabase();
    const tables = ['sichtbeobachtung', 'mandant_sichtbeobachtung', 'sichtbeobachtung_gezeigt', 'sichtbeobachtung_exakt'];
    const importAndCount = async () => {
      await importCatalogue(database, katalog, options);
      const rows = await database.sql<{ name: string; known: number }[]>`
      select relname as name, reltuples::float8 as known from pg_class
      where relname = any (${`{${tables}}`}::text[]) and relnamespace = 'portal'::regnamespace`;
      return Object.fromEntries(rows.map(({ name, known }) => [name, known]));
    };
    // -1: the planner knows nothing and expects ten pages.
    assert.deepEqual(await importAndCount(), Object.fromEntries(tables.map((name) => [name, -1])));
    await database.sql`
    insert into portal.sichtbeobachtung (nutzer_id, art, point, datum, bereich)
    select u.id, ${arten.amsel}::integer, st_setsrid(st_makepoint(417000 + n, 5531000), 25832), date '2026-09-01', 'privat'
    from generate_series(1, 2000) n, portal.nutzer u where u.loginname = 'melder'`;
    const known = await importAndCount();
    assert.equal(known.sichtbeobachtung, 2000);
    assert.equal(known.sichtbeobachtung_gezeigt, -1);
  });
});

const skip = !onPostgres && 'the embedded database would be started for each of its commands, which takes a minute';

describe('the files of a catalogue', { skip }, () => {
  let dir: string;
  const sites: Site[] = [];
  before(async () => {
    if (skip) return;
    dir = await mkdtemp(join(tmpdir(), 'katalog-'));
    for (let n = 0; n < 2; n++) sites.push(await makeSite({ isMigrated: true }));
  });
  after(async () => {
    if (skip) return;
    for (const site of sites) await site.remove();
    await rm(dir, { recursive: true });
  });
  const run = async (site: Site | undefined, ...args: string[]) => {
    const outcome = await runCli(site as Site, args);
    assert.equal(outcome.code, 0, outcome.err);
    return outcome;
  };
  const readAll = async (path: string) =>
    Object.fromEntries(
      await Promise.all(
        (await readdir(path)).sort().map(async (name) => [name, await readFile(join(path, name), 'utf8')] as const),
      ),
    );

  it('gives the same bytes when it is exported, imported elsewhere, and exported there', async () => {
    const [one, two] = sites;
    const [first, second] = [join(dir, 'eins'), join(dir, 'zwei')];
    const given = await copyKatalog();
    const square = 'POLYGON((7.123456789012 49,8 49,8 50,7.123456789012 49))';
    const rules = [
      'mandant,art,von,bis,anzahl_max,gebiet,zwei_personen',
      `BERG,100,06-1,10-1,50,"${square}",true`,
      ',100,,,7,,',
      '',
    ];
    await writeFile(join(given, 'pruefregeln.csv'), rules.join('\n'));
    await run(one, 'catalog', 'import', given);
    await run(one, 'catalog', 'export', first);
    await run(two, 'catalog', 'import', first);
    await run(two, 'catalog', 'export', second);
    const files = await readAll(first);
    assert.deepEqual(await readAll(second), files);
    assert.match(files['arten.csv'] ?? '', /"Gärten, Äcker\nund Gebüsch"/);
    assert.match(files['mandanten.geojson'] ?? '', /"kuerzel":"AUE"/);
    assert.deepEqual(files['pruefregeln.csv']?.split('\n').slice(1), [
      ',100,,,7,,false,false',
      `BERG,100,06-1,10-1,50,"${square}",true,false`,
      '',
    ]);
    // What is there is not overwritten.
    const again = await runCli(one as Site, ['catalog', 'export', first]);
    assert.equal(again.code, 1);
    assert.match(again.err, /nicht leer; überschrieben wird nichts\n1 Fehler, nichts wurde geschrieben\.\n$/);
  });

  it('begins with a template that may be imported as it is, and filled in as the help says', async () => {
    const [one] = sites;
    const template = join(dir, 'vorlage');
    await run(one, 'catalog', 'template', template);
    const { err, out } = await run(one, 'catalog', 'import', template);
    assert.match(err, /mandanten\.geojson: die Datei enthält keinen Mandanten/);
    assert.match(out, /^0 Mandanten, 0 Artengruppen/);

    const help = (await run(one, 'catalog', 'import', '--help')).out;
    const examples: Record<string, string> = {};
    for (const block of help.trimEnd().split('\n\n')) {
      const [, file] = /^(\w+\.csv)/.exec(block) ?? [];
      if (file) examples[file] = block.split('\n').at(-1)?.trim() ?? '';
    }
    const properties = JSON.parse(/"properties":(\{.*?\}),"geometry"/.exec(help)?.[1] ?? '');
    const tenant = { ...aue(box(8, 8.5, 49.5, 50)), properties };
    await writeFile(join(template, 'mandanten.geojson'), JSON.stringify({ type: 'FeatureCollection', features: [tenant] }));
    const header = Object.entries(await readAll(template)).filter(([file]) => file.endsWith('.csv'));
    const files = header.map(([file]) => file);
    assert.deepEqual(Object.keys(examples).sort(), files);
    for (const [file, names] of header) {
      const example = examples[file] ?? '';
      const missing = names.trim().split(',').length - example.split(',').length;
      const second = file === 'arten.csv' ? `106${example.slice(3)}${','.repeat(missing)}\n` : '';
      await writeFile(join(template, file), `${names}${example}${','.repeat(missing)}\n${second}`);
    }
    const filled = await run(one, 'catalog', 'import', template, '--force');
    assert.match(filled.out, /^1 Mandant, 1 Artengruppe, 2 Arten, 1 Artdefinition geladen/);
  });
});

it('the licence of a tenant is what the file says, with what belongs to it; where the file says nothing it ends', async () => {
  const angaben = { herausgeber: 'Amt', kontakt: 'amt@example.org', titel: 'Funde', beschreibung: 'Alle\nFunde' };
  const read = async () => {
    const [row] = await database.sql`
      select lizenz, herausgeber, kontakt, titel, beschreibung from portal.mandant where kuerzel = 'AUE'`;
    return { ...row };
  };
  assert.deepEqual(await load(withBerg(box(7, 8), { lizenz: 'dl-de/by-2-0', ...angaben }), true), []);
  assert.deepEqual(await read(), { lizenz: 'dl-de/by-2-0', ...angaben });
  assert.deepEqual(await load(fine, true), []);
  assert.deepEqual(await read(), { lizenz: null, herausgeber: null, kontakt: null, titel: null, beschreibung: null });
});

describe('rules for the review', () => {
  const header = 'mandant,art,von,bis,anzahl_max,gebiet,zwei_personen,automatisch';
  const loadRules = async (...lines: string[]) => {
    await writeFile(join(dir, 'pruefregeln.csv'), [header, ...lines, ''].join('\n'));
    return load(fine);
  };
  const readRules = async () => [
    ...(await database.sql`
      select m.kuerzel as mandant, r.art, r.von, r.bis, r.anzahl_max, st_astext(r.gebiet) as gebiet, r.zwei_personen, r.automatisch
      from portal.pruefregel r left join portal.mandant m on m.id = r.mandant_id order by r.art, m.kuerzel nulls first`),
  ];
  const nothing = {
    mandant: null,
    von: null,
    bis: null,
    anzahl_max: null,
    gebiet: null,
    zwei_personen: false,
    automatisch: false,
  };
  const square = 'POLYGON((7 49,8 49,8 50,7 50,7 49))';

  it('replace all that were there; without the file they stay', async () => {
    assert.deepEqual(await loadRules(`,100,05-2,06-1,20,"${square}",true,`, 'aue,100,,,,,,true', ',200,11-3,02-1,,,,'), []);
    const rules = [
      { ...nothing, art: 100, von: '05-2', bis: '06-1', anzahl_max: 20, gebiet: square, zwei_personen: true },
      { ...nothing, mandant: 'AUE', art: 100, automatisch: true },
      { ...nothing, art: 200, von: '11-3', bis: '02-1' },
    ];
    assert.deepEqual(await readRules(), rules);
    await rm(join(dir, 'pruefregeln.csv'));
    assert.deepEqual(await load(fine), []);
    assert.deepEqual(await readRules(), rules);
    assert.deepEqual(await loadRules('BERG,200,,,7,,,'), []);
    assert.deepEqual(await readRules(), [{ ...nothing, mandant: 'BERG', art: 200, anzahl_max: 7 }]);
  });

  const corners = Array.from({ length: 10_000 }, (_, n) => `${7 + n / 20_000} 49`).join(',');
  const wrong: [what: string, line: string, says: string][] = [
    ['an unknown tenant', 'XY,100,,,,,,', 'mandant „xy“ gibt es nicht in mandanten.geojson'],
    ['an unknown species', ',4711,,,,,,', 'art „4711“ gibt es nicht in arten.csv'],
    ['no species', ',,05-1,05-2,,,,', 'art ist leer, erlaubt ist eine ganze Zahl ab 0'],
    [
      'a month that there is not',
      ',100,13-1,12-2,,,,',
      'von ist „13-1“, erlaubt ist ein Drittel eines Monats, zum Beispiel 05-2 für den 11. bis 20. Mai',
    ],
    ['a beginning alone', ',100,05-1,,,,,', 'von und bis gehören zusammen, eines von beiden ist leer'],
    ['no individual', ',100,,,0,,,', 'anzahl_max ist „0“, erlaubt ist eine ganze Zahl von 1 bis 20000'],
    ['too many', ',100,,,20001,,,', 'anzahl_max ist „20001“, erlaubt ist eine ganze Zahl von 1 bis 20000'],
    ['another word', ',100,,,,,vielleicht,', 'zwei_personen ist „vielleicht“, erlaubt ist true oder false'],
    ['a point', ',100,,,,POINT(7 49),,', 'gebiet ist „POINT(7 49)“, erlaubt ist POLYGON oder MULTIPOLYGON als WKT in EPSG:4326'],
    [
      'half a region',
      ',100,,,,"POLYGON((7 49,8 49)",,',
      'gebiet ist keine Fläche, erlaubt ist POLYGON oder MULTIPOLYGON als WKT in EPSG:4326',
    ],
    [
      'an open ring',
      ',100,,,,"POLYGON((7 49,8 49,8 50))",,',
      'gebiet ist keine Fläche, erlaubt ist POLYGON oder MULTIPOLYGON als WKT in EPSG:4326',
    ],
    [
      'lines that cross',
      ',100,,,,"POLYGON((7 49,8 50,8 49,7 50,7 49))",,',
      'gebiet ist ungültig: seine Linien kreuzen oder berühren sich',
    ],
    [
      'latitude first',
      ',100,,,,"POLYGON((49 7,50 7,50 8,49 7))",,',
      'gebiet liegt außerhalb des Gebiets dieses Dienstes; zuerst steht die Länge, dann die Breite',
    ],
    ['too many corners', `,100,,,,"POLYGON((7 49,${corners},8 50,7 49))",,`, 'gebiet hat mehr als 10000 Ecken'],
  ];
  for (const [what, line, says] of wrong)
    it(`are refused whole for ${what}, with file and line`, async () => {
      const before = await readRules();
      assert.deepEqual(await loadRules(',200,,,1,,,', line), [`refused pruefregeln.csv:3: ${says}`]);
      assert.deepEqual(await readRules(), before);
    });

  it('are refused when a species has two at a tenant', async () => {
    assert.deepEqual(await loadRules('AUE,100,,,,,,', ',100,,,,,,', 'aue,100,,,1,,,', ',100,,,2,,,'), [
      'refused pruefregeln.csv:4: mandant, art „aue 100“ steht schon in Zeile 2',
      'refused pruefregeln.csv:5: mandant, art „100“ steht schon in Zeile 3',
    ]);
  });
});

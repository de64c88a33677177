// What a bulk import refuses: every error by line, and nothing is stored.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { describeProblems, formatProblems, ImportError } from '../../src/catalog/csv.ts';
import type { Database } from '../../src/db/client.ts';
import { openTestDatabase } from '../support/database.ts';
import { importCsv, importCsvWith, listImportProblems } from '../support/import.ts';

let database: Database;
before(async () => {
  database = await openTestDatabase();
});

const countRecords = async () =>
  (await database.sql<{ n: number }[]>`select count(*)::integer as n from portal.sichtbeobachtung`)[0]?.n ?? 0;

async function assertRefused(content: string | Buffer, problems: string[]): Promise<void> {
  const before = await countRecords();
  assert.deepEqual(await listImportProblems(database, content), problems);
  assert.equal(await countRecords(), before);
}

const good = '2,5530000,420000';
const number = 'erlaubt ist eine Zahl';

describe('a cell', () => {
  const header = 'art,lat,lon,srid,anzahl,sensibel,datum,bereich,bemerkung,stadium_id,aktivitaet_id,status';
  const cells: [row: string, ...problems: string[]][] = [
    [',5530000,420000,,,,,,,,,', 'art ist leer, erlaubt ist eine ganze Zahl von 0 bis 2147483647'],
    ['x,5530000,420000,,,,,,,,,', 'art ist „x“, erlaubt ist eine ganze Zahl von 0 bis 2147483647'],
    ['2.5,5530000,420000,,,,,,,,,', 'art ist „2.5“, erlaubt ist eine ganze Zahl von 0 bis 2147483647'],
    ['99999999999,5530000,420000,,,,,,,,,', 'art ist „99999999999“, erlaubt ist eine ganze Zahl von 0 bis 2147483647'],
    ['4711,5530000,420000,,,,,,,,,', 'art ist „4711“: diese Art definiert kein Mandant'],
    ['2,,420000,,,,,,,,,', `lat ist leer, ${number} (Hochwert im Koordinatensystem aus srid)`],
    ['2,"5530000,5",420000,,,,,,,,,', `lat ist „5530000,5“, ${number} (Hochwert im Koordinatensystem aus srid)`],
    ['2,5530000,NaN,,,,,,,,,', `lon ist „NaN“, ${number} (Rechtswert im Koordinatensystem aus srid)`],
    ['2,5530000,Infinity,,,,,,,,,', `lon ist „Infinity“, ${number} (Rechtswert im Koordinatensystem aus srid)`],
    ['2,5530000,1e999,,,,,,,,,', `lon ist „1e999“, ${number} (Rechtswert im Koordinatensystem aus srid)`],
    ['2,5530000,420000,25832,,,,,,,,', 'srid ist „25832“, erlaubt ist EPSG:25832, EPSG:4326 oder EPSG:3857'],
    ['2,91,8,EPSG:4326,,,,,,,,', 'lat ist „91“: das liegt außerhalb des Wertebereichs des Koordinatensystems in srid'],
    ['2,4000000,420000,,,,,,,,,', 'lat ist „4000000“, lon ist „420000“: der Ort liegt außerhalb des Gebiets dieses Dienstes'],
    [
      '2,420000,5530000,,,,,,,,,',
      'lat ist „420000“, lon ist „5530000“: der Ort liegt außerhalb des Gebiets dieses Dienstes; vertauscht lägen lat (Hochwert) und lon (Rechtswert) darin',
    ],
    ['2,5530000,420000,,0,,,,,,,', 'anzahl ist „0“, erlaubt ist eine ganze Zahl von 1 bis 20000'],
    ['2,5530000,420000,,20001,,,,,,,', 'anzahl ist „20001“, erlaubt ist eine ganze Zahl von 1 bis 20000'],
    ['2,5530000,420000,,,ja,,,,,,', 'sensibel ist „ja“, erlaubt ist true oder false'],
    [
      '2,5530000,420000,,,,31.02.2024,,,,,',
      'datum ist „31.02.2024“, erlaubt ist ein Tag, den es gibt, als TT.MM.JJJJ oder JJJJ-MM-TT',
    ],
    [
      '2,5530000,420000,,,,29.02.2023,,,,,',
      'datum ist „29.02.2023“, erlaubt ist ein Tag, den es gibt, als TT.MM.JJJJ oder JJJJ-MM-TT',
    ],
    [
      '2,5530000,420000,,,,2024-2-1,,,,,',
      'datum ist „2024-2-1“, erlaubt ist ein Tag, den es gibt, als TT.MM.JJJJ oder JJJJ-MM-TT',
    ],
    ['2,5530000,420000,,,,31.12.1799,,,,,', 'datum ist „31.12.1799“: erlaubt ist ein Tag zwischen dem 01.01.1800 und heute'],
    ['2,5530000,420000,,,,01.01.2999,,,,,', 'datum ist „01.01.2999“: erlaubt ist ein Tag zwischen dem 01.01.1800 und heute'],
    ['2,5530000,420000,,,,,öffentlich,,,,', 'bereich ist „öffentlich“, erlaubt ist privat oder oeffentlich'],
    [
      '2,5530000,420000,,,,,,a\0b,,,',
      'bemerkung ist „a·b“, erlaubt ist ein Text mit höchstens 4000 Zeichen, ohne NUL und höchstens 30 kombinierenden Zeichen hintereinander',
    ],
    [`2,5530000,420000,,,,,,${'ä'.repeat(32769)},,,`, 'bemerkung ist länger als 65536 Bytes'],
    ['2,5530000,420000,,,,,,,99,,', 'stadium_id ist „99“: dieses Stadium gibt es nicht'],
    ['2,5530000,420000,,,,,,,,99,', 'aktivitaet_id ist „99“: diese Aktivität gibt es nicht'],
    ['2,5530000,420000,,,,,oeffentlich,,,,neu', 'status ist „neu“, erlaubt ist pruefung, hinweis, freigegeben oder abgelehnt'],
    ['2,5530000,420000,,,,,,,,,freigegeben', 'status ist „freigegeben“, erlaubt ist mit bereich privat nur pruefung'],
    ['2,5530000,420000', '3 Felder statt 12'],
    [
      'x,5530000,4,,0,,,,,,99,',
      'art ist „x“, erlaubt ist eine ganze Zahl von 0 bis 2147483647',
      'anzahl ist „0“, erlaubt ist eine ganze Zahl von 1 bis 20000',
      'aktivitaet_id ist „99“: diese Aktivität gibt es nicht',
    ],
  ];
  for (const [row, ...problems] of cells) {
    it(`${JSON.stringify(row.slice(0, 60))} is refused`, () =>
      assertRefused(
        `${header}\n2,5530000,420001,,,,,,,,,\n${row}\n`,
        problems.map((problem) => `3: ${problem}`),
      ));
  }
});

describe('a file', () => {
  const allowed =
    'art,lat,lon,srid,anzahl,sensibel,datum,bereich,bemerkung,stadium_id,aktivitaet_id,status,loginname,experte,quelle_id,guid,foto,foto_2,foto_3,biotopfoto,audio';
  const files: [name: string, content: string | Buffer, problems: string[]][] = [
    ['that is empty', '', [`1: Die Kopfzeile fehlt, erwartet: ${allowed}`]],
    ['with semicolons', 'art;lat;lon\n', ['1: Die Spalten sind durch Semikolon getrennt, nötig ist das Komma']],
    ['without lon', 'art,lat\n2,5530000\n', ['1: Spalte lon fehlt']],
    [
      'with an unknown and a doubled column',
      'art,lat,lon,ort,lat\n',
      [
        `1: Spalte „ort“ ist unbekannt oder doppelt, erlaubt: ${allowed}`,
        `1: Spalte „lat“ ist unbekannt oder doppelt, erlaubt: ${allowed}`,
      ],
    ],
    [
      'with a quote that stays open',
      `art,lat,lon,bemerkung\n${good},"offen\n${good},\n`,
      ['2: Die Zeile ist kein gültiges CSV; ein Anführungszeichen wird nicht geschlossen'],
    ],
    [
      'in latin-1',
      Buffer.from(`art,lat,lon,bemerkung\n${good},gut\n2,5530000,420001,über\n`, 'latin1'),
      ['3: Die Zeile ist nicht UTF-8'],
    ],
    [
      'with the same report twice, line breaks before it',
      `art,lat,lon,bemerkung\n${good},"zwei\r\nZeilen"\n${good},noch einmal\n2,5530000.0001,420000.0001,anders geschrieben\n`,
      [
        '4: Diese Beobachtung steht schon in Zeile 2: gleiche Art, gleicher Ort, gleiches Datum',
        '5: Diese Beobachtung steht schon in Zeile 2: gleiche Art, gleicher Ort, gleiches Datum',
      ],
    ],
  ];
  for (const [name, content, problems] of files) it(`${name} is refused`, () => assertRefused(content, problems));

  it('with a report that the account has made already is refused, for another account it is not', async () => {
    assert.equal(await importCsv(database, `art,lat,lon,datum\n${good},1.2.2020\n`), 1);
    const [record] = await database.sql`select max(id)::integer as id from portal.sichtbeobachtung`;
    const again = `art,lat,lon,datum\n2,5530000,420009,1.2.2020\n${good},1.2.2020\n`;
    await assertRefused(again, [
      `3: Diese Beobachtung ist schon gespeichert (id ${record?.id}): gleiche Art, gleicher Ort, gleiches Datum`,
    ]);
    assert.equal(await importCsv(database, again, 'nachbarin'), 2);
  });

  it('with many errors tells all of them in the order of the lines, on a terminal a hundred and how many of each kind', async () => {
    const rows = Array.from({ length: 300 }, (_, index) => (index % 2 === 0 ? '4711,5530000,420000' : '2,5530000,ost'));
    const before = await countRecords();
    await assert.rejects(importCsv(database, `art,lat,lon\n${rows.join('\n')}\n`), (error) => {
      assert.ok(error instanceof ImportError);
      assert.match(error.message, /^449 Fehler, nichts wurde geladen\.$/);
      const lines = error.problems.map(({ line }) => line);
      assert.equal(lines.length, 449);
      assert.deepEqual(
        lines,
        [...lines].sort((a, b) => a - b),
      );
      const shown = describeProblems(error.problems);
      assert.equal(shown[0], 'liste.csv:2: art ist „4711“: diese Art definiert kein Mandant');
      assert.deepEqual(shown.slice(100), [
        '… und 349 weitere; alle als CSV mit --errors DATEI. Nach Art:',
        '     150 × liste.csv: art ist „…“: diese Art definiert kein Mandant',
        '     150 × liste.csv: lon ist „…“, erlaubt ist eine Zahl (Rechtswert im Koordinatensystem aus srid)',
        '     149 × liste.csv: Diese Beobachtung steht schon in Zeile …: gleiche Art, gleicher Ort, gleiches Datum',
      ]);
      const [header, first, ...others] = formatProblems(error.problems).trimEnd().split('\n');
      assert.equal(header, 'datei,zeile,fehler');
      assert.equal(first, 'liste.csv,2,art ist „4711“: diese Art definiert kein Mandant');
      assert.equal(others.length, 448);
      assert.ok(others.every((line) => /^liste\.csv,\d+,("[^"]*"|[^",]*)$/.test(line)));
      return true;
    });
    assert.equal(await countRecords(), before);
  });
});

describe('with an option', () => {
  it('reports that are there already, or twice in the file, are left out and counted', async () => {
    const first = `art,lat,lon,datum\n2,5530000,421001,2020-02-29\n`;
    assert.deepEqual(await importCsvWith(database, first, {}), { stored: 1, skipped: 0, known: 0 });
    const [stored] =
      await database.sql`select max(id)::integer as id, max(datum)::text as datum from portal.sichtbeobachtung where datum = '2020-02-29'`;
    assert.equal(stored?.datum, '2020-02-29');
    const rows = [
      '2,5530000,421001,29.2.2020',
      '2,5530000,421002,29.2.2020',
      '2,5530000.0001,421002.0001,2020-02-29',
      '2,5530000,421003,29.2.2020',
    ];
    const again = `art,lat,lon,datum\n${rows.join('\n')}\n`;
    const before = await countRecords();
    assert.deepEqual(await importCsvWith(database, again, { skipDuplicates: true, dryRun: true }), {
      stored: 2,
      skipped: 2,
      known: 0,
    });
    assert.equal(await countRecords(), before);
    assert.deepEqual(await importCsvWith(database, again, { skipDuplicates: true }), { stored: 2, skipped: 2, known: 0 });
    assert.deepEqual(await importCsvWith(database, again, { skipDuplicates: true }), { stored: 0, skipped: 4, known: 0 });
    assert.equal(await countRecords(), before + 2);
    // What is wrong otherwise is refused as always.
    await assert.rejects(
      importCsvWith(database, `${again}4711,5530000,421004,1.1.2020\n`, { skipDuplicates: true }),
      ImportError,
    );
    assert.equal(await countRecords(), before + 2);
  });

  it('columns that mean nothing here are left out, but not those that are there twice or must be there', async () => {
    const row = '2,5530000,421005,1.3.2020,egal';
    await assertRefused(`art,lat,lon,datum,observer\n${row}\n`, [
      '1: Spalte „observer“ ist unbekannt oder doppelt, erlaubt: art,lat,lon,srid,anzahl,sensibel,datum,bereich,bemerkung,stadium_id,aktivitaet_id,status,loginname,experte,quelle_id,guid,foto,foto_2,foto_3,biotopfoto,audio',
    ]);
    assert.deepEqual(await importCsvWith(database, `art,lat,lon,datum,observer\n${row}\n`, { ignoreColumns: true }), {
      stored: 1,
      skipped: 0,
      known: 0,
    });
    for (const header of ['art,lat,lon,lat,observer', 'art,lat,datum,observer,x'])
      await assert.rejects(importCsvWith(database, `${header}\n${row}\n`, { ignoreColumns: true }), ImportError, header);
  });

  it('everything is checked and nothing stored', async () => {
    const before = await countRecords();
    assert.deepEqual(await importCsvWith(database, 'art,lat,lon\n2,5530000,421006\n', { dryRun: true }), {
      stored: 1,
      skipped: 0,
      known: 0,
    });
    await assert.rejects(importCsvWith(database, 'art,lat,lon\n4711,5530000,421006\n', { dryRun: true }), ImportError);
    assert.equal(await countRecords(), before);
    // The connection's transaction ended too.
    assert.deepEqual(await importCsvWith(database, 'art,lat,lon\n2,5530000,421006\n', {}), { stored: 1, skipped: 0, known: 0 });
  });
});

describe('a file of another kind', () => {
  const kinds: [what: string, content: Buffer, says: string][] = [
    ['UTF-16', Buffer.from('\ufeffart,lat,lon\n', 'utf16le'), 'Die Datei ist UTF-16, nötig ist CSV in UTF-8'],
    [
      'a workbook',
      Buffer.from('PK\x03\x04\x14\0\x06\0', 'latin1'),
      'Die Datei ist eine Arbeitsmappe (.xlsx, .ods) oder ein ZIP-Archiv, nötig ist CSV in UTF-8',
    ],
    [
      'an old workbook',
      Buffer.from('d0cf11e0a1b11ae1', 'hex'),
      'Die Datei ist eine Arbeitsmappe von Excel (.xls), nötig ist CSV in UTF-8',
    ],
  ];
  for (const [what, content, says] of kinds) {
    it(`is called what it is: ${what}`, () => assertRefused(content, [`1: ${says}`]));
  }
});

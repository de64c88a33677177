// What a bulk import refuses: every error by line, and nothing is stored.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { Database } from '../../src/db/client.ts';
import { openTestDatabase } from '../support/database.ts';
import { importCsv, listImportProblems } from '../support/import.ts';

let database: Database;
before(async () => {
  database = await openTestDatabase();
});

const countRecords = async () =>
  (await database.sql<{ n: number }[]>`select count(*)::integer as n from portal.sichtbeobachtung`)[0]?.n;

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
    ['2,5530000,420000,,,,31.02.2024,,,,,', 'datum ist „31.02.2024“, erlaubt ist ein Tag, den es gibt, als TT.MM.JJJJ'],
    ['2,5530000,420000,,,,29.02.2023,,,,,', 'datum ist „29.02.2023“, erlaubt ist ein Tag, den es gibt, als TT.MM.JJJJ'],
    ['2,5530000,420000,,,,2024-02-01,,,,,', 'datum ist „2024-02-01“, erlaubt ist ein Tag, den es gibt, als TT.MM.JJJJ'],
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
  const allowed = 'art,lat,lon,srid,anzahl,sensibel,datum,bereich,bemerkung,stadium_id,aktivitaet_id,status';
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

  it('with many errors tells the first hundred in the order of the lines, and how many there are', async () => {
    const rows = Array.from({ length: 300 }, (_, index) => (index % 2 === 0 ? '4711,5530000,420000' : '2,5530000,ost'));
    const before = await countRecords();
    await assert.rejects(
      importCsv(database, `art,lat,lon\n${rows.join('\n')}\n`),
      (error: Error & { problems: { line: number }[] }) => {
        assert.match(error.message, /^449 Fehler \(hier die ersten 100\), nichts wurde geladen\.$/);
        assert.equal(error.problems.length, 100);
        const lines = error.problems.map(({ line }) => line);
        assert.deepEqual(
          lines,
          [...lines].sort((a, b) => a - b),
        );
        assert.equal(lines[0], 2);
        return true;
      },
    );
    assert.equal(await countRecords(), before);
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

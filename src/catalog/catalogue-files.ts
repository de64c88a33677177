// The files of a catalogue as operators read of them, and as they are written: an empty one, and the present one.
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as v from 'valibot';
import { type CatalogueTable, listPresentMandant, listPresentRows, lizenzen } from '../db/catalogue.ts';
import type { Sql } from '../db/client.ts';
import { catalogueFiles, type FileName, mandantenFile, requiredFiles } from './catalogue.ts';
import { toCsvLine } from './csv.ts';
import { ImportError } from './problems.ts';

interface FileFormat {
  table: CatalogueTable;
  /** What a row is. */
  about: string;
  /** Columns whose name does not say it all, and what stands in them. */
  columns: Record<string, string>;
  example: string[];
}

const foto = { uri: 'Adresse des Bildes', lizenz: 'zum Beispiel CC BY 4.0' };

const formats: Record<FileName, FileFormat> = {
  'artengruppen.csv': {
    table: 'artengruppe',
    about: 'eine Artengruppe',
    columns: { is_animal: 'true oder false', legacy_regional_artengruppe_id: 'frühere Nummer' },
    example: ['2', 'Vögel', 'true', '101'],
  },
  'arten.csv': {
    table: 'art',
    about: 'eine Art, wie sie überall heißt',
    columns: {
      gid: 'Nummer der Artengruppe',
      eu_guid: 'Kennung der Art in der EU',
      name_deutsch: 'leer, wenn es keinen gibt',
      bluetenmerkmale: 'diese und alle weiteren Spalten: Texte des Steckbriefs',
    },
    example: ['105', '', '2', 'Milvus milvus', 'Rotmilan'],
  },
  'arten_mandanten.csv': {
    table: 'art_mandant',
    about: 'eine Art, die ein Mandant führt; was er nicht führt, kann dort nicht gemeldet werden',
    columns: {
      mandant: 'Kürzel aus mandanten.geojson',
      art: 'Nummer aus arten.csv',
      art_id: 'Kennung der Art bei diesem Mandanten; leer: die Nummer der Art',
      name_wissenschaftlich: 'nur, wenn der Mandant ihn anders schreibt',
      name_deutsch: 'ebenso',
      sensibel: 'true: Funde werden als Rasterzelle von 5 km gezeigt',
      legacy_regional_art_id: 'frühere Nummer',
    },
    example: ['RP', '105', 'RP-00105', '', '', 'true', '', '105'],
  },
  'arten_fotos.csv': {
    table: 'art_foto',
    about: 'ein Foto im Steckbrief einer Art',
    columns: foto,
    example: ['105', 'https://example.org/rotmilan.jpg', 'M. Muster', 'CC BY 4.0', 'Altvogel im Flug'],
  },
  'verwechslungen.csv': {
    table: 'verwechslung',
    about: 'womit eine Art verwechselt wird, in Worten',
    columns: {},
    example: ['105', 'Der Schwarzmilan ist dunkler und hat einen flacher gegabelten Schwanz.'],
  },
  'verwechslung_arten.csv': {
    table: 'verwechslung_art',
    about: 'eine Art, mit der eine andere verwechselt wird',
    columns: { aid: 'Nummer dieser anderen Art' },
    example: ['105', '106'],
  },
  'verwechslung_fotos.csv': {
    table: 'verwechslung_foto',
    about: 'ein Foto zum Vergleich',
    columns: foto,
    example: ['105', 'https://example.org/milane.jpg', 'M. Muster', 'CC BY 4.0', 'Beide Milane von unten'],
  },
  'stadien.csv': {
    table: 'stadium',
    about: 'ein Stadium, das gemeldet werden kann',
    columns: { phaenogramm: 'true: zählt für die Jahreskurve' },
    example: ['6', 'Imago', 'true'],
  },
  'aktivitaeten.csv': {
    table: 'aktivitaet',
    about: 'eine Aktivität, die gemeldet werden kann',
    columns: {},
    example: ['10', 'fliegend'],
  },
  'pruefregeln.csv': {
    table: 'pruefregel',
    about: 'was bei einer Art zu erwarten ist; geht bei der Prüfung dem vor, was die Meldungen zeigen',
    columns: {
      mandant: 'Kürzel; leer: alle Mandanten, die keine eigene Zeile haben',
      von: 'erstes Drittel eines Monats, zum Beispiel 02-2 für den 11. bis 20. Februar',
      bis: 'letztes; mit von zusammen, auch über den Jahreswechsel',
      anzahl_max: 'höchste Anzahl, 1 bis 20000',
      gebiet: 'als WKT in EPSG:4326, Länge vor Breite: POLYGON((6 49, 9 49, 9 51, 6 49))',
      zwei_personen: 'true: zwei Personen geben frei',
      automatisch: 'true: darf ohne Prüfung freigegeben werden',
    },
    example: ['RP', '105', '02-2', '11-1', '200', '', 'false', 'false'],
  },
};

const names = Object.keys(catalogueFiles) as FileName[];
const columnsOf = (file: FileName) => Object.entries(catalogueFiles[file] as Record<string, v.GenericSchema>);

/** The format of a catalogue for operators: its files, which of them must be there, their columns, and a row of each. */
export function describeFormat(): string {
  const lines = [
    'catalog import VERZEICHNIS [--force], catalog export VERZEICHNIS, catalog template VERZEICHNIS',
    '',
    'Ein Katalog ist ein Verzeichnis mit diesen Dateien; * muss da sein. Tabellen sind CSV, auch aus Excel: eine Kopfzeile mit den',
    'Namen der Spalten, in beliebiger Reihenfolge. Spalten ohne * dürfen fehlen oder leer sein. Am Ende steht jeweils ein Beispiel.',
    '',
    `${mandantenFile} *   eine FeatureCollection in EPSG:4326, Länge vor Breite; ein Mandant je Feature (Polygon, MultiPolygon)`,
    '  kuerzel *                        1 bis 20 Buchstaben und Ziffern',
    '  name *                           Name des Portals',
    '  domains *                        Liste der Hostnamen ohne Port',
    '  schluessel                       Schlüssel in der Quelle von grenzen refresh',
    '  bemerkung_geschuetzter           zeigen (Standard) oder verbergen',
    `  lizenz                           Lizenz, unter der er seine Funde veröffentlicht: ${lizenzen.join(', ')};`,
    '                                   fehlt sie, veröffentlicht er nichts',
    '  herausgeber, titel               mit lizenz nötig; höchstens 200 Zeichen',
    '  kontakt                          mit lizenz nötig; eine E-Mail-Adresse',
    '  beschreibung                     mit lizenz nötig; höchstens 4000 Zeichen',
    '  {"type":"Feature","properties":{"kuerzel":"RP","name":"Rheinland-Pfalz","domains":["rp.example.org"]},"geometry":{…}}',
  ];
  for (const file of names) {
    const { about, columns, example } = formats[file];
    lines.push('', `${file}${requiredFiles.includes(file) ? ' *' : ''}   eine Zeile: ${about}`);
    for (const [name, schema] of columnsOf(file)) {
      const isShown = columns[name] !== undefined || !v.is(schema, '');
      if (isShown) lines.push(`  ${`${name}${v.is(schema, '') ? '' : ' *'}`.padEnd(32)} ${columns[name] ?? ''}`.trimEnd());
    }
    const others = columnsOf(file).filter(([name, schema]) => columns[name] === undefined && v.is(schema, ''));
    const names = others.map(([name]) => name);
    for (let at = 0; at < names.length; at += 5) lines.push(`  ${names.slice(at, at + 5).join(', ')}`);
    lines.push(`  ${toCsvLine(example)}`);
  }
  return lines.join('\n');
}

/**
 * Writes a catalogue without a row: header lines, and no tenant.
 * @throws ImportError when the directory holds files already
 */
export async function writeTemplate(dir: string): Promise<void> {
  await writeCatalogue(dir, [], () => Promise.resolve([]));
}

/**
 * Writes the catalogue that is in the database, in an order that depends on nothing else: the same catalogue gives the same bytes.
 * @throws ImportError when the directory holds files already
 */
export async function exportCatalogue(sql: Sql, dir: string): Promise<void> {
  const features = (await listPresentMandant(sql)).map(({ geojson, ...properties }) =>
    JSON.stringify({ type: 'Feature', properties, geometry: JSON.parse(geojson) }),
  );
  await writeCatalogue(dir, features, (file) =>
    listPresentRows(
      sql,
      formats[file].table,
      columnsOf(file).map(([name]) => name),
    ),
  );
}

async function writeCatalogue(
  dir: string,
  features: string[],
  rowsOf: (file: FileName) => Promise<Record<string, unknown>[]>,
): Promise<void> {
  await mkdir(dir, { recursive: true });
  const [present] = await readdir(dir);
  if (present !== undefined)
    throw new ImportError(
      [{ file: dir, line: 0, message: 'Das Verzeichnis ist nicht leer; überschrieben wird nichts' }],
      1,
      'nichts wurde geschrieben',
    );
  const collection = `{"type":"FeatureCollection","features":[${features.map((feature) => `\n${feature}`).join(',')}\n]}\n`;
  await writeFile(join(dir, mandantenFile), collection);
  for (const file of names) {
    const columns = columnsOf(file).map(([name]) => name);
    const rows = (await rowsOf(file)).map((row) => columns.map((name) => (row[name] === null ? '' : String(row[name]))));
    await writeFile(join(dir, file), [columns, ...rows].map((row) => `${toCsvLine(row)}\n`).join(''));
  }
}

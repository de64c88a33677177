// The bulk import of sightings (D5): a CSV file whose columns are the form fields of POST, by the same rules, and what only another
// portal's records have. Places, references, dates and duplicates are checked in the database.
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Database } from '../db/client.ts';
import { type MediumField, mediumFields } from '../db/sichtbeobachtung.ts';
import {
  type LoadedSichtbeobachtungen,
  loadSichtbeobachtungen,
  type StagedMedia,
  type StagedRow,
  type StagingError,
} from '../db/sichtbeobachtung-import.ts';
import type { Progress } from '../observe/progress.ts';
import { listHeaderProblems, streamCsv } from './csv.ts';
import { type ImportMedia, type MediumKey, storeImportMedia } from './import-media.ts';
import { describeCell, ImportError, keptProblems, keptProblemsOfFile, ProblemList } from './problems.ts';
import {
  type ColumnName,
  columnNames,
  columns as columnsOfFile,
  type Kind,
  requiredColumns,
} from './sichtbeobachtung-columns.ts';

/** How the cells of one file become values. */
interface Column extends Kind {
  name: ColumnName;
  /** Its place in the file; -1 when the file doesn't have it. */
  at: number;
  /** undefined: it may not be empty. */
  empty: string | null | undefined;
}

const isFileColumn = (name: ColumnName): name is MediumField => (mediumFields as readonly string[]).includes(name);

// Rows that one statement stages: some hundred kilobytes.
const rowsAtOnce = 1000;
// As much as POST takes of a field.
const maxCellBytes = 65536;

export interface SichtbeobachtungenOptions {
  /** The account that becomes the recorder of rows that name none; null: each must name one. */
  nutzerId: number | null;
  /** Whose numbers the column quelle_id holds. */
  quelle: string | null;
  /** Where the files are that rows name; null: they name none. */
  media: ImportMedia | null;
  /** Check everything, store nothing. */
  dryRun: boolean;
  /** Leave out reports that are stored already, or stand in the file before, instead of refusing them. */
  skipDuplicates: boolean;
  /** Leave out columns that mean nothing here instead of refusing them. */
  ignoreColumns: boolean;
  /** Keep all problems, not only what a terminal shows and counts. */
  keepAllProblems: boolean;
  /** Told what was put right, a sentence. */
  warn(sentence: string): void;
}

/**
 * Loads the sightings in a CSV file, everything or nothing. With files, everything is checked before the first of them is made small,
 * which takes up to some seconds each; what is stored of them then is found again when this is called once more.
 * @returns how many were stored, or would have been, and how many were left out: duplicates, and what came from this source before
 * @throws ImportError with what is wrong by line, and then nothing is stored
 */
export async function importSichtbeobachtungen(
  database: Database,
  path: string,
  progress: Progress,
  options: SichtbeobachtungenOptions,
): Promise<LoadedSichtbeobachtungen> {
  const limit = options.keepAllProblems ? keptProblemsOfFile : keptProblems;
  const problems = new ProblemList(basename(path), limit);
  const failIfAny = () => {
    if (problems.total > 0) throw new ImportError(problems.kept, problems.total);
  };
  const entry = await stat(path).catch(() => null);
  if (!entry?.isFile()) problems.add(0, 'Diese Datei gibt es nicht');
  failIfAny();
  const megabytes = (bytes: number) => Math.ceil(bytes / 1e6);
  const onBytes = (bytes: number) => progress.step('Lesen (MB)', megabytes(bytes), megabytes(entry?.size ?? 0));

  let staged: StagedMedia[] = [];
  const load = (dryRun: boolean, names: ReadonlyMap<MediumKey, string> | null) =>
    loadSichtbeobachtungen(database, {
      rows: (today) => readRows(path, { today, names, options }, problems, onBytes),
      nutzerId: options.nutzerId,
      quelle: options.quelle,
      dryRun,
      skipDuplicates: options.skipDuplicates,
      errorLimit: limit,
      onMedia(media) {
        staged = media;
      },
      onStaged: () => progress.step('Prüfen', 0, 1),
      onChecked(errors, total) {
        problems.merge(errors.map(describeError), total);
        failIfAny();
      },
      onStored: (stored, total) => progress.step('Speichern', stored, total),
    });

  if (!options.media) return load(options.dryRun, null);
  const checked = await load(true, null);
  const names = await storeImportMedia(database.sql, options.media, staged, {
    dryRun: options.dryRun,
    problems,
    failIfAny,
    report: (done, total) => progress.step('Dateien', done, total),
  });
  return options.dryRun ? checked : load(false, names);
}

interface Reading {
  /** YYYY-MM-DD */
  today: string;
  /** The names that files were stored under; null while there are none yet. */
  names: ReadonlyMap<MediumKey, string> | null;
  options: SichtbeobachtungenOptions;
}

async function* readRows(
  path: string,
  { today, names, options }: Reading,
  problems: ProblemList,
  onBytes: (bytes: number) => void,
): AsyncGenerator<StagedRow[]> {
  let columns: Column[] | null = null;
  let part: StagedRow[] = [];
  const read = { ignoreUnknown: options.ignoreColumns, report: onBytes };
  // With photos it is read twice, the second time with their names.
  for await (const { line, fields } of streamCsv(path, problems, names === null ? { ...read, warn: options.warn } : read)) {
    if (columns) {
      part.push(readRow(line, fields, columns, names, problems));
      if (part.length === rowsAtOnce) {
        yield part;
        part = [];
      }
      continue;
    }
    const header = fields;
    for (const message of listHeaderProblems(header, columnNames, requiredColumns, options.ignoreColumns))
      problems.add(line, message);
    // Columns that mean nothing without an option that was not given.
    const lacks = (name: ColumnName) =>
      (isFileColumn(name) && !options.media && '--dateien VERZEICHNIS') ||
      (name === 'quelle_id' && options.quelle === null && '--quelle NAME');
    for (const name of columnNames) {
      const option = header.includes(name) && !options.ignoreColumns && lacks(name);
      if (option) problems.add(line, `Spalte ${name} braucht ${option}`);
    }
    if (options.nutzerId === null && !header.includes('loginname'))
      problems.add(line, 'Spalte loginname fehlt, oder --loginname L');
    if (options.quelle !== null && !header.includes('quelle_id'))
      problems.add(line, 'Spalte quelle_id fehlt, die zu --quelle gehört');
    if (problems.total > 0) return;
    columns = columnNames.flatMap((name) => {
      const { allowed, read, empty: standard } = columnsOfFile[name];
      const special: { [name in ColumnName]?: string | null } = {
        datum: today,
        ...(options.nutzerId !== null && { loginname: null }),
        ...(options.quelle === null && { quelle_id: null }),
      };
      const empty = name in special ? special[name] : standard;
      const at = lacks(name) ? -1 : header.indexOf(name);
      return at < 0 && empty === null ? [] : { allowed, read, name, at, empty };
    });
  }
  yield part;
  if (!columns && problems.total === 0) problems.add(1, `Die Kopfzeile fehlt, erwartet: ${columnNames.join(',')}`);
}

// A row with problems is staged too, without the values concerned: the database finds what else is wrong with it.
function readRow(
  line: number,
  fields: string[],
  columns: Column[],
  names: ReadonlyMap<MediumKey, string> | null,
  problems: ProblemList,
): StagedRow {
  const row: StagedRow = { zeile: String(line) };
  for (const column of columns) {
    const value = readCell(line, column, fields[column.at] ?? '', problems);
    if (value !== null)
      row[column.name] = names && isFileColumn(column.name) ? (names.get(`${line} ${column.name}`) ?? value) : value;
  }
  const { bereich, status, experte } = row;
  if (bereich === 'privat' && status !== 'pruefung' && status !== undefined) {
    problems.add(line, `status ist „${status}“, erlaubt ist mit bereich privat nur pruefung`);
  }
  if (experte !== undefined && status !== undefined && status !== 'freigegeben' && status !== 'abgelehnt') {
    problems.add(line, `status ist „${status}“, erlaubt ist mit experte nur freigegeben oder abgelehnt`);
  }
  return row;
}

function readCell(line: number, column: Column, cell: string, problems: ProblemList): string | null {
  if (cell === '' && column.empty !== undefined) return column.empty;
  const { name, allowed } = column;
  // A unit of a string is three bytes at most: few cells need counting.
  if (cell.length > maxCellBytes / 3 && Buffer.byteLength(cell) > maxCellBytes) {
    problems.add(line, `${name} ist länger als ${maxCellBytes} Bytes`);
    return null;
  }
  const value = column.read(cell);
  if (value === null) {
    problems.add(line, describeCell(name, cell, allowed));
  }
  return value;
}

const sentences: Record<string, string> = {
  ARTUN: 'diese Art definiert kein Mandant',
  STDUN: 'dieses Stadium gibt es nicht',
  AKTUN: 'diese Aktivität gibt es nicht',
  NTZUN: 'dieses Konto gibt es nicht',
  EXPUN: 'kein Konto eines Experten oder Administrators heißt so',
  DATUM: 'erlaubt ist ein Tag zwischen dem 01.01.1800 und heute',
  WERTB: 'das liegt außerhalb des Wertebereichs des Koordinatensystems in srid',
  GBIET: 'der Ort liegt außerhalb des Gebiets dieses Dienstes',
  GBTAU: 'der Ort liegt außerhalb des Gebiets dieses Dienstes; vertauscht lägen lat (Hochwert) und lon (Rechtswert) darin',
};

function describeError({ zeile, code, spalte, werte }: StagingError): { line: number; message: string } {
  if (code === 'DOPPL') {
    const where = 'id' in werte ? `ist schon gespeichert (id ${werte.id})` : `steht schon in Zeile ${werte.zeile}`;
    return { line: zeile, message: `Diese Beobachtung ${where}: gleiche Art, gleicher Ort, gleiches Datum` };
  }
  if (code === 'GUIDD' || code === 'QUELD') {
    const where =
      'id' in werte ? `hat oder hatte schon die Beobachtung mit id ${werte.id}` : `steht schon in Zeile ${werte.zeile}`;
    return { line: zeile, message: `Diese ${spalte} ${where}` };
  }
  const about = Object.entries(werte).filter(([name]) => code !== 'WERTB' || name === spalte);
  const got = about.map(([name, value]) => `${name} ist „${value}“`).join(', ');
  return { line: zeile, message: `${got}: ${sentences[code] ?? code}` };
}

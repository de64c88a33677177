// The bulk import of sightings (D5): a CSV file whose columns are the form fields of POST, by the same rules. Values are read
// here, by hand instead of with schemas: 200 000 rows have two million cells. Places, references, dates and duplicates are
// checked in the database.
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Database } from '../db/client.ts';
import {
  type LoadedSichtbeobachtungen,
  loadSichtbeobachtungen,
  type StagedColumn,
  type StagingError,
  stagedColumns,
} from '../db/sichtbeobachtung-import.ts';
import { hasLongRun, isRemark, isStorable, maxMarks, maxRemarkLength } from '../guard/text.ts';
import type { Progress } from '../observe/progress.ts';
import { describeCell, ImportError, listHeaderProblems } from './csv.ts';
import { keptProblems, keptProblemsOfFile, ProblemList, streamCsv } from './csv-stream.ts';

interface Kind {
  allowed: string;
  /** The value as the database reads it; null when the cell holds nothing allowed. */
  read(cell: string): string | null;
}

function integer(min: number, max: number): Kind {
  return {
    allowed: `eine ganze Zahl von ${min} bis ${max}`,
    read(cell) {
      const value = cell.trim();
      if (!/^[+-]?\d{1,15}$/.test(value)) return null;
      const number = Number(value);
      return number >= min && number <= max ? String(number) : null;
    },
  };
}

function double(allowed: string): Kind {
  return {
    allowed,
    read(cell) {
      const value = cell.trim();
      if (!/^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d{1,3})?$/i.test(value)) return null;
      const number = Number(value);
      return Number.isFinite(number) ? String(number) : null;
    },
  };
}

const boolean: Kind = {
  allowed: 'true oder false',
  read(cell) {
    const value = cell.trim().toLowerCase();
    if (value === 'true' || value === '1') return 'true';
    return value === 'false' || value === '0' ? 'false' : null;
  },
};

const daysOfMonth = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

const date: Kind = {
  allowed: 'ein Tag, den es gibt, als TT.MM.JJJJ oder JJJJ-MM-TT',
  read(cell) {
    const text = cell.trim();
    const german = /^(?<day>\d{1,2})\.(?<month>\d{1,2})\.(?<year>\d{4})$/.exec(text);
    const { groups } = german ?? /^(?<year>\d{4})-(?<month>\d{2})-(?<day>\d{2})$/.exec(text) ?? {};
    if (!groups) return null;
    const [day, month, year] = [groups.day, groups.month, groups.year].map(Number) as [number, number, number];
    const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
    const days = month === 2 && !isLeap ? 28 : (daysOfMonth[month - 1] ?? 0);
    if (year < 1 || day < 1 || day > days) return null;
    return `${groups.year}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`;
  },
};

const remark: Kind = {
  allowed: `ein Text mit höchstens ${maxRemarkLength} Zeichen, ohne NUL und höchstens ${maxMarks} kombinierenden Zeichen hintereinander`,
  read(cell) {
    if (!isStorable(cell) || hasLongRun(cell)) return null;
    const text = cell.normalize('NFC');
    return isRemark(text) ? text : null;
  },
};

function oneOf(values: string[]): Kind {
  return {
    allowed: `${values.slice(0, -1).join(', ')} oder ${values.at(-1)}`,
    read: (cell) => (values.includes(cell) ? cell : null),
  };
}

const srids = oneOf(['EPSG:25832', 'EPSG:4326', 'EPSG:3857']);
const id = integer(0, 2147483647);

type ColumnName = Exclude<StagedColumn, 'zeile'>;

const kinds: Record<ColumnName, Kind> = {
  art: id,
  lat: double('eine Zahl (Hochwert im Koordinatensystem aus srid)'),
  lon: double('eine Zahl (Rechtswert im Koordinatensystem aus srid)'),
  srid: { allowed: srids.allowed, read: (cell) => srids.read(cell)?.slice(5) ?? null },
  anzahl: integer(1, 20000),
  sensibel: boolean,
  datum: date,
  bereich: oneOf(['privat', 'oeffentlich']),
  bemerkung: remark,
  stadium_id: id,
  aktivitaet_id: id,
  status: oneOf(['pruefung', 'hinweis', 'freigegeben', 'abgelehnt']),
};
const required = ['art', 'lat', 'lon'];

/** What an empty cell stands for, null for nothing; today is the database's. */
const defaults: { [name in ColumnName]?: string | null } = {
  srid: '25832',
  anzahl: '1',
  sensibel: 'false',
  bereich: 'privat',
  bemerkung: null,
  stadium_id: null,
  aktivitaet_id: null,
  status: 'pruefung',
};

/** How the cells of one file become values. */
interface Column extends Kind {
  name: ColumnName;
  /** Its place in the file; -1 when the file doesn't have it. */
  at: number;
  /** undefined: it may not be empty. */
  empty: string | null | undefined;
}

const names = stagedColumns.filter((name): name is ColumnName => name !== 'zeile');
const bereichAt = stagedColumns.indexOf('bereich');
const statusAt = stagedColumns.indexOf('status');

// As much as POST takes of a field.
const maxCellBytes = 65536;

export interface SichtbeobachtungenOptions {
  /** Check everything, store nothing. */
  dryRun: boolean;
  /** Leave out reports that are stored already, or stand in the file before, instead of refusing them. */
  skipDuplicates: boolean;
  /** Leave out columns that mean nothing here instead of refusing them. */
  ignoreColumns: boolean;
  /** Keep all problems, not only what a terminal shows and counts. */
  keepAllProblems: boolean;
}

/**
 * Loads the sightings in a CSV file as those of an account, everything or nothing.
 * @param nutzerId the account that becomes their recorder
 * @returns how many were stored, or would have been, and how many duplicates were left out
 * @throws ImportError with what is wrong by line, and then nothing is stored
 */
export async function importSichtbeobachtungen(
  database: Database,
  path: string,
  nutzerId: number,
  progress: Progress,
  options: SichtbeobachtungenOptions,
): Promise<LoadedSichtbeobachtungen> {
  const limit = options.keepAllProblems ? keptProblemsOfFile : keptProblems;
  const problems = new ProblemList(basename(path), limit);
  const fail = () => new ImportError(problems.kept, problems.total);
  const entry = await stat(path).catch(() => null);
  if (!entry?.isFile()) {
    problems.add(0, 'Diese Datei gibt es nicht');
    throw fail();
  }
  const megabytes = (bytes: number) => Math.ceil(bytes / 1e6);
  const onBytes = (bytes: number) => progress.step('Lesen (MB)', megabytes(bytes), megabytes(entry.size));

  return loadSichtbeobachtungen(database, nutzerId, {
    rows: (today) => readRows(path, { today, ignoreColumns: options.ignoreColumns }, problems, onBytes),
    dryRun: options.dryRun,
    skipDuplicates: options.skipDuplicates,
    errorLimit: limit,
    onStaged: () => progress.step('Prüfen', 0, 1),
    onChecked(errors, total) {
      problems.merge(errors.map(describeError), total);
      if (problems.total > 0) throw fail();
    },
    onStored: (stored, total) => progress.step('Speichern', stored, total),
  });
}

async function* readRows(
  path: string,
  { today, ignoreColumns }: { today: string; ignoreColumns: boolean },
  problems: ProblemList,
  onBytes: (bytes: number) => void,
): AsyncGenerator<(string | null)[]> {
  let columns: Column[] | null = null;
  let width = 0;
  for await (const { line, fields } of streamCsv(path, problems, onBytes)) {
    if (columns) {
      if (fields.length === width) yield readRow(line, fields, columns, problems);
      else problems.add(line, `${fields.length} Felder statt ${width}`);
      continue;
    }
    const header = fields.map((name) => name.trim());
    for (const message of listHeaderProblems(header, names, required, ignoreColumns)) problems.add(line, message);
    if (problems.total > 0) return;
    width = header.length;
    columns = names.map((name) => ({
      ...kinds[name],
      name,
      at: header.indexOf(name),
      empty: name === 'datum' ? today : defaults[name],
    }));
  }
  if (!columns && problems.total === 0) problems.add(1, `Die Kopfzeile fehlt, erwartet: ${names.join(',')}`);
}

// A row with problems is staged too, without the values concerned: the database finds what else is wrong with it.
function readRow(line: number, fields: string[], columns: Column[], problems: ProblemList): (string | null)[] {
  const row: (string | null)[] = [String(line)];
  for (const column of columns) row.push(readCell(line, column, fields[column.at] ?? '', problems));
  if (row[bereichAt] === 'privat' && row[statusAt] !== 'pruefung' && row[statusAt] !== null) {
    problems.add(line, `status ist „${row[statusAt]}“, erlaubt ist mit bereich privat nur pruefung`);
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
  const about = Object.entries(werte).filter(([name]) => code !== 'WERTB' || name === spalte);
  const got = about.map(([name, value]) => `${name} ist „${value}“`).join(', ');
  return { line: zeile, message: `${got}: ${sentences[code] ?? code}` };
}

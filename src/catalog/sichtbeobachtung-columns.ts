// The columns of a file of sightings: what a cell may hold, and what an empty one stands for. Read by hand instead of with schemas:
// 200 000 rows have two million cells.
import { type MediumField, mediumFields } from '../db/sichtbeobachtung.ts';
import { type ImportedFeld, type StagedColumn, stagedColumns } from '../db/sichtbeobachtung-import.ts';
import { hasAtMost, hasLongRun, isStorable, maxMarks, toIsoDate } from '../guard/text.ts';
import { type Feld, felder, listFeld } from '../sichtbeobachtung-felder.ts';

export interface Kind {
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
      // As a German spreadsheet writes it too; where it separates thousands the place lies elsewhere.
      const value = cell.trim().replace(',', '.');
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
    if (['true', 'wahr', '1'].includes(value)) return 'true';
    return ['false', 'falsch', '0'].includes(value) ? 'false' : null;
  },
};

const date: Kind = {
  allowed: 'ein Tag, den es gibt, als TT.MM.JJJJ oder JJJJ-MM-TT',
  read(cell) {
    const text = cell.trim();
    const german = /^(?<day>\d{1,2})\.(?<month>\d{1,2})\.(?<year>\d{4})$/.exec(text);
    const { groups } = german ?? /^(?<year>\d{4})-(?<month>\d{2})-(?<day>\d{2})$/.exec(text) ?? {};
    if (!groups) return null;
    return toIsoDate(Number(groups.year), Number(groups.month), Number(groups.day));
  },
};

function characters(max: number): Kind {
  return {
    allowed: `ein Text mit höchstens ${max} Zeichen, ohne NUL und höchstens ${maxMarks} kombinierenden Zeichen hintereinander`,
    read(cell) {
      if (!isStorable(cell) || hasLongRun(cell)) return null;
      const text = cell.normalize('NFC');
      return hasAtMost(text, max) ? text : null;
    },
  };
}

function oneOf(values: readonly string[]): Kind {
  return {
    allowed: `${values.slice(0, -1).join(', ')} oder ${values.at(-1)}`,
    read: (cell) => (values.includes(cell) ? cell : null),
  };
}

function word(max: number): Kind {
  return {
    allowed: `ein Text mit höchstens ${max} Zeichen`,
    read(cell) {
      const text = cell.trim();
      if (text === '' || text.length > max || !isStorable(text) || hasLongRun(text)) return null;
      return text.normalize('NFC');
    },
  };
}

const guid: Kind = {
  allowed: 'eine UUID (8-4-4-4-12 hexadezimale Ziffern)',
  read(cell) {
    const value = cell.trim().toLowerCase();
    return /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/.test(value) ? value : null;
  },
};

// Where the path leads is looked at when all rows are known.
const path: Kind = { ...word(1000), allowed: 'der Pfad einer Datei unterhalb des Verzeichnisses von --dateien' };
const account = word(254);

const id = integer(0, 2147483647);

function kindOf(feld: Feld): Kind {
  switch (feld.kind) {
    case 'id':
      return id;
    case 'integer':
      return integer(feld.min, feld.max);
    case 'number':
      return double(feld.allowed);
    case 'boolean':
      return boolean;
    case 'date':
      return date;
    case 'text':
      return characters(feld.maxLength);
    case 'word':
      return oneOf(feld.words);
  }
}

/** A column of the file. */
export type ColumnName = Exclude<StagedColumn, 'zeile'>;
export const columnNames = stagedColumns.filter((name): name is ColumnName => name !== 'zeile');

interface ColumnOfFile extends Kind {
  /** What operators are told of it. */
  meaning: string;
  /** What an empty cell stands for, null for nothing; undefined: it may not be empty. */
  empty?: string | null;
}

function columnOf(feld: Feld): ColumnOfFile {
  const kind = kindOf(feld);
  // A cell can't be missing: an empty one is what is not sent.
  const standard = feld.absent === undefined ? feld.empty : feld.absent;
  const empty = standard === null || standard === undefined ? standard : kind.read(String(standard));
  return { ...kind, meaning: feld.column ?? '', ...(empty !== undefined && { empty }) };
}

const srid = columnOf(felder.srid);
// The database takes the number.
const readSrid = (cell: string) => srid.read(cell)?.slice('EPSG:'.length) ?? null;
const file = (meaning: string): ColumnOfFile => ({ ...path, empty: null, meaning });

/** The columns that are fields people write, and those that only records of another portal have. */
export const columns: Record<ColumnName, ColumnOfFile> = {
  ...(Object.fromEntries(listFeld().map(([name, feld]) => [name, columnOf(feld)])) as Record<ImportedFeld, ColumnOfFile>),
  srid: { ...srid, read: readSrid, empty: readSrid(felder.srid.empty) },
  status: {
    ...oneOf(['pruefung', 'hinweis', 'freigegeben', 'abgelehnt']),
    empty: 'pruefung',
    meaning: 'pruefung (Standard), hinweis, freigegeben oder abgelehnt',
  },
  loginname: { ...account, meaning: 'Anmeldename des Kontos, dem die Beobachtung gehört (Standard: --loginname)' },
  experte: {
    ...account,
    empty: null,
    meaning: 'Anmeldename dessen, der sie freigegeben oder abgelehnt hat: ein Experte oder Administrator',
  },
  quelle_id: {
    ...word(200),
    meaning: 'Nummer oder Name in der Quelle, die --quelle nennt; was von dort schon geladen ist, wird ausgelassen',
  },
  guid: { ...guid, empty: null, meaning: 'UUID, die die Beobachtung schon hat (Standard: eine neue)' },
  ...(Object.fromEntries(mediumFields.map((name) => [name, file('ebenso')])) as Record<MediumField, ColumnOfFile>),
  foto: file('Pfad eines JPEG-Fotos unterhalb von --dateien'),
  audio: file('Pfad einer Tonaufnahme unterhalb von --dateien'),
};
export const requiredColumns: string[] = listFeld().flatMap(([name, { empty, absent, column }]) =>
  column !== undefined && empty === undefined && absent === undefined ? [name] : [],
);

/** The format of a file of sightings for operators. */
export function describeColumns(): string {
  return [
    'sichtbeobachtungen import DATEI.csv [--loginname L] [--quelle NAME] [--dateien VERZEICHNIS]',
    '    [--skip-duplicates] [--ignore-columns] [--dry-run] [--errors DATEI]',
    '',
    'Eine Zeile je Beobachtung. CSV, auch aus Excel: eine Kopfzeile mit den Namen der Spalten, in beliebiger Reihenfolge. Spalten ohne *',
    'dürfen fehlen oder leer sein. Geladen wird alles oder nichts; Fotos und Töne, die schon umgewandelt sind, findet ein neuer Versuch',
    'innerhalb von sechs Tagen wieder.',
    '',
    ...columnNames.map(
      (name) => `  ${`${name}${requiredColumns.includes(name) ? ' *' : ''}`.padEnd(16)} ${columns[name].meaning}`,
    ),
    '',
    '  art,lat,lon,srid,datum,bereich,status,loginname,experte,quelle_id,foto',
    '  105,49.9912,8.2473,EPSG:4326,2021-05-14,oeffentlich,freigegeben,anna.muster,experte,A-4711,2021/milan.jpg',
  ].join('\n');
}

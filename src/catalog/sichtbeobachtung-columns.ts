// The columns of a file of sightings: what a cell may hold, and what an empty one stands for. Read by hand instead of with schemas:
// 200 000 rows have two million cells.
import { type StagedColumn, stagedColumns } from '../db/sichtbeobachtung-import.ts';
import { toIsoDate } from '../guard/date.ts';
import { hasLongRun, isRemark, isStorable, maxMarks, maxRemarkLength } from '../guard/text.ts';

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

const srids = oneOf(['EPSG:25832', 'EPSG:4326', 'EPSG:3857']);
const id = integer(0, 2147483647);

/** A column of the file. */
export type ColumnName = Exclude<StagedColumn, 'zeile'>;

/** What a cell of each column may hold. */
export const kinds: Record<ColumnName, Kind> = {
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
  loginname: account,
  experte: account,
  quelle_id: word(200),
  guid,
  foto: path,
  foto_2: path,
  foto_3: path,
  biotopfoto: path,
  audio: path,
};

export const columnNames = stagedColumns.filter((name): name is ColumnName => name !== 'zeile');
export const requiredColumns = ['art', 'lat', 'lon'];

/** What an empty cell stands for, null for nothing; datum: today, which is the database's. */
export const defaults: { [name in ColumnName]?: string | null } = {
  srid: '25832',
  anzahl: '1',
  sensibel: 'false',
  bereich: 'privat',
  bemerkung: null,
  stadium_id: null,
  aktivitaet_id: null,
  status: 'pruefung',
  experte: null,
  guid: null,
  foto: null,
  foto_2: null,
  foto_3: null,
  biotopfoto: null,
  audio: null,
};

const meanings: Record<ColumnName, string> = {
  art: 'Nummer der Art aus dem Katalog',
  lat: 'Hochwert oder geographische Breite',
  lon: 'Rechtswert oder geographische Länge',
  srid: 'EPSG:25832 (Standard), EPSG:4326 oder EPSG:3857',
  anzahl: 'Individuen, 1 bis 20000 (Standard 1)',
  sensibel: 'true: der Ort wird nie genau gezeigt (Standard false)',
  datum: 'TT.MM.JJJJ oder JJJJ-MM-TT (Standard heute)',
  bereich: 'privat (Standard) oder oeffentlich',
  bemerkung: `höchstens ${maxRemarkLength} Zeichen`,
  stadium_id: 'Nummer aus stadien.csv',
  aktivitaet_id: 'Nummer aus aktivitaeten.csv',
  status: 'pruefung (Standard), hinweis, freigegeben oder abgelehnt',
  loginname: 'Anmeldename des Kontos, dem die Beobachtung gehört (Standard: --loginname)',
  experte: 'Anmeldename dessen, der sie freigegeben oder abgelehnt hat: ein Experte oder Administrator',
  quelle_id: 'Nummer oder Name in der Quelle, die --quelle nennt; was von dort schon geladen ist, wird ausgelassen',
  guid: 'UUID, die die Beobachtung schon hat (Standard: eine neue)',
  foto: 'Pfad eines JPEG-Fotos unterhalb von --dateien',
  foto_2: 'ebenso',
  foto_3: 'ebenso',
  biotopfoto: 'ebenso',
  audio: 'Pfad einer Tonaufnahme unterhalb von --dateien',
};

/** The format of a file of sightings for operators. */
export function describeColumns(): string {
  return [
    'sichtbeobachtungen import DATEI.csv [--loginname L] [--quelle NAME] [--dateien VERZEICHNIS]',
    '    [--skip-duplicates] [--ignore-columns] [--dry-run] [--errors DATEI]',
    '',
    'Eine Zeile je Beobachtung. CSV: UTF-8, Kommas, eine Kopfzeile mit den Namen der Spalten, in beliebiger Reihenfolge. Spalten ohne *',
    'dürfen fehlen oder leer sein. Geladen wird alles oder nichts; Fotos und Töne, die schon umgewandelt sind, findet ein neuer Versuch',
    'innerhalb von sechs Tagen wieder.',
    '',
    ...columnNames.map((name) => `  ${`${name}${requiredColumns.includes(name) ? ' *' : ''}`.padEnd(16)} ${meanings[name]}`),
    '',
    '  art,lat,lon,srid,datum,bereich,status,loginname,experte,quelle_id,foto',
    '  105,49.9912,8.2473,EPSG:4326,2021-05-14,oeffentlich,freigegeben,anna.muster,experte,A-4711,2021/milan.jpg',
  ].join('\n');
}

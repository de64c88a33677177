// The fields of a sighting that people write, an entry each, under the name that they have everywhere: as column, in JSON, in forms,
// in files of imports. From this table follow their types, the forms of POST and PUT and what these allow, the columns of an import, and
// what the document says of them. What SQL must know of them stands in sql/code/sichtbeobachtung/melden.sql.

/** Licences under which photos and sound files may be passed on (O5.5). */
export const medienLizenzen = ['CC0-1.0', 'CC-BY-4.0', 'CC-BY-NC-4.0'] as const;

/** What may be sent. A word is one of a few; a text is NFC and never empty; a date is a day that exists. */
type Kind =
  | { kind: 'id' | 'boolean' | 'date' }
  | { kind: 'integer'; min: number; max: number }
  | { kind: 'number'; allowed: string }
  | { kind: 'text'; maxLength: number }
  | { kind: 'word'; words: readonly string[] };

export type Feld = Kind & {
  /** What the document says of it as a part of a form. */
  meaning: string;
  /** What it is when it is sent empty, and, unless `absent` says otherwise, when it is not sent (D3.7). Without this it may not be sent empty. */
  empty?: string | number | boolean | null;
  /** What it is when it is not sent. Without this and `empty` it must be sent. */
  absent?: string | null;
  /** What operators are told of its column in a file of an import; without it, imports don't know it. */
  column?: string;
  /** For what answers show as it was sent: what the document says of it there. What they show otherwise is in http/openapi/schemas.ts. */
  shown?: { meaning: string; inLists: boolean };
};

export const felder = {
  art: {
    kind: 'id',
    meaning: 'Nummer der Art: `id` aus `/arten` dieses Mandanten.',
    column: 'Nummer der Art aus dem Katalog',
  },
  lat: {
    kind: 'number',
    allowed: 'eine Zahl (Hochwert im Koordinatensystem aus srid)',
    meaning: 'Hochwert (geografische Breite) im Koordinatensystem aus `srid`.',
    column: 'Hochwert oder geographische Breite',
  },
  lon: {
    kind: 'number',
    allowed: 'eine Zahl (Rechtswert im Koordinatensystem aus srid)',
    meaning: 'Rechtswert (geografische Länge) im Koordinatensystem aus `srid`.',
    column: 'Rechtswert oder geographische Länge',
  },
  srid: {
    kind: 'word',
    words: ['EPSG:25832', 'EPSG:4326', 'EPSG:3857'],
    empty: 'EPSG:25832',
    meaning: 'Koordinatensystem von `lat` und `lon`.',
    column: 'EPSG:25832 (Standard), EPSG:4326 oder EPSG:3857',
  },
  anzahl: {
    kind: 'integer',
    min: 1,
    max: 20000,
    empty: 1,
    meaning: 'Anzahl der Individuen.',
    column: 'Individuen, 1 bis 20000 (Standard 1)',
  },
  sensibel: {
    kind: 'boolean',
    empty: false,
    meaning: 'Den genauen Ort nur Ihnen, Experten und Administratoren zeigen.',
    column: 'true: der Ort wird nie genau gezeigt (Standard false)',
    shown: { meaning: 'Die meldende Person hat den Fund als sensibel gekennzeichnet', inLists: true },
  },
  datum: {
    kind: 'date',
    // Today in Europe/Berlin, which is the database's.
    empty: null,
    meaning: 'Tag der Beobachtung, `TT.MM.JJJJ`, vom 01.01.1800 bis heute. Leer gesendet: heute.',
    column: 'TT.MM.JJJJ oder JJJJ-MM-TT (Standard heute)',
  },
  bereich: {
    kind: 'word',
    words: ['privat', 'oeffentlich'],
    absent: 'privat',
    meaning: 'Eigener Bereich (`privat`) oder öffentlich (`oeffentlich`).',
    column: 'privat (Standard) oder oeffentlich',
  },
  bemerkung: {
    kind: 'text',
    maxLength: 4000,
    empty: null,
    meaning: 'Bemerkung: die der meldenden oder die der prüfenden Person, je nachdem, wer sie schickt.',
    column: 'höchstens 4000 Zeichen',
    shown: { meaning: 'Bemerkung der meldenden Person', inLists: true },
  },
  stadium_id: {
    kind: 'id',
    empty: null,
    meaning: 'Nummer des Stadiums, siehe `/stadien`.',
    column: 'Nummer aus stadien.csv',
    shown: { meaning: 'Nummer des Stadiums, siehe /stadien', inLists: false },
  },
  aktivitaet_id: {
    kind: 'id',
    empty: null,
    meaning: 'Nummer der Aktivität, siehe `/aktivitaeten`.',
    column: 'Nummer aus aktivitaeten.csv',
    shown: { meaning: 'Nummer der Aktivität, siehe /aktivitaeten', inLists: false },
  },
  medien_lizenz: {
    kind: 'word',
    words: medienLizenzen,
    empty: '',
    // As the account says.
    absent: null,
    meaning:
      'Lizenz, unter der Fotos und Tonaufnahme weitergegeben werden. Leer gesendet: alle Rechte vorbehalten. Beim Melden nicht gesendet: wie im Konto.',
    column: 'CC0-1.0, CC-BY-4.0 oder CC-BY-NC-4.0, für Fotos und Tonaufnahme (Standard: wie im Konto)',
  },
} as const satisfies Record<string, Feld>;

export type FeldName = keyof typeof felder;

/** Names and fields, in the order of the table. */
export const listFeld = () => Object.entries(felder) as [FeldName, Feld][];

interface ValueOfKind {
  id: number;
  integer: number;
  number: number;
  boolean: boolean;
  /** YYYY-MM-DD */
  date: string;
  text: string;
}
type ValueOf<F extends Feld> =
  | (F extends { words: readonly (infer W)[] } ? W : ValueOfKind[Exclude<F['kind'], 'word'>])
  | (F extends { empty: null } | { absent: null } ? null : never)
  | (F extends { empty: '' } ? '' : never);

/** What a form that was checked holds. */
export type FeldValues = { [name in FeldName]: ValueOf<(typeof felder)[name]> };

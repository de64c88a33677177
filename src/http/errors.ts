// What can go wrong, as users see it: the only place that knows statuses and sentences (D2.1).
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { shorten } from '../guard/text.ts';

interface CatalogueEntry {
  status: ContentfulStatusCode;
  message: string;
  retryAfter?: number;
}

/** The stable codes of the error body. */
export const catalogue = {
  ungueltiger_parameter: { status: 400, message: 'Die Anfrage enthält ungültige Angaben.' },
  ungueltige_anfrage: { status: 400, message: 'Die Anfrage ist nicht lesbar.' },
  nicht_angemeldet: {
    status: 401,
    message: 'Dafür ist eine Anmeldung nötig: X-Auth-User und X-Auth-Token mit einem gültigen Zugangsschlüssel.',
  },
  nicht_erlaubt: { status: 403, message: 'Das ist mit diesem Konto nicht erlaubt.' },
  nicht_gefunden: { status: 404, message: 'Unter dieser Adresse gibt es nichts.' },
  methode_nicht_erlaubt: { status: 405, message: 'Diese Adresse kennt die Methode nicht.' },
  doppelte_meldung: { status: 409, message: 'Diese Beobachtung ist schon gemeldet: gleiche Art, gleicher Ort, gleiches Datum.' },
  adresse_vergeben: { status: 409, message: 'Diese E-Mail-Adresse gehört schon zu einem anderen Konto.' },
  letzter_administrator: {
    status: 409,
    message: 'Der letzte aktive Administrator kann weder gesperrt noch herabgestuft werden.',
  },
  zu_langsam: { status: 408, message: 'Die Anfrage kam zu langsam.' },
  zu_gross: { status: 413, message: 'Die Anfrage ist zu groß.' },
  falscher_inhaltstyp: {
    status: 415,
    message: 'Der Inhalt muss multipart/form-data sein, ohne Dateien auch application/x-www-form-urlencoded.',
  },
  unbekannter_host: { status: 421, message: 'Unter diesem Hostnamen ist kein Portal eingerichtet.' },
  zu_oft: { status: 429, message: 'Das waren zu viele Versuche, bitte später noch einmal.' },
  kopf_zu_gross: { status: 431, message: 'Der Kopf der Anfrage ist zu groß, erlaubt sind zusammen 16 KiB und 100 Felder.' },
  interner_fehler: { status: 500, message: 'Im Dienst ist ein Fehler aufgetreten. Er ist vermerkt.' },
  ueberlastet: { status: 503, message: 'Der Dienst ist gerade nicht erreichbar, bitte gleich noch einmal.', retryAfter: 5 },
} satisfies Record<string, CatalogueEntry>;

export type ErrorCode = keyof typeof catalogue;

/** Fields of a request, each with a sentence that says what is wrong and what is allowed; of a duplicate its id (D2.6). */
export type FieldProblems = Record<string, string | number>;

/** An error that reaches the user. */
export class PortalError extends Error {
  readonly code: ErrorCode;
  readonly fields: FieldProblems;
  readonly headers: Record<string, string>;
  constructor(code: ErrorCode, fields: FieldProblems = {}, headers: Record<string, string> = {}) {
    super(code);
    this.code = code;
    this.fields = fields;
    this.headers = headers;
  }
}

/** The error body of D2.1, with its status and headers. */
export interface ErrorAnswer {
  status: ContentfulStatusCode;
  headers: Record<string, string>;
  body: { error: { status: number; code: ErrorCode; message: string; fields: FieldProblems } };
}

/** `lat ist „abc“, erlaubt ist eine Zahl.` */
export function describeValue(name: string, got: string, allowed: string): string {
  return `${name} ist „${shorten(got)}“, erlaubt ist ${allowed}.`;
}

export const sentences = {
  /** @param allowed null where anything is */
  missing: (name: string, allowed: string | null) =>
    allowed === null ? `${name} fehlt.` : `${name} fehlt, erlaubt ist ${allowed}.`,
  empty: (name: string, allowed: string) => `${name} ist leer, erlaubt ist ${allowed}.`,
  twice: (name: string) => `${name} ist mehrfach angegeben, erlaubt ist eine Angabe.`,
  unreadable: (name: string) => `${name} enthält Zeichen, die nicht gespeichert werden können.`,
  override: 'X-HTTP-Method-Override steht nur bei POST, nur einmal, und erlaubt sind PUT und DELETE.',
  formatWithCallback: 'callback ist nur mit format=json möglich.',
  cursor:
    'cursor gehört nicht zu dieser Anfrage; erlaubt ist die Adresse aus next, mit denselben Filtern und unter demselben Host.',
  both: (name: string, other: string) => `${name} fehlt: ${other} und ${name} werden nur zusammen geändert.`,
  nameless: 'Ein Feld des Formulars hat keinen Namen.',
  fileExpected: (name: string) => `${name} muss eine Datei sein.`,
  /** @param fileFields the names that do take one */
  fileUnexpected: (name: string, fileFields: readonly string[]) =>
    `${name} nimmt keine Datei${fileFields.length > 0 ? `; Dateien gehören in ${fileFields.join(', ')}` : ''}.`,
  fileTooLarge: (name: string, mebibytes: number) => `${name} ist zu groß, erlaubt sind ${mebibytes} MB.`,
  headerTooLarge: (bytes: number, bytesOfAll: number) =>
    `Der Kopf eines Formularfelds ist länger als ${bytes} Bytes, oder die Köpfe aller zusammen länger als ${bytesOfAll}.`,
  tooManyFields: (fields: number) => `Das Formular hat mehr als ${fields} Felder.`,
  fieldsTooLarge: (bytes: number) => `Die Felder des Formulars sind zusammen länger als ${bytes} Bytes.`,
  tooLong: (name: string, characters: number) => `${name} ist zu lang, erlaubt sind höchstens ${characters} Zeichen.`,
  tooManyMarks: (name: string, marks: number) =>
    `${name} enthält zu viele kombinierende Zeichen hintereinander, erlaubt sind ${marks}.`,
} as const;

interface StateEntry {
  code: ErrorCode;
  /** What is wrong with the parameter that the error names, and what is allowed. */
  problem?: string;
  /** Parameters whose values belong to the sentence; without it the one that the error names. */
  about?: readonly string[];
}

const invalid = (problem: string, about?: readonly string[]): StateEntry => ({
  code: 'ungueltiger_parameter',
  problem,
  ...(about && { about }),
});

// SQLSTATEs of sql/code (sql/README.md lists them) and of PostgreSQL.
const states: Record<string, StateEntry> = {
  ANMLD: { code: 'nicht_angemeldet', problem: 'das ist nur angemeldet möglich' },
  NFUND: { code: 'nicht_gefunden' },
  NRCHT: { code: 'nicht_erlaubt' },
  LADMN: { code: 'letzter_administrator' },
  DOPPL: { code: 'doppelte_meldung' },
  NTZER: invalid('das ist schon vergeben'),
  GRUPP: invalid('eine dieser Artengruppen gibt es nicht; erlaubt sind ids aus /artengruppen'),
  ARTUN: invalid('diese Art gibt es in diesem Portal nicht; erlaubt ist eine id aus /arten'),
  STDUN: invalid('dieses Stadium gibt es nicht; erlaubt ist eine id aus /stadien'),
  AKTUN: invalid('diese Aktivität gibt es nicht; erlaubt ist eine id aus /aktivitaeten'),
  MANUN: invalid('diesen Mandanten gibt es nicht; erlaubt ist ein Kürzel'),
  WERTB: invalid('das liegt außerhalb des Wertebereichs des Koordinatensystems in srid'),
  GBIET: invalid('der Ort liegt außerhalb des Gebiets dieses Dienstes', ['lat', 'lon']),
  GBTAU: invalid(
    'der Ort liegt außerhalb des Gebiets dieses Dienstes; vertauscht lägen lat (Hochwert) und lon (Rechtswert) darin',
    ['lat', 'lon'],
  ),
  DATUM: invalid('erlaubt ist ein Tag zwischen dem 01.01.1800 und heute'),
  // A text that is longer than a function takes: the service refuses it before, and names its field.
  '23514': { code: 'ungueltiger_parameter' },
  // A regular expression that PostgreSQL can't compile, and one that ran too long. Neither names a column.
  '2201B': invalid('das ist kein gültiger regulärer Ausdruck von PostgreSQL', ['name_regexp_ci']),
  '57014': invalid('die Suche damit braucht zu lange; bitte einfacher', ['name_regexp_ci']),
};

// PostgreSQL has one code for all syntax errors of regular expressions; what is wrong stands in its message only.
const regexpReasons: [RegExp, string][] = [
  [/parentheses/, 'die runden Klammern passen nicht zusammen'],
  [/brackets/, 'die eckigen Klammern passen nicht zusammen'],
  [/braces/, 'die geschweiften Klammern passen nicht zusammen'],
  [/quantifier operand/, 'eine Wiederholung steht, wo nichts zu wiederholen ist'],
  [/repetition count/, 'die Anzahl einer Wiederholung ist ungültig'],
  [/escape/, 'ein Rückstrich steht vor einem ungültigen Zeichen'],
  [/character class|collating element/, 'diese Zeichenklasse gibt es nicht'],
  [/character range/, 'ein Zeichenbereich ist ungültig'],
  [/too complex|too many/, 'der Ausdruck ist zu verwickelt'],
];

// The database is away, starting, full, can only be read, or its locks are taken.
const unavailable = [/^08/, /^25006$/, /^53/, /^57014$/, /^57P0/, /^55P03$/, /^40/, /^25P0/];
const unavailableCodes = new Set([
  'OVERLOADED',
  'STORAGE',
  'PHOTO_BUSY',
  'PHOTO_UNAVAILABLE',
  'CONNECTION_CLOSED',
  'CONNECTION_ENDED',
  'CONNECTION_DESTROYED',
  'CONNECT_TIMEOUT',
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
]);

/**
 * Turns anything thrown into what the user is told; null when it is a fault of the service.
 * @param sent the parameters or fields that were checked, to be repeated in the sentence
 */
export function toPortalError(error: unknown, sent: ReadonlyMap<string, string[]> = new Map()): PortalError | null {
  if (error instanceof PortalError) return error;
  if (!(error instanceof Error)) return null;
  // drizzle wraps the driver's error.
  const source = 'code' in error ? error : error.cause;
  if (!(source instanceof Error) || !('code' in source) || typeof source.code !== 'string') return null;
  // A statement that was cut off is the fault of a regular expression only where there is one.
  const isOther =
    (source.code === '57014' && !sent.has('name_regexp_ci')) ||
    // Of a table: that is a fault of the service.
    (source.code === '23514' && !('data_type_name' in source));
  const state = isOther ? undefined : states[source.code];
  if (state) {
    const column = 'column_name' in source && typeof source.column_name === 'string' ? source.column_name : null;
    // A login name that is taken is a bad value of a registration; a taken address is a conflict between accounts.
    if (source.code === 'NTZER' && column === 'email') return new PortalError('adresse_vergeben');
    if (source.code === 'DOPPL' && 'detail' in source) return new PortalError(state.code, { id: Number(source.detail) });
    const about = state.about ?? (column === null ? [] : [column]);
    const [name] = about;
    if (state.problem === undefined || name === undefined) return new PortalError(state.code);
    const got = about.map((part) => `${part} ist „${shorten(sent.get(part)?.[0] ?? '')}“`).join(', ');
    const reason =
      source.code === '2201B'
        ? regexpReasons.find(([pattern]) => pattern.test(source.message))?.[1]
        : /^GB/.test(source.code) && looksLikeDegrees(sent)
          ? 'das sieht nach Grad aus: srid=EPSG:4326?'
          : undefined;
    return new PortalError(state.code, { [column ?? name]: `${got}: ${state.problem}${reason ? ` (${reason})` : ''}.` });
  }
  if (unavailableCodes.has(source.code) || unavailable.some((pattern) => pattern.test(String(source.code)))) {
    return new PortalError('ueberlastet');
  }
  return null;
}

// A place in degrees that is called one in metres: the usual slip of apps that show a map.
function looksLikeDegrees(sent: ReadonlyMap<string, string[]>): boolean {
  const [lat, lon] = ['lat', 'lon'].map((name) => Number(sent.get(name)?.[0] ?? Number.NaN)) as [number, number];
  return sent.get('srid')?.[0] !== 'EPSG:4326' && Math.abs(lat) <= 180 && Math.abs(lon) <= 180;
}

/** Status, headers and body for an error. */
export function answerError(error: PortalError): ErrorAnswer {
  const entry: CatalogueEntry = catalogue[error.code];
  const problems = Object.values(error.fields);
  const detailed = [400, 413].includes(entry.status) && problems.length > 0;
  return {
    status: entry.status,
    headers: { ...(entry.retryAfter && { 'Retry-After': String(entry.retryAfter) }), ...error.headers },
    body: {
      error: {
        status: entry.status,
        code: error.code,
        message: detailed ? problems.join(' ') : entry.message,
        fields: error.fields,
      },
    },
  };
}

// What was thrown, as users are told of it: the errors of the database by their SQLSTATE, and what is away or overloaded.
import { shorten } from '../guard/text.ts';
import { type ErrorCode, PortalError } from './wire/portal-error.ts';

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
  NEUBE: { code: 'neu_beginnen' },
  SCHLU: { code: 'schluessel_vergeben' },
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
  ...['OVERLOADED', 'STORAGE', 'MEDIA_UNAVAILABLE', 'CONNECTION_CLOSED', 'CONNECTION_ENDED', 'CONNECTION_DESTROYED'],
  ...['CONNECT_TIMEOUT', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'EHOSTDOWN', 'ENETUNREACH'],
  ...['ENOTFOUND', 'EAI_AGAIN'],
]);

/**
 * Turns anything thrown into what the user is told; null when it is a fault of the service.
 * @param sent the parameters or fields that were checked, to be repeated in the sentence
 */
export function toPortalError(error: unknown, sent: ReadonlyMap<string, string[]> = new Map()): PortalError | null {
  if (error instanceof PortalError) return error;
  if (!(error instanceof Error)) return null;
  if (!('code' in error) || typeof error.code !== 'string') return null;
  // A statement that was cut off is the fault of a regular expression only where there is one.
  const isOther =
    (error.code === '57014' && !sent.has('name_regexp_ci')) ||
    // Of a table: that is a fault of the service.
    (error.code === '23514' && !('data_type_name' in error));
  const state = isOther ? undefined : states[error.code];
  if (state) {
    const column = 'column_name' in error && typeof error.column_name === 'string' ? error.column_name : null;
    // A login name that is taken is a bad value of a registration; a taken address is a conflict between accounts.
    if (error.code === 'NTZER' && column === 'email') return new PortalError('adresse_vergeben');
    if (error.code === 'DOPPL' && 'detail' in error) return new PortalError(state.code, { id: Number(error.detail) });
    const about = state.about ?? (column === null ? [] : [column]);
    const [name] = about;
    if (state.problem === undefined || name === undefined) return new PortalError(state.code);
    const got = about.map((part) => `${part} ist „${shorten(sent.get(part)?.[0] ?? '')}“`).join(', ');
    const reason =
      error.code === '2201B'
        ? regexpReasons.find(([pattern]) => pattern.test(error.message))?.[1]
        : /^GB/.test(error.code) && looksLikeDegrees(sent)
          ? 'das sieht nach Grad aus: srid=EPSG:4326?'
          : undefined;
    return new PortalError(state.code, { [column ?? name]: `${got}: ${state.problem}${reason ? ` (${reason})` : ''}.` });
  }
  if (error.code === 'AUSGABE_ROLLE') return new PortalError('ausgabe_nicht_eingerichtet');
  if (unavailableCodes.has(error.code) || unavailable.some((pattern) => pattern.test(String(error.code)))) {
    return new PortalError('ueberlastet');
  }
  return null;
}

// A place in degrees that is called one in metres: the usual slip of apps that show a map.
function looksLikeDegrees(sent: ReadonlyMap<string, string[]>): boolean {
  const [lat, lon] = ['lat', 'lon'].map((name) => Number(sent.get(name)?.[0] ?? Number.NaN)) as [number, number];
  return sent.get('srid')?.[0] !== 'EPSG:4326' && Math.abs(lat) <= 180 && Math.abs(lon) <= 180;
}

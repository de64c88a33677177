// What can go wrong, as users see it: statuses and sentences (D2.1). Those of what the database refuses are in http/errors.ts.
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { shorten } from '../../guard/text.ts';

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
  nicht_annehmbar: { status: 406, message: 'In keinem der Formate aus Accept gibt es diese Seite.' },
  doppelte_meldung: { status: 409, message: 'Diese Beobachtung ist schon gemeldet: gleiche Art, gleicher Ort, gleiches Datum.' },
  adresse_vergeben: { status: 409, message: 'Diese E-Mail-Adresse gehört schon zu einem anderen Konto.' },
  letzter_administrator: {
    status: 409,
    message: 'Der letzte aktive Administrator kann weder gesperrt noch herabgestuft werden.',
  },
  zu_langsam: { status: 408, message: 'Die Anfrage kam zu langsam.' },
  schluessel_vergeben: {
    status: 422,
    message: 'Mit diesem Idempotency-Key kam schon eine andere Entscheidung; für eine neue Anfrage bitte einen neuen.',
  },
  neu_beginnen: {
    status: 410,
    message:
      'Dieser cursor gehört zu einer anderen Installation, oder die Datenbank wurde auf einen früheren Stand zurückgesetzt; bitte ohne seit neu beginnen.',
  },
  zu_gross: { status: 413, message: 'Die Anfrage ist zu groß.' },
  falscher_inhaltstyp: {
    status: 415,
    message: 'Der Inhalt muss multipart/form-data sein, ohne Dateien auch application/x-www-form-urlencoded.',
  },
  unbekannter_host: { status: 421, message: 'Unter diesem Hostnamen ist kein Portal eingerichtet.' },
  zu_oft: { status: 429, message: 'Das waren zu viele Versuche, bitte später noch einmal.' },
  kopf_zu_gross: { status: 431, message: 'Der Kopf der Anfrage ist zu groß, erlaubt sind 16 KiB.' },
  interner_fehler: { status: 500, message: 'Im Dienst ist ein Fehler aufgetreten. Er ist vermerkt.' },
  ausgabe_nicht_eingerichtet: {
    status: 503,
    message:
      'Diese Ausgabe ist nicht eingerichtet: Der Dienst darf die Datenbankrolle gis_public nicht annehmen. npm run migrate sagt, was zu tun ist.',
    retryAfter: 300,
  },
  datei_in_arbeit: {
    status: 503,
    message: 'Diese Datei wird gerade neu gemacht, weil sich etwas geändert hat; bitte in einigen Minuten noch einmal.',
    retryAfter: 120,
  },
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
  fileEmpty: (name: string) =>
    `${name} ist leer: Die Datei hat keinen Inhalt. Soll ${name} leer sein, wird das Feld ohne Datei gesendet.`,
  fileExpected: (name: string) => `${name} muss eine Datei sein.`,
  /** @param fileFields the names that do take one */
  fileUnexpected: (name: string, fileFields: readonly string[]) =>
    `${name} nimmt keine Datei${fileFields.length > 0 ? `; Dateien gehören in ${fileFields.join(', ')}` : ''}.`,
  fileTooLarge: (name: string, mebibytes: number) => `${name} ist zu groß, erlaubt sind ${mebibytes} MB.`,
  headersTooLarge: (bytes: number) => `Die Köpfe der Formularfelder sind zusammen länger als ${bytes} Bytes.`,
  tooManyFields: (fields: number) => `Das Formular hat mehr als ${fields} Felder.`,
  fieldsTooLarge: (bytes: number) => `Die Felder des Formulars sind zusammen länger als ${bytes} Bytes.`,
  tooLong: (name: string, characters: number) => `${name} ist zu lang, erlaubt sind höchstens ${characters} Zeichen.`,
  tooManyMarks: (name: string, marks: number) =>
    `${name} enthält zu viele kombinierende Zeichen hintereinander, erlaubt sind ${marks}.`,
} as const;

/** Status and headers for an error, and its body (D2.1). */
export function answerError({ code, fields, headers }: PortalError) {
  const { status, message, retryAfter }: CatalogueEntry = catalogue[code];
  const problems = Object.values(fields);
  const detailed = [400, 404, 413].includes(status) && problems.length > 0;
  return {
    status,
    headers: { ...(retryAfter && { 'Retry-After': String(retryAfter) }), ...headers },
    body: { error: { status, code, message: detailed ? problems.join(' ') : message, fields } },
  };
}

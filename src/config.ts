// The only reader of the environment: one table of settings, from which --help and docs/operations/settings.md are made. Wrong values
// stop the start with one line (D5).
import { join } from 'node:path';
import { CronExpressionParser } from 'cron-parser';

/** A setting that can't be used; the message is for the operator and names what is allowed. */
export class ConfigError extends Error {}

/** A setting: its default as it would be written, what it means, and what its text is read as. */
interface Setting<T> {
  fallback: string | null;
  meaning: string;
  read(text: string, name: string): T;
}

/** Null without a default, where nothing is set. */
type Read<S> = S extends { fallback: null; read(text: string, name: string): infer T }
  ? T | null
  : S extends Setting<infer T>
    ? T
    : never;

const text = <const F extends string | null>(fallback: F, meaning: string) => ({
  fallback,
  meaning,
  read: (value: string) => value,
});

/** Something that must look like this. */
const checked = <const F extends string | null>(
  fallback: F,
  meaning: string,
  isAllowed: (value: string) => boolean,
  problem: (name: string, value: string) => string,
) => ({
  fallback,
  meaning,
  read(value: string, name: string) {
    if (!isAllowed(value)) throw new ConfigError(problem(name, value));
    return value;
  },
});

const integer = <const F extends string | null>(fallback: F, min: number, max: number, meaning: string) => ({
  fallback,
  meaning,
  read(value: string, name: string) {
    if (!/^\d{1,9}$/.test(value) || Number(value) < min || Number(value) > max)
      throw new ConfigError(`${name} ist „${value}“, erlaubt ist eine ganze Zahl von ${min} bis ${max}.`);
    return Number(value);
  },
});

const flag = (fallback: 'true' | 'false', meaning: string) => ({
  fallback,
  meaning,
  read: (value: string, name: string) => readFlag(value, name),
});

function readFlag(value: string, name: string, others = ''): boolean {
  if (/^(true|1|on|yes)$/i.test(value)) return true;
  if (/^(false|0|off|no)$/i.test(value)) return false;
  throw new ConfigError(`${name} ist „${value.toLowerCase()}“, erlaubt sind true und false${others}.`);
}

const oneOf = <const T extends string>(fallback: T, values: readonly T[], meaning: string) => ({
  fallback,
  meaning,
  read(value: string, name: string) {
    const found = values.find((each) => each === value.toLowerCase());
    if (found === undefined) throw new ConfigError(`${name} ist „${value.toLowerCase()}“, erlaubt sind ${values.join(', ')}.`);
    return found;
  },
});

// Addresses of databases, of the mail server and of boundaries are not repeated: passwords stand in them.
const database = (meaning: string) =>
  checked(
    null,
    meaning,
    (value) => /^postgres(ql)?:\/\/\S+$/.test(value),
    (name, value) =>
      /\s/.test(value)
        ? `${name} nennt mehrere Adressen, erlaubt ist eine: HAProxy oder PgBouncer wählen dahinter den Server (docs/operations/database.md).`
        : `${name} beginnt nicht mit postgres:// oder postgresql://.`,
  );

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/** Every setting. */
export const settings = {
  DATABASE_URL: database('PostgreSQL 15 oder neuer mit PostGIS 3.3 oder neuer; ohne Angabe: eingebettete Datenbank in DATA_DIR'),
  MIGRATE_DATABASE_URL: database(
    'dieselbe Datenbank mit der Rolle, der sie gehört: für Migrationen und Befehle; ohne Angabe: DATABASE_URL, soweit deren Rolle das darf',
  ),
  DIRECT_DATABASE_URL: database(
    'dieselbe Datenbank ohne Umweg, wenn DATABASE_URL zu einem Pooler wie PgBouncer führt: für Aufträge und alles, was eine Verbindung lange hält',
  ),
  DATABASE_READ_URL: database(
    'eine Adresse für Kopien derselben Datenbank (hot standby): Von dort kommt, was ohne Anmeldung gelesen wird; ohne Angabe: DATABASE_URL',
  ),
  DB_POOL: integer(
    null,
    4,
    200,
    'Verbindungen zur Datenbank für Anfragen, dazu 2 als Reserve; ohne Angabe: doppelt so viele wie Rechenkerne, 4 bis 16',
  ),
  DATA_DIR: text(
    '.data',
    'Verzeichnis der eingebetteten Datenbank, der Fotos und Tonaufnahmen, auch beim Hochladen, der Mails und des Schlüssels',
  ),
  HOST: text('127.0.0.1', 'Adresse, auf der der Dienst lauscht'),
  PORT: integer('8080', 0, 65535, 'Port, auf dem der Dienst lauscht'),
  PUBLIC_URL: checked(
    null,
    'Adresse eines Mandanten von außen, {domain} ist seine erste Domain; ohne Angabe: http://{domain}:PORT',
    (value) => URL.canParse(value.replaceAll('{domain}', 'example.org')) && /^https?:\/\//.test(value),
    (name, value) => `${name} ist „${value}“, erlaubt ist eine Adresse mit http oder https, etwa https://{domain}.`,
  ),
  DEFAULT_TENANT: text(null, 'Kürzel des Mandanten für unbekannte Hosts; ohne Angabe: 421'),
  TRUST_PROXY: {
    fallback: 'false',
    meaning:
      'X-Forwarded-Host, -Proto und -For vorgeschalteter Server glauben: true (einer), ihre Anzahl (bis 9) oder false; es zählt, was der äußerste von ihnen eintrug',
    read: (value: string, name: string) =>
      /^[2-9]$/.test(value) ? Number(value) : Number(readFlag(value, name, ', oder die Anzahl der Server, 1 bis 9')),
  },
  SMTP_URL: checked(
    null,
    'Mailserver, etwa smtps://name:passwort@mail.example.org; ohne Angabe: Dateien in DATA_DIR/mail',
    (value) => /^smtps?:\/\//.test(value) && URL.canParse(value),
    (name) => `${name} beginnt nicht mit smtp:// oder smtps://.`,
  ),
  MAIL_FROM: text(null, 'Absender der Mails; nötig mit SMTP_URL'),
  MEDIA_URL: text(null, 'Ablage der Fotos und Tonaufnahmen: Verzeichnis oder s3://bucket/präfix; ohne Angabe: DATA_DIR/media'),
  AWS_ENDPOINT_URL: text(null, 'Adresse des S3-Servers; ohne Angabe: Amazon in AWS_REGION'),
  AWS_REGION: text('us-east-1', 'Region des S3-Servers'),
  AWS_ACCESS_KEY_ID: text(null, 'Kennung für S3; nötig mit s3://'),
  AWS_SECRET_ACCESS_KEY: text(null, 'geheimer Schlüssel für S3; nötig mit s3://'),
  AWS_SESSION_TOKEN: text(null, 'befristeter Schlüssel für S3, falls der Server einen verlangt'),
  PHOTO_WORKERS: integer(
    null,
    1,
    64,
    'Fotos und Tonaufnahmen, die zugleich bearbeitet werden, aus einem Netz eine weniger; ohne Angabe: 2 oder 3, je nach Rechenkernen; über 3 nur mit UV_THREADPOOL_SIZE von 2 mehr',
  ),
  MAX_UPLOADS: integer(
    '32',
    1,
    1000,
    'Meldungen mit Dateien, die zugleich angenommen werden, aus einem Netz ein Viertel; weitere: 503',
  ),
  MAX_UPLOADS_PER_ACCOUNT: integer('2', 1, 1000, 'davon von einem Konto zugleich; weitere: 503'),
  MAX_WRITES_PER_ACCOUNT: integer(
    '100000',
    1,
    100_000_000,
    'Meldungen und Änderungen eines Kontos an einem Tag, je Prozess; weitere: 429',
  ),
  MAX_CONNECTIONS: integer('2000', 10, 100_000, 'Verbindungen zugleich; weitere werden geschlossen'),
  MAX_CONNECTIONS_PER_NETWORK: integer(
    '150',
    1,
    100_000,
    'davon aus einem Netz (IPv4-Adresse, IPv6 /64); weitere: 503; nur ohne TRUST_PROXY',
  ),
  CONNECTION_RATE: integer(
    '500',
    1,
    100_000,
    'neue Verbindungen aus einem Netz je Sekunde; weitere werden geschlossen; nur ohne TRUST_PROXY',
  ),
  HEADERS_TIMEOUT: integer('15', 1, 600, 'Sekunden, in denen der Kopf einer Anfrage da sein muss'),
  REQUEST_TIMEOUT: integer('900', 10, 86_400, 'Sekunden, in denen eine ganze Anfrage da sein muss'),
  DRAIN_SECONDS: integer(
    '1',
    0,
    5,
    'Sekunden nach einem Signal, in denen noch alles beantwortet wird und /health/ready schon nein sagt',
  ),
  PROCESS_ROLE: oneOf(
    'all',
    ['all', 'web', 'worker'],
    'Was dieser Prozess tut: web (Anfragen), worker (Mails und andere Aufträge) oder all',
  ),
  BOUNDARY_URL: checked(
    null,
    'GeoJSON mit den Grenzen der Mandanten (https, http oder file); ohne Angabe: Grenzen bleiben, wie sie sind',
    (value) => /^(https?|file):\/\//.test(value) && URL.canParse(value),
    (name) => `${name} ist keine Adresse mit https, http oder file.`,
  ),
  BOUNDARY_KEY: text('kuerzel', 'Eigenschaft, die den Mandanten nennt: seinen schluessel oder sein kuerzel'),
  BOUNDARY_FILTER: checked(
    null,
    'nur Features mit dieser Eigenschaft, etwa GF=4',
    (value) => /^[^=]+=.+$/.test(value),
    (name, value) => `${name} ist „${value}“, erlaubt ist Eigenschaft=Wert, etwa GF=4.`,
  ),
  BOUNDARY_CRON: checked(
    '0 3 * * *',
    'wann die Grenzen geholt werden: Minute Stunde Tag Monat Wochentag, Europe/Berlin',
    isCron,
    (name, value) => `${name} ist „${value}“, erlaubt sind fünf Felder: Minute Stunde Tag Monat Wochentag, etwa 0 3 * * *.`,
  ),
  BOUNDARY_ALLOW_PRIVATE: flag('false', 'BOUNDARY_URL darf auf private Adressen zeigen, auch auf diesen Rechner (true, false)'),
  EXPORT_CRON: checked(
    '0 4 * * *',
    'wann die Dateien zum Veröffentlichen entstehen: Minute Stunde Tag Monat Wochentag, Europe/Berlin',
    isCron,
    (name, value) => `${name} ist „${value}“, erlaubt sind fünf Felder: Minute Stunde Tag Monat Wochentag, etwa 0 4 * * *.`,
  ),
  EXPORT_GBIF_URL: checked(
    'https://api.gbif.org/v1',
    'Register, das export publish --gbif um einen Abruf bittet',
    (value) => /^https?:\/\//.test(value) && URL.canParse(value),
    (name) => `${name} ist keine Adresse mit https oder http, etwa https://api.gbif.org/v1.`,
  ),
  GBIF_USER: text(null, 'Konto bei diesem Register; nötig mit --gbif'),
  GBIF_PASSWORD: text(null, 'sein Passwort'),
  EXPERTEN_NUR_ZUSTAENDIG: flag(
    'false',
    'Experten sehen wahre Orte geschützter Meldungen nur in ihren Artengruppen (true, false); in allen Prozessen gleich',
  ),
  TOKEN_TTL_DAYS: integer('30', 1, 36500, 'Tage, die ein Zugangsschlüssel nach der letzten Benutzung gilt'),
  KEEP_ATTEMPTS_DAYS: integer(
    '1',
    1,
    365,
    'Tage, die gezählte Versuche bleiben (falsche Passwörter, Registrierungen, Links), als Prüfsummen',
  ),
  KEEP_NETWORKS_DAYS: integer(
    '90',
    1,
    3650,
    'Tage, die ein Netz einem Konto nach der letzten Anmeldung daraus bekannt bleibt, als Prüfsumme',
  ),
  KEEP_MAILS_DAYS: integer(
    '7',
    1,
    365,
    'Tage, die verschickte Mails vermerkt bleiben, und Mails ohne SMTP_URL als Dateien in DATA_DIR/mail',
  ),
  KEEP_DEAD_MAILS_DAYS: integer('30', 1, 365, 'Tage, die Aufträge für Mails bleiben, die nicht zuzustellen waren'),
  KEEP_UNCONFIRMED_DAYS: integer(
    '14',
    7,
    3650,
    'Tage, die eine Registrierung bleibt, deren Link niemand benutzt hat; mindestens 7, so lange gilt er',
  ),
  ANSWER_CACHE_MB: integer(
    '8',
    0,
    1024,
    'Arbeitsspeicher in MiB für Antworten, nach denen oft gefragt wird, solange sich nichts ändert; 0: keiner',
  ),
  LOG_LEVEL: oneOf('info', logLevels, `Ausführlichkeit des Protokolls: ${logLevels.join(', ')}`),
  LOG_REQUESTS: flag(
    'true',
    'jede Anfrage hinterlässt eine Zeile im Protokoll; false: nur die, an denen der Dienst gescheitert ist (5xx)',
  ),
  METRICS_TOKEN: text(
    null,
    'Authorization: Bearer … für /metrics; ohne Angabe antwortet es nur diesem Rechner, mit TRUST_PROXY niemandem',
  ),
  SECRET_KEY: checked(
    null,
    'mindestens 32 Zeichen, gleich für alle Instanzen; ohne Angabe beim ersten Start in DATA_DIR/secret.key erzeugt',
    (value) => value.length >= 32,
    (name, value) => `${name} hat ${value.length} Zeichen, nötig sind mindestens 32.`,
  ),
  PG_BIN: text(null, 'Verzeichnis von pg_dump und pg_restore für Sicherungen; ohne Angabe: wo PATH sie findet'),
  KARTE_HINTERGRUND_URL: checked(
    null,
    'Kacheln unter der Karte, mit {z}, {x} und {y}: Bilder, oder Vektorkacheln (.mvt, .pbf); ohne Angabe: nur die Grenzen',
    isTileUrl,
    (name) =>
      `${name} ist keine Adresse mit https oder http und {z}, {x} und {y}, etwa https://tiles.example.org/{z}/{x}/{y}.png.`,
  ),
  KARTE_HINTERGRUND_QUELLE: text(
    null,
    'wem der Hintergrund zu verdanken ist, etwa © OpenStreetMap-Mitwirkende; steht auf der Karte',
  ),
} satisfies Record<string, Setting<unknown>>;

type Name = keyof typeof settings;
type Values = { [N in Name]: Read<(typeof settings)[N]> };
type Environment = Readonly<Record<string, string | undefined>>;

/** What settings were called in the release before, which is still understood. */
const formerNames: { readonly [name in Name]?: string } = {
  DATABASE_READ_URL: 'DATABASE_REPLICA_URL',
  DRAIN_SECONDS: 'HANDOVER',
  PROCESS_ROLE: 'ROLE',
  BOUNDARY_ALLOW_PRIVATE: 'BOUNDARY_PRIVATE',
};

/** Settings of the release before that nothing depends on. */
const formerSettings = ['MIN_RECEIVE_RATE', 'MIN_SEND_RATE', 'REPLICA_MAX_LAG_S'];

export type Config = ReturnType<typeof loadConfig>;

/**
 * Reads the configuration.
 * @throws ConfigError naming the variable, its value and what is allowed
 */
export function loadConfig(env: Environment) {
  const textOf = (name: string) => env[name]?.trim() || null;
  const readOne = (name: Name) => {
    const former = formerNames[name];
    const value = textOf(name) ?? (former === undefined ? null : textOf(former)) ?? settings[name].fallback;
    return [name, value === null ? null : settings[name].read(value, name)];
  };
  const values = Object.fromEntries((Object.keys(settings) as Name[]).map(readOne)) as Values;
  for (const name of ['MIGRATE_DATABASE_URL', 'DIRECT_DATABASE_URL', 'DATABASE_READ_URL'] as const)
    if (values[name] !== null && values.DATABASE_URL === null)
      throw new ConfigError(`${name} steht ohne DATABASE_URL da: Dort läuft der Dienst selbst.`);
  if (values.SMTP_URL !== null && values.MAIL_FROM === null)
    throw new ConfigError('MAIL_FROM fehlt: Mit SMTP_URL ist ein Absender nötig.');
  const [, property = '', value = ''] = /^([^=]+)=(.+)$/.exec(values.BOUNDARY_FILTER ?? '') ?? [];
  return {
    /** What an operator is told at the start of settings of the release before. */
    notes: [
      ...Object.entries(formerNames).flatMap(([name, former]) =>
        textOf(former) === null ? [] : `${former} heißt jetzt ${name}; der alte Name gilt nur noch in dieser Version.`,
      ),
      ...formerSettings.flatMap((name) => (textOf(name) === null ? [] : `${name} hat keine Wirkung mehr und kann wegfallen.`)),
    ],
    databaseUrl: values.DATABASE_URL,
    migrateDatabaseUrl: values.MIGRATE_DATABASE_URL,
    directDatabaseUrl: values.DIRECT_DATABASE_URL,
    readDatabaseUrl: values.DATABASE_READ_URL,
    ...(values.DB_POOL !== null && { dbPool: values.DB_POOL }),
    dataDir: values.DATA_DIR,
    host: values.HOST,
    port: values.PORT,
    publicUrl: (values.PUBLIC_URL ?? `http://{domain}:${values.PORT}`).replace(/(?<!\/)\/+$/, ''),
    defaultTenant: values.DEFAULT_TENANT,
    /** Proxies in front that are believed; 0: none. */
    trustedHops: values.TRUST_PROXY,
    tokenTtlDays: values.TOKEN_TTL_DAYS,
    /** Days that what is kept of people stays (D7.4). */
    keepDays: {
      attempts: values.KEEP_ATTEMPTS_DAYS,
      networks: values.KEEP_NETWORKS_DAYS,
      mails: values.KEEP_MAILS_DAYS,
      deadMails: values.KEEP_DEAD_MAILS_DAYS,
      unconfirmed: values.KEEP_UNCONFIRMED_DAYS,
    },
    answerCacheBytes: values.ANSWER_CACHE_MB * 1024 * 1024,
    smtpUrl: values.SMTP_URL,
    mailFrom: values.MAIL_FROM ?? 'Artenportal <noreply@localhost>',
    media: readMediaPlace(values),
    ...(values.PHOTO_WORKERS !== null && { photoWorkers: values.PHOTO_WORKERS }),
    maxUploads: values.MAX_UPLOADS,
    maxUploadsPerAccount: values.MAX_UPLOADS_PER_ACCOUNT,
    maxWritesPerAccount: values.MAX_WRITES_PER_ACCOUNT,
    maxConnections: values.MAX_CONNECTIONS,
    maxConnectionsPerNetwork: values.MAX_CONNECTIONS_PER_NETWORK,
    connectionRate: values.CONNECTION_RATE,
    headersTimeoutSeconds: values.HEADERS_TIMEOUT,
    requestTimeoutSeconds: values.REQUEST_TIMEOUT,
    drainSeconds: values.DRAIN_SECONDS,
    startedByNpm: env.npm_lifecycle_event !== undefined,
    role: values.PROCESS_ROLE,
    /** Null: boundaries are not refreshed. */
    boundary:
      values.BOUNDARY_URL === null
        ? null
        : {
            url: values.BOUNDARY_URL,
            key: values.BOUNDARY_KEY,
            filter: values.BOUNDARY_FILTER === null ? null : { property: property.trim(), value: value.trim() },
            cron: values.BOUNDARY_CRON,
            allowPrivate: values.BOUNDARY_ALLOW_PRIVATE,
          },
    exportCron: values.EXPORT_CRON,
    expertenNurZustaendig: values.EXPERTEN_NUR_ZUSTAENDIG,
    gbif: { url: values.EXPORT_GBIF_URL.replace(/\/$/, ''), user: values.GBIF_USER, password: values.GBIF_PASSWORD },
    logLevel: values.LOG_LEVEL,
    logRequests: values.LOG_REQUESTS,
    metricsToken: values.METRICS_TOKEN,
    secretKey: values.SECRET_KEY,
    programs: { directory: values.PG_BIN, environment: readProgramEnvironment(env) } satisfies Programs,
    karteHintergrund:
      values.KARTE_HINTERGRUND_URL === null
        ? null
        : { url: values.KARTE_HINTERGRUND_URL, quelle: values.KARTE_HINTERGRUND_QUELLE },
  };
}

/** How pg_dump and pg_restore are found and run. */
export interface Programs {
  /** Null: along PATH. */
  directory: string | null;
  /** What they need of the environment; it holds no setting of this service. */
  environment: Record<string, string>;
}

// libpq's own, such as PGSSLROOTCERT, and what a program needs to run at all. Never PGOPTIONS, which could make a dump another one.
function readProgramEnvironment(env: Environment): Record<string, string> {
  const wanted = /^(PG(?!OPTIONS$|_BIN$)[A-Z]+|PATH|HOME|TMPDIR|SystemRoot)$/;
  const kept = Object.entries(env).flatMap(([name, value]) => (value !== undefined && wanted.test(name) ? [[name, value]] : []));
  return { ...Object.fromEntries(kept), LC_ALL: 'C' };
}

/** Where photos and sound files are kept. */
export type MediaPlace = { directory: string } | S3Place;

export interface S3Place {
  bucket: string;
  /** Without slashes at its ends; empty for none. */
  prefix: string;
  settings: S3Settings;
}

/** How an S3 server is reached; names as other S3 clients have them. */
export interface S3Settings {
  /** Address of the server, https://s3.eu-central-1.amazonaws.com; the bucket becomes the first part of the path. */
  endpoint: string;
  region: string;
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
}

function readMediaPlace(values: Values): MediaPlace {
  const url = values.MEDIA_URL;
  if (url === null) return { directory: join(values.DATA_DIR, 'media') };
  if (!/^[a-z0-9+.-]+:\/\//i.test(url)) return { directory: url };
  const [, bucket, prefix = ''] = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([\w./-]*))?$/.exec(url) ?? [];
  if (bucket === undefined) {
    throw new ConfigError(
      `MEDIA_URL ist „${url}“, erlaubt sind ein Verzeichnis und s3://bucket/präfix (im Präfix Buchstaben, Ziffern, Punkt, - _ /).`,
    );
  }
  return { bucket, prefix: prefix.replace(/^\/+|(?<!\/)\/+$/g, ''), settings: readS3(values) };
}

function readS3(values: Values): S3Settings {
  const endpoint = values.AWS_ENDPOINT_URL ?? `https://s3.${values.AWS_REGION}.amazonaws.com`;
  if (!/^https?:\/\/[^/]+\/?$/.test(endpoint) || !URL.canParse(endpoint))
    throw new ConfigError(`AWS_ENDPOINT_URL ist „${endpoint}“, erlaubt ist eine Adresse mit http oder https, ohne Pfad.`);
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey, AWS_SESSION_TOKEN: sessionToken } = values;
  if (accessKeyId === null || secretAccessKey === null)
    throw new ConfigError('AWS_ACCESS_KEY_ID und AWS_SECRET_ACCESS_KEY fehlen: Für s3:// sind sie nötig.');
  return { endpoint, region: values.AWS_REGION, accessKeyId, secretAccessKey, ...(sessionToken !== null && { sessionToken }) };
}

/** The table of settings as text. */
export function describeSettings(): string {
  const width = Math.max(...Object.keys(settings).map((name) => name.length)) + 2;
  const lines = Object.entries(settings).map(([name, { fallback, meaning }]) => {
    const standard = fallback === null ? '' : ` [${fallback}]`;
    return `  ${name.padEnd(width)}${meaning}${standard}`;
  });
  return ['Umgebungsvariablen [Vorgabe]:', ...lines].join('\n');
}

// The places stand in path or query: a host with one would be many hosts.
function isTileUrl(url: string): boolean {
  const [, places = ''] = /^https?:\/\/[a-z0-9.:[\]-]+(\/.*)$/i.exec(url) ?? [];
  return ['{z}', '{x}', '{y}'].every((place) => places.includes(place)) && !/[\s"'<>;,]/.test(url) && URL.canParse(url);
}

// By the parser that the queue uses, which alone knows when it is; of its dialects that with five fields.
function isCron(schedule: string): boolean {
  try {
    return schedule.split(/\s+/).length === 5 && CronExpressionParser.parse(schedule).hasNext();
  } catch {
    return false;
  }
}

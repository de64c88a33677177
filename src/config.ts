// The only reader of the environment. Wrong values stop the start with one line (D5).
import { join } from 'node:path';
import { CronExpressionParser } from 'cron-parser';

export interface Config {
  /** What an operator is told of settings of an earlier release. */
  notes: string[];
  databaseUrl: string | null;
  /** Connection of the owner, where the service has a role with fewer rights; null: migrated by databaseUrl, if that may. */
  migrateDatabaseUrl: string | null;
  /** The database itself, where databaseUrl goes through a pooler; null: it does not. */
  directDatabaseUrl: string | null;
  /** Where the same database may be read, a little older: replicas behind one address; null: by databaseUrl. */
  readDatabaseUrl: string | null;
  /** Connections for requests; without it by cores. */
  dbPool?: number;
  dataDir: string;
  host: string;
  port: number;
  publicUrl: string;
  defaultTenant: string | null;
  /** Proxies in front that are believed; 0: none. */
  trustedHops: number;
  tokenTtlDays: number;
  /** Days that what is kept of people stays (D7.4). */
  keepDays: { attempts: number; networks: number; mails: number; deadMails: number; unconfirmed: number };
  /** What answers that are kept in memory may take together. */
  answerCacheBytes: number;
  /** null: mails become files in DATA_DIR/mail. */
  smtpUrl: string | null;
  mailFrom: string;
  media: MediaPlace;
  /** Threads that make photos small and clean sound files; without it by cores. */
  photoWorkers?: number;
  /** Requests with files that may be under way at once, and those of one account. */
  maxUploads: number;
  maxUploadsPerAccount: number;
  maxWritesPerAccount: number;
  maxConnections: number;
  maxConnectionsPerNetwork: number;
  /** New connections of a network in a second. */
  connectionRate: number;
  headersTimeoutSeconds: number;
  requestTimeoutSeconds: number;
  handoverSeconds: number;
  startedByNpm: boolean;
  /** Bytes a second that a body must come with, and that an answer must be read with. */
  minReceiveRate: number;
  minSendRate: number;
  role: Role;
  /** null: boundaries are not refreshed. */
  boundary: {
    url: string;
    key: string;
    filter: { property: string; value: string } | null;
    cron: string;
    allowPrivate: boolean;
  } | null;
  logLevel: LogLevel;
  /** Each request leaves a line, not only those that failed. */
  logRequests: boolean;
  /** null: /metrics answers to this machine only. */
  metricsToken: string | null;
  /** null: made at the first start and kept in DATA_DIR. */
  secretKey: string | null;
  /** What backups call. */
  programs: Programs;
  /** Tiles of another host below the map, and whom they are owed to; null: none. */
  karteHintergrund: { url: string; quelle: string | null } | null;
}

/** How pg_dump and pg_restore are found and run. */
export interface Programs {
  /** null: along PATH. */
  directory: string | null;
  /** What they need of the environment; it holds no setting of this service. */
  environment: Record<string, string>;
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

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
type LogLevel = (typeof logLevels)[number];
const roles = ['all', 'web', 'worker'] as const;
type Role = (typeof roles)[number];

/** A setting that can't be used; the message is for the operator and names what is allowed. */
export class ConfigError extends Error {}

interface Setting {
  fallback: string | null;
  meaning: string;
}

/** Every setting with its default and meaning; `--help` prints this table. */
export const settings = {
  DATABASE_URL: {
    fallback: null,
    meaning: 'PostgreSQL 15 oder neuer mit PostGIS 3.3 oder neuer; ohne Angabe: eingebettete Datenbank in DATA_DIR',
  },
  MIGRATE_DATABASE_URL: {
    fallback: null,
    meaning:
      'dieselbe Datenbank mit der Rolle, der sie gehört: für Migrationen und Befehle; ohne Angabe: DATABASE_URL, soweit deren Rolle das darf',
  },
  DIRECT_DATABASE_URL: {
    fallback: null,
    meaning:
      'dieselbe Datenbank ohne Umweg, wenn DATABASE_URL zu einem Pooler wie PgBouncer führt: für Aufträge und alles, was eine Verbindung lange hält',
  },
  DATABASE_READ_URL: {
    fallback: null,
    meaning:
      'eine Adresse für Kopien derselben Datenbank (hot standby): Von dort kommt, was ohne Anmeldung gelesen wird; ohne Angabe: DATABASE_URL',
  },
  DB_POOL: {
    fallback: null,
    meaning:
      'Verbindungen zur Datenbank für Anfragen, dazu 2 als Reserve; ohne Angabe: doppelt so viele wie Rechenkerne, 4 bis 16',
  },
  DATA_DIR: {
    fallback: '.data',
    meaning:
      'Verzeichnis der eingebetteten Datenbank, der Fotos und Tonaufnahmen, auch beim Hochladen, der Mails und des Schlüssels',
  },
  HOST: { fallback: '127.0.0.1', meaning: 'Adresse, auf der der Dienst lauscht' },
  PORT: { fallback: '8080', meaning: 'Port, auf dem der Dienst lauscht' },
  PUBLIC_URL: {
    fallback: null,
    meaning: 'Adresse eines Mandanten von außen, {domain} ist seine erste Domain; ohne Angabe: http://{domain}:PORT',
  },
  DEFAULT_TENANT: { fallback: null, meaning: 'Kürzel des Mandanten für unbekannte Hosts; ohne Angabe: 421' },
  TRUST_PROXY: {
    fallback: 'false',
    meaning:
      'X-Forwarded-Host, -Proto und -For vorgeschalteter Server glauben: true (einer), ihre Anzahl (bis 9) oder false; es zählt, was der äußerste von ihnen eintrug',
  },
  SMTP_URL: {
    fallback: null,
    meaning: 'Mailserver, etwa smtps://name:passwort@mail.example.org; ohne Angabe: Dateien in DATA_DIR/mail',
  },
  MAIL_FROM: { fallback: null, meaning: 'Absender der Mails; nötig mit SMTP_URL' },
  MEDIA_URL: {
    fallback: null,
    meaning: 'Ablage der Fotos und Tonaufnahmen: Verzeichnis oder s3://bucket/präfix; ohne Angabe: DATA_DIR/media',
  },
  AWS_ENDPOINT_URL: { fallback: null, meaning: 'Adresse des S3-Servers; ohne Angabe: Amazon in AWS_REGION' },
  AWS_REGION: { fallback: 'us-east-1', meaning: 'Region des S3-Servers' },
  AWS_ACCESS_KEY_ID: { fallback: null, meaning: 'Kennung für S3; nötig mit s3://' },
  AWS_SECRET_ACCESS_KEY: { fallback: null, meaning: 'geheimer Schlüssel für S3; nötig mit s3://' },
  AWS_SESSION_TOKEN: { fallback: null, meaning: 'befristeter Schlüssel für S3, falls der Server einen verlangt' },
  PHOTO_WORKERS: {
    fallback: null,
    meaning:
      'Fotos und Tonaufnahmen, die zugleich bearbeitet werden, aus einem Netz eine weniger; ohne Angabe: 2 bis 4, je nach Rechenkernen',
  },
  MAX_UPLOADS: {
    fallback: '32',
    meaning: 'Meldungen mit Dateien, die zugleich angenommen werden, aus einem Netz ein Viertel; weitere: 503',
  },
  MAX_UPLOADS_PER_ACCOUNT: { fallback: '2', meaning: 'davon von einem Konto zugleich; weitere: 503' },
  MAX_WRITES_PER_ACCOUNT: {
    fallback: '100000',
    meaning: 'Meldungen und Änderungen eines Kontos an einem Tag, je Prozess; weitere: 429',
  },
  MAX_CONNECTIONS: { fallback: '2000', meaning: 'Verbindungen zugleich; weitere werden geschlossen' },
  MAX_CONNECTIONS_PER_NETWORK: {
    fallback: '150',
    meaning: 'davon aus einem Netz (IPv4-Adresse, IPv6 /64); weitere: 503; nur ohne TRUST_PROXY',
  },
  CONNECTION_RATE: {
    fallback: '500',
    meaning: 'neue Verbindungen aus einem Netz je Sekunde; weitere werden geschlossen; nur ohne TRUST_PROXY',
  },
  HEADERS_TIMEOUT: { fallback: '15', meaning: 'Sekunden, in denen der Kopf einer Anfrage da sein muss' },
  REQUEST_TIMEOUT: { fallback: '900', meaning: 'Sekunden, in denen eine ganze Anfrage da sein muss' },
  HANDOVER: {
    fallback: '1',
    meaning: 'Sekunden nach einem Signal, in denen noch alles beantwortet wird und /health/ready schon nein sagt; 0 bis 5',
  },
  MIN_RECEIVE_RATE: {
    fallback: '4096',
    meaning: 'Bytes je Sekunde, die von einer Anfrage nach 10 Sekunden mindestens kommen müssen; sonst 408',
  },
  MIN_SEND_RATE: {
    fallback: '32768',
    meaning: 'Bytes je Sekunde, mit denen eine Antwort nach 10 Sekunden mindestens gelesen werden muss; sonst wird geschlossen',
  },
  ROLE: { fallback: 'all', meaning: 'Was dieser Prozess tut: web (Anfragen), worker (Mails und andere Aufträge) oder all' },
  BOUNDARY_URL: {
    fallback: null,
    meaning: 'GeoJSON mit den Grenzen der Mandanten (https, http oder file); ohne Angabe: Grenzen bleiben, wie sie sind',
  },
  BOUNDARY_KEY: {
    fallback: 'kuerzel',
    meaning: 'Eigenschaft, die den Mandanten nennt: seinen schluessel oder sein kuerzel',
  },
  BOUNDARY_FILTER: { fallback: null, meaning: 'nur Features mit dieser Eigenschaft, etwa GF=4' },
  BOUNDARY_CRON: {
    fallback: '0 3 * * *',
    meaning: 'wann die Grenzen geholt werden: Minute Stunde Tag Monat Wochentag, Europe/Berlin',
  },
  BOUNDARY_PRIVATE: {
    fallback: 'false',
    meaning: 'BOUNDARY_URL darf auf private Adressen zeigen, auch auf diesen Rechner (true, false)',
  },
  TOKEN_TTL_DAYS: { fallback: '30', meaning: 'Tage, die ein Zugangsschlüssel nach der letzten Benutzung gilt' },
  KEEP_ATTEMPTS_DAYS: {
    fallback: '1',
    meaning: 'Tage, die gezählte Versuche bleiben (falsche Passwörter, Registrierungen, Links), als Prüfsummen',
  },
  KEEP_NETWORKS_DAYS: {
    fallback: '90',
    meaning: 'Tage, die ein Netz einem Konto nach der letzten Anmeldung daraus bekannt bleibt, als Prüfsumme',
  },
  KEEP_MAILS_DAYS: {
    fallback: '7',
    meaning: 'Tage, die verschickte Mails vermerkt bleiben, und Mails ohne SMTP_URL als Dateien in DATA_DIR/mail',
  },
  KEEP_DEAD_MAILS_DAYS: { fallback: '30', meaning: 'Tage, die Aufträge für Mails bleiben, die nicht zuzustellen waren' },
  KEEP_UNCONFIRMED_DAYS: {
    fallback: '14',
    meaning: 'Tage, die eine Registrierung bleibt, deren Link niemand benutzt hat; mindestens 7, so lange gilt er',
  },
  ANSWER_CACHE_MB: {
    fallback: '8',
    meaning: 'Arbeitsspeicher in MiB für Antworten, nach denen oft gefragt wird, solange sich nichts ändert; 0: keiner',
  },
  LOG_LEVEL: { fallback: 'info', meaning: `Ausführlichkeit des Protokolls: ${logLevels.join(', ')}` },
  LOG_REQUESTS: {
    fallback: 'true',
    meaning: 'jede Anfrage hinterlässt eine Zeile im Protokoll; false: nur die, an denen der Dienst gescheitert ist (5xx)',
  },
  METRICS_TOKEN: {
    fallback: null,
    meaning: 'Authorization: Bearer … für /metrics; ohne Angabe antwortet es nur diesem Rechner, mit TRUST_PROXY niemandem',
  },
  SECRET_KEY: {
    fallback: null,
    meaning: 'mindestens 32 Zeichen, gleich für alle Instanzen; ohne Angabe beim ersten Start in DATA_DIR/secret.key erzeugt',
  },
  PG_BIN: {
    fallback: null,
    meaning: 'Verzeichnis von pg_dump und pg_restore für Sicherungen; ohne Angabe: wo PATH sie findet',
  },
  KARTE_HINTERGRUND_URL: {
    fallback: null,
    meaning:
      'Kacheln unter der Karte, mit {z}, {x} und {y}: Bilder, oder Vektorkacheln (.mvt, .pbf); ohne Angabe: nur die Grenzen',
  },
  KARTE_HINTERGRUND_QUELLE: {
    fallback: null,
    meaning: 'wem der Hintergrund zu verdanken ist, etwa © OpenStreetMap-Mitwirkende; steht auf der Karte',
  },
} satisfies Record<string, Setting>;

/** What settings were called in the last release, which is still understood. */
const formerNames: { [name in keyof typeof settings]?: string } = {
  DATABASE_READ_URL: 'DATABASE_REPLICA_URL',
};

/** Settings of the last release that nothing depends on. */
const formerSettings = ['REPLICA_MAX_LAG_S'];

/**
 * Reads the configuration.
 * @throws ConfigError naming the variable, its value and what is allowed
 */
export function loadConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const valueIn = (name: string) => env[name]?.trim() || null;
  const read: Read = (name) => valueIn(name) ?? valueIn(formerNames[name] ?? '') ?? settings[name].fallback;
  const readInteger = (name: keyof typeof settings, min: number, max: number): number => {
    const value = read(name) ?? '';
    if (!/^\d{1,9}$/.test(value) || Number(value) < min || Number(value) > max) {
      throw new ConfigError(`${name} ist „${value}“, erlaubt ist eine ganze Zahl von ${min} bis ${max}.`);
    }
    return Number(value);
  };
  const readIntegerIfSet = (name: keyof typeof settings, min: number, max: number) =>
    read(name) === null ? undefined : readInteger(name, min, max);
  const readBoolean = (name: keyof typeof settings): boolean => {
    const value = (read(name) ?? '').toLowerCase();
    if (['true', '1', 'on', 'yes'].includes(value)) return true;
    if (['false', '0', 'off', 'no'].includes(value)) return false;
    const others = name === 'TRUST_PROXY' ? ', oder die Anzahl der Server, 1 bis 9' : '';
    throw new ConfigError(`${name} ist „${value}“, erlaubt sind true und false${others}.`);
  };
  const readHops = (): number => {
    const value = read('TRUST_PROXY') ?? '';
    return /^[2-9]$/.test(value) ? Number(value) : Number(readBoolean('TRUST_PROXY'));
  };

  const port = readInteger('PORT', 0, 65535);
  const databaseUrl = read('DATABASE_URL');
  const migrateDatabaseUrl = read('MIGRATE_DATABASE_URL');
  // The value itself is not repeated: it may hold a password.
  const directDatabaseUrl = read('DIRECT_DATABASE_URL');
  const readDatabaseUrl = read('DATABASE_READ_URL');
  if (readDatabaseUrl !== null && /\s/.test(readDatabaseUrl))
    throw new ConfigError(
      'DATABASE_READ_URL nennt mehrere Adressen, erlaubt ist eine: HAProxy oder PgBouncer wählen dahinter die Kopie (docs/operations/database.md).',
    );
  const databaseUrls = {
    DATABASE_URL: databaseUrl,
    MIGRATE_DATABASE_URL: migrateDatabaseUrl,
    DIRECT_DATABASE_URL: directDatabaseUrl,
    DATABASE_READ_URL: readDatabaseUrl,
  };
  for (const [name, url] of Object.entries(databaseUrls)) {
    if (url !== null && !/^postgres(ql)?:\/\//.test(url))
      throw new ConfigError(`${name} beginnt nicht mit postgres:// oder postgresql://.`);
    if (url !== null && databaseUrl === null)
      throw new ConfigError(`${name} steht ohne DATABASE_URL da: Dort läuft der Dienst selbst.`);
  }
  const publicUrl = read('PUBLIC_URL') ?? `http://{domain}:${port}`;
  if (!URL.canParse(publicUrl.replaceAll('{domain}', 'example.org')) || !/^https?:\/\//.test(publicUrl)) {
    throw new ConfigError(`PUBLIC_URL ist „${publicUrl}“, erlaubt ist eine Adresse mit http oder https, etwa https://{domain}.`);
  }
  const secretKey = read('SECRET_KEY');
  if (secretKey !== null && secretKey.length < 32) {
    throw new ConfigError(`SECRET_KEY hat ${secretKey.length} Zeichen, nötig sind mindestens 32.`);
  }
  const smtpUrl = read('SMTP_URL');
  // Like DATABASE_URL, it may hold a password.
  if (smtpUrl !== null && !(/^smtps?:\/\//.test(smtpUrl) && URL.canParse(smtpUrl))) {
    throw new ConfigError('SMTP_URL beginnt nicht mit smtp:// oder smtps://.');
  }
  const mailFrom = read('MAIL_FROM');
  if (smtpUrl !== null && mailFrom === null) throw new ConfigError('MAIL_FROM fehlt: Mit SMTP_URL ist ein Absender nötig.');
  const dataDir = read('DATA_DIR') ?? '.data';
  const media = readMediaPlace(read, dataDir);
  const role = (read('ROLE') ?? '').toLowerCase();
  if (!isOneOf(roles, role)) throw new ConfigError(`ROLE ist „${role}“, erlaubt sind ${roles.join(', ')}.`);
  const boundaryUrl = read('BOUNDARY_URL');
  // Not repeated either: keys of services stand in such addresses.
  if (boundaryUrl !== null && !(/^(https?|file):\/\//.test(boundaryUrl) && URL.canParse(boundaryUrl))) {
    throw new ConfigError('BOUNDARY_URL ist keine Adresse mit https, http oder file.');
  }
  const boundaryFilter = read('BOUNDARY_FILTER');
  const [, property, value] = /^([^=]+)=(.+)$/.exec(boundaryFilter ?? '') ?? [];
  if (boundaryFilter !== null && (property === undefined || value === undefined)) {
    throw new ConfigError(`BOUNDARY_FILTER ist „${boundaryFilter}“, erlaubt ist Eigenschaft=Wert, etwa GF=4.`);
  }
  const boundaryCron = read('BOUNDARY_CRON') ?? '';
  if (!isCron(boundaryCron)) {
    throw new ConfigError(
      `BOUNDARY_CRON ist „${boundaryCron}“, erlaubt sind fünf Felder: Minute Stunde Tag Monat Wochentag, etwa 0 3 * * *.`,
    );
  }
  const boundaryPrivate = readBoolean('BOUNDARY_PRIVATE');
  const hintergrund = read('KARTE_HINTERGRUND_URL');
  if (hintergrund !== null && !isTileUrl(hintergrund)) {
    throw new ConfigError(
      'KARTE_HINTERGRUND_URL ist keine Adresse mit https oder http und {z}, {x} und {y}, etwa https://tiles.example.org/{z}/{x}/{y}.png.',
    );
  }
  const logLevel = (read('LOG_LEVEL') ?? '').toLowerCase();
  if (!isOneOf(logLevels, logLevel)) {
    throw new ConfigError(`LOG_LEVEL ist „${logLevel}“, erlaubt sind ${logLevels.join(', ')}.`);
  }
  const dbPool = readIntegerIfSet('DB_POOL', 4, 200);
  const photoWorkers = readIntegerIfSet('PHOTO_WORKERS', 1, 64);
  return {
    databaseUrl,
    migrateDatabaseUrl,
    directDatabaseUrl,
    readDatabaseUrl,
    notes: [
      ...Object.entries(formerNames).flatMap(([name, former]) =>
        valueIn(former) === null ? [] : `${former} heißt jetzt ${name}; der alte Name gilt nur noch in dieser Version.`,
      ),
      ...formerSettings
        .filter((name) => valueIn(name) !== null)
        .map((name) => `${name} hat keine Wirkung mehr und kann wegfallen.`),
    ],
    ...(dbPool !== undefined && { dbPool }),
    dataDir,
    host: read('HOST') ?? '127.0.0.1',
    port,
    publicUrl: publicUrl.replace(/(?<!\/)\/+$/, ''),
    defaultTenant: read('DEFAULT_TENANT'),
    trustedHops: readHops(),
    answerCacheBytes: readInteger('ANSWER_CACHE_MB', 0, 1024) * 1024 * 1024,
    tokenTtlDays: readInteger('TOKEN_TTL_DAYS', 1, 36500),
    keepDays: {
      attempts: readInteger('KEEP_ATTEMPTS_DAYS', 1, 365),
      networks: readInteger('KEEP_NETWORKS_DAYS', 1, 3650),
      mails: readInteger('KEEP_MAILS_DAYS', 1, 365),
      deadMails: readInteger('KEEP_DEAD_MAILS_DAYS', 1, 365),
      unconfirmed: readInteger('KEEP_UNCONFIRMED_DAYS', 7, 3650),
    },
    smtpUrl,
    mailFrom: mailFrom ?? 'Artenportal <noreply@localhost>',
    media,
    ...(photoWorkers !== undefined && { photoWorkers }),
    maxUploads: readInteger('MAX_UPLOADS', 1, 1000),
    maxUploadsPerAccount: readInteger('MAX_UPLOADS_PER_ACCOUNT', 1, 1000),
    maxWritesPerAccount: readInteger('MAX_WRITES_PER_ACCOUNT', 1, 100_000_000),
    maxConnections: readInteger('MAX_CONNECTIONS', 10, 100_000),
    maxConnectionsPerNetwork: readInteger('MAX_CONNECTIONS_PER_NETWORK', 1, 100_000),
    connectionRate: readInteger('CONNECTION_RATE', 1, 100_000),
    headersTimeoutSeconds: readInteger('HEADERS_TIMEOUT', 1, 600),
    requestTimeoutSeconds: readInteger('REQUEST_TIMEOUT', 10, 86_400),
    handoverSeconds: readInteger('HANDOVER', 0, 5),
    startedByNpm: env.npm_lifecycle_event !== undefined,
    minReceiveRate: readInteger('MIN_RECEIVE_RATE', 0, 10_000_000),
    minSendRate: readInteger('MIN_SEND_RATE', 1, 10_000_000),
    role,
    boundary:
      boundaryUrl === null
        ? null
        : {
            url: boundaryUrl,
            key: read('BOUNDARY_KEY') ?? '',
            filter: property === undefined || value === undefined ? null : { property: property.trim(), value: value.trim() },
            cron: boundaryCron,
            allowPrivate: boundaryPrivate,
          },
    logLevel,
    logRequests: readBoolean('LOG_REQUESTS'),
    metricsToken: read('METRICS_TOKEN'),
    secretKey,
    programs: { directory: read('PG_BIN'), environment: readProgramEnvironment(env) },
    karteHintergrund: hintergrund === null ? null : { url: hintergrund, quelle: read('KARTE_HINTERGRUND_QUELLE') },
  };
}

// libpq's own, such as PGSSLROOTCERT, and what a program needs to run at all. Never PGOPTIONS, which could make a dump another one.
function readProgramEnvironment(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const wanted = /^(PG(?!OPTIONS$|_BIN$)[A-Z]+|PATH|HOME|TMPDIR|SystemRoot)$/;
  const kept = Object.entries(env).flatMap(([name, value]) => (value !== undefined && wanted.test(name) ? [[name, value]] : []));
  return { ...Object.fromEntries(kept), LC_ALL: 'C' };
}

type Read = (name: keyof typeof settings) => string | null;

function readMediaPlace(read: Read, dataDir: string): MediaPlace {
  const url = read('MEDIA_URL');
  if (url === null) return { directory: join(dataDir, 'media') };
  if (!/^[a-z0-9+.-]+:\/\//i.test(url)) return { directory: url };
  const [, bucket, prefix = ''] = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([\w./-]*))?$/.exec(url) ?? [];
  if (bucket === undefined) {
    throw new ConfigError(
      `MEDIA_URL ist „${url}“, erlaubt sind ein Verzeichnis und s3://bucket/präfix (im Präfix Buchstaben, Ziffern, Punkt, - _ /).`,
    );
  }
  return { bucket, prefix: prefix.replace(/^\/+|(?<!\/)\/+$/g, ''), settings: readS3(read) };
}

function readS3(read: Read): S3Settings {
  const region = read('AWS_REGION') ?? '';
  const endpoint = read('AWS_ENDPOINT_URL') ?? `https://s3.${region}.amazonaws.com`;
  if (!/^https?:\/\/[^/]+\/?$/.test(endpoint) || !URL.canParse(endpoint)) {
    throw new ConfigError(`AWS_ENDPOINT_URL ist „${endpoint}“, erlaubt ist eine Adresse mit http oder https, ohne Pfad.`);
  }
  const [accessKeyId, secretAccessKey] = [read('AWS_ACCESS_KEY_ID'), read('AWS_SECRET_ACCESS_KEY')];
  if (accessKeyId === null || secretAccessKey === null) {
    throw new ConfigError('AWS_ACCESS_KEY_ID und AWS_SECRET_ACCESS_KEY fehlen: Für s3:// sind sie nötig.');
  }
  const sessionToken = read('AWS_SESSION_TOKEN');
  return { endpoint, region, accessKeyId, secretAccessKey, ...(sessionToken !== null && { sessionToken }) };
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

function isOneOf<T extends string>(values: readonly T[], value: string): value is T {
  return (values as readonly string[]).includes(value);
}

// The places stand in path or query: a host with one would be many hosts.
function isTileUrl(text: string): boolean {
  const [, places = ''] = /^https?:\/\/[a-z0-9.:[\]-]+(\/.*)$/i.exec(text) ?? [];
  return ['{z}', '{x}', '{y}'].every((place) => places.includes(place)) && !/[\s"'<>;,]/.test(text) && URL.canParse(text);
}

// By the parser that the queue uses, which alone knows when it is; of its dialects that with five fields.
function isCron(text: string): boolean {
  try {
    return text.split(/\s+/).length === 5 && CronExpressionParser.parse(text).hasNext();
  } catch {
    return false;
  }
}

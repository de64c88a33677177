// Connections: to PostgreSQL or to the embedded database, with one code path behind it.
import { mkdir } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { type ConnectOptions, DatabaseError, openClient, type Route, type Sql } from './connection.ts';
import { type EmbeddedDatabase, openEmbedded } from './embedded/database.ts';
import { Hosts, isForPrimary } from './hosts.ts';
import { listServers } from './server.ts';

export { type ConnectOptions, DatabaseError, type Sql, type Transaction } from './connection.ts';

export interface Database {
  kind: 'postgres' | 'embedded';
  /** The pool that answers requests. */
  sql: Sql;
  /** A few more connections like those, for requests that find them all taken. */
  reserve: Sql;
  /** One connection for what every kept answer asks first: versions, one after the other. With the embedded database that of requests. */
  versions: Sql;
  /** For jobs: two connections of their own, past a pooler; with the embedded database those of requests. */
  work: Sql;
  /** A separate client for work that holds a connection for long, or needs other settings; past a pooler. */
  connect(options?: ConnectOptions): Sql;
  /** The servers that a direct connection may lead to, where its address names several. */
  hosts: Hosts | null;
  /** The embedded database as gzip tar, to be opened from again; of PostgreSQL there is none. */
  dump: (() => Promise<Uint8Array>) | null;
  close(): Promise<void>;
}

// Twice the cores: four connections were 40 % faster than one, ten no faster than four. One thread hands out what they bring: with 64
// cores it would hold 128 connections of the server's and wait for itself.
export const poolSizeOf = (cores: number) => Math.min(16, Math.max(4, 2 * cores));
export const poolSize = poolSizeOf(availableParallelism());
// Beside them, for everybody else when one network's requests hold all of those. A pool of their own: as two more of the same, which
// take turns, they made a page 8 % slower.
export const reservedConnections = 2;

/** How requests wait for a connection: 503 within two seconds when all are busy (S5.3); what waits longer was given up by its client. */
export const callBounds = { queue: 500, waitMs: 1500, runMs: 10_000 };
/** The same for what computes for long; of its two connections a network has one. */
export const slowCallBounds = { ...callBounds, slots: 2, share: 1, queue: 40 };
/** Versions that are asked for at once, one behind the other on their connection: each takes a fraction of a millisecond. */
export const versionBounds = { ...callBounds, slots: 8 };
/** Longest statement of a request, and of one with a regular expression, in milliseconds. */
export const statementMs = { usual: 8000, regexp: 500 };

// Compiling takes longer than any of these statements. Times in milliseconds.
export const requestSettings = {
  plan_cache_mode: 'force_generic_plan',
  jit: 'off',
  lock_timeout: 1500,
  statement_timeout: statementMs.usual,
};

/** Where the database is. */
export interface DatabasePlace {
  /** null: embedded. */
  databaseUrl: string | null;
  /** The same database past the pooler that databaseUrl goes through, if any (P2.1). */
  directDatabaseUrl?: string | null;
  dataDir: string;
  /** Connections for requests; by cores without it. */
  dbPool?: number;
  onCrash?: (error: Error) => void;
  /** What an embedded database that is not there yet is made of. */
  loadFrom?: Uint8Array;
}

/** Where the embedded database of a data directory is. */
export const embeddedDirectory = (dataDir: string) => join(dataDir, 'database');

/**
 * Opens PostgreSQL at `databaseUrl`, or the embedded database below `dataDir` without it. Does not connect to PostgreSQL
 * yet: `checkDatabase` does.
 */
export async function openDatabase(options: DatabasePlace | { embedded: EmbeddedDatabase }): Promise<Database> {
  if ('embedded' in options) return databaseOver({ embedded: options.embedded });
  if (options.databaseUrl !== null)
    return databaseOver({ url: options.databaseUrl, directUrl: options.directDatabaseUrl ?? null }, options.dbPool);
  await mkdir(options.dataDir, { recursive: true });
  const { onCrash, loadFrom } = options;
  const dataDir = embeddedDirectory(options.dataDir);
  const embedded = await openEmbedded({ dataDir, ...(onCrash && { onCrash }), ...(loadFrom && { loadFrom }) });
  return databaseOver({ embedded }, options.dbPool);
}

/** The ways to a database. */
interface Routes {
  /** Past a pooler. */
  direct: Route;
  /** Through the pooler, where there is one. */
  pooled: Route | null;
  hosts: Hosts | null;
  close(): Promise<unknown>;
}

type Target = { url: string; directUrl: string | null } | { embedded: EmbeddedDatabase };

function routesOver(target: Target): Routes {
  if ('embedded' in target) {
    const { embedded } = target;
    return { direct: { url: null, socket: embedded.socket }, pooled: null, hosts: null, close: () => embedded.close() };
  }
  const { url, directUrl } = target;
  const hosts = followHosts(directUrl ?? url, false);
  const pooledHosts = directUrl === null ? null : followHosts(url, true);
  return {
    direct: hosts?.route ?? { url: directUrl ?? url },
    pooled: directUrl === null ? null : (pooledHosts?.route ?? { url }),
    hosts,
    close: () => Promise.all([hosts?.close(), pooledHosts?.close()]),
  };
}

function followHosts(url: string, isPooled: boolean): Hosts | null {
  if (listServers(url).length === 1) return null;
  if (!isForPrimary(url))
    throw new DatabaseError(
      'Unter mehreren Datenbankservern wird der primäre gesucht: target_session_attrs kann nur primary oder read-write sein.',
    );
  return new Hosts(url, isPooled);
}

function databaseOver(target: Target, size = poolSize): Database {
  const clients: Sql[] = [];
  const { direct, pooled, hosts, close } = routesOver(target);
  const open = (connect: ConnectOptions, isPooled: boolean): Sql => {
    const sql = openClient((isPooled && pooled) || direct, connect, isPooled);
    clients.push(sql);
    return sql;
  };
  const hasPooler = pooled !== null;
  const sql = open({ max: size, settings: requestSettings }, hasPooler);
  return {
    kind: 'url' in target ? 'postgres' : 'embedded',
    // Plans of the static statements are kept for all values: 0.54 ms a page instead of 0.86.
    // A request that waits for a lock or computes for long holds a connection that others need.
    sql,
    reserve: open({ max: reservedConnections, settings: requestSettings }, hasPooler),
    versions: 'url' in target ? open({ max: 1, settings: requestSettings }, false) : sql,
    // Requests are as many at once as there are connections (src/guard/admission.ts); jobs count nothing. With one of theirs on the same
    // connections the driver sent a request's statement behind another one that went on for seconds; through PgBouncer, which loses
    // answers then, it waited for ever.
    work: 'url' in target ? open({ max: 2, settings: requestSettings }, false) : sql,
    // What a role was given for requests behind a pooler would end a migration.
    connect: ({ settings, ...others } = {}) =>
      open({ ...others, settings: { statement_timeout: 0, lock_timeout: 0, ...settings } }, false),
    hosts,
    dump: 'embedded' in target ? () => target.embedded.dump() : null,
    async close() {
      await Promise.all(clients.map((client) => client.end({ timeout: 5 })));
      await close();
    },
  };
}

/**
 * Checks that the database can carry the service.
 * @throws DatabaseError in one line: no connection, too old, no PostGIS, wrong encoding or collation, read-only
 */
export async function checkDatabase(sql: Sql): Promise<void> {
  let facts: {
    version: number;
    version_text: string;
    encoding: string;
    lowered: string;
    postgis: string | null;
    postgis_schema: string | null;
    read_only: boolean;
  };
  try {
    [facts] = (await sql`
      select current_setting('server_version_num')::integer as version,
        current_setting('server_version') as version_text,
        current_setting('server_encoding') as encoding,
        lower('Ä') as lowered,
        coalesce(
          (select extversion from pg_extension where extname = 'postgis'),
          (select default_version from pg_available_extensions where name = 'postgis')) as postgis,
        (select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace where extname = 'postgis') as postgis_schema,
        current_setting('transaction_read_only') = 'on' as read_only
    `) as unknown as [typeof facts];
  } catch (error) {
    if (error instanceof Error && /^unsupported startup parameter/.test(error.message)) {
      throw new DatabaseError(
        'Vor der Datenbank steht ein Pooler (PgBouncer), der Einstellungen ablehnt: Die Adresse der Datenbank selbst gehört in DIRECT_DATABASE_URL.',
      );
    }
    throw unreachable(error);
  }
  if (facts.version < 150000) {
    throw new DatabaseError(`Die Datenbank ist PostgreSQL ${facts.version_text}, nötig ist 15 oder neuer.`);
  }
  if (facts.postgis === null) {
    throw new DatabaseError('Auf dem Datenbankserver fehlt PostGIS. Unter Debian: apt-get install postgresql-15-postgis-3');
  }
  if (facts.read_only) {
    throw new DatabaseError(
      'Die Datenbank ist schreibgeschützt (Ersatzserver, voller Speicher oder default_transaction_read_only); bitte noch einmal, sobald sie wieder beschrieben werden kann.',
    );
  }
  const [major = 0, minor = 0] = facts.postgis.split('.').map(Number);
  if (major < 3 || (major === 3 && minor < 3)) {
    throw new DatabaseError(`Die Datenbank hat PostGIS ${facts.postgis}, nötig ist 3.3 oder neuer.`);
  }
  if (facts.postgis_schema !== null && facts.postgis_schema !== 'public') {
    throw new DatabaseError(`PostGIS liegt im Schema ${facts.postgis_schema}, nötig ist das Schema public.`);
  }
  if (facts.encoding !== 'UTF8' || facts.lowered !== 'ä') {
    throw new DatabaseError(
      `Die Datenbank kennt keine Umlaute (Zeichensatz ${facts.encoding}). Nötig sind UTF8 und eine Locale wie C.UTF-8 oder de_DE.UTF-8.`,
    );
  }
}

/**
 * Checks that the connections of requests have the settings without which one of them could keep all others waiting (P2.1): a pooler
 * takes them away, and some say nothing.
 * @param isPooled whether the operator said that there is one
 * @throws DatabaseError in one line, with the statements that set them
 */
export async function checkSettings(sql: Sql, isPooled: boolean): Promise<void> {
  let rows: { name: string; setting: string }[];
  let role = '';
  try {
    const names = Object.keys(requestSettings);
    const found = await sql<{ name: string; setting: string; role: string }[]>`
      select s.name, s.setting, quote_ident(session_user) as role from pg_settings s
      where s.name = any (string_to_array(${names.join()}, ','))`;
    rows = found;
    role = found[0]?.role ?? '';
  } catch (error) {
    throw unreachable(error);
  }
  const arrived = new Map(rows.map(({ name, setting }) => [name, setting]));
  const missing = Object.entries(requestSettings).filter(([name, value]) => arrived.get(name) !== String(value));
  if (missing.length === 0) return;
  const statements = missing.map(([name, value]) => `alter role ${role} set ${name} = ${value};`).join(' ');
  throw new DatabaseError(
    isPooled
      ? `Durch den Pooler vor der Datenbank kommen Einstellungen nicht an. Als Administrator: ${statements} Danach den Pooler neu verbinden.`
      : `Einstellungen der Verbindung kommen nicht an, wohl wegen eines Poolers vor der Datenbank. Dann gehört die Adresse der Datenbank selbst in DIRECT_DATABASE_URL, und als Administrator: ${statements}`,
  );
}

/** Whether the database can only be read at present: after a failover, or when its storage is full. */
export async function isReadOnly(sql: Sql): Promise<boolean> {
  const [row] = await sql`select current_setting('transaction_read_only') = 'on' as is_read_only`;
  return row?.is_read_only === true;
}

/** What an operator is told when a connection failed. */
export function unreachable(error: unknown): DatabaseError {
  return new DatabaseError(
    `Die Datenbank ist nicht erreichbar (${describeConnectionError(error)}). Stimmt DATABASE_URL, und läuft der Server?`,
  );
}

// What Node.js says of a certificate whose authority it does not know.
const untrusted = [
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
];
const untrustedReason =
  'wer das Zertifikat des Servers ausgestellt hat, ist unbekannt; NODE_EXTRA_CA_CERTS nennt die eigene Zertifizierungsstelle';

// Only what can't hold a password or a host's name: the code.
function describeConnectionError(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unbekannter Fehler';
  const reasons: Record<string, string> = {
    ECONNREFUSED: 'Verbindung abgelehnt',
    ENOTFOUND: 'Host unbekannt',
    CONNECT_TIMEOUT: 'keine Antwort',
    '28P01': 'falsches Passwort',
    '28000': 'Anmeldung abgelehnt, vielleicht ohne sslmode=require',
    '42704': 'der Server kennt einen Parameter der Adresse nicht',
    ERR_TLS_CERT_ALTNAME_INVALID: 'das Zertifikat des Servers gilt für einen anderen Namen als den in der Adresse',
    CERT_HAS_EXPIRED: 'das Zertifikat des Servers ist abgelaufen',
    ...Object.fromEntries(untrusted.map((each) => [each, untrustedReason])),
    '3D000': 'diese Datenbank gibt es nicht',
  };
  return reasons[code] ?? code;
}

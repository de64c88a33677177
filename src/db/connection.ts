// One client of the driver: what all of them have in common, wherever their connections lead.
import { isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import postgres from 'postgres';

export type Sql = postgres.Sql<{ bigint: number }>;
export type Transaction = postgres.TransactionSql<{ bigint: number }>;

export interface ConnectOptions {
  /** Connections at most. */
  max?: number;
  /** PostgreSQL settings of each connection. */
  settings?: Record<string, string | number>;
  /** json and jsonb parameters are texts already. */
  jsonAsText?: boolean;
}

/** The database can't be used; the message is one line for the operator. */
export class DatabaseError extends Error {}

/** SQLSTATE of an error of the database, or the code of another one. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}

/** Where connections lead. */
export interface Route {
  /** Address of one server: names the account and the database; null for the embedded one. */
  url: string | null;
  /** What connections are made of, where the driver does not make them itself. Never fails: what it returns does. */
  socket?: () => Duplex | Promise<Duplex>;
}

// A new connection costs a server some tens of milliseconds.
const pooledSeconds = 60;

// Those of libpq. The driver takes any other word for the strictest, and checks for an IP address the name localhost.
const tlsModes = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'];

/**
 * Checks an address that the driver would misread. It is never repeated: a password stands in it.
 * @throws DatabaseError in one line
 */
export function requireAddress(url: string): void {
  // Behind account and password, which may hold commas.
  const [, servers = ''] = /^\w+:\/\/(?:[^/?#]*@)?([^/?#]*)/.exec(url) ?? [];
  if (servers.includes(','))
    throw new DatabaseError(
      'Die Adresse der Datenbank nennt mehrere Server, erlaubt ist einer: HAProxy, PgBouncer, Patroni oder CloudNativePG wählen hinter einer Adresse den primären (docs/operations/database.md).',
    );
  if (!isReadable(url))
    throw new DatabaseError(
      'Die Adresse der Datenbank ist nicht lesbar; erlaubt ist postgres://Konto:Passwort@Server:Port/Datenbank, in Konto und Passwort %25 für %, %23 für #, %2F für /, %3F für ? und %40 für @.',
    );
  const { searchParams, hostname } = new URL(url);
  const mode = searchParams.get('sslmode');
  if (mode === null) return;
  if (!tlsModes.includes(mode))
    throw new DatabaseError(`sslmode in der Adresse der Datenbank: erlaubt sind ${tlsModes.join(', ')}.`);
  if (mode.startsWith('verify-') && isIP(hostname.replace(/^\[|\]$/g, '')) !== 0)
    throw new DatabaseError(
      `sslmode=${mode} prüft, für welchen Namen das Zertifikat gilt: In die Adresse der Datenbank gehört dieser Name, nicht die IP-Adresse.`,
    );
}

function isReadable(address: string): boolean {
  try {
    // As the driver does with account and password.
    decodeURIComponent(address);
    return URL.canParse(address);
  } catch {
    return false;
  }
}

/**
 * Opens a client; it connects when it is used.
 * @param isPooled a pooler stands between, which knows no settings, and the next statement may run on another connection, without what was
 *   prepared on this one
 * @throws DatabaseError as requireAddress
 */
export function openClient(
  { url, socket }: Route,
  { max = 1, settings = {}, jsonAsText }: ConnectOptions,
  isPooled = false,
): Sql {
  const options: postgres.Options<{ bigint: postgres.PostgresType<number> }> = {
    max,
    // Types are given with each statement; asking for the database's array types costs a round trip per connection.
    fetch_types: false,
    connect_timeout: 10,
    onnotice: () => {},
    // The driver's own backs off to 20 seconds, and the first caller waits it out.
    backoff: () => 0.2,
    connection: { application_name: 'species-sighting-service', ...(isPooled ? {} : settings) },
    prepare: !isPooled,
    // Ids are integers of the interface: numbers, not strings.
    types: {
      bigint: { to: 20, from: [20], parse: Number, serialize: String },
      ...(jsonAsText && {
        json: { to: 114, from: [114, 3802], parse: JSON.parse, serialize: String },
        jsonb: { to: 3802, from: [], parse: JSON.parse, serialize: String },
      }),
    },
    // Missing in the package's types.
    ...(socket && { socket }),
  };
  if (url === null) return postgres(options);
  requireAddress(url);
  // A connection to a former primary looks as good as any other until something is written there. What is made anew after this time
  // leads to where the address leads then. Of pools only: on one connection somebody may hold locks and temporary tables.
  if (max > 1) options.max_lifetime = pooledSeconds;
  // The driver takes the name as it stands there, `%20` and all.
  const database = decodeURIComponent(new URL(url).pathname.slice(1));
  return postgres(url, { ...options, ...(database !== '' && { database }) });
}

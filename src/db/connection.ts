// One client of the driver: what all of them have in common, wherever their connections lead.
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

/** Where connections lead. */
export interface Route {
  /** Address of one server: names the account and the database; null for the embedded one. */
  url: string | null;
  /** What connections are made of, where the driver does not make them itself. Never fails: what it returns does. */
  socket?: () => Duplex | Promise<Duplex>;
}

/**
 * Opens a client; it connects when it is used.
 * @param isPooled a pooler stands between, which knows no settings, and the next statement may run on another connection, without what was
 *   prepared on this one
 */
export function openClient(
  { url, socket }: Route,
  { max = 1, settings = {}, jsonAsText }: ConnectOptions,
  isPooled = false,
): Sql {
  const options = {
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
  // The driver takes the name as it stands there, `%20` and all.
  const database = decodeURIComponent(new URL(url).pathname.slice(1));
  return postgres(url, { ...options, ...(database !== '' && { database }) });
}

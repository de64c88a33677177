// Connections: to PostgreSQL or to the embedded database, with one code path behind it.
import { mkdir } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { type ConnectOptions, openClient, type Route, type Sql } from './connection.ts';
import { type EmbeddedDatabase, openEmbedded } from './embedded/database.ts';

export { type ConnectOptions, codeOf, DatabaseError, type Sql, type Transaction } from './connection.ts';

export interface Database {
  kind: 'postgres' | 'embedded';
  /** The pool that answers requests. */
  sql: Sql;
  /** A pool like that of requests, at the address for reading, where there is one. */
  reads: Sql | null;
  /** A small pool that cuts a statement off after half a second (D1.10); null where the database can't do that. */
  regexp: Sql | null;
  /** For jobs: two connections of their own, past a pooler; with the embedded database those of requests. */
  work: Sql;
  /** A separate client for work that holds a connection for long, or needs other settings; past a pooler. */
  connect(options?: ConnectOptions): Sql;
  /** The embedded database as gzip tar, to be opened from again; of PostgreSQL there is none. */
  dump: (() => Promise<Uint8Array>) | null;
  close(): Promise<void>;
}

// Twice the cores: four connections were 40 % faster than one, ten no faster than four. One thread hands out what they bring: with 64
// cores it would hold 128 connections of the server's and wait for itself.
export const poolSizeOf = (cores: number) => Math.min(16, Math.max(4, 2 * cores));
export const poolSize = poolSizeOf(availableParallelism());
// More than these, for everybody else when one network's requests hold all of them.
export const reservedConnections = 2;

/** How requests wait for a connection: 503 within two seconds when all are busy (S5.3). */
export const callBounds = (connections: number, kind: Database['kind'] = 'postgres') => ({
  slots: connections + reservedConnections,
  // The embedded database answers one after the other: more than one of a network would stand before those of others.
  share: kind === 'embedded' ? 1 : connections,
  queue: 500,
  waitMs: 1500,
});
/** The same for regular expressions, which are cut off soon. */
export const regexpCallBounds = { slots: 2, share: 1, queue: 40, waitMs: 1500 };
/** Longest call in milliseconds: the driver may wait for ever for a server that is cut off. */
export const callMs = 10_000;
/** Longest statement of a request, and of one with a regular expression, in milliseconds. */
export const statementMs = { usual: 8000, regexp: 500 };

// Compiling takes longer than any of these statements, and a statement that takes several processes takes them past all limits: two slow lists
// were six of them. Times in milliseconds.
export const requestSettings = {
  plan_cache_mode: 'force_generic_plan',
  jit: 'off',
  // As a text: the driver leaves out a zero.
  max_parallel_workers_per_gather: '0',
  lock_timeout: 1500,
  statement_timeout: statementMs.usual,
};

/** Runs this with a client of its own, which is closed afterwards. */
export async function withClient<T>(database: Database, options: ConnectOptions, run: (sql: Sql) => Promise<T>): Promise<T> {
  const sql = database.connect(options);
  try {
    return await run(sql);
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/** Where the database is. */
export interface DatabasePlace {
  /** null: embedded. */
  databaseUrl: string | null;
  /** The same database past the pooler that databaseUrl goes through, if any (P2.1). */
  directDatabaseUrl?: string | null;
  /** Where the same database may be read, a little older: one or more replicas behind one address (P3.3). */
  readDatabaseUrl?: string | null;
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
  if ('embedded' in options) return databaseOver(options.embedded);
  const { databaseUrl, dbPool, onCrash, loadFrom } = options;
  if (databaseUrl !== null) return databaseOver({ ...options, databaseUrl }, dbPool);
  await mkdir(options.dataDir, { recursive: true });
  const dataDir = embeddedDirectory(options.dataDir);
  return databaseOver(await openEmbedded({ dataDir, ...(onCrash && { onCrash }), ...(loadFrom && { loadFrom }) }), dbPool);
}

function databaseOver(target: EmbeddedDatabase | (DatabasePlace & { databaseUrl: string }), size = poolSize): Database {
  const clients: Sql[] = [];
  const place = 'databaseUrl' in target ? target : null;
  const embedded = 'databaseUrl' in target ? null : target;
  const directUrl = place?.directDatabaseUrl ?? null;
  const routeOf = (url: string | null): Route => (embedded ? { url: null, socket: embedded.socket } : { url });
  const pooled = routeOf(place?.databaseUrl ?? null);
  const direct = routeOf(directUrl ?? pooled.url);
  const hasPooler = directUrl !== null;
  const open = (connect: ConnectOptions, isPooled: boolean, route = isPooled ? pooled : direct): Sql => {
    const sql = openClient(route, connect, isPooled);
    clients.push(sql);
    return sql;
  };
  const sql = open({ max: size + reservedConnections, settings: requestSettings }, hasPooler);
  return {
    kind: embedded ? 'embedded' : 'postgres',
    // Plans of the static statements are kept for all values: 0.54 ms a page instead of 0.86.
    // A request that waits for a lock or computes for long holds a connection that others need.
    sql,
    // Where the one address is a pooler's, the other may be too: settings are the role's then, on replicas as on the primary.
    reads: place?.readDatabaseUrl
      ? open({ max: size + reservedConnections, settings: requestSettings }, hasPooler, { url: place.readDatabaseUrl })
      : null,
    regexp: embedded
      ? null
      : open({ max: regexpCallBounds.slots, settings: { ...requestSettings, statement_timeout: statementMs.regexp } }, false),
    // Requests are as many at once as there are connections (src/guard/limit.ts); jobs count nothing. With one of theirs on the same
    // connections the driver sent a request's statement behind another one that went on for seconds; through PgBouncer, which loses
    // answers then, it waited for ever.
    work: embedded ? sql : open({ max: 2, settings: requestSettings }, false),
    // What a role was given for requests behind a pooler would end a migration.
    connect: ({ settings, ...others } = {}) =>
      open({ ...others, settings: { statement_timeout: 0, lock_timeout: 0, ...settings } }, false),
    dump: embedded ? () => embedded.dump() : null,
    async close() {
      await Promise.all(clients.map((client) => client.end({ timeout: 5 })));
      await embedded?.close();
    },
  };
}

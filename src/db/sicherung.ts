// What a backup is told of a database, and what is done to one that is made of a backup (P5.1). Read from the tables themselves: a
// backup may be of another release than this program.
import { type Database, DatabaseError, type Sql, type Transaction, withClient } from './client.ts';
import { oneRow, oneValue } from './row.ts';

/** The schemas of the service: what is backed up. Those that analysts have are theirs. */
export const serviceSchemas = ['portal', 'private', 'api', 'gis', 'ausgabe', 'drizzle', 'pgboss'] as const;

/** How many rows the tables have by which it is checked that everything came back. */
export type Umfang = Record<'mandant' | 'art' | 'nutzer' | 'sichtbeobachtung' | 'protokoll' | 'qs' | 'abgleich', number>;

/** Which database this is. */
export interface Herkunft {
  /** Release of the functions in it. */
  version: string;
  /** Names the installation. */
  installation: string;
  /** Version of the server. */
  server: string;
  /** Hashes of the migrations, in their order. */
  migrationen: string[];
}

/** One moment of a database. */
export interface Moment {
  herkunft: Herkunft;
  anzahl: Umfang;
  /** Names of the files that records have then. */
  medien: string[];
}

// Many rows are counted, and the programs of PostgreSQL take as long as they take. Named, because migrations tell whom they wait for.
const patient = {
  application_name: 'Sicherung',
  statement_timeout: 0,
  lock_timeout: 0,
  idle_in_transaction_session_timeout: 0,
};

/** A connection without the bounds of requests. */
export const connectPatiently = (database: Database): Sql => database.connect({ settings: patient });

/** The present one, or that of a snapshot. */
export async function getMoment(sql: Sql | Transaction): Promise<Moment> {
  const [herkunft] = await sql<Herkunft[]>`
    select array_to_string(i.code_release, '.') as version, md5('abgleich ' || i.guid_namespace) as installation,
      current_setting('server_version') as server,
      array_to_json(array(select m.hash from drizzle.__drizzle_migrations m order by m.created_at)) as migrationen
    from portal.installation i`;
  if (!herkunft) throw new DatabaseError('Die Datenbank ist nicht migriert: npm run migrate');
  const medien = await sql<{ name: string }[]>`
    select u.name
    from portal.sichtbeobachtung s
    cross join lateral unnest(array[s.foto, s.foto_2, s.foto_3, s.biotopfoto, s.audio]) u (name)
    where u.name is not null
    group by u.name`;
  return { herkunft, anzahl: await getUmfang(sql), medien: medien.map(({ name }) => name) };
}

/** Row counts of a database that was just made of a backup, or is backed up. */
export async function getUmfang(sql: Sql | Transaction): Promise<Umfang> {
  return oneRow(sql<Umfang[]>`
    select (select count(*) from portal.mandant) as mandant, (select count(*) from portal.art) as art,
      (select count(*) from portal.nutzer) as nutzer, (select count(*) from portal.sichtbeobachtung) as sichtbeobachtung,
      (select count(*) from portal.protokoll) as protokoll, (select count(*) from portal.qs) as qs,
      (select count(*) from portal.abgleich) as abgleich`);
}

/**
 * Keeps stored files from being removed while `run` goes on. By a transaction that has no snapshot: a copy of all files may take
 * hours, in which the database must go on tidying up.
 * @param warn told when the database is of a release that knows no such lock
 */
export async function holdMedia<T>(database: Database, warn: (sentence: string) => void, run: () => Promise<T>): Promise<T> {
  // One process has the embedded database, and it does nothing else now.
  if (database.kind === 'embedded') return run();
  return withClient(database, { settings: patient }, async (client) => {
    const held = await client.begin(async (tx) => {
      const hasLock = await oneValue<boolean>(tx`select to_regprocedure('api.require_medium_lock()') is not null`);
      if (hasLock) await tx`select api.require_medium_lock()`;
      else
        warn(
          'Die Datenbank ist von einer älteren Version: Fotos, die während der Sicherung gelöscht werden, können darin fehlen',
        );
      const result = await run();
      // Without the connection nothing was kept from being removed.
      await tx`select`;
      return { result };
    });
    return held.result;
  });
}

/** Calls `run` with a snapshot that other connections may use meanwhile, and what the database is in it. */
export async function holdSnapshot<T>(database: Database, run: (snapshot: string, moment: Moment) => Promise<T>): Promise<T> {
  return withClient(database, { settings: patient }, async (client) => {
    const held = await client.begin('isolation level repeatable read read only', async (tx) => {
      const snapshot = await oneValue<string>(tx`select pg_export_snapshot()`);
      return { result: await run(snapshot, await getMoment(tx)) };
    });
    return held.result;
  });
}

/** Schemas with tables or views that are neither the service's nor an extension's. */
export async function listForeignSchemas(sql: Sql): Promise<string[]> {
  const found = await listSchemas(sql);
  return found.filter(({ name, relations }) => !isOurs(name) && relations > 0).map(({ name }) => name);
}

/** @throws DatabaseError that names what is in the database, when that is anything of the service's or any table; or the missing right */
export async function requireEmptyDatabase(sql: Sql): Promise<void> {
  if (!(await oneValue<boolean>(sql`select has_database_privilege(current_database(), 'create')`)))
    throw new DatabaseError(
      'Diese Datenbankrolle darf in der Datenbank nichts anlegen: In MIGRATE_DATABASE_URL gehört die Rolle, der sie gehört. Danach noch einmal restore.',
    );
  const found = (await listSchemas(sql)).filter(({ name, relations }) => isOurs(name) || relations > 0);
  if (found.length === 0) return;
  const names = found.map(({ name, relations }) => `${name} (${relations} ${relations === 1 ? 'Tabelle' : 'Tabellen'})`);
  throw new DatabaseError(
    `Die Datenbank ist nicht leer. Gefunden: Schema ${names.join(', ')}. Zurückgespielt wird nur in eine leere Datenbank.`,
  );
}

const isOurs = (name: string) => (serviceSchemas as readonly string[]).includes(name);

// With the tables and views in them that no extension brought.
async function listSchemas(sql: Sql): Promise<{ name: string; relations: number }[]> {
  return sql<{ name: string; relations: number }[]>`
    select n.nspname as name, (
      select count(*)::integer
      from pg_class c
      where c.relnamespace = n.oid and c.relkind in ('r', 'p', 'v', 'm', 'f')
        and not exists (
          select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')) as relations
    from pg_namespace n
    where n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
      and not exists (
        select from pg_depend d where d.classid = 'pg_namespace'::regclass and d.objid = n.oid and d.deptype = 'e')
    order by n.nspname`;
}

/** @throws DatabaseError when the server is older than that of the backup */
export async function requireServer(sql: Sql, version: string): Promise<void> {
  const here = await oneValue<string>(sql`select current_setting('server_version')`);
  if (Number.parseInt(here, 10) < Number.parseInt(version, 10))
    throw new DatabaseError(`Die Sicherung ist von PostgreSQL ${version}, dieser Server ist älter (${here}).`);
}

/** Tells the planner about the tables of a database that was just filled. */
export async function analyzeDatabase(sql: Sql): Promise<void> {
  await sql`analyze`;
}

/**
 * How the programs of PostgreSQL reach the same database: their environment variables. Never arguments, which everybody on the machine
 * may read.
 */
export function listConnectionVariables({ sql }: Database): Record<string, string> {
  const { host, port, user, pass, database, ssl, path } = sql.options as unknown as {
    host: string[];
    port: number[];
    user: string;
    pass: string | null;
    database: string;
    ssl: unknown;
    path: string | false;
  };
  const modes = ['allow', 'prefer', 'require', 'verify-ca', 'verify-full'];
  return {
    // A socket's directory stands before its name.
    PGHOST: path ? path.replace(/\/[^/]*$/, '') : host.join(','),
    PGPORT: port.join(','),
    PGUSER: user,
    PGDATABASE: database,
    ...(pass && { PGPASSWORD: pass }),
    ...(ssl !== false && { PGSSLMODE: modes.includes(String(ssl)) ? String(ssl) : 'require' }),
  };
}

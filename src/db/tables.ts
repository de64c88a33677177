// Tables of this release: the migrations that drizzle-kit wrote, each in a transaction of its own, so that the table that one of them
// locks is not kept while the next ones run. drizzle's own migrator runs all that are pending in one.
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type MigrationMeta, readMigrationFiles } from 'drizzle-orm/migrator';
import { codeOf, type Database, DatabaseError, type Sql, type Transaction } from './client.ts';
import { oneValue } from './row.ts';

const migrationsFolder = fileURLToPath(new URL('../../sql/migrations', import.meta.url));

/**
 * Runs the migrations that this database lacks. What is done stays done when a later one fails.
 * @param report told that others are waited for
 * @returns false when the database has migrations that this release doesn't know: it is older than the database
 * @throws DatabaseError when a table stays locked by others, or extensions are missing and may not be made
 */
export async function migrateTables(database: Database, sql: Sql, report: (line: string) => void): Promise<boolean> {
  const migrations = readMigrationFiles({ migrationsFolder });
  const known = Math.max(...migrations.map(({ folderMillis }) => folderMillis));
  if (!(await oneValue<boolean>(sql`select to_regclass('drizzle.__drizzle_migrations') is not null`))) {
    await requireExtensions(sql);
    await makeOnce(async () => {
      await sql`create schema if not exists drizzle`;
      await sql`
        create table if not exists drizzle.__drizzle_migrations (id serial primary key, hash text not null, created_at bigint)`;
    });
  }
  const done = await oneValue<number>(sql`select coalesce(max(created_at), 0)::bigint from drizzle.__drizzle_migrations`);
  for (const migration of migrations) if (migration.folderMillis > done) await runMigration(database, sql, migration, report);
  return done <= known;
}

async function runMigration(
  database: Database,
  sql: Sql,
  migration: MigrationMeta,
  report: (line: string) => void,
): Promise<void> {
  const inside: string[] = [];
  for (const statement of migration.sql) {
    // The embedded database has no other sessions that could go on meanwhile.
    const index = database.kind === 'postgres' ? await findBigIndex(sql, statement) : null;
    if (index) await changeIndex(sql, index, report);
    else inside.push(statement);
  }
  await runPatiently(sql, report, async (tx) => {
    for (const statement of inside) await tx.unsafe(statement).simple();
    await tx`
      insert into drizzle.__drizzle_migrations (hash, created_at) values (${migration.hash}, ${migration.folderMillis})`;
  });
}

// Making an index of less keeps writers waiting for some hundredths of a second.
const bigTableBytes = 8 * 1024 * 1024;

interface IndexChange {
  name: string;
  /** The statement, so that it keeps nobody waiting and may be run once more. */
  text: string;
}

// An index that is made or dropped on a big table: can't be part of a transaction if nobody is to wait for it.
async function findBigIndex(sql: Sql, statement: string): Promise<IndexChange | null> {
  const text = statement.replace(/^[ \t]*--.*$/gm, '').trim();
  const made = /^CREATE (UNIQUE )?INDEX "(\w+)" ON "(\w+)"\."(\w+)" (.*)$/s.exec(text);
  const dropped = /^DROP INDEX "(\w+)"\."(\w+)";?$/.exec(text);
  if (made) {
    const [, unique = '', name = '', schema, table, rest] = made;
    const change = `create ${unique}index concurrently if not exists "${name}" on "${schema}"."${table}" ${rest}`;
    return (await isBig(sql, `"${schema}"."${table}"`)) ? { name: `"${schema}"."${name}"`, text: change } : null;
  }
  if (dropped) {
    const name = `"${dropped[1]}"."${dropped[2]}"`;
    return (await isBig(sql, name)) ? { name, text: `drop index concurrently if exists ${name}` } : null;
  }
  return null;
}

// Of a table or an index that is there.
async function isBig(sql: Sql, relation: string): Promise<boolean> {
  return oneValue<boolean>(sql`
    select coalesce(bool_or(pg_relation_size(coalesce(i.indrelid, c.oid)) > ${bigTableBytes}), false)
    from pg_class c left join pg_index i on i.indexrelid = c.oid
    where c.oid = to_regclass(${relation})`);
}

// Waits for all transactions that are older, however long they last: nobody waits for it meanwhile.
async function changeIndex(sql: Sql, { name, text }: IndexChange, report: (line: string) => void): Promise<void> {
  const [left] = await sql<{ invalid: boolean }[]>`
    select not indisvalid as invalid from pg_index where indexrelid = to_regclass(${name})`;
  // What a migration left behind that was stopped meanwhile.
  if (left?.invalid) await sql.unsafe(`drop index concurrently ${name}`);
  report(`Index ${name.replaceAll('"', '')} wird geändert; Transaktionen, die schon laufen, werden abgewartet …`);
  await sql.unsafe(text);
}

/**
 * Runs statements that make what is not there (`if not exists`), also while another session makes the same: both may find it missing,
 * and the later one fails. The other may be a migration that was killed: its statement goes on in the server, after its lock has gone.
 * @param make may be run several times
 * @throws what `make` throws, for a race after 20 attempts in some ten seconds
 */
export async function makeOnce(make: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await make();
      return;
    } catch (error) {
      const isRace = ['23505', '42710', '42P06', '42P07', 'XX000'].includes(codeOf(error) ?? '');
      if (!isRace || attempt === 20) throw error;
      await sleep(50 * attempt);
    }
  }
}

const extensions = ['postgis', 'btree_gist', 'uuid-ossp'];

/**
 * Makes them, where this role may: most managed databases leave that to another role.
 * @param command what is to be run again once the administrator has made them
 * @throws DatabaseError with the statements for the administrator
 */
export async function requireExtensions(sql: Sql, command = 'npm run migrate'): Promise<void> {
  const missing = await sql<{ name: string }[]>`
    select x.name from unnest(${`{${extensions}}`}::text[]) x (name)
    where not exists (select from pg_extension e where e.extname = x.name)`;
  if (missing.length === 0) return;
  const statements = missing.map(({ name }) => `create extension if not exists "${name}" with schema public`);
  try {
    await makeOnce(async () => {
      for (const statement of statements) await sql.unsafe(statement);
    });
  } catch (error) {
    if (codeOf(error) !== '42501') throw error;
    throw new DatabaseError(
      `Diese Datenbankrolle darf keine Erweiterungen anlegen. Als Administrator in dieser Datenbank, und danach noch einmal ${command}: ${statements.join('; ')};`,
    );
  }
}

// PostgreSQL ends an autovacuum that is in the way once somebody has waited for it for a second (deadlock_timeout).
const patience = { lockTimeout: '1300ms', longestPauseMs: 3000, totalMs: 10 * 60_000 };

/**
 * Runs a transaction that needs locks which others may hold. Who waits for a lock makes everybody behind it wait too, requests for
 * 1.5 s at most: rather it gives up after 1.3 s, with nothing of it left, and comes again.
 * @param report told once that others are waited for, and who they are
 * @throws DatabaseError when they hold their locks for ten minutes
 */
export async function runPatiently(sql: Sql, report: (line: string) => void, run: (tx: Transaction) => Promise<void>) {
  const begin = performance.now();
  for (let attempt = 1; ; attempt++) {
    try {
      await sql.begin(async (tx) => {
        await tx`select set_config('lock_timeout', ${patience.lockTimeout}, true)`;
        await run(tx);
      });
      return;
    } catch (error) {
      if (!isLocked(error)) throw error;
      const holders = await listHolders(sql);
      if (performance.now() - begin > patience.totalMs)
        throw new DatabaseError(
          `Tabellen oder Sichten der Datenbank sind seit zehn Minuten gesperrt${holders}; bitte später noch einmal.`,
        );
      if (attempt === 1) report(`Tabellen oder Sichten sind gesperrt${holders}; gewartet wird, höchstens zehn Minuten …`);
      await sleep(Math.min(200 * attempt, patience.longestPauseMs));
    }
  }
}

// Sessions that are not the service's own and hold something of its schemas, oldest first. By its name anybody may call a session.
async function listHolders(sql: Sql): Promise<string> {
  const rows = await sql<{ holder: string }[]>`
    select format('%s (Rolle %s, pid %s)', coalesce(nullif(a.application_name, ''), 'eine Verbindung'), a.usename, a.pid) as holder
    from pg_stat_activity a
    where not coalesce(
        a.application_name = current_setting('application_name')
          and (a.usename = current_user or pg_has_role(a.usesysid, to_regrole('portal_dienst'), 'member')), false)
      and exists (
      select from pg_locks l join pg_class c on c.oid = l.relation
      where l.pid = a.pid and l.granted and l.database = (select d.oid from pg_database d where d.datname = current_database())
        and c.relnamespace in (to_regnamespace('portal'), to_regnamespace('gis')))
    order by a.backend_start limit 3`;
  return rows.length > 0 ? `, von ${rows.map(({ holder }) => holder).join(', ')}` : '';
}

/** Whether a lock was waited for too long, or would have been waited for for ever. */
export function isLocked(error: unknown): boolean {
  return ['55P03', '40P01'].includes(String(codeOf(error)));
}

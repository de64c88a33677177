// Brings a database to this release: tables by migrations, then sql/code as a whole.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { v4 } from 'uuid';
import { type Database, DatabaseError, type Sql, type Transaction, withClient } from './client.ts';
import { completeEmails } from './nutzer.ts';
import { completePruefung } from './pruefung.ts';
import { completeRaster } from './raster.ts';
import { checkDatabase } from './requirements.ts';
import { oneValue } from './row.ts';
import { isLocked, makeOnce, migrateTables, runPatiently } from './tables.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Names the files, one a line; what follows `#` is for readers. */
export const manifestFile = 'manifest.txt';

/** Path of each file below the folder → its text, in order. */
export function readCode(dir: string): Map<string, string> {
  const lines = readFileSync(join(dir, manifestFile), 'utf8').split('\n');
  const paths = lines.map((line) => line.replace(/#.*/, '').trim()).filter((path) => path !== '');
  return new Map(paths.map((path) => [path, readFileSync(join(dir, path), 'utf8')]));
}

/** What `migrateDatabase` did to the functions, triggers and views. */
export type CodeOutcome = 'replaced' | 'unchanged' | 'database is newer';

export interface CodeOptions {
  /** Folder of the SQL files. */
  codeDir?: string;
  /** Release as numbers, `package.json` by default. */
  release?: number[];
  /** Told that others are waited for. */
  report?: (line: string) => void;
}

/**
 * Migrates tables and replaces sql/code. Safe when several processes do it at once, and when one of them is killed.
 * @throws DatabaseError when the database can't carry the service, or stays locked by others
 */
export async function migrateDatabase(database: Database, options: CodeOptions = {}): Promise<CodeOutcome> {
  const report = options.report ?? (() => {});
  return withClient(database, {}, async (sql) => {
    await checkDatabase(sql);
    return runAlone(database, report, async () => {
      const isKnown = await migrateTables(database, sql, report);
      if (!isKnown) return 'database is newer';
      await sql`insert into portal.installation (guid_namespace) values (${v4()}) on conflict do nothing`;
      const outcome = await replaceCode(sql, options, report);
      if (outcome === 'database is newer') return outcome;
      await completeEmails(sql);
      await completeRaster(sql, report);
      await completePruefung(sql, report);
      return outcome;
    });
  });
}

const lockTable = 'drizzle.sperre_migration';
const lockWaitMs = 10 * 60_000;

// One migration after the other. By a lock on a table, which needs rights on it: an advisory lock is a number that every session
// on the server may take. Held by a connection of its own: a migration takes many transactions.
async function runAlone<T>(database: Database, report: (line: string) => void, run: () => Promise<T>): Promise<T> {
  // The embedded database belongs to this process, and an open transaction would keep its other connections waiting.
  if (database.kind === 'embedded') return run();
  return withClient(database, { settings: { lock_timeout: 2000, idle_in_transaction_session_timeout: 0 } }, async (client) => {
    await makeLockTable(client);
    const begin = performance.now();
    for (let attempt = 1; ; attempt++) {
      let isMine = false;
      try {
        return (await client.begin(async (tx) => {
          await tx.unsafe(`lock table ${lockTable} in exclusive mode`);
          isMine = true;
          return run();
        })) as T;
      } catch (error) {
        if (isMine || !isLocked(error)) throw error;
        if (performance.now() - begin > lockWaitMs) throw new DatabaseError('Eine andere Migration läuft seit zehn Minuten.');
        if (attempt === 1) report('Eine andere Migration läuft gerade; gewartet wird, höchstens zehn Minuten …');
      }
    }
  });
}

// In the schema that drizzle makes for its own table. Asked first: a role that may not create needs none of it.
async function makeLockTable(sql: Sql): Promise<void> {
  if (await oneValue<boolean>(sql`select to_regclass(${lockTable}) is not null`)) return;
  await makeOnce(async () => {
    await sql`create schema if not exists drizzle`;
    await sql.unsafe(`create table if not exists ${lockTable} (id boolean primary key)`);
  });
}

/** Whether the tables and functions of a release are there: what readiness means. */
export async function isMigrated(sql: Sql): Promise<boolean> {
  return oneValue<boolean>(sql`select api.get_release() is not null`);
}

/** Whether this role owns the service's tables, or may make them where there are none: without, it can only serve. */
export async function mayMigrate(sql: Sql): Promise<boolean> {
  return oneValue<boolean>(sql`
    select coalesce(
      (select pg_has_role(n.nspowner, 'usage') from pg_namespace n where n.nspname = 'portal'),
      has_database_privilege(current_database(), 'create'))`);
}

/**
 * Checks that a role that may not migrate finds everything prepared for it.
 * @throws DatabaseError in one line that says what is missing: the migration, this release, membership in portal_dienst
 */
export async function requireMigrated(sql: Sql, release?: number[]): Promise<void> {
  const wanted = release ?? (await readRelease());
  const hint = 'mit MIGRATE_DATABASE_URL starten, oder vorher als Eigentümer: npm run migrate';
  const [facts] = await sql<{ exists: boolean; allowed: boolean | null; role: string }[]>`
    select p.oid is not null as exists, has_schema_privilege(p.pronamespace, 'usage') and has_function_privilege(p.oid, 'execute') as allowed,
      quote_ident(current_user) as role
    from (select 1) one left join pg_proc p on p.pronamespace = to_regnamespace('api') and p.proname = 'get_release'`;
  if (!facts?.exists)
    throw new DatabaseError(
      `Diese Datenbankrolle darf nicht migrieren, und die Datenbank ist nicht auf dem Stand dieser Version: ${hint}`,
    );
  if (!facts.allowed)
    throw new DatabaseError(
      `Diese Datenbankrolle darf den Dienst nicht ausführen. Als Administrator: create role portal_dienst nologin; falls es sie noch nicht gibt, dann npm run migrate, dann grant portal_dienst to ${facts.role};`,
    );
  const [row] = await sql<{ release: string | null; is_older: boolean | null }[]>`
    select array_to_string(r.release, '.') as release, r.release < ${`{${wanted}}`}::integer[] as is_older from (select api.get_release()) r (release)`;
  if (row?.is_older !== false) {
    throw new DatabaseError(
      `Die Datenbank ist auf dem Stand ${row?.release ?? 'keiner Version'}, dieser Dienst ist ${wanted.join('.')}, und diese Datenbankrolle darf nicht migrieren: ${hint}`,
    );
  }
}

// Replaced only when they changed: unlike everything else they wait for analysts who left a transaction open, and hold up
// the others behind them.
const isViews = (text: string) => /^create or replace view /m.test(text);
// Applied every time, at the end: the roles belong to the server and may have come after this code.
const grantsFile = 'grants.sql';

// Readers and writers go on meanwhile. Replacing in place instead of dropping the schemas: dropping deadlocked under
// load, waited behind one idle analyst, and took analysts' own views along.
async function replaceCode(sql: Sql, options: CodeOptions, report: (line: string) => void): Promise<CodeOutcome> {
  const release = options.release ?? (await readRelease());
  const files = readCode(options.codeDir ?? join(root, 'sql/code'));
  const hash = hashOf([...files.values()]);
  const viewsHash = hashOf([...files.values()].filter(isViews));
  const [current] = await sql`
    select coalesce(code_hash = ${hash} and code_release = ${`{${release}}`}::integer[], false) as same,
      coalesce(gis_hash = ${viewsHash}, false) as same_views,
      coalesce(code_release > ${`{${release}}`}::integer[], false) as newer
    from portal.installation`;
  if (current?.newer) return 'database is newer';
  const applied = [...files].filter(
    ([name, text]) => name === grantsFile || (!current?.same && !(isViews(text) && current?.same_views)),
  );

  await runPatiently(sql, report, async (tx) => {
    await tx`set local check_function_bodies = off`;
    for (const [name, text] of applied) {
      // Before the grants, which write to what they close: what is left over would look replaced.
      if (name === grantsFile && !current?.same) await dropLeftovers(tx, !current?.same_views);
      await tx.unsafe(text).simple();
    }
    if (!current?.same) {
      await tx`
        update portal.installation
        set code_release = ${`{${release}}`}::integer[], code_hash = ${hash}, gis_hash = ${viewsHash}`;
    }
  });
  return current?.same ? 'unchanged' : 'replaced';
}

// What this transaction replaced carries its id; the rest belonged to an older release.
async function dropLeftovers(tx: Transaction, views: boolean): Promise<void> {
  // A view that analysts' own views stand on stays, without the rights that the grants give: theirs then say so.
  if (views) {
    await tx`
      do $$
      declare
        v_view regclass;
      begin
        for v_view in
          select c.oid
          from pg_class c
          join pg_rewrite r on r.ev_class = c.oid and r.rulename = '_RETURN'
          where c.relnamespace = 'gis'::regnamespace and c.relkind = 'v' and r.xmin <> pg_current_xact_id()::xid
        loop
          begin
            execute format('drop view %s', v_view);
          exception
            when dependent_objects_still_exist then null;
          end;
        end loop;
      end
      $$`.simple();
  }
  await tx`
    do $$
    declare
      v_statement text;
    begin
      for v_statement in
        select format('drop trigger %I on %s', t.tgname, t.tgrelid::regclass)
        from pg_trigger t
        join pg_class c on c.oid = t.tgrelid
        where c.relnamespace = 'portal'::regnamespace and not t.tgisinternal and t.xmin <> pg_current_xact_id()::xid
        union all
        select format('drop function %s', p.oid::regprocedure)
        from pg_proc p
        where p.pronamespace in ('private'::regnamespace, 'api'::regnamespace, 'ausgabe'::regnamespace)
          and p.xmin <> pg_current_xact_id()::xid
      loop
        execute v_statement;
      end loop;
    end
    $$`.simple();
}

const hashOf = (texts: string[]) => createHash('sha256').update(texts.join('\0')).digest('hex');

/** Of this program, as numbers. */
export async function readRelease(): Promise<number[]> {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  return version.split('.').map(Number);
}

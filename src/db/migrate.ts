// Brings a database to this release: tables by migrations, then sql/code as a whole.
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { drizzle } from 'drizzle-orm/postgres-js';
import { migrate } from 'drizzle-orm/postgres-js/migrator';
import { v4 } from 'uuid';
import { checkDatabase, type Database, DatabaseError, type Sql, type Transaction } from './client.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** What `migrateDatabase` did to the functions, triggers and views. */
export type CodeOutcome = 'replaced' | 'unchanged' | 'database is newer';

export interface CodeOptions {
  /** Folder of the SQL files. */
  codeDir?: string;
  /** Release as numbers, `package.json` by default. */
  release?: number[];
}

/**
 * Migrates tables and replaces sql/code. Safe when several processes do it at once, and when one of them is killed.
 * @throws DatabaseError when the database can't carry the service, or stays locked by others
 */
export async function migrateDatabase(database: Database, options: CodeOptions = {}): Promise<CodeOutcome> {
  const sql = database.connect();
  try {
    await checkDatabase(sql);
    // Of the session, not of a transaction: drizzle opens its own, and takes no lock.
    await sql`select pg_advisory_lock(25832, 0)`;
    try {
      await migrate(drizzle(database.connect()), { migrationsFolder: join(root, 'sql/migrations') });
      await sql`insert into portal.installation (guid_namespace) values (${v4()}) on conflict do nothing`;
      return await replaceCode(sql, options);
    } finally {
      await sql`select pg_advisory_unlock(25832, 0)`;
    }
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/** Whether the tables and functions of this release are there: what readiness means. */
export async function isMigrated(sql: Sql): Promise<boolean> {
  const [row] = await sql`select code_release is not null as ready from portal.installation`;
  return row?.ready === true;
}

// Readers and writers go on meanwhile. Replacing in place instead of dropping the schemas: dropping deadlocked under
// load, waited behind one idle analyst, and took analysts' own views along.
async function replaceCode(sql: Sql, options: CodeOptions): Promise<CodeOutcome> {
  const release = options.release ?? (await readRelease());
  const files = await readCode(options.codeDir ?? join(root, 'sql/code'));
  const hash = createHash('sha256').update(files.join('\0')).digest('hex');
  const [current] = await sql`
    select code_hash = ${hash} and code_release = ${`{${release}}`}::integer[] as same,
      coalesce(code_release > ${`{${release}}`}::integer[], false) as newer
    from portal.installation`;
  if (current?.newer) return 'database is newer';
  if (current?.same) return 'unchanged';

  // A statement that waits for a lock makes everyone behind it wait too: rather give up soon and come again.
  for (let attempt = 1; ; attempt++) {
    try {
      await sql.begin(async (tx) => {
        await tx`set local lock_timeout = '2s'`;
        await tx`set local check_function_bodies = off`;
        for (const file of files) await tx.unsafe(file).simple();
        await dropLeftovers(tx);
        await tx`update portal.installation set code_release = ${`{${release}}`}::integer[], code_hash = ${hash}`;
      });
      return 'replaced';
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : undefined;
      if (code !== '55P03' && code !== '40P01') throw error;
      if (attempt === 15) {
        throw new DatabaseError('Die Funktionen der Datenbank sind von anderen Verbindungen gesperrt; bitte später noch einmal.');
      }
      await sleep(200 * attempt);
    }
  }
}

// What this transaction replaced carries its id; the rest belonged to an older release.
async function dropLeftovers(tx: Transaction): Promise<void> {
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
        where p.pronamespace in ('private'::regnamespace, 'api'::regnamespace) and p.xmin <> pg_current_xact_id()::xid
      loop
        execute v_statement;
      end loop;
    end
    $$`.simple();
}

async function readCode(dir: string): Promise<string[]> {
  const names = (await readdir(dir)).filter((name) => name.endsWith('.sql')).sort();
  return Promise.all(names.map((name) => readFile(join(dir, name), 'utf8')));
}

async function readRelease(): Promise<number[]> {
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
  return version.split('.').map(Number);
}

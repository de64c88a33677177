// Brings a database to this release before the service or a command works with it: tables, functions, the queue, rights.
import type { Config } from './config.ts';
import { type Database, openDatabase } from './db/client.ts';
import { listGrantWarnings } from './db/grants.ts';
import { type CodeOutcome, mayMigrate, migrateDatabase, requireMigrated } from './db/migrate.ts';
import { checkDatabase, checkReads, checkSameDatabase, checkSettings } from './db/requirements.ts';
import { startBoss } from './jobs/boss.ts';

/**
 * Migrates everything, as a role that owns it or may make it.
 * @param report told what goes on, and what the server's administrator still has to do
 * @param tellsAlways what the administrator has to do is told also where nothing was migrated
 */
export async function migrateAll(database: Database, report: (line: string) => void, tellsAlways = true): Promise<CodeOutcome> {
  const outcome = await migrateDatabase(database, { report });
  // The queue's own tables too, so that the service may run without the right to create any.
  await (await startBoss(database, () => {}, { supervise: false, mayChange: true })).stop();
  // At all other starts they would be the same again; `npm run migrate` tells them whenever it is asked.
  if (tellsAlways || outcome === 'replaced') await reportWarnings(database, report);
  return outcome;
}

/**
 * Prepares the database of a service: by MIGRATE_DATABASE_URL, by the service's own role where that may migrate; else the
 * database has to be there (P1.1).
 * @returns whether the service's own role may change tables; then `startBoss` makes those of the queue
 * @throws DatabaseError in one line: what `checkDatabase` and `requireMigrated` say
 */
export async function prepareDatabase(
  database: Database,
  { migrateDatabaseUrl, directDatabaseUrl }: Pick<Config, 'migrateDatabaseUrl' | 'directDatabaseUrl'>,
  report: (line: string) => void,
): Promise<boolean> {
  await checkDatabase(database.sql);
  if (migrateDatabaseUrl !== null) {
    const owned = await openDatabase({ databaseUrl: migrateDatabaseUrl, dataDir: '' });
    try {
      await checkDatabase(owned.sql, 'MIGRATE_DATABASE_URL');
      await checkSameDatabase(database.sql, owned.sql, 'MIGRATE_DATABASE_URL');
      await migrateAll(owned, report, false);
    } finally {
      await owned.close();
    }
  }
  if (directDatabaseUrl !== null) {
    await checkDatabase(database.work, 'DIRECT_DATABASE_URL');
    await checkSameDatabase(database.sql, database.work, 'DIRECT_DATABASE_URL');
  }
  if (database.kind === 'postgres') await checkSettings(database.sql, directDatabaseUrl !== null);
  if (database.reads) await checkReads(database.sql, database.reads, directDatabaseUrl !== null, report);
  const mayChange = await mayMigrate(database.sql);
  if (migrateDatabaseUrl !== null || !mayChange) await requireMigrated(database.sql);
  else {
    const outcome = await migrateDatabase(database, { report });
    if (outcome === 'replaced') await reportWarnings(database, report);
  }
  return mayChange;
}

async function reportWarnings({ sql }: Database, report: (line: string) => void): Promise<void> {
  for (const warning of await listGrantWarnings(sql)) report(warning);
}

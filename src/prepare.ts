// Brings a database to this release before the service or a command works with it: tables, functions, the queue, rights.
import type { Config } from './config.ts';
import { checkDatabase, checkSettings, type Database, openDatabase } from './db/client.ts';
import { listGrantWarnings } from './db/grants.ts';
import { type CodeOutcome, mayMigrate, migrateDatabase, requireMigrated } from './db/migrate.ts';
import { startBoss } from './jobs/boss.ts';

/**
 * Migrates everything, as a role that owns it or may make it.
 * @param report told what goes on, and what the server's administrator still has to do
 */
export async function migrateAll(database: Database, report: (line: string) => void): Promise<CodeOutcome> {
  const outcome = await migrateDatabase(database, { report });
  // The queue's own tables too, so that the service may run without the right to create any.
  await (await startBoss(database, () => {}, { supervise: false, mayChange: true })).stop();
  for (const warning of await listGrantWarnings(database.sql)) report(warning);
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
  if (migrateDatabaseUrl !== null) {
    const owned = await openDatabase({ databaseUrl: migrateDatabaseUrl, dataDir: '' });
    try {
      await migrateAll(owned, report);
    } finally {
      await owned.close();
    }
  }
  await checkDatabase(database.sql);
  if (database.kind === 'postgres') await checkSettings(database.sql, directDatabaseUrl !== null);
  const mayChange = await mayMigrate(database.sql);
  if (migrateDatabaseUrl !== null || !mayChange) await requireMigrated(database.sql);
  else {
    const outcome = await migrateDatabase(database, { report });
    // At all other starts they would be the same again; `npm run migrate` tells them whenever it is asked.
    if (outcome === 'replaced') for (const warning of await listGrantWarnings(database.sql)) report(warning);
  }
  return mayChange;
}

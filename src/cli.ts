// Operator commands (D5).
import { writeFile } from 'node:fs/promises';
import { formatProblems } from './catalog/csv.ts';
import { describeProblems, ImportError } from './catalog/problems.ts';
import { backupCommands, plainBackupCommands } from './cli/backup.ts';
import { catalogCommands, plainCatalogCommands } from './cli/catalog.ts';
import { type Command, ownersAddress, type PlainCommand, progress, sayNewEmbedded } from './cli/command.ts';
import { exportCommands } from './cli/export.ts';
import { exportCheckCommands } from './cli/export-check.ts';
import { exportPublishCommands } from './cli/export-publish.ts';
import { parseCommandLine, usage } from './cli/line.ts';
import { nutzerCommands } from './cli/nutzer.ts';
import { pruefungCommands } from './cli/pruefung.ts';
import { sichtbeobachtungCommands } from './cli/sichtbeobachtungen.ts';
import { loadConfig } from './config.ts';
import { type Database, DatabaseError, openDatabase } from './db/client.ts';
import { isMigrated, migrateDatabase } from './db/migrate.ts';
import { checkDatabase, readOnlySentence, type UrlSetting, unreachable } from './db/requirements.ts';
import { codeOfFault, describeStartError } from './observe/fault.ts';

const commands: Record<string, Command> = {
  async migrate(database) {
    const { migrateAll } = await import('./prepare.ts');
    const outcome = await migrateAll(database, (line) => console.error(line));
    const sentence = {
      replaced: 'Die Datenbank ist auf dem Stand dieser Version.',
      unchanged: 'Die Datenbank war schon auf dem Stand dieser Version.',
      'database is newer': 'Die Funktionen der Datenbank gehören zu einer neueren Version und bleiben, wie sie sind.',
    }[outcome];
    console.log(sentence);
  },

  async 'abgleich neu'(database) {
    const { createAbgleichVerlauf } = await import('./db/abgleich.ts');
    await createAbgleichVerlauf(database.sql);
    console.log('Alle Spiegel beginnen beim nächsten Abruf neu.');
  },

  ...catalogCommands,
  ...sichtbeobachtungCommands,
  ...nutzerCommands,
  ...backupCommands,
  ...exportCommands,
  ...exportCheckCommands,
  ...pruefungCommands,
  ...exportPublishCommands,
};

const plainCommands: Record<string, PlainCommand> = { ...plainCatalogCommands, ...plainBackupCommands };

async function main(): Promise<void> {
  const { values, positionals } = parseCommandLine();
  // The longer name first: `backup verify` is no backup to a directory of that name.
  const name = [...Object.keys(commands), ...Object.keys(plainCommands)]
    .sort((a, b) => b.length - a.length)
    .find((command) => `${positionals.join(' ')} `.startsWith(`${command} `));
  if (values.help) {
    console.log((await formatOf(name)) ?? usage);
    return;
  }
  if (!name) {
    const unknown = positionals.join(' ').slice(0, 60);
    console.error(`${unknown === '' ? 'Der Befehl fehlt.' : `Unbekannter Befehl „${unknown}“.`}\n\n${usage}`);
    process.exitCode = 1;
    return;
  }
  const rest = positionals.slice(name.split(' ').length);
  const readConfig = () => loadConfig(process.env);
  if (plainCommands[name]) return plainCommands[name](rest, readConfig);
  const config = readConfig();
  await sayNewEmbedded(config);
  const { url, setting } = ownersAddress(config);
  const database = await openDatabase({ ...config, databaseUrl: url, directDatabaseUrl: null });
  try {
    // PostgreSQL is migrated when its operator says so; the embedded database has nobody else to do it.
    // A backup is of what is there, by a newer release too.
    if (database.kind === 'embedded' && name !== 'backup') await migrateDatabase(database);
    else if (name === 'migrate') await checkDatabase(database.sql, setting);
    else await requireReady(database, setting);
    await commands[name]?.(database, values, rest, config);
  } catch (error) {
    if (error instanceof ImportError && values.errors) await writeFile(values.errors, formatProblems(error.problems));
    if (codeOfFault(error) === '25006') throw new DatabaseError(readOnlySentence);
    throw error;
  } finally {
    await database.close();
  }
}

// What is not there yet, or not to be used by this role, is told by a code of PostgreSQL's class 42 or 3F; a parameter of the address that the
// server does not know, as the connection that it is.
async function requireReady({ sql }: Database, setting: UrlSetting): Promise<void> {
  const ready = await isMigrated(sql).catch((error: unknown) => {
    if (/^(42|3F)/.test(codeOfFault(error) ?? '') && codeOfFault(error) !== '42704') return false;
    throw unreachable(error, setting);
  });
  if (!ready) throw new DatabaseError('Die Datenbank ist nicht erreichbar oder nicht migriert: npm run migrate');
}

/** What a command's files look like; null for commands without any. */
async function formatOf(name: string | undefined): Promise<string | null> {
  if (name?.startsWith('catalog ')) return (await import('./catalog/catalogue-files.ts')).describeFormat();
  if (name === 'sichtbeobachtungen import') return (await import('./catalog/sichtbeobachtung-columns.ts')).describeColumns();
  if (name === 'nutzer import') return (await import('./catalog/nutzer.ts')).describeNutzerFormat();
  return null;
}

main().catch((error: unknown) => {
  progress.end();
  if (error instanceof ImportError) {
    for (const line of describeProblems(error.problems)) console.error(line);
  }
  console.error(describeStartError(error));
  process.exit(1);
});

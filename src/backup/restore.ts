// Makes an empty database, and the storage beside it, what a backup says. Whatever may refuse is asked first. Files and key come before
// the database, which comes in one transaction: a restore that is broken off leaves it empty, and is begun again.
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Programs } from '../config.ts';
import { createAbgleichTeil } from '../db/abgleich.ts';
import { type Database, embeddedDirectory, openDatabase } from '../db/client.ts';
import { isEmptyEmbedded, majorVersion } from '../db/embedded/database.ts';
import { deleteExportDatei } from '../db/export.ts';
import { deleteMediumImport } from '../db/medium.ts';
import { migrateDatabase, readRelease } from '../db/migrate.ts';
import { checkDatabase } from '../db/requirements.ts';
import {
  analyzeDatabase,
  connectPatiently,
  getUmfang,
  listConnectionVariables,
  requireEmptyDatabase,
  requireServer,
} from '../db/sicherung.ts';
import { requireExtensions } from '../db/tables.ts';
import { secretKeyPath } from '../guard/secret.ts';
import { makeDirectory, writeDurably } from '../media/durable.ts';
import type { Storage } from '../media/storage.ts';
import type { Progress } from '../observe/progress.ts';
import { BackupError, toBackupError } from './error.ts';
import { type Manifest, requireManifest } from './manifest.ts';
import { openCopy, restoreMedia } from './media.ts';
import { requireProgram, runProgram } from './programs.ts';
import { checkBackup } from './verify.ts';

/** Where a backup is restored to. */
export interface Target {
  databaseUrl: string | null;
  dataDir: string;
  storage: Storage;
  /** SECRET_KEY; null where the key is a file in the data directory. */
  secretKey: string | null;
  programs: Programs;
}

export interface Restored {
  /** Open, and of this release. */
  database: Database;
  manifest: Manifest;
  /** Files that were put into the storage. */
  files: number;
}

/**
 * Restores a backup.
 * @param report told what the migration waits for
 * @throws BackupError, DatabaseError, StorageError; before anything was touched when the backup is damaged, or the place not empty
 */
export async function restoreBackup(
  target: Target,
  directory: string,
  progress: Progress,
  report: (line: string) => void,
): Promise<Restored> {
  const dir = resolve(directory);
  try {
    const manifest = await requireManifest(dir);
    await requireRelease(manifest);
    if (manifest.datenbank.art === 'eingebettet') return await restoreEmbedded(target, dir, manifest, progress, report);
    return await restorePostgres(target, dir, manifest, progress, report);
  } catch (error) {
    throw toBackupError(error, directory);
  }
}

async function requireRelease({ version }: Manifest): Promise<void> {
  const here = await readRelease();
  const there = version.split('.').map(Number);
  const differing = there.findIndex((part, at) => part !== here[at]);
  if ((there[differing] ?? 0) <= (here[differing] ?? 0)) return;
  throw new BackupError(
    `Die Sicherung ist von Version ${version}, dieses Programm ist Version ${here.join('.')}; bitte mit ${version} oder neuer zurückspielen.`,
  );
}

async function restorePostgres(
  target: Target,
  dir: string,
  { datenbank }: Manifest,
  progress: Progress,
  report: (line: string) => void,
): Promise<Restored> {
  if (target.databaseUrl === null) {
    throw new BackupError('Die Sicherung ist von PostgreSQL: DATABASE_URL nennt die leere Datenbank, in die sie gehört.');
  }
  const database = await openDatabase(target);
  return closeOnError(database, async () => {
    const sql = connectPatiently(database);
    await checkDatabase(sql);
    await requireServer(sql, datenbank.server);
    await requireEmptyDatabase(sql);
    await requireExtensions(sql, 'restore');
    await requireProgram(target.programs, 'pg_restore', datenbank.programm ?? datenbank.server);
    const restored = await restoreFiles(target, dir, progress);
    progress.step('Die Datenbank wird zurückgespielt', 0, 1);
    const path = join(dir, datenbank.datei);
    const variables = listConnectionVariables(database);
    // The right to be anybody's is given at the end of the migration: roles are the server's and may not be there.
    const args = ['--single-transaction', '--exit-on-error', '--no-owner', '--no-privileges', '--no-password'];
    await runProgram(target.programs, 'pg_restore', [...args, `--dbname=${variables.PGDATABASE}`, path], variables);
    await analyzeDatabase(sql);
    await finish(database, restored.manifest, progress, report);
    return { database, ...restored };
  });
}

async function closeOnError<T>(database: Database, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    await database.close();
    throw error;
  }
}

async function restoreEmbedded(
  target: Target,
  dir: string,
  { datenbank }: Manifest,
  progress: Progress,
  report: (line: string) => void,
): Promise<Restored> {
  if (target.databaseUrl !== null) {
    throw new BackupError('Die Sicherung ist von der eingebetteten Datenbank; zurückgespielt wird sie ohne DATABASE_URL.');
  }
  if (Number.parseInt(datenbank.server, 10) !== Number(majorVersion)) {
    throw new BackupError(
      `Die Sicherung ist von PostgreSQL ${datenbank.server}, eingebettet ist PostgreSQL ${majorVersion}; bitte mit der Version zurückspielen, die sie gemacht hat.`,
    );
  }
  const place = embeddedDirectory(target.dataDir);
  if (!isEmptyEmbedded(place)) {
    throw new BackupError(`In ${place} ist schon eine Datenbank. Zurückgespielt wird nur, wo keine ist.`);
  }
  const restored = await restoreFiles(target, dir, progress);
  progress.step('Die Datenbank wird zurückgespielt', 0, 1);
  const database = await openDatabase({ ...target, loadFrom: await readFile(join(dir, datenbank.datei)) });
  return closeOnError(database, async () => {
    await finish(database, restored.manifest, progress, report);
    return { database, ...restored };
  });
}

async function restoreFiles(target: Target, dir: string, progress: Progress): Promise<{ manifest: Manifest; files: number }> {
  const putKey = await prepareKey(target, dir, await requireManifest(dir));
  const { manifest, list } = await checkBackup(dir, target.programs, progress);
  const files = await restoreMedia(openCopy(dir), target.storage, list, (done, total) =>
    progress.step('Fotos und Tonaufnahmen werden zurückgespielt', done, total),
  );
  await putKey();
  return { manifest, files };
}

// With another key cursors and signed addresses end; whoever has one already has it on purpose.
async function prepareKey({ secretKey, dataDir }: Target, dir: string, { schluessel }: Manifest): Promise<() => Promise<void>> {
  if (secretKey !== null || schluessel === null) return async () => {};
  const path = secretKeyPath(dataDir);
  const there = await readFile(path).catch(() => null);
  const key = await readFile(join(dir, schluessel.datei)).catch(() => null);
  if (there !== null && key !== null && !there.equals(key)) {
    throw new BackupError(`${path} ist ein anderer Schlüssel als der der Sicherung; bitte vorher entfernen.`);
  }
  return async () => {
    if (there !== null || key === null) return;
    await makeDirectory(dataDir);
    await writeDurably(path, key, 0o600);
  };
}

async function finish(database: Database, manifest: Manifest, progress: Progress, report: (line: string) => void): Promise<void> {
  const there = await getUmfang(connectPatiently(database));
  const wrong = (Object.keys(there) as (keyof typeof there)[]).filter((table) => there[table] !== manifest.anzahl[table]);
  if (wrong.length > 0) {
    const told = wrong.map((table) => `${table} ${there[table]} statt ${manifest.anzahl[table]}`);
    throw new BackupError(`Die Datenbank ist nicht vollständig zurückgekommen (Zeilen von ${told.join(', ')}).`);
  }
  await migrateDatabase(database, { report });
  await deleteMediumImport(database.sql);
  await deleteExportDatei(database.sql);
  await createAbgleichTeil(database.sql);
  progress.end();
}

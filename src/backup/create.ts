// Makes a backup. In this order, so that a record in it has its files (a file is stored before its record): from now on no file leaves
// the storage; one moment of the database is dumped; the files that it names are copied; the manifest is written.
import { chmod, readdir, readFile, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Programs } from '../config.ts';
import { getInstallation, setAbgleichKomplett } from '../db/abgleich.ts';
import type { Database } from '../db/client.ts';
import { type DirectoryLock, takeLock } from '../db/embedded/lock.ts';
import { getMoment, holdMedia, holdSnapshot, listConnectionVariables, type Moment, serviceSchemas } from '../db/sicherung.ts';
import { secretKeyPath } from '../guard/secret.ts';
import { makeDirectory, writeDurably } from '../media/durable.ts';
import type { Storage } from '../media/storage.ts';
import type { Progress } from '../observe/progress.ts';
import { BackupError, toBackupError } from './error.ts';
import { type Manifest, type Part, partPattern, readManifest, writeManifest } from './manifest.ts';
import { copyMedia, formatList, hashFile, hashOf, type MediaList, openCopy, pruneCopy, readList } from './media.ts';
import { requireProgram, runProgram } from './programs.ts';

/** What is backed up. */
export interface Source {
  database: Database;
  storage: Storage;
  /** SECRET_KEY; null where the key is a file in the data directory. */
  secretKey: string | null;
  dataDir: string;
  programs: Programs;
}

export interface Backup {
  manifest: Manifest;
  /** Files that an earlier backup in the same directory did not have. */
  copied: number;
}

const lockName = 'sicherung.lock';
// A migration that holds a table longer has hung.
const lockWaitMs = 10 * 60_000;

/**
 * Makes a backup in a directory of its own, or brings the one in it up to date: that stays whole until the new one is.
 * @param warn told what is not in it
 * @throws BackupError, DatabaseError, StorageError
 */
export async function createBackup(
  source: Source,
  directory: string,
  progress: Progress,
  warn: (sentence: string) => void,
): Promise<Backup> {
  const dir = resolve(directory);
  const lock = await openDirectory(dir);
  try {
    const earlier = await requireOwnDirectory(dir, source);
    // One that was there before. Files in it are their owner's alone also where this is somebody else's.
    await chmod(dir, 0o700).catch(() => {});
    return await holdMedia(source.database, warn, () => writeBackup(source, dir, earlier, progress));
  } catch (error) {
    throw toBackupError(error, directory);
  } finally {
    lock.release();
  }
}

// What is in it is nobody else's to read: passwords' hashes, addresses, true places.
async function openDirectory(dir: string): Promise<DirectoryLock> {
  try {
    await makeDirectory(dir, 0o700);
    const lock = takeLock(dir, lockName);
    if (lock) return lock;
  } catch (error) {
    throw toBackupError(error, dir);
  }
  throw new BackupError(`In ${dir} läuft gerade eine andere Sicherung.`);
}

// A backup removes what an earlier one left in its directory: it must be one of this installation.
async function requireOwnDirectory(dir: string, { database }: Source): Promise<Manifest | null> {
  const earlier = await readManifest(dir);
  if (!earlier) {
    const others = (await readdir(dir)).filter((name) => !isOwn(name));
    if (others.length === 0) return null;
    throw new BackupError(`${dir} ist nicht leer und keine Sicherung (gefunden: ${others.sort().slice(0, 3).join(', ')}).`);
  }
  if (earlier.installation === (await getInstallation(database.sql))) return earlier;
  throw new BackupError(`In ${dir} ist die Sicherung einer anderen Installation; bitte ein anderes Verzeichnis.`);
}

const isOwn = (name: string) =>
  ['medien', 'lost+found'].includes(name) || partPattern.test(name) || /^(sicherung\.lock|\.sicherung\.json\.)/.test(name);

async function writeBackup(source: Source, dir: string, earlier: Manifest | null, progress: Progress): Promise<Backup> {
  const { database, storage } = source;
  const begun = new Date();
  const stamp = begun.toISOString().replace(/[-:.]/g, '');
  // Cursors of mirrors up to here are good after a restore.
  await setAbgleichKomplett(database.sql);
  progress.step('Die Datenbank wird gesichert', 0, 1);
  const { moment, ...datenbank } =
    database.dump === null ? await dumpPostgres(source, dir, stamp) : await dumpEmbedded(database, database.dump, dir, stamp);

  const copy = openCopy(dir);
  const known: MediaList = earlier ? await readList(join(dir, earlier.medien.datei)).catch(() => new Map()) : new Map();
  const report = (done: number, total: number) => progress.step('Fotos und Tonaufnahmen werden gesichert', done, total);
  await makeDirectory(join(dir, 'medien'), 0o700);
  const { list, copied, missing } = await copyMedia(storage, copy, moment.medien, known, report);
  if (list.size === 0 && missing.length > 0) {
    throw new BackupError(
      `Keine der ${missing.length} Dateien, die Beobachtungen haben, ist an dem Ort, den MEDIA_URL und DATA_DIR nennen; nichts wurde gesichert.`,
    );
  }
  const medien = await writePart(dir, `medien-${stamp}.sha256`, Buffer.from(formatList(list)));
  const schluessel = await copyKey(source, dir, stamp);

  const { migrationen, server, ...herkunft } = moment.herkunft;
  const manifest = {
    ...herkunft,
    begonnen: begun.toISOString(),
    beendet: new Date().toISOString(),
    datenbank: { ...datenbank, server, migrationen },
    anzahl: moment.anzahl,
    medien: { ...medien, anzahl: list.size, fehlend: missing },
    schluessel,
  };
  await writeManifest(dir, manifest);
  progress.end();
  await prune(dir, stamp, list);
  return { manifest: { format: 1, ...manifest }, copied };
}

type DatabasePart = Omit<Manifest['datenbank'], 'server' | 'migrationen'> & { moment: Moment };

async function dumpPostgres({ database, programs }: Source, dir: string, stamp: string): Promise<DatabasePart> {
  const datei = `datenbank-${stamp}.dump`;
  const path = join(dir, datei);
  return holdSnapshot(database, async (snapshot, moment) => {
    const programm = await requireProgram(programs, 'pg_dump', moment.herkunft.server);
    // pg_dump opens it as it finds it.
    await writeDurably(path, Buffer.alloc(0), 0o600);
    const args = ['--format=custom', `--file=${path}`, `--snapshot=${snapshot}`, `--lock-wait-timeout=${lockWaitMs}`];
    const schemas = serviceSchemas.map((name) => `--schema=${name}`);
    await runProgram(programs, 'pg_dump', [...args, ...schemas, '--no-password'], listConnectionVariables(database));
    return { art: 'postgresql', datei, sha256: await hashFile(path), programm, moment };
  });
}

async function dumpEmbedded(
  { sql }: Database,
  dump: () => Promise<Uint8Array>,
  dir: string,
  stamp: string,
): Promise<DatabasePart> {
  const moment = await getMoment(sql);
  const part = await writePart(dir, `datenbank-${stamp}.tar.gz`, await dump());
  return { art: 'eingebettet', ...part, programm: null, moment };
}

async function copyKey({ secretKey, dataDir }: Source, dir: string, stamp: string): Promise<Part | null> {
  if (secretKey !== null) return null;
  const bytes = await readFile(secretKeyPath(dataDir)).catch(() => null);
  return bytes && writePart(dir, `schluessel-${stamp}.key`, bytes);
}

async function writePart(dir: string, datei: string, bytes: Uint8Array): Promise<Part> {
  await writeDurably(join(dir, datei), bytes, 0o600);
  return { datei, sha256: hashOf(bytes) };
}

// What belongs to no backup any more: parts of earlier ones, and files that no record of this one names.
async function prune(dir: string, stamp: string, list: MediaList): Promise<void> {
  for (const name of await readdir(dir)) {
    if ((partPattern.test(name) && !name.includes(stamp)) || name.startsWith('.sicherung.json.')) await rm(join(dir, name));
  }
  await pruneCopy(openCopy(dir), list);
}

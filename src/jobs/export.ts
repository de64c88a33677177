// Makes the files to publish (O5): every night all, and soon those that a change made wrong. A run that is killed leaves the old files; what
// it left behind is removed by the next one.
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { codeOf, type Database, type Transaction, withClient } from '../db/client.ts';
import {
  type ExportStand,
  listExportFaellig,
  runExport,
  runExportSweep,
  type StoredExport,
  setExportLauf,
} from '../db/export.ts';
import { writeExport } from '../export/files.ts';
import { contentTypes, dateienOf } from '../export/licences.ts';
import { makeDirectory } from '../media/durable.ts';
import { makeExportName } from '../media/name.ts';
import { type Storage, StorageError } from '../media/storage.ts';
import { codeOfFault } from '../observe/fault.ts';
import type { Log } from '../observe/log.ts';
import { type Boss, ensureQueue } from './boss.ts';

const exportQueue = 'veroeffentlichen';
const pauseMs = 5000;
const busyMs = 10_000;
const endMs = 3000;
// Longest statement: what a cube counts, it counts before its first line.
const statementMs = 30 * 60_000;

/** What a run works with. */
export interface ExportWork {
  storage: Storage;
  /** Files are written below it, in `export`, before they are stored. */
  dataDir: string;
  /** Address of a tenant, with {domain}. */
  publicUrl: string;
  log: Log;
  /** Breaks a run off. */
  signal?: AbortSignal;
}

/**
 * Makes the files of a tenant, or removes those of one that publishes nothing any more.
 * @returns why that failed, as a sentence, which is noted; null: it did not
 * @throws 55P03 (a database error) while another run is under way
 */
export async function publishExport(database: Database, kuerzel: string, work: ExportWork): Promise<string | null> {
  const { storage, log, signal } = work;
  const note = (fehler: string | null) => setExportLauf(database.work, kuerzel, fehler);
  try {
    const settings = { lock_timeout: 1000, statement_timeout: statementMs };
    const unused = await withClient(database, { settings }, async (sql) => {
      const end = () => void sql.end({ timeout: 0 });
      signal?.addEventListener('abort', end);
      try {
        return await runExport(sql, kuerzel, async (tx, stand) => {
          signal?.throwIfAborted();
          return stand === null ? [] : makeFiles(tx, stand, database.kind === 'postgres', work);
        });
      } finally {
        signal?.removeEventListener('abort', end);
      }
    });
    // What can't be removed now, the next round sweeps.
    await storage.remove(unused).catch(() => {});
    await note(null);
    log.info({ mandant: kuerzel }, 'files published');
    return null;
  } catch (error) {
    signal?.throwIfAborted();
    if (isBusy(error)) throw error;
    const fehler = describeExportFault(error);
    const reason = error instanceof StorageError ? { reason: error.message } : {};
    log.warn({ mandant: kuerzel, code: codeOfFault(error), ...reason }, 'files to publish stay as they are');
    // Where the database is away it is noted nowhere, and tried again when it is back.
    await note(fehler).catch(() => {});
    return fehler;
  }
}

async function makeFiles(tx: Transaction, stand: ExportStand, mayRest: boolean, work: ExportWork): Promise<StoredExport[]> {
  const { storage, dataDir, publicUrl, signal } = work;
  const root = join(dataDir, 'export');
  // Behind the lock: what is there is a killed run's.
  await rm(root, { recursive: true, force: true });
  await makeDirectory(root, 0o700);
  const directory = await mkdtemp(join(root, 'lauf-'));
  try {
    const written = await writeExport(tx, stand, dateienOf(stand.lizenz), {
      directory,
      origin: publicUrl.replaceAll('{domain}', stand.domain),
      onRows: paceOf(mayRest, signal),
    });
    const stored: StoredExport[] = [];
    for (const { path, ...file } of written) {
      signal?.throwIfAborted();
      const before = stand.dateien.find(({ datei, sha256 }) => datei === file.datei && sha256 === file.sha256);
      const objekt = before?.objekt ?? makeExportName(stand.mandant, file.datei);
      // One that is lost is stored again, under the name that it has.
      const there = before ? await storage.open(objekt) : null;
      there?.stream.destroy();
      if (!there) await storage.putFile(objekt, path, contentTypes[file.datei]);
      stored.push({ ...file, objekt });
    }
    return stored;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

// Lists stay fast: it rests after each batch twice as long as that took. Not in the embedded database, where everybody waits for this transaction.
function paceOf(mayRest: boolean, signal: AbortSignal | undefined): () => Promise<void> {
  let begun = performance.now();
  return async () => {
    signal?.throwIfAborted();
    await sleep(mayRest ? Math.min(2 * (performance.now() - begun), 1000) : 0);
    begun = performance.now();
  };
}

// Another run has the lock, or ended between this one's snapshot and its lock.
const isBusy = (error: unknown) => ['55P03', '40001'].includes(codeOf(error) ?? '');

/** Why files could not be made, for everybody to read. */
function describeExportFault(error: unknown): string {
  // SQLite has a number of its own for a full disk: SQLITE_FULL.
  const code = (error as { errcode?: unknown }).errcode === 13 ? 'ENOSPC' : (codeOfFault(error) ?? '');
  if (error instanceof StorageError) return 'Die Ablage der Dateien geht nicht.';
  if (code === 'ENOSPC' || code === 'EDQUOT') return `Auf dem Datenträger ist kein Platz mehr (${code}).`;
  if (/^(EACCES|EPERM|EROFS|ENOTDIR|EIO)$/.test(code)) return `Das Arbeitsverzeichnis ist nicht zu beschreiben (${code}).`;
  if (code === 'AUSGABE_ROLLE')
    return 'Der Dienst darf die Datenbankrolle gis_public nicht annehmen: npm run migrate sagt, was zu tun ist.';
  if (code === '57014') return 'Eine Abfrage dauerte zu lange.';
  if (/^(08|53|57)|^CONNECTION|^ECONN/.test(code)) return `Die Datenbank war nicht zu erreichen (${code}).`;
  return `Im Dienst ist ein Fehler aufgetreten${code === '' ? '' : ` (${code})`}.`;
}

/**
 * Makes the files of these tenants one after the other; waits while another run is under way.
 * @returns the sentences of those that failed
 */
export async function publishAll(database: Database, kuerzel: readonly string[], work: ExportWork): Promise<string[]> {
  const failed: string[] = [];
  for (const each of kuerzel) {
    const fehler = await waitForOthers(() => publishExport(database, each, work), work.signal);
    if (fehler !== null) failed.push(`${each}: ${fehler}`);
  }
  return failed;
}

async function waitForOthers<T>(run: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  for (;;) {
    try {
      return await run();
    } catch (error) {
      if (!isBusy(error)) throw error;
      await sleep(busyMs, undefined, signal && { signal });
    }
  }
}

/**
 * Removes files that no tenant has: a run was killed before it named them.
 * @throws 55P03 (a database error) while a run is under way
 */
export async function sweepExport({ work: sql }: Database, storage: Storage): Promise<void> {
  await runExportSweep(sql, async (used) => {
    for await (const { name } of storage.listExport()) if (!used.has(name)) await storage.remove([name]);
  });
}

/**
 * Makes all files by schedule, and every few seconds those that are missing or wrong.
 * @returns ends it; what is being made is broken off
 */
export async function workExport(
  { boss }: Boss,
  database: Database,
  options: Omit<ExportWork, 'signal'> & { cron: string; onError: (error: unknown) => void },
): Promise<() => Promise<void>> {
  const end = new AbortController();
  const { signal } = end;
  const { cron, onError, ...rest } = options;
  const work = { ...rest, signal };
  // One process has the night; one that is killed is noticed by its missing heartbeat.
  await ensureQueue(boss, exportQueue, {
    policy: 'exclusive',
    retryLimit: 3,
    retryDelay: 600,
    heartbeatSeconds: 60,
    expireInSeconds: 6 * 3600,
  });
  await boss.work(exportQueue, async () => {
    await sweepExport(database, work.storage).catch((error) => isBusy(error) || onError(error));
    await publishAll(database, await listExportFaellig(database.work, true), work);
  });
  await boss.schedule(exportQueue, cron, null, { tz: 'Europe/Berlin', missed: 'once' });
  const publishSoon = async () => {
    const due = await listExportFaellig(database.work, false);
    if (due.length > 0) await sweepExport(database, work.storage).catch((error) => isBusy(error) || onError(error));
    for (const kuerzel of due) await publishExport(database, kuerzel, work);
  };
  const loop = async () => {
    while (!signal.aborted) {
      const begun = performance.now();
      await publishSoon().catch((error) => signal.aborted || isBusy(error) || onError(error));
      // At most half of the time, however often something is hidden.
      await sleep(Math.max(pauseMs, performance.now() - begun), undefined, { signal }).catch(() => {});
    }
  };
  const running = loop();
  return async () => {
    end.abort();
    // A file on its way to the storage is not waited for.
    await Promise.race([running, sleep(endMs, undefined, { ref: false })]);
  };
}

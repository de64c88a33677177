// Removes stored files that no record names.

import type { Sql } from '../db/client.ts';
import { deleteMediumEntfernt, listMediumEntfernt, listMediumUnbekannt, sweepMediumImport } from '../db/medium.ts';
import type { Storage } from '../media/storage.ts';
import type { Uploads } from '../media/uploads.ts';
import { type Boss, ensureQueue } from './boss.ts';

const removeQueue = 'medien_entfernen';
const sweepQueue = 'medien_aufraeumen';
const batch = 500;
const hour = 3_600_000;

/** Removes files of deleted and changed records every minute, and what broken uploads left every night. */
export async function workMedia({ boss }: Boss, sql: Sql, media: { storage: Storage; uploads: Uploads }): Promise<void> {
  await ensureQueue(boss, removeQueue, { retryLimit: 0 });
  await ensureQueue(boss, sweepQueue, { retryLimit: 3, retryDelay: 300, expireInSeconds: 6 * 3600 });
  await boss.work(removeQueue, async () => removeEntfernt(sql, media.storage));
  await boss.work(sweepQueue, async () => {
    // No upload takes that long: whatever is older belongs to none that is under way.
    const yesterday = new Date(Date.now() - 24 * hour);
    await media.uploads.removeLeftovers(yesterday);
    await media.storage.removePartialFiles(yesterday);
    await sweepMediumImport(sql);
    await sweepStorage(sql, media.storage, yesterday);
  });
  await boss.schedule(removeQueue, '* * * * *');
  await boss.schedule(sweepQueue, '47 3 * * *', null, { tz: 'Europe/Berlin' });
}

/** Removes the files that records no longer have; those of a request are removed by it already, unless that failed. */
export async function removeEntfernt(sql: Sql, storage: Storage): Promise<void> {
  for (;;) {
    const names = await listMediumEntfernt(sql, batch);
    await storage.remove(names);
    await deleteMediumEntfernt(sql, names);
    if (names.length < batch) return;
  }
}

/**
 * Removes files that are older than that and that no record names: their upload was killed before its row was stored.
 * @returns how many
 */
export async function sweepStorage(sql: Sql, storage: Storage, olderThan: Date): Promise<number> {
  let removed = 0;
  let names: string[] = [];
  const sweep = async () => {
    const unknown = await listMediumUnbekannt(sql, names);
    await storage.remove(unknown);
    removed += unknown.length;
    names = [];
  };
  for await (const { name, modified } of storage.list()) {
    if (modified >= olderThan) continue;
    if (names.push(name) === batch) await sweep();
  }
  await sweep();
  return removed;
}

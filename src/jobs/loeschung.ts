// Brings erasures of accounts to their end: those that a link began, and what was broken off (D7.2).
import type { Sql } from '../db/client.ts';
import { finishNutzerLoeschung, listNutzerLoeschung } from '../db/loeschung.ts';
import { type Boss, ensureQueue } from './boss.ts';

const queue = 'konten_loeschen';

/** Looks every minute. */
export async function workLoeschung(boss: Boss, sql: Sql): Promise<void> {
  await ensureQueue(boss.boss, queue, { retryLimit: 0, expireInSeconds: 6 * 3600 });
  await boss.boss.work(queue, async () => eraseBegun(boss, sql));
  await boss.boss.schedule(queue, '* * * * *');
}

/**
 * Erases the accounts whose erasure was begun. One that fails holds up no other.
 * errors  the first one's, at the end
 */
export async function eraseBegun(boss: Pick<Boss, 'deleteMails'>, sql: Sql): Promise<void> {
  const failures: unknown[] = [];
  for (const id of await listNutzerLoeschung(sql))
    await eraseNutzer(boss, sql, id).catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}

/**
 * Erases an account that was shut out.
 * @param onBatch as of finishNutzerLoeschung
 */
export async function eraseNutzer(
  boss: Pick<Boss, 'deleteMails'>,
  sql: Sql,
  id: number,
  onBatch?: (done: number, tookMs: number) => void | Promise<void>,
): Promise<void> {
  await boss.deleteMails(id);
  await finishNutzerLoeschung(sql, id, onBatch);
}

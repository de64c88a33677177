// The daily sweep: what is past its time.
import type { Sql } from '../db/client.ts';
import { sweepNutzer } from '../db/nutzer.ts';
import { type Boss, ensureQueue } from './boss.ts';

const sweepQueue = 'aufraeumen';

/** Sweeps every night. */
export async function workSweep({ boss }: Boss, sql: Sql, ttlDays: number): Promise<void> {
  await ensureQueue(boss, sweepQueue, { retryLimit: 3, retryDelay: 300 });
  await boss.work(sweepQueue, async () => sweepNutzer(sql, ttlDays));
  await boss.schedule(sweepQueue, '17 3 * * *', null, { tz: 'Europe/Berlin' });
}

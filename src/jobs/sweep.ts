// The daily sweep: what is past its time (D7.4).
import type { Sql } from '../db/client.ts';
import { type Fristen, sweepKonto } from '../db/loeschung.ts';
import { type Boss, ensureQueue } from './boss.ts';
import { removeMails } from './mail.ts';

const sweepQueue = 'aufraeumen';
const day = 86_400_000;

export interface SweepOptions {
  fristen: Fristen;
  /** Where mails are files, and how many days they stay. */
  mails: { directory: string; days: number };
}

/** Sweeps every night. */
export async function workSweep({ boss }: Boss, sql: Sql, options: SweepOptions): Promise<void> {
  await ensureQueue(boss, sweepQueue, { retryLimit: 3, retryDelay: 300 });
  await boss.work(sweepQueue, async () => sweep(sql, options));
  await boss.schedule(sweepQueue, '17 3 * * *', null, { tz: 'Europe/Berlin' });
}

/** Removes what is past its time. */
export async function sweep(sql: Sql, { fristen, mails }: SweepOptions): Promise<void> {
  await sweepKonto(sql, fristen);
  await removeMails(mails.directory, new Date(Date.now() - mails.days * day));
}

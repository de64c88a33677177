// Notes once a minute up to where the feed for mirrors is complete: cursors of before are good after a restore.
import { setAbgleichKomplett } from '../db/abgleich.ts';
import type { Sql } from '../db/client.ts';
import { type Boss, ensureQueue } from './boss.ts';

const queue = 'abgleich';

export async function workAbgleich({ boss }: Boss, sql: Sql): Promise<void> {
  await ensureQueue(boss, queue, { retryLimit: 0 });
  await boss.work(queue, async () => setAbgleichKomplett(sql));
  await boss.schedule(queue, '* * * * *');
}

// Keeps why waiting records are odd: some seconds behind what changes, and every night of all. Then releases what rules release.
import type { Sql } from '../db/client.ts';
import { countPruefung, releaseAutomatisch, renewPruefgruende } from '../db/pruefung.ts';
import type { Log } from '../observe/log.ts';
import { type Boss, ensureQueue } from './boss.ts';
import { workOften } from './often.ts';

const queue = 'pruefgruende';

/**
 * @param onError told what went wrong; it is tried again
 * @returns ends it, once the step that is being done is done
 */
export async function workPruefung(
  { boss }: Boss,
  sql: Sql,
  log: Log,
  onError: (error: unknown) => void,
): Promise<() => Promise<void>> {
  await ensureQueue(boss, queue, { retryLimit: 3, retryDelay: 300 });
  await boss.work(queue, async () => {
    await renewPruefgruende(sql);
    const run = await releaseAutomatisch(sql);
    if (run !== null) log.info(run, 'released by rules');
  });
  await boss.schedule(queue, '27 2 * * *', null, { tz: 'Europe/Berlin' });
  return workOften((goesOn, onStep) => countPruefung(sql, goesOn, onStep), onError);
}

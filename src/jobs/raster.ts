// Keeps the counts by squares up to date, some seconds behind: what is read is right meanwhile, but costs more, and of very many
// records that changed it is those seconds old.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Sql } from '../db/client.ts';
import { countRaster } from '../db/raster.ts';
import { restOfService } from '../guard/rest.ts';

const pauseMs = 5000;

/**
 * Counts what has changed, every few seconds. Not by the queue, whose clock knows minutes only. It rests beside photos as requests do:
 * who changed records of one square all the time had it counted all the time, which took half a core.
 * @param onError told what went wrong; it is tried again
 * @returns ends it, once what is being counted is done
 */
export function workRaster(sql: Sql, onError: (error: unknown) => void): () => Promise<void> {
  const end = new AbortController();
  let running = Promise.resolve();
  let timer: NodeJS.Timeout;
  const plan = () => {
    timer = setTimeout(() => {
      running = count();
    }, pauseMs);
  };
  const count = async () => {
    try {
      await countRaster(
        sql,
        () => !end.signal.aborted,
        // Cut short when it is to end.
        (_, tookMs) => sleep(restOfService(tookMs), undefined, { signal: end.signal }).catch(() => {}),
      );
    } catch (error) {
      onError(error);
    }
    if (!end.signal.aborted) plan();
  };
  plan();
  return async () => {
    end.abort();
    clearTimeout(timer);
    await running;
  };
}

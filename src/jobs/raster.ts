// Keeps the counts by squares up to date, some seconds behind: what is read is right meanwhile, but costs more, and of very many
// records that changed it is those seconds old.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Sql } from '../db/client.ts';
import { countRaster } from '../db/raster.ts';

const pauseMs = 5000;

// After each step for so many times as long, at most for so many milliseconds: an expert who changes records of one city all the time had its
// 400 000 counted all the time, a core's work beside all others.
const restAfterStep = (tookMs: number) => Math.min(4 * tookMs, 10_000);

/**
 * Counts what has changed, every few seconds. Not by the queue, whose clock knows minutes only. It rests after each step.
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
        (_, tookMs) => sleep(restAfterStep(tookMs), undefined, { signal: end.signal }).catch(() => {}),
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

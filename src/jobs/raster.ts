// Keeps the counts by squares up to date, some seconds behind: what is read is right meanwhile, but costs more.
import type { Sql } from '../db/client.ts';
import { countRaster } from '../db/raster.ts';

const pauseMs = 5000;

/**
 * Counts what has changed, every few seconds. Not by the queue, whose clock knows minutes only.
 * @param onError told what went wrong; it is tried again
 * @returns ends it, once what is being counted is done
 */
export function workRaster(sql: Sql, onError: (error: unknown) => void): () => Promise<void> {
  let isEnded = false;
  let running = Promise.resolve();
  let timer: NodeJS.Timeout;
  const plan = () => {
    timer = setTimeout(() => {
      running = count();
    }, pauseMs);
  };
  const count = async () => {
    try {
      await countRaster(sql, () => !isEnded);
    } catch (error) {
      onError(error);
    }
    if (!isEnded) plan();
  };
  plan();
  return async () => {
    isEnded = true;
    clearTimeout(timer);
    await running;
  };
}

// Keeps the counts by squares up to date, some seconds behind: what is read is right meanwhile, but costs more, and of very many
// records that changed it is those seconds old.
import type { Sql } from '../db/client.ts';
import { countRaster } from '../db/raster.ts';
import { workOften } from './often.ts';

/**
 * Counts what has changed, every few seconds.
 * @param onError told what went wrong; it is tried again
 * @returns ends it, once what is being counted is done
 */
export const workRaster = (sql: Sql, onError: (error: unknown) => void) =>
  workOften((goesOn, onStep) => countRaster(sql, goesOn, onStep), onError);

// Counts by squares of the grids: kept up to date, and made for a database from before.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Sql } from './client.ts';

// Some hundred squares of each grid: a transaction of less than a second at ten million sightings.
const cellsAtOnce = 300;

/**
 * Counts the squares in which something changed, and keeps the counts. What is read is right without it, and slower.
 * @returns how many squares were counted; 0 for nothing to do, or while another process counts
 */
export async function countRaster(sql: Sql): Promise<number> {
  const [row] = await sql<{ counted: number }[]>`select api.set_raster_zahl(row_limit => ${cellsAtOnce}::integer) as counted`;
  return row?.counted ?? 0;
}

const recordsAtOnce = 10_000;
const reportEveryMs = 10_000;

/**
 * Finds and counts the squares of all records of a database that had some before there were counts. In small transactions, so that
 * others go on writing; goes on where it was stopped.
 * @param report told how far it has come
 */
export async function completeRaster(sql: Sql, report: (line: string) => void): Promise<void> {
  if (await isComplete(sql)) return;
  let reportAt = performance.now() + reportEveryMs;
  const tell = (line: () => string) => {
    if (performance.now() < reportAt) return;
    report(line());
    reportAt = performance.now() + reportEveryMs;
  };
  do {
    for (let last: string | null = '0', records = 0; last !== null; records += recordsAtOnce) {
      const [row]: { last: string | null }[] = await sql`
        select api.set_raster_lage(after_id => ${last}::bigint, row_limit => ${recordsAtOnce}::integer)::text as last`;
      last = row?.last ?? null;
      tell(() => `Rasterfelder bestehender Meldungen: ${records + recordsAtOnce} durchgesehen …`);
    }
    // What another transaction had in hand.
  } while (!(await setComplete(sql)) && (await sleep(500, true)));
  for (let squares = 0, counted = -1; counted !== 0; squares += counted) {
    counted = await countRaster(sql);
    tell(() => `Rasterfelder gezählt: ${squares + counted} …`);
  }
}

async function isComplete(sql: Sql): Promise<boolean> {
  const [row] = await sql<{ complete: boolean }[]>`select api.is_raster_vollstaendig() as complete`;
  return row?.complete === true;
}

async function setComplete(sql: Sql): Promise<boolean> {
  const [row] = await sql<{ complete: boolean }[]>`select api.set_raster_vollstaendig() as complete`;
  return row?.complete === true;
}

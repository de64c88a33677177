// Counts by squares of the grids: kept up to date, and made for a database from before.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Sql } from './client.ts';
import { oneValue } from './row.ts';
import { workInSteps } from './steps.ts';

// Changes of a step. The feed for mirrors waits for writing transactions.
const changes = { least: 50, first: 200, most: 10_000 };

/**
 * Counts the squares in which something changed, and keeps the counts: what is read is right without it, and slower, or old where very
 * many changed (gis.raster_zahl).
 * @param goesOn asked before each step
 * @param onStep told how many squares a step has counted, and how long it took in milliseconds; waited for
 */
export async function countRaster(
  sql: Sql,
  goesOn = () => true,
  onStep: (squares: number, tookMs: number) => void | Promise<void> = () => {},
): Promise<void> {
  const step = (rows: number) => oneValue<number>(sql`select api.set_raster_zahl(row_limit => ${rows}::integer)`);
  await workInSteps(changes, step, goesOn, onStep);
}

const recordsAtOnce = 10_000;
const reportEveryMs = 10_000;

/**
 * Finds and counts the squares of all records of a database that had some before there were counts. In small transactions, so that
 * others go on writing; goes on where it was stopped.
 * @param report told how far it has come
 */
export async function completeRaster(sql: Sql, report: (line: string) => void): Promise<void> {
  if (await oneValue<boolean>(sql`select api.is_raster_vollstaendig()`)) return;
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
  } while (!(await oneValue<boolean>(sql`select api.set_raster_vollstaendig()`)) && (await sleep(500, true)));
  // Squares are counted from indexes alone where pages are known to hold nothing old; and the first steps need statistics.
  await sql`vacuum (analyze) portal.raster_offen, portal.raster_feld, portal.sichtbeobachtung_gezeigt`;
  let squares = 0;
  await countRaster(
    sql,
    () => true,
    (counted) => {
      squares += counted;
      tell(() => `Rasterfelder gezählt: ${squares} …`);
    },
  );
}

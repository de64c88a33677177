// What is measured otherwise than by requests: jobs and commands, by their own figures.
import type { Sql } from '../../src/db/client.ts';

export interface Figure {
  /** What was measured. */
  what: string;
  value: number;
  unit: string;
}

export interface TaskContext {
  sql: Sql;
  databaseUrl: string;
  /** Sightings in the database; 0 for a task that needs none. */
  size: number;
}

export interface Task {
  name: string;
  /** Once per run instead of once per size. */
  once?: boolean;
  /** Removes what it stored, as far as that has ids beyond the generated ones: the run does it. */
  run(context: TaskContext): Promise<Figure[]>;
}

const rowsPerLoad = 10_000;

/** Every rule and trigger, set-based, without the reading of a file. */
async function measureInsert({ sql, size }: TaskContext): Promise<Figure[]> {
  const rates: number[] = [];
  for (let round = 0; round < 3; round++) {
    const from = size + 1_000_000 * (round + 1);
    const began = performance.now();
    await sql`
      insert into portal.sichtbeobachtung (nutzer_id, art, point, datum, bereich, bemerkung)
      select 1 + n % 1980, r.art, bench.scatter(o.x, o.y, 5000, bench.unit(n, 960), bench.unit(n, 961)), date '2024-05-01',
        'oeffentlich', 'Am Waldrand'
      from generate_series(${from}::bigint, ${from + rowsPerLoad - 1}::bigint) n
      join bench.rang r on r.rang = 1 + n % 3000
      join bench.ort o on o.id = 1 + n % 600`;
    rates.push(rowsPerLoad / ((performance.now() - began) / 1000));
  }
  return [
    { what: `insert … select of ${rowsPerLoad} rows`, value: rates.sort((a, b) => a - b)[1] ?? Number.NaN, unit: 'rows/s' },
  ];
}

export const tasks: Task[] = [{ name: 'insert', run: measureInsert }];

// The bulk import as an operator runs it: the command, with the start of its process and the reading of the file.

import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Sql } from '../../src/db/client.ts';
import { medianOfNumbers } from './measure.ts';
import { makeDir, startEntry } from './process.ts';
import type { Figure, TaskContext } from './tasks.ts';

const rowsPerFile = 200_000;
const rounds = 3;

/** A third protected by nobody's mark, but as species and places fall; every fourth private. */
async function* listLines(sql: Sql, round: number): AsyncGenerator<string> {
  yield 'art,lat,lon,datum,bereich,bemerkung,anzahl\n';
  const rows = sql<{ line: string }[]>`
    select concat_ws(',', r.art, round(st_y(p.point)::numeric, 2), round(st_x(p.point)::numeric, 2),
      to_char(date '1990-01-01' + (bench.unit(n, ${1000 + round}::integer) * 12000)::integer, 'DD.MM.YYYY'),
      case when n % 4 = 0 then 'privat' else 'oeffentlich' end, '"Am Waldrand, ein Männchen"', 1 + n % 9) as line
    from generate_series(1, ${rowsPerFile}::integer) n
    join bench.rang r on r.rang = 1 + floor(3000 * bench.unit(n, ${1010 + round}::integer) ^ 3)
    join bench.ort o on o.id = 1 + n % 600,
      lateral (
        select bench.scatter(o.x, o.y, 5000, bench.unit(n, ${1020 + round}::integer), bench.unit(n, ${1030 + round}::integer)) as point
        offset 0) p`;
  for await (const part of rows.cursor(5000)) yield part.map(({ line }) => `${line}\n`).join('');
}

export async function measureImport({ sql, databaseUrl }: TaskContext): Promise<Figure[]> {
  const dir = await makeDir();
  const rates: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const file = join(dir, `sightings-${round}.csv`);
    await pipeline(Readable.from(listLines(sql, round)), createWriteStream(file));
    const began = performance.now();
    const running = startEntry('cli', 'src/cli.ts', ['sichtbeobachtungen', 'import', file, '--loginname', 'bench-700'], {
      DATABASE_URL: databaseUrl,
      DATA_DIR: dir,
    });
    const [code] = await once(running.process, 'close');
    if (code !== 0) throw new Error(`the import ended with ${code}: ${running.output()}`);
    rates.push(rowsPerFile / ((performance.now() - began) / 1000));
  }
  return [{ what: `import of ${rowsPerFile} sightings by command`, value: medianOfNumbers(rates), unit: 'rows/s' }];
}

// Makes the benchmark's databases: one per size, kept between runs when the cluster is.
import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readCatalogue } from '../../src/catalog/catalogue.ts';
import { listKnownIds, loadCatalogue } from '../../src/db/catalogue.ts';
import { type Database, openDatabase, type Sql } from '../../src/db/client.ts';
import { migrateDatabase } from '../../src/db/migrate.ts';
import { renewPruefgruende } from '../../src/db/pruefung.ts';
import { countRaster } from '../../src/db/raster.ts';
import { root } from '../support/child.ts';
import { checkSample } from './sample.ts';

const species = 12_000;
const rowsPerStep = 250_000;
const tables = ['sichtbeobachtung', 'mandant_sichtbeobachtung', 'protokoll', 'qs'];

/** URL of the database of a size on the server of `url`. */
export function databaseUrlOf(url: string, size: number): string {
  const target = new URL(url);
  target.pathname = `/bench_${size}`;
  return target.href;
}

/**
 * Makes the database of a size, unless it is there already, made by the same generator from the same tables.
 * @param url any database of the server
 * @param report progress, a line at a time
 */
export async function prepareDatabase(url: string, size: number, report: (line: string) => void): Promise<void> {
  const server = await openDatabase({ databaseUrl: url, dataDir: '' });
  const target = await openDatabase({ databaseUrl: databaseUrlOf(url, size), dataDir: '' });
  const origin = readOrigin();
  try {
    const name = `bench_${size}`;
    const [present] = await server.sql`select from pg_database where datname = ${name}`;
    const made = present ? await target.sql<{ origin: string }[]>`select origin from bench.origin`.catch(() => []) : [];
    if (made[0]?.origin === origin) {
      report(`${name} is there: ${await migrateDatabase(target)}`);
      await completeOutputs(target.connect(), size);
      return;
    }
    if (present) report(`${name} was made by another generator or has other tables: made anew`);
    await server.sql.unsafe(`drop database if exists ${name} with (force)`);
    await server.sql.unsafe(`create database ${name}`);
    await fillDatabase(target, size, report);
    await completeOutputs(target.connect(), size);
    // Last: a load that was interrupted is no database to measure.
    await target.sql.unsafe('create table bench.origin (origin text not null)');
    await target.sql`insert into bench.origin values (${origin})`;
  } finally {
    await target.close();
    await server.close();
  }
}

// What triggers and jobs do for records that are written: a place in the feed, the squares counted, and why they are odd. Also for a database that was
// made before this was.
async function completeOutputs(sql: Sql, size: number): Promise<void> {
  await sql`insert into portal.abgleich_block (stelle, von, bis) values (0, 1, ${size}::bigint) on conflict do nothing`;
  await countRaster(sql);
  const [reasons] = await sql`select from portal.pruefgrund limit 1`;
  if (!reasons) {
    await sql`select api.set_pruef_zahl_aller()`;
    await sql`analyze portal.pruef_zahl`;
    await renewPruefgruende(sql);
  }
  await sql.unsafe(
    'vacuum (analyze) portal.raster_zahl, portal.raster_grob, portal.raster_offen, portal.raster_feld, portal.abgleich, portal.pruef_zahl, portal.pruef_zahl_offen, portal.pruefgrund',
  );
}

// What the rows depend on. sql/code is replaced at every run; rows that a changed function would derive otherwise are found
// by the sample.
function readOrigin(): string {
  const files = ['test/bench/generate.sql', ...globSync('sql/migrations/*.sql', { cwd: root }).sort()];
  const hash = createHash('sha256');
  for (const file of files) hash.update(readFileSync(join(root, file)));
  return hash.digest('hex');
}

/** Makes what there is in a database of a size. */
export async function fillDatabase(target: Database, size: number, report: (line: string) => void): Promise<void> {
  const started = performance.now();
  const tell = (line: string) => report(`${((performance.now() - started) / 1000).toFixed(0).padStart(4)} s  ${line}`);
  await migrateDatabase(target);
  tell('catalogue');
  await loadCatalogue(target, await readCatalogue(join(root, 'sql/demo'), await listKnownIds(target.sql)));
  const sql = target.connect({ max: 2, settings: { session_replication_role: 'replica', work_mem: '64MB' } });
  const plain = target.connect();
  await plain.unsafe(readFileSync(join(root, 'test/bench/generate.sql'), 'utf8')).simple();
  await plain`select bench.create_catalogue(${species}::integer)`;
  await plain`select bench.create_people_and_places()`;
  await plain`analyze`;

  const indexes = await dropIndexes(plain);
  let done = 0;
  const steps = Array.from({ length: Math.ceil(size / rowsPerStep) }, (_, step) => step * rowsPerStep);
  await runParallel(2, steps, async (from) => {
    const to = Math.min(from + rowsPerStep, size);
    await sql`select bench.create_sichtbeobachtung(${from + 1}::bigint, ${to}::bigint, ${size}::bigint)`;
    done += to - from;
    tell(`${done} of ${size} sightings`);
  });
  await plain`select setval(pg_get_serial_sequence('portal.sichtbeobachtung', 'id'), ${size}::bigint)`;
  await plain`select private.set_gezeigt_all()`;
  tell(`${indexes.length} indexes`);
  await runParallel(2, indexes, async (definition) => {
    await sql.unsafe(definition);
  });
  tell('vacuum');
  await plain.unsafe('vacuum (freeze, analyze)');
  tell('comparing a sample with what the triggers make');
  const compared = await checkSample(plain, size);
  tell(`${compared} rows are exactly what the triggers make`);
  const [bytes] = await plain<{ size: string }[]>`select pg_size_pretty(pg_database_size(current_database())) as size`;
  tell(`done, ${bytes?.size}`);
  await sql.end();
  await plain.end();
}

async function runParallel<T>(workers: number, items: T[], run: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items];
  await Promise.all(
    Array.from({ length: workers }, async () => {
      for (let item = queue.shift(); item !== undefined; item = queue.shift()) await run(item);
    }),
  );
}

// All but those behind constraints, the largest last dropped first built.
async function dropIndexes(sql: Sql): Promise<string[]> {
  const rows = await sql<{ name: string; definition: string }[]>`
    select format('%I.%I', i.schemaname, i.indexname) as name, i.indexdef as definition
    from pg_indexes i
    where i.schemaname = 'portal' and i.tablename in (select unnest(${`{${tables}}`}::text[]))
      and not exists (
        select from pg_constraint k
        where k.conindid = format('%I.%I', i.schemaname, i.indexname)::regclass and k.contype in ('p', 'u', 'x'))
    order by i.indexdef ~ 'gist' desc, i.indexname`;
  for (const { name } of rows) await sql.unsafe(`drop index ${name}`);
  return rows.map((row) => row.definition);
}

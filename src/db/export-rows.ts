// Rows of the files to publish, as the database makes them (sql/code/ausgabe/export.sql), in a transaction that is gis_public. By cursor: a
// tenant may have ten million.
import type { medienLizenzen } from '../sichtbeobachtung-felder.ts';
import type { Transaction } from './client.ts';
import { oneRow, oneValue } from './row.ts';

/** What is read: a tenant, and what its records say of their licence. */
export interface ExportSource {
  mandantId: number;
  /** Address of the licence. */
  rechte: string;
}

export interface ExportUmfang {
  /** First and last day, YYYY-MM-DD; null without records. */
  von: string | null;
  bis: string | null;
  /** Day of the last change. */
  geaendert: string;
  /** west, south, east, north in degrees. */
  box: [number, number, number, number];
}

// Few, so that nobody waits long behind a batch that is being written.
const rowsPerFetch = 25;
const list = 'ausgabe.list_export(mandant_id => $1::integer, rechte => $2::text) l';

/** Number of a tenant. */
export function getExportMandant(tx: Transaction, kuerzel: string): Promise<number> {
  return oneValue(tx<{ id: number }[]>`select m.id from gis.mandant m where lower(m.kuerzel) = lower(${kuerzel}::text)`);
}

export async function getExportUmfang(tx: Transaction, mandantId: number): Promise<ExportUmfang> {
  const row = await oneRow(tx<{ json: string }[]>`
    select row_to_json(u)::text as json from ausgabe.get_export_umfang(mandant_id => ${mandantId}::integer) u`);
  return JSON.parse(row.json) as ExportUmfang;
}

/** Rows as lines of text, in batches: values divided by tabs; tabs and line ends within them are blanks. */
export function readTabbed(tx: Transaction, source: ExportSource, columns: readonly string[]): AsyncIterable<Buffer[]> {
  const cells = columns.map((name) => `translate(l."${name}"::text, E'\\t\\r\\n', '   ')`);
  return readLines(tx, `select concat(${cells.join(", E'\\t', ")}, E'\\n') from ${list}`, [source.mandantId, source.rechte]);
}

/** The same as CSV. */
export function readCsv(tx: Transaction, source: ExportSource, columns: readonly string[]): AsyncIterable<Buffer[]> {
  const cells = columns.map((name) => (texts.has(name) ? `ausgabe.to_csv_zelle(l."${name}")` : `l."${name}"::text`));
  return readLines(tx, `select concat(${cells.join(", ',', ")}, E'\\n') from ${list}`, [source.mandantId, source.rechte]);
}

const texts = new Set([
  'name_deutsch',
  'name_wissenschaftlich',
  'artengruppe',
  'stadium',
  'aktivitaet',
  'bemerkung',
  'zelle_wkt',
]);

/** Rows as JSON arrays: the id, easting and northing in metres (EPSG:25832), the same as WKB in hexadecimal, and columns. */
export function readArrays(tx: Transaction, source: ExportSource, columns: readonly string[]): AsyncIterable<Buffer[]> {
  const point = "encode(public.st_asbinary(public.st_point(l.x, l.y), 'NDR'), 'hex')";
  const values = ['l.id', 'l.x', 'l.y', point, ...columns.map((name) => `l."${name}"`)];
  return readLines(tx, `select json_build_array(${values.join(', ')})::text from ${list}`, [source.mandantId, source.rechte]);
}

/** Records as GeoJSON features in degrees, as /ogc gives them, with a comma and a line break between them; and how many. */
export async function* readFeatures(tx: Transaction, source: ExportSource): AsyncGenerator<{ features: Buffer; count: number }> {
  for await (const rows of read(tx, `select l.id from ${list}`, [source.mandantId, source.rechte])) {
    const ids = `{${rows.map(([id]) => id?.toString()).join(',')}}`;
    const [row] = await tx`
      select ausgabe.render_sichtbeobachtung_of_id(id => ${ids}::bigint[], srid => 4326, north_first => false)`.raw();
    yield { features: row?.[0] as unknown as Buffer, count: rows.length };
  }
}

/** Squares with years and species, as lines of CSV. */
export function readCube(tx: Transaction, mandantId: number): AsyncIterable<Buffer[]> {
  return readLines(
    tx,
    `select concat(l.eeacellcode, ',', l.year, ',', ausgabe.to_csv_zelle(l.specieskey), ',', ausgabe.to_csv_zelle(l.species), ',', l.occurrences, ',',
      l.mincoordinateuncertaintyinmeters, E'\\n') from ausgabe.list_export_wuerfel(mandant_id => $1::integer) l`,
    [mandantId],
    'any',
  );
}

export interface ExportMedium {
  guid: string;
  name: string;
  lizenz: (typeof medienLizenzen)[number];
  urheber: string | null;
}

/** Photos and sound files that may be passed on. */
export async function* readMedia(tx: Transaction, mandantId: number): AsyncGenerator<ExportMedium[]> {
  const query = `select row_to_json(f)::text from (
    select m.guid, m.name, m.lizenz, translate(m.urheber, E'\t\r\n', '   ') as urheber
    from ausgabe.list_export_medium(mandant_id => $1::integer) m) f`;
  for await (const rows of read(tx, query, [mandantId])) yield rows.map(([json]) => JSON.parse(String(json)) as ExportMedium);
}

type Plan = 'as ordered' | 'any';

async function* readLines(tx: Transaction, query: string, values: (number | string)[], plan?: Plan): AsyncGenerator<Buffer[]> {
  for await (const rows of read(tx, query, values, plan)) yield rows.map(([line]) => line as Buffer);
}

// A cursor of SQL: one of the driver keeps the connection from every other statement until its end.
async function* read(
  tx: Transaction,
  query: string,
  values: (number | string)[],
  plan: Plan = 'as ordered',
): AsyncGenerator<(Buffer | null)[][]> {
  // Records are found in the order of the files, cell by cell: other plans sort all of them on disk first.
  const others = plan === 'any' ? 'on' : 'off';
  // What a cell costs is overrated; beside that a loop over all pairs of records, kept in memory, looks no dearer than any other join.
  await tx`
    select set_config('enable_hashjoin', ${others}, true), set_config('enable_mergejoin', ${others}, true), set_config('enable_sort', ${others}, true),
      set_config('enable_bitmapscan', ${others}, true), set_config('enable_seqscan', ${others}, true), set_config('jit', 'off', true),
      set_config('max_parallel_workers_per_gather', '0', true),
      set_config('enable_material', 'off', true)`;
  await tx.unsafe(`declare zeilen no scroll cursor for ${query}`, values);
  try {
    for (;;) {
      const rows = (await tx.unsafe(`fetch ${rowsPerFetch} from zeilen`).raw()) as unknown as (Buffer | null)[][];
      if (rows.length > 0) yield rows;
      if (rows.length < rowsPerFetch) break;
    }
  } finally {
    // In a transaction that has failed nothing can be closed, and nothing needs to be.
    await tx`close zeilen`.catch(() => {});
  }
}

// Bulk import of sightings: COPY into a staging table, checks, and into place, in one transaction.
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Database, DatabaseError } from './client.ts';

/** The columns of the staging table, in the order in which a row gives its values. */
export const stagedColumns = [
  'zeile',
  'art',
  'lat',
  'lon',
  'srid',
  'anzahl',
  'sensibel',
  'datum',
  'bereich',
  'bemerkung',
  'stadium_id',
  'aktivitaet_id',
  'status',
] as const;
export type StagedColumn = (typeof stagedColumns)[number];

/** What the database has against a staged row. */
export interface StagingError {
  zeile: number;
  /** ARTUN, STDUN, AKTUN, DATUM, WERTB, GBTAU, GBIET, DOPPL: see sql/README.md. */
  code: string;
  /** The column that is to blame; none for DOPPL. */
  spalte: string | null;
  /** The values concerned; for DOPPL the line (`zeile`) or the stored record (`id`) that is the same report. */
  werte: Record<string, string | number>;
}

export interface SichtbeobachtungImport {
  /** The rows, values as PostgreSQL reads them; `today` (YYYY-MM-DD) is the day in Europe/Berlin. */
  rows(today: string): AsyncIterable<(string | null)[]>;
  /** Check everything, store nothing. */
  dryRun: boolean;
  /** Leave duplicates out instead of reporting them. */
  skipDuplicates: boolean;
  /** Errors to report at most. */
  errorLimit: number;
  onStaged(): void;
  /** Told the first errors by line and how many there are; throws unless everything may be stored. */
  onChecked(errors: StagingError[], total: number): void;
  onStored(stored: number, total: number): void;
}

export interface LoadedSichtbeobachtungen {
  stored: number;
  /** Duplicates that were left out. */
  skipped: number;
}

// Blocks of 8 kB that one statement stores: about 60 000 sightings.
const blocksPerPart = 1000;
const copyChunk = 64 * 1024;

/**
 * Loads sightings as those of an account, everything or nothing.
 * @throws what `onChecked` throws; DatabaseError when somebody stores one of them at the same moment
 */
export async function loadSichtbeobachtungen(
  database: Database,
  nutzerId: number,
  source: SichtbeobachtungImport,
): Promise<LoadedSichtbeobachtungen> {
  const sql = database.connect();
  try {
    const loaded = await sql.begin(async (tx) => {
      const [day] = await tx<{ today: string }[]>`select api.create_sichtbeobachtung_import()::text as today`;
      let staged = 0;
      const copy = await tx`
        copy pg_temp.sichtbeobachtung_import (${tx(stagedColumns as unknown as string[])}) from stdin`.writable();
      await pipeline(
        Readable.from(
          toCopyText(source.rows(day?.today ?? ''), () => staged++),
          { objectMode: false },
        ),
        copy,
      );
      source.onStaged();
      const errors = await tx<(StagingError & { gesamt: number })[]>`
        select zeile, code, spalte, werte, gesamt from api.list_sichtbeobachtung_import_fehler(
          nutzer_id => ${nutzerId}::bigint, row_limit => ${source.errorLimit}::integer,
          skip_duplicates => ${source.skipDuplicates}::boolean)`;
      source.onChecked(errors, errors[0]?.gesamt ?? 0);
      const [left] = await tx<{ rows: number; blocks: number }[]>`
        select count(*)::integer as rows, (pg_relation_size('pg_temp.sichtbeobachtung_import_ort') / 8192)::integer as blocks
        from pg_temp.sichtbeobachtung_import_ort`;
      const total = left?.rows ?? 0;
      const result = { stored: total, skipped: staged - total };
      if (source.dryRun) {
        // The driver commits whatever is left: nothing.
        await tx`rollback and chain`;
        return result;
      }

      let stored = 0;
      for (let block = 0; block < (left?.blocks ?? 0); block += blocksPerPart) {
        source.onStored(stored, total);
        const [part] = await tx<{ count: number }[]>`
          select api.create_sichtbeobachtung_of_import(
            nutzer_id => ${nutzerId}::bigint, first_block => ${block}::integer, blocks => ${blocksPerPart}::integer) as count`;
        stored += part?.count ?? 0;
      }
      if (stored !== total) throw new Error(`${stored} of ${total} staged sightings were stored`);
      source.onStored(stored, total);
      return result;
    });
    // Plans that were made for a much smaller table would stay until autovacuum comes by.
    const [known] = await sql<{ rows: number }[]>`
      select reltuples::float8 as rows from pg_class where oid = 'portal.sichtbeobachtung'::regclass`;
    if (!source.dryRun && loaded.stored > (known?.rows ?? 0) / 2)
      await sql`analyze portal.sichtbeobachtung, portal.mandant_sichtbeobachtung`;
    return loaded;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === '23505') {
      throw new DatabaseError(
        'Eine der Beobachtungen wurde währenddessen auch von anderer Seite gespeichert; nichts wurde geladen. Bitte noch einmal.',
      );
    }
    throw error;
  } finally {
    await sql.end({ timeout: 5 });
  }
}

async function* toCopyText(rows: AsyncIterable<(string | null)[]>, count: () => void): AsyncGenerator<string> {
  let chunk = '';
  for await (const row of rows) {
    chunk += `${row.map(toCopyValue).join('\t')}\n`;
    count();
    if (chunk.length < copyChunk) continue;
    yield chunk;
    chunk = '';
  }
  if (chunk !== '') yield chunk;
}

const escapes: Record<string, string> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function toCopyValue(value: string | null): string {
  return value === null ? '\\N' : value.replace(/[\\\n\r\t]/g, (character) => escapes[character] ?? character);
}

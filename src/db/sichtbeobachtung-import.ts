// Bulk import of sightings: into a staging table, checks, and into place, in one transaction.
import { type FeldName, type felder, listFeld } from '../sichtbeobachtung-felder.ts';
import { codeOf, type Database, DatabaseError, type Transaction } from './client.ts';
import { oneRow, oneValue } from './row.ts';
import { type MediumField, mediumFields } from './sichtbeobachtung.ts';
import { analyzeRecords } from './statistics.ts';

/** The fields that imports know. */
export type ImportedFeld = { [name in FeldName]: (typeof felder)[name] extends { column: string } ? name : never }[FeldName];
const importedFelder = listFeld().flatMap(([name, { column }]) => (column === undefined ? [] : [name as ImportedFeld]));

/** The columns of the staging table. */
export const stagedColumns = [
  'zeile',
  ...importedFelder,
  'status',
  'loginname',
  'experte',
  'quelle_id',
  'guid',
  ...mediumFields,
] as const;
export type StagedColumn = (typeof stagedColumns)[number];
/** Values as PostgreSQL reads them; what is missing is null. */
export type StagedRow = { [name in StagedColumn]?: string };

/** What the database has against a staged row. */
export interface StagingError {
  zeile: number;
  /** ARTUN, STDUN, AKTUN, NTZUN, EXPUN, DATUM, WERTB, GBTAU, GBIET, DOPPL, GUIDD, QUELD: see sql/README.md. */
  code: string;
  /** The column that is to blame; none for DOPPL. */
  spalte: string | null;
  /** The values concerned; for DOPPL, GUIDD and QUELD the line (`zeile`) or the stored record (`id`) that has them already. */
  werte: Record<string, string | number>;
}

export interface SichtbeobachtungImport {
  /** The rows, some hundred kilobytes of them at once; `today` (YYYY-MM-DD) is the day in Europe/Berlin. */
  rows(today: string): AsyncIterable<StagedRow[]>;
  /** Whose record a row is that names no account; null when every row names one. */
  nutzerId: number | null;
  /** Whose numbers the column `quelle_id` holds; null when there are none. */
  quelle: string | null;
  /** Check everything, store nothing. */
  dryRun: boolean;
  /** Leave duplicates out instead of reporting them. */
  skipDuplicates: boolean;
  /** Told what the rows that would be stored staged for their files; for a dry run that comes before the files are stored. */
  onMedia?(staged: StagedMedia[]): void;
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
  /** Records that came from the same source before, left out too. */
  known: number;
}

/** What a row staged for the files of its record, by line of the file. */
export type StagedMedia = { zeile: number } & { [field in MediumField]: string | null };

// Blocks of 8 kB that one statement stores: about 60 000 sightings.
const blocksPerPart = 1000;

/**
 * Loads sightings, everything or nothing.
 * @throws what `onChecked` throws; DatabaseError when somebody stores one of them at the same moment
 */
export async function loadSichtbeobachtungen(
  database: Database,
  source: SichtbeobachtungImport,
): Promise<LoadedSichtbeobachtungen> {
  const sql = database.connect();
  try {
    const loaded = await sql.begin(async (tx) => {
      await stageRows(tx, source.rows(await oneValue<string>(tx`select api.create_sichtbeobachtung_import()::text`)));
      source.onStaged();
      const left = await oneRow(tx<{ known: number; skipped: number }[]>`
        select bekannt::float8 as known, doppelt::float8 as skipped from api.prepare_sichtbeobachtung_import(
          nutzer_id => ${source.nutzerId}::bigint, quelle => ${source.quelle}::text, skip_duplicates => ${source.skipDuplicates}::boolean)`);
      const errors = await tx<(StagingError & { gesamt: number })[]>`
        select zeile, code, spalte, werte, gesamt
        from api.list_sichtbeobachtung_import_fehler(row_limit => ${source.errorLimit}::integer)`;
      source.onChecked(errors, errors[0]?.gesamt ?? 0);
      const { total, blocks } = await oneRow(tx<{ total: number; blocks: number }[]>`
        select rows::float8 as total, blocks from api.count_sichtbeobachtung_import()`);
      const result = { stored: total, ...left };
      if (source.dryRun) {
        source.onMedia?.(await tx<StagedMedia[]>`select * from api.list_sichtbeobachtung_import_medium()`);
        // The driver commits whatever is left: nothing.
        await tx`rollback and chain`;
        return result;
      }

      let stored = 0;
      for (let block = 0; block < blocks; block += blocksPerPart) {
        source.onStored(stored, total);
        stored += await oneValue<number>(tx`
          select api.create_sichtbeobachtung_of_import(
            quelle => ${source.quelle}::text, first_block => ${block}::integer, blocks => ${blocksPerPart}::integer)`);
      }
      if (stored !== total) throw new Error(`${stored} of ${total} staged sightings were stored`);
      source.onStored(stored, total);
      return result;
    });
    // Plans that were made for a much smaller table would stay until autovacuum comes by.
    const known = await oneValue<number>(sql`
      select reltuples::float8 from pg_class where oid = 'portal.sichtbeobachtung'::regclass`);
    if (!source.dryRun && loaded.stored > known / 2) await analyzeRecords(sql);
    return loaded;
  } catch (error) {
    // 23514: a row whose files were not stored because it was to be left out a moment ago.
    if (['23505', '23514'].includes(codeOf(error) ?? '')) {
      throw new DatabaseError(
        'Eine der Beobachtungen wurde währenddessen auch von anderer Seite gespeichert oder gelöscht; nichts wurde geladen. Bitte noch einmal.',
      );
    }
    throw error;
  } finally {
    await sql.end({ timeout: 5 });
  }
}

// The database makes rows of the JSON, whose members are named as the columns, while the next ones are read.
async function stageRows(tx: Transaction, parts: AsyncIterable<StagedRow[]>): Promise<void> {
  let staged: PromiseLike<unknown> = Promise.resolve();
  for await (const part of parts) {
    const json = JSON.stringify(part);
    await staged;
    staged = tx`
      insert into pg_temp.sichtbeobachtung_import
      select * from json_populate_recordset(null::pg_temp.sichtbeobachtung_import, ${json}::text::json)`.execute();
    // Whoever waits for it is told; until then nobody does.
    staged.then(undefined, () => {});
  }
  await staged;
}

// Accounts of an import.
import type { Sql } from './client.ts';
import type { NewNutzer } from './nutzer.ts';
import { oneValue } from './row.ts';

/** An account of an import; zeile is its line in the file. */
export interface ImportedNutzer extends Omit<NewNutzer, 'passwordHash'> {
  zeile: number;
}

/** What speaks against an account of an import. */
export interface NutzerImportFehler {
  zeile: number;
  /** NTZER: taken, by an account or by the line `bezug`; GRUPP: there is no group `bezug`; MANUN: the tenant at place `bezug` is none. */
  code: 'NTZER' | 'GRUPP' | 'MANUN';
  spalte: 'loginname' | 'email' | 'artengruppen' | 'mandanten';
  bezug: number | null;
}

/** A cell of an import that says something else than the account that is there already. */
export interface NutzerImportBleibt {
  zeile: number;
  spalte: 'rolle' | 'artengruppen' | 'mandanten';
}

/**
 * Creates accounts without a password, all or none. Those that are there already, login name and address alike, stay as they are.
 * @param onChecked told what speaks against them; throws unless they may be created
 * @returns how many were created, or would be; and what the rows say of rights that accounts of before don't have
 */
export async function createNutzerOfImport(
  sql: Sql,
  rows: ImportedNutzer[],
  { dryRun, onChecked }: { dryRun: boolean; onChecked(errors: NutzerImportFehler[]): void },
): Promise<{ created: number; left: NutzerImportBleibt[] }> {
  const document = JSON.stringify(rows);
  return sql.begin(async (tx) => {
    onChecked(await tx<NutzerImportFehler[]>`select * from api.list_nutzer_import_fehler(rows => ${document}::text)`);
    const left = await tx<NutzerImportBleibt[]>`select * from api.list_nutzer_import_bleibt(rows => ${document}::text)`;
    const created = await oneValue<number>(tx`select api.create_nutzer_of_import(rows => ${document}::text)::float8`);
    // The driver commits whatever is left: nothing.
    if (dryRun) await tx`rollback and chain`;
    return { created, left: [...left] };
  });
}

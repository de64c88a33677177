import type { Sql } from './client.ts';
import { oneValue } from './row.ts';

/**
 * Whether everyone (true) or this reader only (false) may see a stored file. Fails with NFUND for all others.
 * @param tenant the addressed one: it may keep back what describes a protected place
 * @param reader for whom its address was signed, null for a plain one
 */
export async function getMedium(sql: Sql, tenant: number, reader: number | null, name: string): Promise<boolean> {
  return oneValue<boolean>(sql`
    select api.get_medium(tenant => ${tenant}::integer, reader => ${reader}::bigint, name => ${name}::text)`);
}

/** Whether no file may be removed now, because a backup copies them. */
export async function isMediumGesperrt(sql: Sql): Promise<boolean> {
  return oneValue<boolean>(sql`select api.is_medium_gesperrt()`);
}

/** Names of files that no record has any more and that may be removed; none while a backup copies them. */
export async function listMediumEntfernt(sql: Sql, limit: number): Promise<string[]> {
  const names = await oneValue<string[] | null>(sql`
    select array_to_json(api.list_medium_entfernt(row_limit => ${limit}::integer))`);
  return names ?? [];
}

/** Forgets files that were removed from the storage. */
export async function deleteMediumEntfernt(sql: Sql, names: readonly string[]): Promise<void> {
  await sql`select api.delete_medium_entfernt(names => ${`{${names}}`}::text[])`;
}

/** Of some stored files, those that no record names; none while a backup copies them. */
export async function listMediumUnbekannt(sql: Sql, names: readonly string[]): Promise<string[]> {
  const unknown = await oneValue<string[] | null>(sql`
    select array_to_json(api.list_medium_unbekannt(names => ${`{${names}}`}::text[]))`);
  return unknown ?? [];
}

/** A file of an import, by what it was: SHA-256, and which of the records that name the same file. */
export interface ImportedFile {
  hash: Buffer;
  nummer: number;
  audio: boolean;
}

/** Under which name it is stored already, when an import was broken off that had come that far; else null. */
export async function getMediumImport(sql: Sql, { hash, nummer, audio }: ImportedFile): Promise<string | null> {
  return oneValue<string | null>(sql`
    select api.get_medium_import(hash => ${hash}::bytea, nummer => ${nummer}::integer, audio => ${audio}::boolean)`);
}

/** Remembers under which name it was stored, until a record has it. */
export async function setMediumImport(sql: Sql, { hash, nummer, audio }: ImportedFile, name: string): Promise<void> {
  await sql`
    select api.set_medium_import(
      hash => ${hash}::bytea, nummer => ${nummer}::integer, audio => ${audio}::boolean, name => ${name}::text)`;
}

/** Forgets all files of imports that were broken off. */
export async function deleteMediumImport(sql: Sql): Promise<void> {
  await sql`select api.delete_medium_import()`;
}

/** Forgets files of imports that were not begun again within a week. */
export async function sweepMediumImport(sql: Sql): Promise<void> {
  await sql`select api.sweep_medium_import()`;
}

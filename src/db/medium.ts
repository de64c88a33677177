import type { Sql } from './client.ts';

/**
 * Whether everyone (true) or this reader only (false) may see a stored file. Fails with NFUND for all others.
 * @param tenant the addressed one: it may keep back what describes a protected place
 * @param reader for whom its address was signed, null for a plain one
 */
export async function getMedium(sql: Sql, tenant: number, reader: number | null, name: string): Promise<boolean> {
  const [row] = await sql<{ released: boolean }[]>`
    select api.get_medium(tenant => ${tenant}::integer, reader => ${reader}::bigint, name => ${name}::text) as released`;
  return row?.released === true;
}

/** Names of files that no record has any more and that may still be stored. */
export async function listMediumEntfernt(sql: Sql, limit: number): Promise<string[]> {
  const [row] = await sql<{ names: string[] }[]>`
    select array_to_json(api.list_medium_entfernt(row_limit => ${limit}::integer)) as names`;
  return row?.names ?? [];
}

/** Forgets files that were removed from the storage. */
export async function deleteMediumEntfernt(sql: Sql, names: readonly string[]): Promise<void> {
  await sql`select api.delete_medium_entfernt(names => ${`{${names}}`}::text[])`;
}

/** Of some stored files, those that no record names. */
export async function listMediumUnbekannt(sql: Sql, names: readonly string[]): Promise<string[]> {
  const [row] = await sql<{ names: string[] }[]>`
    select array_to_json(api.list_medium_unbekannt(names => ${`{${names}}`}::text[])) as names`;
  return row?.names ?? [];
}

import type { Sql } from './client.ts';

/** Version of everything that anonymous readers may see. */
export async function getStand(sql: Sql): Promise<string> {
  const [row] = await sql<{ stand: string }[]>`select api.get_stand() as stand`;
  if (!row) throw new Error('api.get_stand returned no row');
  return row.stand;
}

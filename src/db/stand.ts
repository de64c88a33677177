import type { Sql } from './client.ts';

/** What a version is of: sightings and catalogue as anonymous readers may see them, or the change log. */
export type Subject = 'gezeigt' | 'protokoll';

/** A version that differs after every change of its subject. */
export async function getStand(sql: Sql, subject: Subject): Promise<string> {
  const [row] = await (subject === 'gezeigt'
    ? sql<{ stand: string }[]>`select api.get_stand_gezeigt() as stand`
    : sql<{ stand: string }[]>`select api.get_stand_protokoll() as stand`);
  if (!row) throw new Error(`no version of ${subject}`);
  return row.stand;
}

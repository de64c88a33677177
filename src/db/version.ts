// Versions of what anonymous readers are shown. A version that is asked for in the statement of a page, or in its snapshot, is that
// page's: no older page is ever kept under a newer version.
import type { Sql } from './client.ts';

/** What a version is of: sightings and catalogue as anonymous readers may see them, or the change log. */
export type Subject = 'gezeigt' | 'protokoll';

/** What was read, with the version of all that it is from. */
export interface Versioned<T> {
  value: T;
  stand: string;
}

/** The present version, which differs after every change of its subject. */
export async function getStand(sql: Sql, subject: Subject): Promise<string> {
  const [row] = await (subject === 'gezeigt'
    ? sql<{ stand: string }[]>`select api.get_stand_gezeigt() as stand`
    : sql<{ stand: string }[]>`select api.get_stand_protokoll() as stand`);
  if (!row) throw new Error(`no version of ${subject}`);
  return row.stand;
}

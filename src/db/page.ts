// Pages as the database makes them, and versions of what anonymous readers are shown. A version that is asked for in the statement of a
// page, or in its snapshot, is that page's: no older page is ever kept under a newer version.
import type { Sql } from './client.ts';
import { oneValue } from './row.ts';

/**
 * JSON as the database made it: its bytes where they are only passed on, which spares reading and writing 60 kB of text; in pieces where some
 * of it was replaced, because it is put together once anyway.
 */
export type Json = string | Buffer | readonly Buffer[];

/** One page of a list as the database makes it. */
export interface Page<J extends Json = string> {
  /** JSON array. */
  rows: J;
  /** The id to go on after; null on the last page. */
  lastId: number | null;
}

/** The same, with the version of all that it is from. */
export type VersionedPage<J extends Json = string> = Page<J> & { stand: string; teil?: Teil | undefined };

/** Where all lies that an answer shows, and the version of that part. */
export interface Teil {
  /** Blocks, as the database writes an array. */
  bloecke: string;
  stand: string;
}

export function toPage([row]: readonly Record<string, unknown>[]): Page {
  return { rows: row?.result as string, lastId: (row?.last_id as number | null) ?? null };
}

export function toVersionedPage(rows: readonly Record<string, unknown>[]): VersionedPage {
  return { ...toPage(rows), stand: rows[0]?.stand as string };
}

/** The same of raw columns. */
export function toRawPage([row]: readonly (Buffer | null)[][]): VersionedPage<Buffer> {
  const [rows, lastId, stand, bloecke, standOfTeil] = row ?? [];
  return {
    rows: rows ?? Buffer.alloc(0),
    lastId: lastId ? Number(lastId.toString()) : null,
    stand: String(stand),
    teil: toTeil(bloecke, standOfTeil),
  };
}

/** What a version is of: sightings and catalogue as anonymous readers may see them, or the change log. */
export type Subject = 'gezeigt' | 'protokoll';

/** Null blocks: anywhere. */
export const toTeil = (
  bloecke: Buffer | string | null | undefined,
  stand: Buffer | string | null | undefined,
): Teil | undefined => (bloecke && stand ? { bloecke: String(bloecke), stand: String(stand) } : undefined);

/** What was read, with the version of all that it is from. */
export interface Versioned<T> {
  value: T;
  stand: string;
  teil?: Teil | undefined;
}

/** The present version, which differs after every change of its subject. */
export async function getStand(sql: Sql, subject: Subject): Promise<string> {
  return oneValue<string>(subject === 'gezeigt' ? sql`select api.get_stand_gezeigt()` : sql`select api.get_stand_protokoll()`);
}

/** The present version of all that anonymous readers may see, and that of some blocks, of one moment. */
export async function getStandOfTeil(sql: Sql, bloecke: string): Promise<{ stand: string; teil: Teil }> {
  const [row] = await sql<{ stand: string; teil: string }[]>`
    select api.get_stand_gezeigt() as stand, api.get_stand_gezeigt_in(${bloecke}::integer[]) as teil`;
  return { stand: row?.stand ?? '', teil: { bloecke, stand: row?.teil ?? '' } };
}

/** One page of a list as the database makes it. */
export interface Page {
  /** JSON array as text. */
  rows: string;
  /** The id to go on after; null on the last page. */
  lastId: number | null;
}

export function toPage([row]: readonly Record<string, unknown>[]): Page {
  return { rows: row?.result as string, lastId: (row?.last_id as number | null) ?? null };
}

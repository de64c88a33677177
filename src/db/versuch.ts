// Attempts that are counted, so that they do not become too many (S2.5).
import type { Sql, Transaction } from './client.ts';
import { oneValue } from './row.ts';

/**
 * Counts an attempt in a window that all instances share.
 * @param amount attempts to count
 * @returns seconds to wait, 0 when it may go on
 */
export async function countVersuch(
  sql: Sql | Transaction,
  v: { zweck: string; schluessel: string; limit: number; windowSeconds: number; amount: number },
): Promise<number> {
  return oneValue<number>(sql`
    select api.count_versuch(
      zweck => ${v.zweck}::text, schluessel => ${v.schluessel}::text, limit_ => ${v.limit}::integer,
      window_seconds => ${v.windowSeconds}::integer, amount => ${v.amount}::integer)`);
}

// Review (O6).
import type { Sql } from './client.ts';
import { oneValue } from './row.ts';

/** What a reviewer decides of a record. */
export interface Entscheidung {
  id: number;
  status: 'freigegeben' | 'hinweis' | 'abgelehnt' | 'pruefung';
  /** Undefined: as it is; empty: none. */
  bemerkung?: string | undefined;
  /** Of the record as it was seen. */
  stand: string;
}

/** Why nothing was changed. */
export type EntscheidungCode = 'nicht_gefunden' | 'nicht_erlaubt' | 'veraltet';

/**
 * Decides on one record, in a transaction of its own. Fails with ANMLD, NRCHT and SCHLU.
 * @param tokenHash of the key that the reader came with, which must still be one
 * @param schluessel Idempotency-Key: what came with it already is answered as then; null: without
 * @returns null when it was done
 */
export function setEntscheidung(
  sql: Sql,
  reader: number,
  tokenHash: Buffer | null,
  { id, status, bemerkung, stand }: Entscheidung,
  schluessel: string | null,
): Promise<EntscheidungCode | null> {
  return oneValue(sql`
    select api.set_entscheidung(
      reader => api.require_reader(${reader}::bigint, ${tokenHash}::bytea), id => ${id}::bigint, status => ${status}::text,
      bemerkung => ${bemerkung ?? null}::text, stand => ${stand}::text, schluessel => ${schluessel}::text)`);
}

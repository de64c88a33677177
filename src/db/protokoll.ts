import type { Sql } from './client.ts';
import { toVersionedPage, type VersionedPage } from './page.ts';

export interface DateRange {
  /** YYYY-MM-DD, inclusive; null = any. */
  von: string | null;
  bis: string | null;
}

/** One page of the change log. */
export async function listProtokoll(sql: Sql, range: DateRange, beforeId: number | null, limit: number): Promise<VersionedPage> {
  return toVersionedPage(
    await sql`
    select l.*, api.get_stand_protokoll() as stand from api.list_protokoll(
      datum_von => ${range.von}::text::date, datum_bis => ${range.bis}::text::date, before_id => ${beforeId}::bigint,
      row_limit => ${limit}::integer) l`,
  );
}

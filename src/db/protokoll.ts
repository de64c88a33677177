import type { Sql } from './client.ts';
import { type Page, toPage } from './page.ts';

export interface DateRange {
  /** YYYY-MM-DD, inclusive; null = any. */
  von: string | null;
  bis: string | null;
}

/** One page of the change log. */
export async function listProtokoll(sql: Sql, range: DateRange, beforeId: number | null, limit: number): Promise<Page> {
  return toPage(
    await sql`
    select * from api.list_protokoll(
      datum_von => ${range.von}::text::date, datum_bis => ${range.bis}::text::date, before_id => ${beforeId}::bigint,
      row_limit => ${limit}::integer)`,
  );
}

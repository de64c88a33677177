import type { Sql } from './client.ts';
import { type Page, toPage, toVersionedPage, type VersionedPage } from './page.ts';

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

export interface QsFilter extends DateRange {
  /** Recorder. */
  uid: number | null;
  statusAenderung: string | null;
}

/** One page of the QS log. Fails with NRCHT unless the reader is expert or administrator. */
export async function listQs(sql: Sql, reader: number, filter: QsFilter, beforeId: number | null, limit: number): Promise<Page> {
  return toPage(
    await sql`
    select * from api.list_qs(
      reader => ${reader}::bigint, datum_von => ${filter.von}::text::date, datum_bis => ${filter.bis}::text::date,
      uid => ${filter.uid}::bigint, status_aenderung => ${filter.statusAenderung}::text, before_id => ${beforeId}::bigint,
      row_limit => ${limit}::integer)`,
  );
}

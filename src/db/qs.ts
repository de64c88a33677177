import type { Sql } from './client.ts';
import { type Page, toPage } from './page.ts';
import type { DateRange } from './protokoll.ts';

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

// What the next files of a tenant would change (O5.8).
import type { Sql } from './client.ts';
import { oneRow } from './row.ts';

/** A record as a file has it. */
export interface ExportedRecord {
  guid: string;
  lon: string;
  lat: string;
}

/** Numbers of records. */
export interface ExportChange {
  /** In the stored file. */
  alt: number;
  kommen: number;
  gehen: number;
  /** Are in both, at another place. */
  wechseln: number;
}

/** Compares the records of a stored file with those that the next one would hold. */
export async function compareExport(sql: Sql, kuerzel: string, stored: AsyncIterable<ExportedRecord[]>): Promise<ExportChange> {
  return (await sql.begin(async (tx) => {
    await tx`create temporary table export_alt (guid uuid primary key, lon numeric, lat numeric) on commit drop`;
    for await (const records of stored)
      await tx`
        insert into export_alt (guid, lon, lat)
        select r.guid, r.lon, r.lat
        from json_to_recordset(${JSON.stringify(records)}::text::json) r (guid uuid, lon numeric, lat numeric)`;
    await tx`analyze export_alt`;
    const row = await oneRow(tx<{ json: string }[]>`
      select json_build_object(
        'alt', count(a.guid), 'kommen', count(*) filter (where a.guid is null), 'gehen', count(*) filter (where n.guid is null),
        'wechseln', count(*) filter (where (a.lon, a.lat) <> (n.lon, n.lat)))::text as json
      from export_alt a
      full join (
        select l.guid, l.lon, l.lat
        from gis.mandant m
        cross join lateral ausgabe.list_export(mandant_id => m.id, rechte => '') l
        where lower(m.kuerzel) = lower(${kuerzel}::text)) n using (guid)`);
    return JSON.parse(row.json) as ExportChange;
  })) as ExportChange;
}

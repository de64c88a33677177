import type { FeldValues } from '../sichtbeobachtung-felder.ts';
import type { Sql, Transaction } from './client.ts';
import { toRawPage, toTeil, type Versioned, type VersionedPage } from './page.ts';
import { oneRow, oneValue } from './row.ts';

/** The files that a sighting may have. */
export const mediumFields = ['foto', 'foto_2', 'foto_3', 'biotopfoto', 'audio'] as const;
export type MediumField = (typeof mediumFields)[number];

/** What the file in a field is: all but one are photos. */
export const kindOfMedium = (field: MediumField) => (field === 'audio' ? 'audio' : 'photo');

/** Names of stored files; null removes one, a missing one stays as it is. */
export type MediumNames = { [field in MediumField]?: string | null };

/** The fields of a sighting that people write; lat and lon are northing and easting in the unit of srid. */
export type NewSichtbeobachtung = Omit<FeldValues, 'srid'> & { srid: 25832 | 4326 | 3857 };

/**
 * Stores a sighting of this reader. Fails with the SQLSTATEs that api.create_sichtbeobachtung names.
 * @param tokenHash of the key that the reader came with, which must still be one; null for what is no request
 */
export async function createSichtbeobachtung(
  sql: Sql,
  tenant: number,
  reader: number,
  tokenHash: Buffer | null,
  fields: NewSichtbeobachtung & MediumNames,
): Promise<{ id: number; guid: string }> {
  return oneRow(sql<{ id: number; guid: string }[]>`
    select id, guid from api.create_sichtbeobachtung(
      tenant => ${tenant}::integer, reader => api.require_reader(${reader}::bigint, ${tokenHash}::bytea),
      fields => (${JSON.stringify(fields)}::text)::jsonb)`);
}

/** Stores sightings of the demo that are not there already. */
export async function createSichtbeobachtungen(tx: Transaction, rows: object[]): Promise<void> {
  await tx`select api.create_sichtbeobachtungen(rows => ${JSON.stringify(rows)}::text)`;
}

/** One sighting as this reader may see it: JSON array of one record. Fails with NFUND. */
export async function getSichtbeobachtung(
  sql: Sql,
  tenant: number,
  reader: number | null,
  id: number,
): Promise<Versioned<Buffer>> {
  const [row] = await sql`
    select api.get_sichtbeobachtung(tenant => ${tenant}::integer, reader => ${reader}::bigint, id => ${id}::bigint),
      api.get_stand_gezeigt(), b.bloecke, api.get_stand_gezeigt_in(b.bloecke)
    from api.list_block_of_sichtbeobachtung(${id}::bigint) b (bloecke)`.raw();
  if (!row?.[0]) throw new Error('api.get_sichtbeobachtung returned no row');
  return { value: row[0], stand: String(row[1]), teil: toTeil(row[2], row[3]) };
}

/** What a list is asked for, as the interface and the database name it; what is missing matches everything. */
export interface SichtbeobachtungFilter {
  bereich: 'oeffentlich' | 'privat' | 'persoenlich';
  status?: string | undefined;
  titel_deutsch?: string | undefined;
  titel_wissenschaftlich?: string | undefined;
  eu_guid?: string | undefined;
  art_id?: string | undefined;
  legacy_regional_art_id?: number | undefined;
  artengruppe_id?: number | undefined;
  legacy_regional_artengruppe_id?: number | undefined;
  is_animal?: boolean | undefined;
  jahr?: number | undefined;
  /** YYYY-MM-DD, inclusive. */
  datum_von?: string | undefined;
  datum_bis?: string | undefined;
  mandant?: string | undefined;
  /** left, bottom, right, top in EPSG:25832 (metres). */
  bbox?: readonly number[] | undefined;
}

/** One page of the sightings that match, masked for this reader, and the version of all that it is from. Fails with ANMLD and MANUN. */
export async function listSichtbeobachtung(
  sql: Sql,
  tenant: number,
  reader: number | null,
  filter: SichtbeobachtungFilter,
  beforeId: number | null,
  limit: number,
): Promise<VersionedPage<Buffer>> {
  return toRawPage(
    await sql`
    select l.result, l.last_id, api.get_stand_gezeigt(), b.bloecke, api.get_stand_gezeigt_in(b.bloecke)
    from (select (${JSON.stringify(filter)}::text)::jsonb as filter) f
    cross join lateral api.list_block_of_filter(f.filter) b (bloecke)
    cross join lateral api.list_sichtbeobachtung(
      tenant => ${tenant}::integer, reader => ${reader}::bigint, filter => f.filter, before_id => ${beforeId}::bigint,
      row_limit => ${limit}::integer) l`.raw(),
  );
}

export type Status = 'pruefung' | 'hinweis' | 'freigegeben' | 'abgelehnt';

/** The fields that were sent; those that are missing or undefined stay as they are. lat, lon and srid together or not at all. */
export type SichtbeobachtungChange = {
  [name in keyof NewSichtbeobachtung]?: NewSichtbeobachtung[name] | undefined;
} & MediumNames & { status?: Status | undefined };

/**
 * Changes a sighting as its author, or reviews it. Fails with NFUND, NRCHT and the states of a creation.
 * @param tokenHash as of createSichtbeobachtung
 * @returns names of files that the record no longer has
 */
export async function updateSichtbeobachtung(
  sql: Sql,
  tenant: number,
  reader: number,
  tokenHash: Buffer | null,
  id: number,
  fields: SichtbeobachtungChange,
): Promise<string[]> {
  const removed = await oneValue<string[] | null>(sql`
    select array_to_json(api.update_sichtbeobachtung(
      tenant => ${tenant}::integer, reader => api.require_reader(${reader}::bigint, ${tokenHash}::bytea), id => ${id}::bigint,
      fields => (${JSON.stringify(fields)}::text)::jsonb))`);
  return removed ?? [];
}

/**
 * Deletes a sighting. Fails with NFUND, NRCHT and ANMLD.
 * @param tokenHash as of createSichtbeobachtung
 * @returns names of the files that it had
 */
export async function deleteSichtbeobachtung(sql: Sql, reader: number, tokenHash: Buffer | null, id: number): Promise<string[]> {
  const removed = await oneValue<string[] | null>(sql`
    select array_to_json(api.delete_sichtbeobachtung(
      reader => api.require_reader(${reader}::bigint, ${tokenHash}::bytea), id => ${id}::bigint))`);
  return removed ?? [];
}

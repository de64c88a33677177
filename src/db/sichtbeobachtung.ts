import type { Sql } from './client.ts';
import { type Page, toPage } from './page.ts';

export interface NewSichtbeobachtung {
  art: number;
  /** Northing and easting in the unit of srid. */
  lat: number;
  lon: number;
  srid: 25832 | 4326 | 3857;
  anzahl: number;
  sensibel: boolean;
  /** YYYY-MM-DD; null = today in Europe/Berlin. */
  datum: string | null;
  bereich: 'privat' | 'oeffentlich';
  bemerkung: string | null;
  stadiumId: number | null;
  aktivitaetId: number | null;
}

/** Stores a sighting of this reader. Fails with the SQLSTATEs that api.create_sichtbeobachtung names. */
export async function createSichtbeobachtung(
  sql: Sql,
  tenant: number,
  reader: number,
  s: NewSichtbeobachtung,
): Promise<{ id: number; guid: string }> {
  const [row] = await sql<{ id: number; guid: string }[]>`
    select id, guid from api.create_sichtbeobachtung(
      tenant => ${tenant}::integer, reader => ${reader}::bigint, art => ${s.art}::integer, lat => ${s.lat}::float8,
      lon => ${s.lon}::float8, srid => ${s.srid}::integer, anzahl => ${s.anzahl}::integer, sensibel => ${s.sensibel}::boolean,
      datum => ${s.datum}::text::date, bereich => ${s.bereich}::text, bemerkung => ${s.bemerkung}::text,
      stadium_id => ${s.stadiumId}::integer, aktivitaet_id => ${s.aktivitaetId}::integer)`;
  if (!row) throw new Error('api.create_sichtbeobachtung returned no row');
  return row;
}

/** One sighting as this reader may see it: JSON array of one record. Fails with NFUND. */
export async function getSichtbeobachtung(sql: Sql, tenant: number, reader: number | null, id: number): Promise<string> {
  const [row] = await sql<{ result: string }[]>`
    select api.get_sichtbeobachtung(tenant => ${tenant}::integer, reader => ${reader}::bigint, id => ${id}::bigint) as result`;
  if (!row) throw new Error('api.get_sichtbeobachtung returned no row');
  return row.result;
}

export interface SichtbeobachtungFilter {
  bereich: 'oeffentlich' | 'privat' | 'persoenlich';
  status: string | null;
  titelDeutsch: string | null;
  titelWissenschaftlich: string | null;
  euGuid: string | null;
  artId: string | null;
  legacyRegionalArtId: number | null;
  artengruppeId: number | null;
  legacyRegionalArtengruppeId: number | null;
  isAnimal: boolean | null;
  jahr: number | null;
  datumVon: string | null;
  datumBis: string | null;
  mandant: string | null;
  bbox: readonly number[] | null;
}

/** One page of the sightings that match, masked for this reader. Fails with ANMLD and MANUN. */
export async function listSichtbeobachtung(
  sql: Sql,
  tenant: number,
  reader: number | null,
  f: SichtbeobachtungFilter,
  beforeId: number | null,
  limit: number,
): Promise<Page> {
  return toPage(
    await sql`
    select * from api.list_sichtbeobachtung(
      tenant => ${tenant}::integer, reader => ${reader}::bigint, bereich => ${f.bereich}::text, status => ${f.status}::text,
      titel_deutsch => ${f.titelDeutsch}::text, titel_wissenschaftlich => ${f.titelWissenschaftlich}::text,
      eu_guid => ${f.euGuid}::text, art_id => ${f.artId}::text, legacy_regional_art_id => ${f.legacyRegionalArtId}::integer,
      artengruppe_id => ${f.artengruppeId}::integer,
      legacy_regional_artengruppe_id => ${f.legacyRegionalArtengruppeId}::integer, is_animal => ${f.isAnimal}::boolean,
      jahr => ${f.jahr}::integer, datum_von => ${f.datumVon}::text::date, datum_bis => ${f.datumBis}::text::date,
      mandant => ${f.mandant}::text, bbox => ${f.bbox === null ? null : `{${f.bbox}}`}::float8[],
      before_id => ${beforeId}::bigint, row_limit => ${limit}::integer)`,
  );
}

export type Status = 'pruefung' | 'hinweis' | 'freigegeben' | 'abgelehnt';

/** The fields that were sent; those that are missing stay as they are. */
export type SichtbeobachtungChange = {
  [name in keyof NewSichtbeobachtung]?: NewSichtbeobachtung[name] | undefined;
} & {
  status?: Status | undefined;
  /** Files to remove: foto, foto_2, foto_3, biotopfoto, audio. */
  cleared: string[];
};

// Fields of a change as the database names them; srid belongs to lat and lon.
const columnNames: Record<Exclude<keyof NewSichtbeobachtung | 'status', 'srid'>, string> = {
  art: 'art',
  lat: 'lat',
  lon: 'lon',
  anzahl: 'anzahl',
  sensibel: 'sensibel',
  datum: 'datum',
  bereich: 'bereich',
  bemerkung: 'bemerkung',
  stadiumId: 'stadium_id',
  aktivitaetId: 'aktivitaet_id',
  status: 'status',
};

/** Changes a sighting as its author, or reviews it. Fails with NFUND, NRCHT and the states of a creation. */
export async function updateSichtbeobachtung(
  sql: Sql,
  tenant: number,
  reader: number,
  id: number,
  change: SichtbeobachtungChange,
): Promise<void> {
  const columns = Object.entries(columnNames) as [keyof typeof columnNames, string][];
  const fields = [...columns.flatMap(([key, column]) => (change[key] === undefined ? [] : column)), ...change.cleared];
  const value = <K extends keyof typeof columnNames>(key: K) => change[key] ?? null;
  await sql`
    select api.update_sichtbeobachtung(
      tenant => ${tenant}::integer, reader => ${reader}::bigint, id => ${id}::bigint, fields => ${`{${fields}}`}::text[],
      art => ${value('art')}::integer, lat => ${value('lat')}::float8, lon => ${value('lon')}::float8,
      srid => ${change.srid ?? 25832}::integer, anzahl => ${value('anzahl')}::integer, sensibel => ${value('sensibel')}::boolean,
      datum => ${value('datum')}::text::date, bereich => ${value('bereich')}::text, bemerkung => ${value('bemerkung')}::text,
      stadium_id => ${value('stadiumId')}::integer, aktivitaet_id => ${value('aktivitaetId')}::integer,
      status => ${value('status')}::text)`;
}

/** Deletes a sighting. Fails with NFUND and NRCHT. */
export async function deleteSichtbeobachtung(sql: Sql, reader: number, id: number): Promise<void> {
  await sql`select api.delete_sichtbeobachtung(reader => ${reader}::bigint, id => ${id}::bigint)`;
}

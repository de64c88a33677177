import type { Sql } from './client.ts';
import { toVersionedPage, type Versioned, type VersionedPage } from './page.ts';
import { oneRow } from './row.ts';

export interface ArtengruppeFilter {
  isAnimal: boolean | null;
}

/** One page of species groups. */
export async function listArtengruppe(
  sql: Sql,
  filter: ArtengruppeFilter,
  beforeId: number | null,
  limit: number,
): Promise<VersionedPage> {
  return toVersionedPage(
    await sql`
    select l.*, api.get_stand_gezeigt() as stand from api.list_artengruppe(
      is_animal => ${filter.isAnimal}::boolean, before_id => ${beforeId}::integer, row_limit => ${limit}::integer) l`,
  );
}

export interface ArtFilter {
  isAnimal: boolean | null;
  artengruppe: string | null;
  gid: number | null;
  nameRegexpCi: string | null;
}

/** One page of the species that a tenant defines. */
export async function listArt(
  sql: Sql,
  tenant: number,
  filter: ArtFilter,
  beforeId: number | null,
  limit: number,
): Promise<VersionedPage> {
  return toVersionedPage(
    await sql`
    select l.*, api.get_stand_gezeigt() as stand from api.list_art(
      tenant => ${tenant}::integer, is_animal => ${filter.isAnimal}::boolean, artengruppe => ${filter.artengruppe}::text,
      gid => ${filter.gid}::integer, name_regexp_ci => ${filter.nameRegexpCi}::text, before_id => ${beforeId}::integer,
      row_limit => ${limit}::integer) l`,
  );
}

/** One species as a tenant defines it: JSON array of one record. Fails with NFUND. */
export async function getArt(sql: Sql, tenant: number, id: number): Promise<Versioned<string>> {
  return oneRow(sql<Versioned<string>[]>`
    select api.get_art(tenant => ${tenant}::integer, id => ${id}::integer) as value, api.get_stand_gezeigt() as stand`);
}

/** One page of developmental stages. */
export async function listStadium(sql: Sql, beforeId: number | null, limit: number): Promise<VersionedPage> {
  return toVersionedPage(
    await sql`select l.*, api.get_stand_gezeigt() as stand from api.list_stadium(before_id => ${beforeId}::integer, row_limit => ${limit}::integer) l`,
  );
}

/** One page of activities. */
export async function listAktivitaet(sql: Sql, beforeId: number | null, limit: number): Promise<VersionedPage> {
  return toVersionedPage(
    await sql`select l.*, api.get_stand_gezeigt() as stand from api.list_aktivitaet(before_id => ${beforeId}::integer, row_limit => ${limit}::integer) l`,
  );
}

// The curve of the year (O2.8), as gis_public.
import { asPublic } from './ausgabe.ts';
import type { Sql } from './client.ts';

export interface PhaenologieQuery {
  art: number | null;
  artengruppeId: number | null;
  mandant: string | null;
  jahrVon: number | null;
  jahrBis: number | null;
}

/** A third of a month, and in it the records of a stage. */
export interface PhaenologieRow {
  monat: number;
  drittel: number;
  stadium: string | null;
  meldungen: number;
}

/** Thirds and stages that have a record. Fails with MANUN. */
export async function listPhaenologie(sql: Sql, query: PhaenologieQuery): Promise<PhaenologieRow[]> {
  const rows = await asPublic(
    sql,
    (tx) => tx<PhaenologieRow[]>`
      select monat, drittel, stadium, meldungen
      from ausgabe.list_phaenologie(
        art => ${query.art}::integer, artengruppe_id => ${query.artengruppeId}::integer, mandant => ${query.mandant}::text,
        jahr_von => ${query.jahrVon}::integer, jahr_bis => ${query.jahrBis}::integer)`,
  );
  return [...rows];
}

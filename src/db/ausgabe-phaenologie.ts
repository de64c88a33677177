// The curve of the year (O2.8), as gis_public.
import { readPublic } from './ausgabe.ts';
import { listPublicArt, type OutputArt } from './ausgabe-karte.ts';
import type { Sql } from './client.ts';
import type { Versioned } from './page.ts';

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

/** Thirds and stages that have a record, and the species that is asked for, where there is one. Fails with MANUN. */
export async function getPhaenologie(
  sql: Sql,
  query: PhaenologieQuery,
): Promise<Versioned<{ rows: PhaenologieRow[]; art: OutputArt | null }>> {
  return readPublic(sql, async (tx) => {
    const rows = await tx<PhaenologieRow[]>`
      select monat, drittel, stadium, meldungen
      from ausgabe.list_phaenologie(
        art => ${query.art}::integer, artengruppe_id => ${query.artengruppeId}::integer, mandant => ${query.mandant}::text,
        jahr_von => ${query.jahrVon}::integer, jahr_bis => ${query.jahrBis}::integer)`;
    const [art = null] = query.art === null ? [] : await listPublicArt(tx, null, query.art, 1);
    return { rows, art };
  });
}

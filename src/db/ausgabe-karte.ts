// What the map asks for beside its tiles (O4.1), as gis_public.
import { readPublic } from './ausgabe.ts';
import type { Sql, Transaction } from './client.ts';
import type { Versioned } from './page.ts';

export interface OutputArt {
  id: number;
  name_deutsch: string | null;
  name_wissenschaftlich: string;
  artengruppe: string;
}

/** Species whose names hold a text, or the one of a number. */
export const listOutputArt = (sql: Sql, ...wanted: ArtQuery): Promise<Versioned<OutputArt[]>> =>
  readPublic(sql, (tx) => listPublicArt(tx, ...wanted));

type ArtQuery = [suche: string | null, art: number | null, limit: number];

/** The same, in a transaction of gis_public. */
export async function listPublicArt(tx: Transaction, ...[suche, art, limit]: ArtQuery): Promise<OutputArt[]> {
  return [
    ...(await tx<OutputArt[]>`
      select id, name_deutsch, name_wissenschaftlich, artengruppe
      from ausgabe.list_art(suche => ${suche}::text, art => ${art}::integer, row_limit => ${limit}::integer)`),
  ];
}

/** A record as everybody may see it. */
export interface OutputSichtbeobachtung {
  id: number;
  art: number;
  name_deutsch: string | null;
  name_wissenschaftlich: string;
  datum: string;
  anzahl: number;
  stadium: string | null;
  aktivitaet: string | null;
  bemerkung: string | null;
  unschaerfe_m: number;
}

/** Records of these numbers; those that are not shown are left out. */
export async function listOutputSichtbeobachtung(sql: Sql, ids: readonly number[]): Promise<Versioned<OutputSichtbeobachtung[]>> {
  return readPublic(sql, async (tx) => [
    ...(await tx<OutputSichtbeobachtung[]>`
      select id, art, name_deutsch, name_wissenschaftlich, datum::text as datum, anzahl, stadium, aktivitaet, bemerkung, unschaerfe_m
      from ausgabe.list_sichtbeobachtung_of_id(ids => ${`{${ids.join(',')}}`}::bigint[])`),
  ]);
}

// Runs of the boundary job. All calls of one run go through one connection, by which others see that the run is going on until it
// is closed.
import type { Sql } from './client.ts';
import { oneRow, oneValue } from './row.ts';

/** The SQLSTATE when another run is going on. */
export const runningState = 'GLAUF';

/** What is wrong with the boundaries that a run has read. */
export interface Mangel {
  mangel: 'fehlt' | 'gleich' | 'lage' | 'vertauscht' | 'klein' | 'flaeche' | 'ort';
  /** Abbreviation of the tenant. */
  kuerzel: string;
  /** The number that is too small or too large, in km² or percent. */
  wert: number | null;
}

/** A feature of the source. */
export interface NewGebiet {
  /** What names the tenant: its schluessel or kuerzel. */
  wert: string;
  /** Polygon or MultiPolygon. */
  geojson: string;
  srid: number;
  /** Few of its lines cross: repaired when it is not valid. */
  repairable: boolean;
}

/**
 * Begins a run and returns its id.
 * @param sql a client with one connection, used for the whole run
 * @throws SQLSTATE GLAUF when another run is going on
 */
export async function createGrenzlauf(sql: Sql, quelle: string, erzwungen: boolean): Promise<number> {
  return oneValue<number>(sql`
    select api.create_grenzlauf(quelle => ${quelle}::text, erzwungen => ${erzwungen}::boolean)`);
}

/** Collects one feature; false when it names no tenant. Fails with SQLSTATE GRENZ, PROJK or GBIET when it is unusable. */
export async function createGrenzlaufGebiet(sql: Sql, grenzlaufId: number, gebiet: NewGebiet): Promise<boolean> {
  return oneValue<boolean>(sql`
    select api.create_grenzlauf_gebiet(
      grenzlauf_id => ${grenzlaufId}::bigint, wert => ${gebiet.wert}::text, geojson => ${gebiet.geojson}::text,
      srid => ${gebiet.srid}::integer, repairable => ${gebiet.repairable}::boolean)`);
}

/** Drafts the boundaries that differ from the present ones; returns the ids of their tenants. */
export async function createMandantEntwurf(sql: Sql, grenzlaufId: number): Promise<number[]> {
  const rows = await sql<{ id: number }[]>`
    select api.create_mandant_entwurf(grenzlauf_id => ${grenzlaufId}::bigint) as id`;
  return rows.map((row) => row.id);
}

/** Seconds since a run ended well, and since one failed or was broken off; null where none did. */
export async function getGrenzlaufAlter(sql: Sql): Promise<{ erfolg: number | null; fehlschlag: number | null }> {
  return oneRow(sql<{ erfolg: number | null; fehlschlag: number | null }[]>`select * from api.get_grenzlauf_alter()`);
}

/** What speaks against the boundaries of a run. */
export async function listGrenzlaufMangel(sql: Sql, grenzlaufId: number): Promise<Mangel[]> {
  return [...(await sql<Mangel[]>`select * from api.list_grenzlauf_mangel(grenzlauf_id => ${grenzlaufId}::bigint)`)];
}

/** The last entry of the change log while nobody writes. Fails with SQLSTATE 55P03 when that moment does not come soon. */
export async function getProtokollStand(sql: Sql): Promise<number> {
  return oneValue<number>(sql`select api.get_protokoll_stand()`);
}

/** Computes what follows from a draft. @param protokollId from getProtokollStand, taken before */
export async function setMandantEntwurf(sql: Sql, mandantId: number, protokollId: number): Promise<void> {
  await sql`
    select api.set_mandant_entwurf(mandant_id => ${mandantId}::integer, protokoll_id => ${protokollId}::bigint)`;
}

/**
 * Makes the drafts valid and ends the run as successful, all in one transaction. Fails with SQLSTATE 55P03 when sightings are
 * being written for long, with GRAEN when somebody else changed tenants or boundaries meanwhile.
 * @returns sightings whose tenants changed, and those of them that are shown elsewhere now
 */
export async function setGrenzlaufGrenze(
  sql: Sql,
  grenzlaufId: number,
  mandantIds: number[],
  uebergangen: number,
): Promise<{ zugeordnet: number; maskiert: number }> {
  const moved = await oneRow(sql<{ zugeordnet: number; maskiert: number }[]>`
    select * from api.set_grenzlauf_grenze(
      grenzlauf_id => ${grenzlaufId}::bigint, mandant_id => ${`{${mandantIds}}`}::integer[], uebergangen => ${uebergangen}::integer)`);
  // New cells and parts by the thousand: plans made for the old ones would stay until autovacuum comes by.
  await sql`analyze portal.mandant_teil, portal.mandant_zelle`;
  return moved;
}

/** Ends a run that changed nothing. @param grund why it failed, as a sentence; null when there was nothing to change */
export async function updateGrenzlauf(sql: Sql, id: number, uebergangen: number, grund: string | null): Promise<void> {
  const ergebnis = grund === null ? 'unveraendert' : 'fehlgeschlagen';
  await sql`
    select api.update_grenzlauf(
      id => ${id}::bigint, ergebnis => ${ergebnis}::text, uebergangen => ${uebergangen}::integer, grund => ${grund}::text)`;
}

/** When the last run began, whatever became of it (null: never), and the time of the database. */
export async function getGrenzlaufStand(sql: Sql): Promise<{ begonnen: Date | null; jetzt: Date }> {
  return oneRow(sql<{ begonnen: Date | null; jetzt: Date }[]>`select * from api.get_grenzlauf_stand()`);
}

// Review (O6): counts by species, why records are odd, what would be odd about a report, decisions.
import type { FeldValues } from '../sichtbeobachtung-felder.ts';
import type { Sql } from './client.ts';
import { oneRow, oneValue } from './row.ts';
import { workInSteps } from './steps.ts';

// Changes of a step. The feed for mirrors waits for writing transactions.
const changes = { least: 50, first: 200, most: 5000 };

/**
 * Counts what was released and finds out why waiting records are odd, where something changed.
 * @param goesOn asked before each step
 * @param onStep told how many changes a step has worked off, and how long it took in milliseconds; waited for
 */
export async function countPruefung(
  sql: Sql,
  goesOn?: () => boolean,
  onStep?: (done: number, tookMs: number) => void | Promise<void>,
): Promise<void> {
  const step = (rows: number) => oneValue<number>(sql`select api.set_pruefung(row_limit => ${rows}::integer)`);
  await workInSteps(changes, step, goesOn, onStep);
}

/** Finds out anew why records are odd, of all that wait: their species is known better by now. */
export async function renewPruefgruende(sql: Sql): Promise<void> {
  for (let last: string | null = '0'; last !== null; ) {
    last = await oneValue<string | null>(
      sql`select api.set_pruefgrund_aller(after_id => ${last}::bigint, row_limit => 500)::text`,
    );
  }
}

/** Counts what is there in a database that had records before it had these counts. */
export async function completePruefung(sql: Sql, report: (line: string) => void): Promise<void> {
  if (await oneValue<boolean>(sql`select api.is_pruef_zahl_vollstaendig()`)) return;
  report('Freigegebene Meldungen werden für die Prüfung gezählt …');
  await sql`select api.set_pruef_zahl_aller()`;
  await sql`analyze portal.pruef_zahl`;
}

/** A report that is not sent yet. */
export type Entwurf = Pick<FeldValues, 'art' | 'lat' | 'lon' | 'anzahl' | 'datum' | 'stadium_id' | 'aktivitaet_id'> & {
  srid: number;
};

export interface Pruefgrund {
  code: string;
  text: string;
  werte: Record<string, unknown>;
}

/** What would be odd about a report at a tenant. Fails with the SQLSTATEs that api.list_hinweis names. */
export async function listHinweis(sql: Sql, tenant: number, entwurf: Entwurf): Promise<Pruefgrund[]> {
  return oneValue<Pruefgrund[]>(sql`
    select api.list_hinweis(tenant => ${tenant}::integer, fields => (${JSON.stringify(entwurf)}::text)::jsonb)`);
}

/** What of the queue is asked for; what is missing matches everything. */
export interface WarteschlangeFilter {
  /** Code of a reason. */
  grund?: string | undefined;
  /** Abbreviation of a tenant. */
  mandant?: string | undefined;
  gid?: number | undefined;
  art?: number | undefined;
  /** Day of the report, YYYY-MM-DD. */
  seit?: string | undefined;
  mit_foto?: boolean | undefined;
}

/** Of the thread between recorder and experts. */
export interface Nachricht {
  von: 'erfasser' | 'experte';
  text: string;
  zeitpunkt: string;
}

/**
 * Questions about a record and their answers, as JSON; null when there is no such record for this reader. Fails with NRCHT.
 */
export function listNachricht(sql: Sql, reader: number, id: number): Promise<string | null> {
  return oneValue(sql`select api.list_nachricht(reader => ${reader}::bigint, id => ${id}::bigint)`);
}

/** Where a page of the queue ended. */
export interface WarteschlangeStelle {
  id: number;
  auffaelligkeit: number;
}

export interface Warteschlange {
  /** JSON array of records with all fields, with marks for the addresses of files in it. */
  sichtbeobachtungen: Buffer;
  /** The same records in the same order. */
  zeilen: {
    id: number;
    stand: string;
    gruende: Pruefgrund[];
    bestaetigungen: number;
    erfahrung: number;
    nachrichten: Nachricht[];
  }[];
  /** Null on the last page. */
  naechste: WarteschlangeStelle | null;
}

/**
 * A page of what waits for a reviewer. Fails with NRCHT and MANUN.
 * @param auffaellig the oddest first, else the oldest
 */
export async function listWarteschlange(
  sql: Sql,
  tenant: number,
  reader: number,
  filter: WarteschlangeFilter,
  auffaellig: boolean,
  after: WarteschlangeStelle | null,
  limit: number,
): Promise<Warteschlange> {
  const [row] = await sql`
    select l.sichtbeobachtungen, l.zeilen::text, l.naechste::text from api.list_warteschlange(
      tenant => ${tenant}::integer, reader => ${reader}::bigint, filter => (${JSON.stringify(filter)}::text)::jsonb,
      auffaellig => ${auffaellig}::boolean, after => (${after && JSON.stringify(after)}::text)::jsonb, row_limit => ${limit}::integer) l`.raw();
  const [sichtbeobachtungen, zeilen, naechste] = row as unknown as [Buffer, Buffer, Buffer | null];
  return {
    sichtbeobachtungen,
    zeilen: JSON.parse(zeilen.toString()),
    naechste: naechste === null ? null : JSON.parse(naechste.toString()),
  };
}

/** What a reviewer decides of a record. */
export interface Entscheidung {
  id: number;
  status: 'freigegeben' | 'hinweis' | 'abgelehnt' | 'pruefung';
  /** Undefined: as it is; empty or null: none. */
  bemerkung?: string | null | undefined;
  /** Of the record as it was seen. */
  stand: string;
}

/** Why nothing was changed. */
export type EntscheidungCode = 'nicht_gefunden' | 'nicht_erlaubt' | 'veraltet' | 'zweite_person';

/**
 * Decides on one record, in a transaction of its own. Fails with ANMLD, NRCHT and SCHLU.
 * @param tokenHash of the key that the reader came with, which must still be one
 * @param schluessel Idempotency-Key: what came with it already is answered as then; null: without
 * @param probe only says what would become of it
 * @returns null when it was done
 */
export function setEntscheidung(
  sql: Sql,
  reader: number,
  tokenHash: Buffer | null,
  { id, status, bemerkung, stand }: Entscheidung,
  schluessel: string | null,
  probe: boolean,
): Promise<EntscheidungCode | null> {
  return oneValue(sql`
    select api.set_entscheidung(
      reader => api.require_reader(${reader}::bigint, ${tokenHash}::bytea), id => ${id}::bigint, status => ${status}::text,
      bemerkung => ${bemerkung === null ? '' : (bemerkung ?? null)}::text, stand => ${stand}::text, schluessel => ${schluessel}::text,
      probe => ${probe}::boolean)`);
}

// Of a step. The feed for mirrors waits for writing transactions.
const releasesPerStep = 100;

/**
 * Releases what rules of experts release without a person: a run.
 * @returns its number and how many it released; null where there was nothing
 */
export async function releaseAutomatisch(sql: Sql): Promise<{ lauf: number; anzahl: number } | null> {
  let lauf: number | null = null;
  for (let released = 0; ; ) {
    const step: { nummer: number | null; anzahl: number } = await oneRow(sql<{ nummer: number | null; anzahl: number }[]>`
      select * from api.release_automatisch(lauf => ${lauf}::integer, row_limit => ${releasesPerStep}::integer)`);
    if (step.anzahl === 0) return lauf === null ? null : { lauf, anzahl: released };
    lauf = step.nummer;
    released += step.anzahl;
  }
}

/**
 * Puts back into review what a run released, as far as nobody has decided on it since. Fails with NFUND.
 * @param onStep told how many are done
 * @returns how many
 */
export async function undoPruefLauf(sql: Sql, lauf: number, onStep: (done: number) => void): Promise<number> {
  for (let done = 0; ; ) {
    const count = await oneValue<number>(sql`
      select api.undo_pruef_lauf(lauf => ${lauf}::integer, row_limit => ${releasesPerStep}::integer)`);
    if (count === 0) return done;
    done += count;
    onStep(done);
  }
}

export interface PruefLauf {
  id: number;
  zeitpunkt: Date;
  anzahl: number;
  /** Null: it stands. */
  zurueckgenommen: Date | null;
}

/** Runs of automatic release, the newest first. */
export async function listPruefLauf(sql: Sql): Promise<PruefLauf[]> {
  const rows = await sql<PruefLauf[]>`select * from api.list_pruef_lauf()`;
  return rows.map((row) => ({
    ...row,
    zeitpunkt: new Date(row.zeitpunkt),
    zurueckgenommen: row.zurueckgenommen && new Date(row.zurueckgenommen),
  }));
}

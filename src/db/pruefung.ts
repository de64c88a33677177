// Review: counts by species, why records are odd, and what would be odd about a report.
import type { FeldValues } from '../sichtbeobachtung-felder.ts';
import type { Sql } from './client.ts';
import { oneValue } from './row.ts';
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
  await renewPruefgruende(sql);
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

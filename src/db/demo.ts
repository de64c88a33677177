// What the demo writes beside its catalogue, in the catalogue's transaction.
import type { Transaction } from './client.ts';
import type { NewNutzer } from './nutzer.ts';

export interface DemoSichtbeobachtung {
  nutzer_id: number;
  art: number;
  lat: number;
  lon: number;
  srid: number;
  anzahl: number | null;
  sensibel: boolean | null;
  datum: string;
  bereich: string;
  bemerkung: string | null;
  stadium_id: number | null;
  aktivitaet_id: number | null;
  status: string | null;
  experte_id: number | null;
}

/** Creates a demo account unless its login name exists. */
export async function createDemoNutzer(tx: Transaction, nutzer: NewNutzer): Promise<{ id: number; created: boolean }> {
  const [existing] = await tx`select id from api.get_login(loginname => ${nutzer.loginname}::text)`;
  if (existing) return { id: Number(existing.id), created: false };
  const [row] = await tx`
    select api.create_nutzer(
      loginname => ${nutzer.loginname}::text, email => ${nutzer.email}::text, vorname => ${nutzer.vorname}::text,
      nachname => ${nutzer.nachname}::text, anonymisiert => ${nutzer.anonymisiert}::integer, rolle => ${nutzer.rolle}::text,
      artengruppen => '{}'::integer[], password_hash => ${nutzer.passwordHash}::text) as id`;
  return { id: Number(row?.id), created: true };
}

/** Stores sightings that are not there already. */
export async function createSichtbeobachtungen(tx: Transaction, rows: DemoSichtbeobachtung[]): Promise<void> {
  await tx`select api.create_sichtbeobachtungen(rows => ${JSON.stringify(rows)}::text)`;
}

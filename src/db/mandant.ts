import type { Sql } from './client.ts';
import { oneValue } from './row.ts';

export interface Mandant {
  id: number;
  kuerzel: string;
  name: string;
  /** Lower case, the first one is the tenant's address. */
  domains: string[];
}

/** All tenants. */
export async function listMandant(sql: Sql): Promise<Mandant[]> {
  const rows = await sql<{ id: number; kuerzel: string; name: string; domains: string }[]>`
    select id, kuerzel, name, to_json(domains)::text as domains from api.list_mandant()`;
  return rows.map((row) => ({ ...row, domains: JSON.parse(row.domains) as string[] }));
}

/** Whether the database holds a catalogue already. */
export async function hasMandant(sql: Sql): Promise<boolean> {
  return oneValue<boolean>(sql`select exists (select from api.list_mandant())`);
}

/** Sets whether experts see true places in their own groups only. */
export async function setExpertenNurZustaendig(sql: Sql, nurZustaendig: boolean): Promise<void> {
  await sql`select api.set_experten_nur_zustaendig(nur_zustaendig => ${nurZustaendig}::boolean)`;
}

import type { Sql } from './client.ts';

export interface Login {
  id: number;
  name: string;
  loginname: string;
  passwordHash: string | null;
  status: number;
}

/** The account that a login name and the hash of an access key belong to, or null. */
export async function getReader(sql: Sql, loginname: string, tokenHash: Buffer, ttlDays: number): Promise<number | null> {
  const [row] = await sql<{ reader: number | null }[]>`
    select api.get_reader(loginname => ${loginname}::text, token_hash => ${tokenHash}::bytea, ttl_days => ${ttlDays}::integer) as reader`;
  return row?.reader ?? null;
}

/** What the password check of a login needs; null for an unknown name. */
export async function getLogin(sql: Sql, loginname: string): Promise<Login | null> {
  const [row] = await sql<{ id: number; name: string; loginname_out: string; password_hash: string | null; status: number }[]>`
    select * from api.get_login(loginname => ${loginname}::text)`;
  return row
    ? { id: row.id, name: row.name, loginname: row.loginname_out, passwordHash: row.password_hash, status: row.status }
    : null;
}

export async function createToken(sql: Sql, nutzerId: number, hash: Buffer): Promise<void> {
  await sql`select api.create_token(nutzer_id => ${nutzerId}::bigint, hash => ${hash}::bytea)`;
}

export interface NewNutzer {
  loginname: string;
  email: string | null;
  vorname: string;
  nachname: string;
  anonymisiert: number;
  rolle: 'expert' | 'administrator' | null;
  artengruppen: number[];
  passwordHash: string;
}

/** Creates an account and returns its id. Fails with SQLSTATE NTZER when name or address are taken. */
export async function createNutzer(sql: Sql, nutzer: NewNutzer): Promise<number> {
  const [row] = await sql<{ id: number }[]>`
    select api.create_nutzer(
      loginname => ${nutzer.loginname}::text, email => ${nutzer.email}::text, vorname => ${nutzer.vorname}::text,
      nachname => ${nutzer.nachname}::text, anonymisiert => ${nutzer.anonymisiert}::integer, rolle => ${nutzer.rolle}::text,
      artengruppen => ${`{${nutzer.artengruppen}}`}::integer[], password_hash => ${nutzer.passwordHash}::text) as id`;
  if (!row) throw new Error('api.create_nutzer returned no row');
  return row.id;
}

/** Gives an account a new password; false when there is no such account. */
export async function setPasswordHash(sql: Sql, loginname: string, passwordHash: string): Promise<boolean> {
  const [row] = await sql<{ found: boolean }[]>`
    select api.set_password_hash(loginname => ${loginname}::text, password_hash => ${passwordHash}::text) as found`;
  return row?.found ?? false;
}

/** Blocks (0) or activates (1) an account; false when there is no such account. */
export async function setNutzerStatus(sql: Sql, loginname: string, status: 0 | 1): Promise<boolean> {
  const [row] = await sql<{ found: boolean }[]>`
    select api.set_nutzer_status(loginname => ${loginname}::text, status => ${status}::integer) as found`;
  return row?.found ?? false;
}

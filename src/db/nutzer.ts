import { toMailAddress } from '../guard/mail-address.ts';
import type { Sql, Transaction } from './client.ts';
import { type Page, toPage } from './page.ts';
import { oneRow, oneValue } from './row.ts';

export interface Login {
  id: number;
  name: string;
  loginname: string;
  passwordHash: string | null;
  status: number;
}

/** The account that a login name and the hash of an access key belong to, or null. */
export async function getReader(sql: Sql, loginname: string, tokenHash: Buffer, ttlDays: number): Promise<number | null> {
  return oneValue<number | null>(sql`
    select api.get_reader(loginname => ${loginname}::text, token_hash => ${tokenHash}::bytea, ttl_days => ${ttlDays}::integer)`);
}

/** What the password check of a login needs; null for an unknown name. */
export async function getLogin(sql: Sql | Transaction, loginname: string): Promise<Login | null> {
  const [row] = await sql<Login[]>`
    select l.id, l.name, l.loginname_out as loginname, l.password_hash as "passwordHash", l.status
    from api.get_login(loginname => ${loginname}::text) l`;
  return row ?? null;
}

/** Stores a new access key; false when the password that was verified is not the account's any more, or it was blocked. */
export async function createToken(
  sql: Sql,
  nutzerId: number,
  hash: Buffer,
  passwordHash: string,
  network: string,
): Promise<boolean> {
  return oneValue<boolean>(sql`
    select api.create_token(
      nutzer_id => ${nutzerId}::bigint, hash => ${hash}::bytea, password_hash => ${passwordHash}::text, netz => ${network}::text)`);
}

/**
 * Counts a login before its password is looked at.
 * @returns seconds to wait, 0 when it may go on
 */
export async function countLogin(
  sql: Sql,
  loginname: string,
  network: string,
  limits: { account: number; strangers: number; network: number; windowSeconds: number },
): Promise<number> {
  return oneValue<number>(sql`
    select api.count_login(
      loginname => ${loginname}::text, netz => ${network}::text, konto_limit => ${limits.account}::integer,
      fremd_limit => ${limits.strangers}::integer,
      netz_limit => ${limits.network}::integer, window_seconds => ${limits.windowSeconds}::integer)`);
}

export interface NewNutzer {
  loginname: string;
  email: string | null;
  vorname: string;
  nachname: string;
  anonymisiert: number;
  rolle: 'expert' | 'administrator' | null;
  artengruppen: number[];
  /** Abbreviations of tenants. */
  mandanten: string[];
  passwordHash: string;
}

/** Creates an account and returns its id. Fails with SQLSTATE NTZER when name or address are taken. */
export async function createNutzer(sql: Sql | Transaction, nutzer: NewNutzer): Promise<number> {
  return oneValue<number>(sql`
    select api.create_nutzer(
      loginname => ${nutzer.loginname}::text, email => ${nutzer.email}::text, vorname => ${nutzer.vorname}::text,
      nachname => ${nutzer.nachname}::text, anonymisiert => ${nutzer.anonymisiert}::integer, rolle => ${nutzer.rolle}::text,
      artengruppen => ${`{${nutzer.artengruppen}}`}::integer[], mandanten => ${quoted(nutzer.mandanten)}::text[], password_hash => ${nutzer.passwordHash}::text)`);
}

// Abbreviations, which hold no quotes.
const quoted = (names: readonly string[]) => `{${names.map((name) => `"${name}"`)}}`;

/** Addresses that were stored with a domain that is not ASCII, in the one spelling by which they are looked for now. */
export async function completeEmails(sql: Sql): Promise<void> {
  const rows = await sql<{ id: number; email: string }[]>`select id, email from portal.nutzer where email ~ '[^ -~]'`;
  for (const { id, email } of rows) {
    const address = toMailAddress(email);
    // Where both spellings have an account, the other one is found.
    if (address !== email)
      await sql`
        update portal.nutzer set email = ${address}
        where id = ${id} and email = ${email}
          and not exists (select from portal.nutzer o where o.email_key = lower(${address}))`;
  }
}

/** Gives an account a new password; false when there is no such account. */
export async function setPasswordHash(sql: Sql, loginname: string, passwordHash: string): Promise<boolean> {
  return oneValue<boolean>(sql`
    select api.set_password_hash(loginname => ${loginname}::text, password_hash => ${passwordHash}::text)`);
}

/** Blocks (0) or activates (1) an account; false when there is no such account. Fails with LADMN. */
export async function setNutzerStatus(sql: Sql, loginname: string, status: 0 | 1): Promise<boolean> {
  return oneValue<boolean>(sql`
    select api.set_nutzer_status(loginname => ${loginname}::text, status => ${status}::integer)`);
}

export interface Registration {
  loginname: string;
  email: string;
  vorname: string;
  nachname: string;
  anonymisiert: number;
  portalName: string | null;
  portalUrl: string | null;
  medienLizenz: string | null;
}

/**
 * Registers an account without a password.
 * @returns whom to mail, and whether that is the new account or the owner of an address that was taken
 */
export async function registerNutzer(sql: Sql | Transaction, r: Registration): Promise<{ id: number; isNew: boolean }> {
  return oneRow(sql<{ id: number; isNew: boolean }[]>`
    select r.nutzer_id as id, r.is_new as "isNew" from api.register_nutzer(
      loginname => ${r.loginname}::text, email => ${r.email}::text, vorname => ${r.vorname}::text, nachname => ${r.nachname}::text,
      anonymisiert => ${r.anonymisiert}::integer, portal_name => ${r.portalName}::text, portal_url => ${r.portalUrl}::text,
      medien_lizenz => ${r.medienLizenz}::text) r`);
}

export interface MailNutzer {
  loginname: string;
  email: string;
  name: string;
  portal_name: string | null;
  portal_url: string | null;
}

/** Address and names for a mail; null when the account is blocked, gone or without address. */
export async function getMailNutzer(sql: Sql, id: number): Promise<MailNutzer | null> {
  const [row] = await sql<MailNutzer[]>`select * from api.get_mail_nutzer(id => ${id}::bigint)`;
  return row ?? null;
}

/** The account to which a new link may be mailed. */
export async function getNutzerOf(
  sql: Sql,
  by: { loginname: string | null; email: string | null },
): Promise<{ id: number; emailKey: string } | null> {
  const [row] = await sql<{ id: number; emailKey: string }[]>`
    select n.id, n.email_key as "emailKey" from api.get_nutzer_of(
      loginname => ${by.loginname}::text, email => ${by.email && toMailAddress(by.email)}::text) n`;
  return row ?? null;
}

/** Stores a one-time link to be mailed to this address; false when that is not the account's any more. */
export async function setNutzerLink(sql: Sql, id: number, hash: Buffer, email: string): Promise<boolean> {
  return oneValue<boolean>(sql`
    select api.set_nutzer_link(nutzer_id => ${id}::bigint, hash => ${hash}::bytea, email => ${email}::text)`);
}

/** Login name of a one-time link that is still good. */
export async function getNutzerLink(sql: Sql, hash: Buffer): Promise<string | null> {
  return oneValue<string | null>(sql`select api.get_nutzer_link(hash => ${hash}::bytea)`);
}

/** Sets a password by a one-time link; false when the link is not good any more. */
export async function consumeNutzerLink(sql: Sql, hash: Buffer, passwordHash: string, network: string): Promise<boolean> {
  return oneValue<boolean>(sql`
    select api.use_nutzer_link(
      hash => ${hash}::bytea, password_hash => ${passwordHash}::text, netz => ${network}::text)`);
}

export async function deleteToken(sql: Sql, hash: Buffer): Promise<void> {
  await sql`select api.delete_token(hash => ${hash}::bytea)`;
}

/** One account: JSON array of one record. Fails with NRCHT and NFUND. */
export async function getNutzer(sql: Sql, reader: number, id: number): Promise<string> {
  return oneValue<string>(sql`select api.get_nutzer(reader => ${reader}::bigint, id => ${id}::bigint)`);
}

export interface NutzerFilter {
  email: string | null;
  nameRegexpCi: string | null;
  status: number | null;
}

/** One page of accounts; the own one only, unless the reader is administrator. */
export async function listNutzer(
  sql: Sql,
  reader: number,
  f: NutzerFilter,
  beforeId: number | null,
  limit: number,
): Promise<Page> {
  return toPage(
    await sql`
    select * from api.list_nutzer(
      reader => ${reader}::bigint, email => ${f.email && toMailAddress(f.email)}::text, name_regexp_ci => ${f.nameRegexpCi}::text,
      status => ${f.status}::integer, before_id => ${beforeId}::bigint, row_limit => ${limit}::integer)`,
  );
}

/** The fields that were sent; null clears. */
export interface NutzerChange {
  email?: string | null | undefined;
  passwordHash?: string | undefined;
  nachname?: string | null | undefined;
  vorname?: string | null | undefined;
  anonymisiert?: number | undefined;
  status?: number | undefined;
  rollen?: string[] | undefined;
  artengruppen?: number[] | undefined;
  /** Abbreviations of tenants. */
  mandanten?: string[] | undefined;
  medien_lizenz?: string | null | undefined;
}

/** Fails with NRCHT unless a reader may change these fields of an account; with none of them, anything. */
export async function requireNutzerRight(sql: Sql, reader: number, id: number, fields: readonly string[]): Promise<void> {
  await sql`
    select api.require_nutzer_right(reader => ${reader}::bigint, id => ${id}::bigint, fields => ${`{${fields}}`}::text[])`;
}

/**
 * Changes an account, all fields or none. Fails with ANMLD, NRCHT, NFUND, NTZER, GRUPP, MANUN and LADMN.
 * @param tokenHash of the key that the reader came with, which must still be one
 */
export async function updateNutzer(
  sql: Sql,
  reader: number,
  tokenHash: Buffer | null,
  id: number,
  change: NutzerChange,
): Promise<void> {
  const names = {
    email: 'email',
    passwordHash: 'passwort',
    nachname: 'nachname',
    vorname: 'vorname',
    anonymisiert: 'anonymisiert',
    status: 'status',
    rollen: 'rollen',
    artengruppen: 'artengruppenbeschraenkung',
    mandanten: 'mandantenbeschraenkung',
    medien_lizenz: 'medien_lizenz',
  } as const;
  const entries = Object.entries(names) as [keyof typeof names, string][];
  const fields = entries.flatMap(([key, name]) => (change[key] === undefined ? [] : name));
  await sql`
    select api.update_nutzer(
      reader => ${reader}::bigint, token_hash => ${tokenHash}::bytea, id => ${id}::bigint, fields => ${`{${fields}}`}::text[],
      email => ${change.email ?? null}::text, password_hash => ${change.passwordHash ?? null}::text, nachname => ${change.nachname ?? null}::text,
      vorname => ${change.vorname ?? null}::text, anonymisiert => ${change.anonymisiert ?? null}::integer,
      status => ${change.status ?? null}::integer, rollen => ${`{${change.rollen ?? []}}`}::text[],
      artengruppen => ${`{${change.artengruppen ?? []}}`}::integer[],
      mandanten => ${quoted(change.mandanten ?? [])}::text[], medien_lizenz => ${change.medien_lizenz ?? null}::text)`;
}

// Mails to recorders about their records, and what they answer (O6).
import type { Sql, Transaction } from './client.ts';
import { oneValue } from './row.ts';

export const haeufigkeiten = ['sofort', 'taeglich', 'woechentlich', 'nie'] as const;
export type Haeufigkeit = (typeof haeufigkeiten)[number];
/** As people read it. */
export const haeufigkeitWorte: Record<Haeufigkeit, string> = {
  sofort: 'bald nach jeder Entscheidung',
  taeglich: 'täglich',
  woechentlich: 'wöchentlich',
  nie: 'nie',
};

/** How often an account wants mails. */
export function getHaeufigkeit(sql: Sql, reader: number): Promise<Haeufigkeit> {
  return oneValue(sql`select api.get_haeufigkeit(reader => ${reader}::bigint)`);
}

/**
 * Sets it; false when there is no such account, or it is blocked. Fails with ANMLD.
 * @param tokenHash of the key that the reader came with, which must still be one; null: by a link
 */
export function setHaeufigkeit(sql: Sql, reader: number, tokenHash: Buffer | null, haeufigkeit: Haeufigkeit): Promise<boolean> {
  return oneValue(sql`
    select api.set_haeufigkeit(
      reader => api.require_reader(${reader}::bigint, ${tokenHash}::bytea), haeufigkeit => ${haeufigkeit}::text)`);
}

/** Sets it by a link to the own data; false when the link is not good any more. */
export function setHaeufigkeitOfLink(sql: Sql, hash: Buffer, haeufigkeit: Haeufigkeit): Promise<boolean> {
  return oneValue(sql`select api.set_haeufigkeit_of_link(hash => ${hash}::bytea, haeufigkeit => ${haeufigkeit}::text)`);
}

/** Notes that a server refused this address of an account for good. */
export async function setMailAbgelehnt(sql: Sql, nutzerId: number, email: string): Promise<void> {
  await sql`select api.set_mail_abgelehnt(nutzer_id => ${nutzerId}::bigint, email => ${email}::text)`;
}

/** Hands a question that release 0.32 put into the queue on to the next mail. */
export async function handOnFrage(sql: Sql, nutzerId: number, id: number): Promise<void> {
  await sql`select from api.get_frage_mail(nutzer_id => ${nutzerId}::bigint, sichtbeobachtung_id => ${id}::bigint)`;
}

/** Accounts that are to be told of questions and decisions now. */
export async function listMitteilungFaellig(sql: Sql): Promise<number[]> {
  return JSON.parse(await oneValue<string>(sql`select array_to_json(api.list_mitteilung_faellig())::text`));
}

/** Takes what an account has yet to be told for a mail; null when there is nothing, or nobody to mail. */
export async function setMitteilungMail(
  tx: Transaction,
  nutzerId: number,
): Promise<{ mail: string; mandantId: number | null } | null> {
  const [row] = await tx<{ mail: string; mandantId: number | null }[]>`
    select m.mail::text as mail, m.mandant_id as "mandantId" from api.set_mitteilung_mail(nutzer_id => ${nutzerId}::bigint) m`;
  return row ?? null;
}

export type Entschieden = 'freigegeben' | 'hinweis' | 'abgelehnt';

export interface Mitteilung {
  haeufigkeit: Haeufigkeit;
  anzahl: { [status in Entschieden]?: number };
  /** How many of them ask something. */
  fragen: number;
  /** `art` is null for a protected record, and `frage`, what is asked, too. */
  eintraege: { id: number; datum: string; art: string | null; status: Entschieden; frage: string | null }[];
}

/** What a mail tells, and of which records; null for nothing. */
export async function getMitteilung(sql: Sql, nutzerId: number, mail: string, limit: number): Promise<Mitteilung | null> {
  const text = await oneValue<string | null>(sql`
    select api.get_mitteilung(nutzer_id => ${nutzerId}::bigint, mail => ${mail}::uuid, row_limit => ${limit}::integer)`);
  return text === null ? null : (JSON.parse(text) as Mitteilung);
}

/** Forgets what a mail has told. */
export async function deleteMitteilung(sql: Sql, nutzerId: number, mail: string): Promise<void> {
  await sql`select api.delete_mitteilung(nutzer_id => ${nutzerId}::bigint, mail => ${mail}::uuid)`;
}

/** Stores links to records to be mailed to this address; false when that is not the account's any more. */
export function createSichtbeobachtungLink(
  sql: Sql,
  nutzerId: number,
  email: string,
  links: readonly { id: number; hash: Buffer }[],
): Promise<boolean> {
  return oneValue(sql`
    select api.create_sichtbeobachtung_link(
      nutzer_id => ${nutzerId}::bigint, email => ${email}::text, id => ${`{${links.map(({ id }) => id)}}`}::bigint[],
      hashes => ${`{${links.map(({ hash }) => hash.toString('hex'))}}`}::text[])`);
}

export interface LinkedSatz {
  nutzerId: number;
  /** JSON, with marks in place of addresses of files. */
  satz: string;
  lat: number;
  lon: number;
  /** JSON. */
  nachrichten: string;
  /** A question waits for its answer. */
  offen: boolean;
}

/** The record of a link as its recorder is shown it; null when the link is not good any more. */
export async function getSichtbeobachtungOfLink(sql: Sql, tenant: number, hash: Buffer): Promise<LinkedSatz | null> {
  const [row] = await sql<LinkedSatz[]>`
    select l.nutzer_id as "nutzerId", l.satz, l.lat, l.lon, l.nachrichten, l.offen
    from api.get_sichtbeobachtung_of_link(tenant => ${tenant}::integer, hash => ${hash}::bytea) l`;
  return row ?? null;
}

/** Answers the question about the record of a link; null when that is done, else why nothing was changed. */
export function createAntwort(sql: Sql, hash: Buffer, text: string): Promise<'link' | 'entschieden' | null> {
  return oneValue(sql`select api.create_antwort(hash => ${hash}::bytea, text => ${text}::text)`);
}

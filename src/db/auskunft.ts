// What is stored about an account, for its owner (D7.1), and the links by which they get it (D7.3).
import type { Sql } from './client.ts';
import { oneRow, oneValue } from './row.ts';

/** Records in a page: a remark has up to 4 000 characters. */
const pageRows = 200;
/** Entries of its change log that come with each of them: more than nearly all records have, and no more than the records themselves weigh. */
const protokollRows = 20;
/** Entries of a log in a page. */
const logRows = 1000;

export interface SaetzePage {
  /** JSON arrays of the same length. */
  result: string;
  zusatz: string;
  /** The entry after which each record's change log goes on, null where it is whole. */
  offen: string;
}

/** Whose data are read. What reads them fails with ANMLD when the keys to the account are others meanwhile. */
export interface Inhaber {
  nutzerId: number;
  /** By getZugangsstand, when whoever reads was let in; null for an operator. */
  zugangsstand: Buffer | null;
}

/** Hash of what all keys to an account end with; null for no account. */
export async function getZugangsstand(sql: Sql, nutzerId: number): Promise<Buffer | null> {
  return oneValue<Buffer | null>(sql`select api.get_zugangsstand(nutzer_id => ${nutzerId}::bigint)`);
}

/** Fails with ANMLD when the keys to the account are others than when whoever reads was let in. */
export async function requireZugangsstand(sql: Sql, { nutzerId, zugangsstand }: Inhaber): Promise<void> {
  await sql`select api.require_zugangsstand(nutzer_id => ${nutzerId}::bigint, stand => ${zugangsstand}::bytea)`;
}

/** The account as JSON. Fails with NFUND. */
export async function getNutzerAuskunft(sql: Sql, { nutzerId, zugangsstand }: Inhaber): Promise<string> {
  return oneValue<string>(sql`
    select api.get_nutzer_auskunft(id => api.require_zugangsstand(${nutzerId}::bigint, ${zugangsstand}::bytea))`);
}

async function* readPages<R extends { last_id: number | null }, P>(
  read: (afterId: number) => Promise<R[]>,
  pageOf: (row: R) => P,
  afterId = 0,
): AsyncGenerator<P> {
  for (let after: number | null = afterId; ; ) {
    const [row]: R[] = await read(after);
    after = row?.last_id ?? null;
    if (!row || after === null) return;
    yield pageOf(row);
  }
}

/** Sightings as their owner is shown them, and what else is stored with each, of a page at a time. */
export const listAuskunftSichtbeobachtung = (sql: Sql, { nutzerId, zugangsstand }: Inhaber): AsyncGenerator<SaetzePage> =>
  readPages(
    (afterId) => sql<(SaetzePage & { last_id: number | null })[]>`
      select * from api.list_auskunft_sichtbeobachtung(
        nutzer_id => api.require_zugangsstand(${nutzerId}::bigint, ${zugangsstand}::bytea), after_id => ${afterId}::bigint,
        row_limit => ${pageRows}::integer, protokoll_limit => ${protokollRows}::integer)`,
    (row) => row,
  );

type LogRow = { result: string; last_id: number | null };

/** What follows in the change log of one sighting, of a page at a time: JSON arrays. */
export const listAuskunftProtokoll = (sql: Sql, { nutzerId, zugangsstand }: Inhaber, id: number, afterId: number) =>
  readPages(
    (after) => sql<LogRow[]>`
      select * from api.list_auskunft_protokoll(
        nutzer_id => api.require_zugangsstand(${nutzerId}::bigint, ${zugangsstand}::bytea), sichtbeobachtung_id => ${id}::bigint,
        after_id => ${after}::bigint, row_limit => ${logRows}::integer)`,
    ({ result }) => result,
    afterId,
  );

/** Entries of the QS log, of a page at a time: JSON arrays. */
export const listAuskunftQs = (sql: Sql, { nutzerId, zugangsstand }: Inhaber, alsExperte: boolean) =>
  readPages(
    (afterId) => sql<LogRow[]>`
      select * from api.list_auskunft_qs(
        nutzer_id => api.require_zugangsstand(${nutzerId}::bigint, ${zugangsstand}::bytea), als_experte => ${alsExperte}::boolean,
        after_id => ${afterId}::bigint, row_limit => ${logRows}::integer)`,
    ({ result }) => result,
  );

/** Messages about its records, and those that it wrote, of a page at a time: JSON arrays. */
export const listAuskunftNachricht = (sql: Sql, { nutzerId, zugangsstand }: Inhaber) =>
  readPages(
    (afterId) => sql<LogRow[]>`
      select * from api.list_auskunft_nachricht(
        nutzer_id => api.require_zugangsstand(${nutzerId}::bigint, ${zugangsstand}::bytea), after_id => ${afterId}::bigint,
        row_limit => ${pageRows}::integer)`,
    ({ result }) => result,
  );

/** Stores a link to the own data to be mailed to this address; false when that is not the account's any more. */
export async function setNutzerDatenLink(sql: Sql, id: number, hash: Buffer, email: string): Promise<boolean> {
  return oneValue<boolean>(sql`
    select api.set_nutzer_daten_link(nutzer_id => ${id}::bigint, hash => ${hash}::bytea, email => ${email}::text)`);
}

export interface NutzerDatenLink {
  nutzerId: number;
  loginname: string;
  /** The data were fetched by it already. */
  geholt: boolean;
}

/** The account of a link to the own data; null when it is not good any more. */
export async function getNutzerDatenLink(sql: Sql, hash: Buffer): Promise<NutzerDatenLink | null> {
  const [row] = await sql<NutzerDatenLink[]>`
    select l.nutzer_id as "nutzerId", l.loginname, l.geholt from api.get_nutzer_daten_link(hash => ${hash}::bytea) l`;
  return row ?? null;
}

/** Under which licence photos and sound files of an account are passed on, null for none, and under which name. */
export async function getNutzerMedien(sql: Sql, id: number): Promise<{ medienLizenz: string | null; urheber: string | null }> {
  return oneRow(sql<{ medienLizenz: string | null; urheber: string | null }[]>`
    select m.medien_lizenz as "medienLizenz", m.urheber from api.get_nutzer_medien(id => ${id}::bigint) m`);
}

/** Changes that licence by a link to the own data; false when the link is not good any more. */
export async function setNutzerMedien(sql: Sql, hash: Buffer, medienLizenz: string | null): Promise<boolean> {
  return oneValue<boolean>(sql`
    select api.set_nutzer_medien(hash => ${hash}::bytea, medien_lizenz => ${medienLizenz}::text)`);
}

/** The account whose data are fetched by this link now; null when it is not good any more, or they were. */
export async function consumeNutzerDatenLink(sql: Sql, hash: Buffer): Promise<number | null> {
  return oneValue<number | null>(sql`select api.use_nutzer_daten_link(hash => ${hash}::bytea)`);
}

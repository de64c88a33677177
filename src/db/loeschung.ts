// Erasing accounts (D7.2), and what goes by itself when its time is over (D7.4).
import type { Sql, Transaction } from './client.ts';
import { oneRow, oneValue } from './row.ts';
import { makeSteps } from './steps.ts';

/** What becomes of the records: published ones stay without the person, or all go. */
export type Saetze = 'behalten' | 'loeschen';

// Of each record the triggers write a dozen rows, and its remarks are looked through.
const records = { least: 10, first: 50, most: 500 };
// Once more for each time that records were being stored while it went on; whoever comes next goes on after that.
const maxPasses = 5;

/** How many records an account has, and how many of them nobody else is shown. */
export async function countNutzerSaetze(sql: Sql, id: number): Promise<{ alle: number; privat: number }> {
  return oneRow(sql<{ alle: number; privat: number }[]>`select * from api.count_nutzer_saetze(nutzer_id => ${id}::bigint)`);
}

/** Shuts an account out that is to be erased; its keys end. Fails with NFUND and LADMN. */
export async function setNutzerLoeschung(sql: Sql | Transaction, id: number, saetze: Saetze): Promise<void> {
  await sql`select api.set_nutzer_loeschung(id => ${id}::bigint, saetze => ${saetze}::text)`;
}

/**
 * The same by a link to the own data; null when that is not good any more. Fails with NTZUN and LADMN.
 * @param loginname that of the account, in any spelling that logs in
 */
export async function consumeNutzerLoeschLink(
  sql: Sql | Transaction,
  hash: Buffer,
  saetze: Saetze,
  loginname: string,
): Promise<number | null> {
  return oneValue<number | null>(sql`
    select api.use_nutzer_loesch_link(hash => ${hash}::bytea, saetze => ${saetze}::text, loginname => ${loginname}::text)`);
}

/**
 * Erases an account that was shut out, its records some at a time. May be called again for one that was broken off.
 * @param onBatch told how many records were gone through, and how many milliseconds the last of them took; waited for
 */
export async function finishNutzerLoeschung(
  sql: Sql,
  id: number,
  onBatch: (done: number, tookMs: number) => void | Promise<void> = () => {},
): Promise<void> {
  const rowsOfStep = makeSteps(records);
  let tookMs: number | null = null;
  for (let pass = 0; pass < maxPasses; pass++) {
    let done = 0;
    for (let afterId: number | null = 0; ; ) {
      const rows = rowsOfStep(tookMs);
      const begin = performance.now();
      const [row]: { last_id: number | null }[] = await sql<{ last_id: number | null }[]>`
        select api.delete_nutzer_saetze(
          id => ${id}::bigint, after_id => ${afterId}::bigint, row_limit => ${rows}::integer) as last_id`;
      afterId = row?.last_id ?? null;
      if (afterId === null) break;
      done += rows;
      tookMs = performance.now() - begin;
      await onBatch(done, tookMs);
    }
    if (await oneValue<boolean>(sql`select api.delete_nutzer(id => ${id}::bigint)`)) return;
  }
  throw new Error('an account that is being erased gets records again and again');
}

/** Accounts whose erasure was begun and has not come to its end. */
export async function listNutzerLoeschung(sql: Sql): Promise<number[]> {
  return JSON.parse((await oneValue<string | null>(sql`select array_to_json(api.list_nutzer_loeschung())::text`)) ?? '[]');
}

/** How long what is kept of people stays, in days. */
export interface Fristen {
  /** An access key after its last use. */
  tokens: number;
  attempts: number;
  networks: number;
  unconfirmed: number;
}

const sweepRows = 5000;

/** Removes what is past its time, some rows of each kind in a transaction. */
export async function sweepKonto(sql: Sql, fristen: Fristen, rowLimit = sweepRows): Promise<void> {
  for (;;) {
    const hasMore = await oneValue<boolean>(sql`
      select api.sweep_konto(
        ttl_days => ${fristen.tokens}::integer, versuch_days => ${fristen.attempts}::integer,
        netz_days => ${fristen.networks}::integer, unbestaetigt_days => ${fristen.unconfirmed}::integer,
        row_limit => ${rowLimit}::integer)`);
    if (!hasMore) return;
  }
}

// Limits on guessing and on sending mails (S2.5, D3.22). Counted in the database, so that all instances share them.
import { regexpCallBounds, type Sql, type Transaction } from '../db/client.ts';
import { countLogin } from '../db/nutzer.ts';
import { countVersuch } from '../db/versuch.ts';
import { Limit } from '../guard/limit.ts';
import { currentScope, runOutsideScope } from '../guard/request.ts';
import type { Deps } from './context.ts';
import { PortalError } from './wire/portal-error.ts';

interface Attempts {
  zweck: string;
  limit: number;
  windowSeconds: number;
}

/**
 * Wrong passwords in a window: of an account from one network, from all those together from which it did not log in lately, and of
 * a network for all accounts.
 */
export const loginLimits = { account: 50, strangers: 500, network: 500, windowSeconds: 900 };
export const limits = {
  registration: { zweck: 'registrierung adresse', limit: 100, windowSeconds: 3600 },
  // For each network that asks by itself, so that a stranger's asking doesn't use up the owner's.
  mailbox: { zweck: 'mail postfach', limit: 5, windowSeconds: 3600 },
  mailboxOfAll: { zweck: 'mail postfach aller', limit: 30, windowSeconds: 3600 },
  // Far more than a person types, also with a request for each letter; a slow one counts as ten.
  regexp: { zweck: 'regexp adresse', limit: 300, windowSeconds: 60 },
  link: { zweck: 'link adresse', limit: 100, windowSeconds: 900 },
  // A taken address is answered with 409, so that whoever may ask often learns which ones are.
  email: { zweck: 'email konto', limit: 10, windowSeconds: 3600 },
  // As much as a day in the field gives several times over, 2 GiB at most: one account must not fill the storage that all share.
  files: { zweck: 'dateien konto', limit: 3000, windowSeconds: 86400 },
} satisfies Record<string, Attempts>;

/** What a regular expression counts that computed for longer than that. */
const slowRegexp = { ms: 50, amount: 10 };

/** Network of the client that is being answered. */
export function networkOfRequest(): string {
  return currentScope()?.network ?? 'unknown';
}

const count = (sql: Sql | Transaction, limit: Attempts, schluessel: string, amount = 1) =>
  countVersuch(sql, { ...limit, schluessel, amount });

function refuse(wait: number): void {
  if (wait > 0) throw new PortalError('zu_oft', {}, { 'Retry-After': String(wait) });
}

/**
 * Counts a login, and refuses it with 429 when this account or this client's network had too many wrong ones. A right password is
 * taken out again, a valid token is never counted.
 */
export async function requireLoginAllowed({ sql }: Deps, loginname: string): Promise<void> {
  refuse(await countLogin(sql, loginname, networkOfRequest(), loginLimits));
}

/** 429 when this account, or without one this client's network, did that too often. */
export async function requireAllowed({ sql }: Deps, limit: Attempts, reader?: number, amount = 1): Promise<void> {
  refuse(await count(sql, limit, reader === undefined ? networkOfRequest() : String(reader), amount));
}

/**
 * 429 when this account made or changed so many sightings in a day: each stays, with its entries in the logs, in the one disk that all
 * share. Counted by each process for itself: in the database it would make each report slower.
 */
export function requireWriteAllowed({ writes }: Deps, reader: number): void {
  refuse(writes.take(reader));
}

/**
 * Runs what has a regular expression in it; 429 when this client's network sent too many, each of which may compute for half a
 * second.
 */
export function runRegexp<T>(deps: Deps, run: (sql: Sql) => Promise<T>): Promise<T> {
  return deps.regexpSql === deps.sql ? oneByOne.run(() => runCounted(deps, run)) : runCounted(deps, run);
}

// The embedded database has no connections of their own for them: a login would wait behind several for each of its statements.
const oneByOne = new Limit({ ...regexpCallBounds, slots: 1 });

async function runCounted<T>({ sql, regexpSql }: Deps, run: (sql: Sql) => Promise<T>): Promise<T> {
  const network = networkOfRequest();
  refuse(await count(sql, limits.regexp, network));
  const begin = performance.now();
  try {
    return await run(regexpSql);
  } finally {
    // Also when the request has gone meanwhile.
    if (performance.now() - begin > slowRegexp.ms)
      await runOutsideScope(() => count(sql, limits.regexp, network, slowRegexp.amount - 1));
  }
}

/** False when a mailbox got enough mails; told to nobody, because it would tell that there is an account. */
export async function isMailAllowed(sql: Sql | Transaction, mailbox: string): Promise<boolean> {
  const isOwn = (await count(sql, limits.mailbox, `${networkOfRequest()} ${mailbox}`)) === 0;
  return isOwn && (await count(sql, limits.mailboxOfAll, mailbox)) === 0;
}

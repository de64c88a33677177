// Limits on guessing and on sending mails (S2.5, D3.22). Counted in the database, so that all instances share them.
import { isIPv6 } from 'node:net';
import type { Context } from 'hono';
import type { Sql, Transaction } from '../db/client.ts';
import { countVersuch } from '../db/nutzer.ts';
import { clientAddress, type Deps, type Env } from './context.ts';
import { PortalError } from './errors.ts';

interface Limit {
  zweck: string;
  limit: number;
  windowSeconds: number;
}

// Failed logins only: a right password is taken out again, a valid token is never counted.
const loginOfAccount: Limit = { zweck: 'login konto', limit: 50, windowSeconds: 900 };
const loginOfAddress: Limit = { zweck: 'login adresse', limit: 500, windowSeconds: 900 };
const registrationOfAddress: Limit = { zweck: 'registrierung adresse', limit: 100, windowSeconds: 3600 };
const mailOfMailbox: Limit = { zweck: 'mail postfach', limit: 5, windowSeconds: 3600 };
// Far more than a person types, also with a request for each letter.
const regexpOfAddress: Limit = { zweck: 'regexp adresse', limit: 300, windowSeconds: 60 };
const linkOfAddress: Limit = { zweck: 'link adresse', limit: 100, windowSeconds: 900 };

async function count(sql: Sql | Transaction, limit: Limit, schluessel: string, amount: 1 | -1 = 1): Promise<number> {
  return countVersuch(sql, { ...limit, schluessel, amount });
}

function refuse(wait: number): void {
  if (wait > 0) throw new PortalError('zu_oft', {}, { 'Retry-After': String(wait) });
}

/** Counts a login, and refuses it with 429 when this account or this client's network had too many failed ones. */
export async function requireLoginAllowed(c: Context<Env>, { sql, config }: Deps, loginname: string): Promise<void> {
  // Before the password is looked at, so that many at once can't slip through together.
  refuse(await count(sql, loginOfAddress, networkOf(c, config.trustProxy)));
  refuse(await count(sql, loginOfAccount, loginname));
}

/** Takes a login that succeeded out of the count. */
export async function forgiveLogin(c: Context<Env>, { sql, config }: Deps, loginname: string): Promise<void> {
  await count(sql, loginOfAddress, networkOf(c, config.trustProxy), -1);
  await count(sql, loginOfAccount, loginname, -1);
}

export async function requireRegistrationAllowed(c: Context<Env>, { sql, config }: Deps): Promise<void> {
  refuse(await count(sql, registrationOfAddress, networkOf(c, config.trustProxy)));
}

/** 429 when this client's network tried too many links or asked for too many new ones. */
export async function requireLinkAllowed(c: Context<Env>, { sql, config }: Deps): Promise<void> {
  refuse(await count(sql, linkOfAddress, networkOf(c, config.trustProxy)));
}

/** 429 when this client's network sent too many regular expressions, each of which may compute for half a second. */
export async function requireRegexpAllowed(c: Context<Env>, { sql, config }: Deps): Promise<void> {
  refuse(await count(sql, regexpOfAddress, networkOf(c, config.trustProxy)));
}

/** False when a mailbox got enough mails; told to nobody, because it would tell that there is an account. */
export async function isMailAllowed(sql: Sql | Transaction, mailbox: string): Promise<boolean> {
  return (await count(sql, mailOfMailbox, mailbox)) === 0;
}

// Whoever has one IPv6 address has a whole /64 of them.
function networkOf(c: Context<Env>, trustProxy: boolean): string {
  const address = clientAddress(c, trustProxy).replace(/^::ffff:(?=\d+\.)/i, '');
  if (!isIPv6(address)) return address;
  const [head = '', tail] = (address.split('%', 1)[0] ?? '').split('::');
  const groups = head === '' ? [] : head.split(':');
  const rest = tail === undefined || tail === '' ? [] : tail.split(':');
  if (tail !== undefined) while (groups.length + rest.length < 8) groups.push('0');
  return [...groups, ...rest].slice(0, 4).join(':');
}

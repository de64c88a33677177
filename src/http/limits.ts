// Limits on guessing and on sending mails (S2.5, D3.22). Counted in the database, so that all instances share them.
import type { Context } from 'hono';
import type { Sql } from '../db/client.ts';
import { countVersuch } from '../db/nutzer.ts';
import { clientAddress, type Deps, type Env } from './context.ts';
import { PortalError } from './errors.ts';

interface Limit {
  zweck: string;
  limit: number;
  windowSeconds: number;
}

// Failed logins only: a right password and a valid token are never counted.
const loginOfAccount: Limit = { zweck: 'login konto', limit: 50, windowSeconds: 900 };
const loginOfAddress: Limit = { zweck: 'login adresse', limit: 500, windowSeconds: 900 };
const registrationOfAddress: Limit = { zweck: 'registrierung adresse', limit: 100, windowSeconds: 3600 };
const mailOfMailbox: Limit = { zweck: 'mail postfach', limit: 5, windowSeconds: 3600 };
const linkOfAddress: Limit = { zweck: 'link adresse', limit: 100, windowSeconds: 900 };

async function seconds(sql: Sql, limit: Limit, schluessel: string, amount: 0 | 1): Promise<number> {
  return countVersuch(sql, { ...limit, schluessel, amount });
}

function refuse(wait: number): void {
  if (wait > 0) throw new PortalError('zu_oft', {}, { 'Retry-After': String(wait) });
}

/** 429 when this account or this client's address had too many failed logins. */
export async function requireLoginAllowed(c: Context<Env>, { sql, config }: Deps, loginname: string): Promise<void> {
  refuse(await seconds(sql, loginOfAccount, loginname.toLowerCase(), 0));
  refuse(await seconds(sql, loginOfAddress, clientAddress(c, config.trustProxy), 0));
}

export async function countFailedLogin(c: Context<Env>, { sql, config }: Deps, loginname: string): Promise<void> {
  await seconds(sql, loginOfAccount, loginname.toLowerCase(), 1);
  await seconds(sql, loginOfAddress, clientAddress(c, config.trustProxy), 1);
}

export async function requireRegistrationAllowed(c: Context<Env>, { sql, config }: Deps): Promise<void> {
  refuse(await seconds(sql, registrationOfAddress, clientAddress(c, config.trustProxy), 1));
}

/** 429 when this client's address tried too many links or asked for too many new ones. */
export async function requireLinkAllowed(c: Context<Env>, { sql, config }: Deps): Promise<void> {
  refuse(await seconds(sql, linkOfAddress, clientAddress(c, config.trustProxy), 1));
}

/** False when a mailbox got enough mails; told to nobody, because it would tell that there is an account. */
export async function isMailAllowed(sql: Sql, mailbox: string): Promise<boolean> {
  return (await seconds(sql, mailOfMailbox, mailbox.toLowerCase(), 1)) === 0;
}

// Passwords (D3.17). The client sends a SHA-1; what is stored is Argon2id over it, so that a stolen table can neither be
// sent as it is nor guessed fast.
import { argon2, createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { Limit } from './limit.ts';

const deriveKey = promisify(argon2);

// OWASP's minimum for Argon2id: 19 MiB, 2 passes; about 30 ms.
const cost = { memory: 19456, passes: 2, parallelism: 1 } as const;
const keyLength = 32;
// As many as Node has threads for. Three of a network: while one is counted in the database, two cores hash two.
export const hashBounds = { slots: 4, share: 3, queue: 100, waitMs: 1500 };
const hashes = new Limit({ name: 'passwords', ...hashBounds });

/** The SHA-1 that a client sends for a plain password. */
export function sha1OfPlain(password: string): string {
  return createHash('sha1').update(password.normalize('NFC'), 'utf8').digest('hex');
}

/** Whether a value can be the SHA-1 of a password: 40 hex digits, any case. */
export function isSha1(value: string): boolean {
  return /^[0-9a-f]{40}$/i.test(value);
}

/** What is stored for a SHA-1. */
export async function hashPassword(sha1: string): Promise<string> {
  const salt = randomBytes(16);
  const key = await hashes.run(() => derive(sha1, salt, cost));
  const { memory, passes, parallelism } = cost;
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${salt.toString('base64')}$${key.toString('base64')}`;
}

/**
 * Compares a SHA-1 with what is stored. Takes as long for an account that does not exist (null): otherwise the time would
 * tell which login names are taken (S2.1).
 * @param admit asked when there is a place for it; what it throws ends the comparison before anything is computed. Counted earlier,
 *   passwords that found no place would count as wrong ones.
 */
export async function verifyPassword(sha1: string, stored: string | null, admit: () => Promise<void>): Promise<boolean> {
  return hashes.run(async () => {
    await admit();
    return compare(sha1, stored);
  });
}

async function compare(sha1: string, stored: string | null): Promise<boolean> {
  const match = stored?.match(/^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([^$]+)\$([^$]+)$/);
  if (!match) {
    await derive(sha1, Buffer.alloc(16), cost);
    return false;
  }
  const [, memory, passes, parallelism, salt = '', key = ''] = match;
  const expected = Buffer.from(key, 'base64');
  const actual = await derive(sha1, Buffer.from(salt, 'base64'), {
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
  });
  return isSha1(sha1) && timingSafeEqual(expected, actual);
}

function derive(
  sha1: string,
  nonce: Buffer,
  { memory, passes, parallelism }: { memory: number; passes: number; parallelism: number },
) {
  return deriveKey('argon2id', { message: sha1.toLowerCase(), nonce, memory, passes, parallelism, tagLength: keyLength });
}

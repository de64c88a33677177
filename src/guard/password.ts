// Passwords (D3.17). The client sends a SHA-1; what is stored is Argon2id over it, so that a stolen table can neither be
// sent as it is nor guessed fast.
import { argon2, createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { promisify } from 'node:util';
import { limitRuns } from './admission.ts';
import { currentScope } from './request.ts';
import { restAfter } from './rest.ts';

const deriveKey = promisify(argon2);

// OWASP's minimum for Argon2id: 19 MiB, 2 passes; about 30 ms.
const cost = { memory: 19456, passes: 2, parallelism: 1 } as const;
const keyLength = 32;
// About as many as there are cores, and no more than Node has threads for it: on two cores four at once hashed no more passwords, and
// took what everything else waits for. Three at least, so that one network has two and leaves one to others. Who waits does so by turns
// of their networks.
const slots = Math.min(4, Math.max(3, availableParallelism()));
export const hashBounds = { slots, share: slots - 1 };
// One more of a network than are hashed has its turn, and is counted meanwhile: in the time of the hashing, each login would be 5 % slower.
// Beside one network that names an account all the time, its owner finds a turn free, and beside many networks that do, others find one.
export const turnBounds = { slots: slots + 2, share: slots, namedShare: slots + 1, queue: 100, waitMs: 1500 };
const inTurn = limitRuns({ name: 'passwords', ...turnBounds });
// All who had a turn find a place, after a hash or two, whomever others name.
const hashed = limitRuns({
  ...hashBounds,
  namedShare: slots,
  queue: 2 * turnBounds.slots,
  waitMs: 60_000,
  isApart: true,
  // A network that does nothing but log in takes most of two cores, and the photos of others as much longer. Others find the place free: left
  // empty, all would wait for one.
  restMs: restAfter,
  // Whoever knows the password asks for it from many networks.
  proves: (result) => result === true,
});

/**
 * Tells whose passwords the present request has hashed, whoever asks for it: whoever has an account and many networks would else have all
 * places for passwords, those of logins as well as those of changes.
 * @param account its id; a login name of which there is none
 */
export function countPasswordsOf(account: number | string): void {
  // A login name may look like an id.
  currentScope()?.countFor(`passwords of ${typeof account} ${account}`);
}

/** The SHA-1 that a client sends for a plain password. */
export function sha1OfPlain(password: string): string {
  return createHash('sha1').update(password.normalize('NFC'), 'utf8').digest('hex');
}

/** Whether a value can be the SHA-1 of a password: 40 hex digits, any case. */
export function isSha1(value: string): boolean {
  return /^[0-9a-f]{40}$/i.test(value);
}

// As many as Node has, unless UV_THREADPOOL_SIZE says otherwise.
const threads = 4;

/**
 * Hashes on each of Node's threads until the system leaves it the memory of a hash: to be given that anew costs three times the hash. Outside
 * of all bounds, for the start; never fails.
 */
export async function warmHashes(): Promise<void> {
  for (let i = 0; i < 2; i++) await Promise.allSettled(Array.from({ length: threads }, () => compare('', null)));
}

/** What is stored for a SHA-1. */
export async function hashPassword(sha1: string): Promise<string> {
  const salt = randomBytes(16);
  const key = await inTurn(() => hashed(() => derive(sha1, salt, cost)));
  const { memory, passes, parallelism } = cost;
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${salt.toString('base64')}$${key.toString('base64')}`;
}

/**
 * Compares a SHA-1 with what is stored. Takes as long for an account that does not exist (null): otherwise the time would
 * tell which login names are taken (S2.1).
 * @param admit asked when it is the password's turn; what it throws ends the comparison before anything is computed. Counted earlier,
 *   passwords that no turn came for would count as wrong ones.
 */
export async function verifyPassword(sha1: string, stored: string | null, admit: () => Promise<void>): Promise<boolean> {
  return inTurn(async () => {
    await admit();
    return hashed(() => compare(sha1, stored));
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

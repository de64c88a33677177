// Access keys (D3.16): 256 random bits, of which only the hash is stored.
import { createHash, randomBytes } from 'node:crypto';

/** A new access key and what is stored of it. */
export function makeToken(): { token: string; hash: Buffer } {
  const token = randomBytes(32).toString('base64url');
  return { token, hash: hashToken(token) };
}

// No salt and no slow hash: a key of 256 random bits can't be guessed.
export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

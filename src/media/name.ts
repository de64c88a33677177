// Names of stored media. Random, so that nobody finds a file by guessing, and never made of what a client sent.
import { randomBytes } from 'node:crypto';
import { StorageError } from './storage.ts';

const pattern = /^[0-9a-f]{32}\.[a-z0-9]{1,4}$/;

/**
 * A new name: 128 random bits as hexadecimal digits.
 * @param ending what follows the dot, up to four small letters or digits
 */
export function makeMediumName(ending: string): string {
  return requireMediumName(`${randomBytes(16).toString('hex')}.${ending}`);
}

/** Whether a text can be the name of a medium; nothing else is ever made a path or an address of. */
export function isMediumName(name: string): boolean {
  return pattern.test(name);
}

/**
 * The same name.
 * @throws StorageError when it can't be one
 */
export function requireMediumName(name: string): string {
  if (!isMediumName(name)) throw new StorageError('not the name of a medium');
  return name;
}

// Names of what is stored: media, and files to publish beside them. Random, so that nobody finds a file by guessing, and never made of what a
// client sent.
import { randomBytes } from 'node:crypto';
import { StorageError } from './storage.ts';

const pattern = /^[0-9a-f]{32}\.[a-z0-9]{1,4}$/;
const exportPattern = /^export\/[\p{L}\p{N}_-]{1,20}\/[0-9a-f]{32}\.[a-z]{1,20}\.[a-z]{1,10}$/u;

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

/**
 * A new name of a file to publish.
 * @param datei what it is called for those who load it: sichtbeobachtung.csv
 */
export function makeExportName(kuerzel: string, datei: string): string {
  return requireExportName(`export/${kuerzel.toLowerCase()}/${randomBytes(16).toString('hex')}.${datei}`);
}

/** Whether a text can be the name of a file to publish. */
export function isExportName(name: string): boolean {
  return exportPattern.test(name);
}

/**
 * The same name.
 * @throws StorageError when it can't be one
 */
export function requireExportName(name: string): string {
  if (!isExportName(name)) throw new StorageError('not the name of a file to publish');
  return name;
}

/**
 * The same name, of a medium or of a file to publish.
 * @throws StorageError when it can't be one
 */
export function requireStoredName(name: string): string {
  return isExportName(name) ? name : requireMediumName(name);
}

// Files of records, and what a storage has of them.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import type { TestContext } from 'node:test';
import type { Storage, StoredMedium } from '../../src/media/storage.ts';
import { makeJpeg } from './photo.ts';
import type { TestService } from './service.ts';

/** All that a storage lists. */
export async function collectMedia(storage: Storage): Promise<StoredMedium[]> {
  const media: StoredMedium[] = [];
  for await (const medium of storage.list()) media.push(medium);
  return media;
}

/** The names of all files below a directory. */
export async function listFiles(path: string): Promise<string[]> {
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
}

/** Puts a file system of a mebibyte there until the test ends; the test is skipped where that is not allowed. */
export function mountSmall(t: TestContext, path: string): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', path], { stdio: 'ignore' });
  } catch {
    t.skip('mounting a file system needs root');
    return false;
  }
  t.after(() => execFileSync('umount', [path]));
  return true;
}

/** Their names, in order. */
export const listNames = async (storage: Storage) => (await collectMedia(storage)).map(({ name }) => name).sort();

let places = 0;
/** A report of Melder with a photo; the name of its file. */
export async function makeWithPhoto(
  { request, database }: TestService,
  bereich = 'privat',
): Promise<{ id: number; foto: string }> {
  const foto = new Blob([await makeJpeg({ width: 16, height: 16 })]);
  const form = { art: '2', lat: '5530000', lon: String(410_000 + ++places), datum: '1.9.2026', bereich, foto };
  const { json, text } = await request('/sichtbeobachtungen', { as: 'melder', form });
  assert.ok(json?.result, text);
  const id = json.result[0].id as number;
  const [row] = await database.sql<{ foto: string }[]>`select foto from portal.sichtbeobachtung where id = ${id}`;
  return { id, foto: row?.foto ?? '' };
}

import { execFileSync } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import type { TestContext } from 'node:test';
import type { Storage, StoredMedium } from '../../src/media/storage.ts';

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

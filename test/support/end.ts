// What ends with a file's tests, whatever hook or test made it; `after` in a hook runs at the end of that hook.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';

const closers: (() => unknown)[] = [];
after(async () => {
  for (const close of closers.reverse()) await close();
});

/** Runs this after the file's tests; what was said last first. */
export function closeAtEnd(close: () => unknown): void {
  closers.push(close);
}

/** A directory that is removed after the file's tests. */
export async function makeDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'sighting-test-'));
  closeAtEnd(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

// The files of a backup: in a directory `medien` as the storage has them, each once, and a list of their hashes that `sha256sum -c` reads.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DirectoryStorage } from '../media/directory.ts';
import { mediumTypes } from '../media/medium.ts';
import type { Storage } from '../media/storage.ts';

/** Name of a file → SHA-256 of its content. */
export type MediaList = Map<string, string>;

/** Told how many are done. */
export type Report = (done: number, total: number) => void;

const directoryName = 'medien';
// Files on their way at once: S3 answers one after some hundredths of a second.
const atOnce = 8;

/** Where a backup keeps its files. */
export function openCopy(dir: string): DirectoryStorage {
  return new DirectoryStorage(join(dir, directoryName));
}

/** As `sha256sum -c` reads it in the directory of the backup. */
export function formatList(list: MediaList): string {
  const lines = [...list].map(([name, hash]) => `${hash}  ${directoryName}/${name.slice(0, 2)}/${name}\n`);
  return lines.sort((a, b) => (a.slice(66) < b.slice(66) ? -1 : 1)).join('');
}

export async function readList(path: string): Promise<MediaList> {
  const text = await readFile(path, 'utf8');
  return new Map([...text.matchAll(/^([0-9a-f]{64}) {2}.*\/([^/\n]+)$/gm)].map(([, hash = '', name = '']) => [name, hash]));
}

export const hashOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

/** Of a file that may be larger than memory. */
export async function hashFile(path: string): Promise<string> {
  const digest = createHash('sha256');
  for await (const chunk of createReadStream(path)) digest.update(chunk as Buffer);
  return digest.digest('hex');
}

/** Does something with each name, several at once; the first error ends it, when what is under way has ended. */
async function forEach(names: readonly string[], report: Report, run: (name: string) => Promise<void>): Promise<void> {
  let next = 0;
  let done = 0;
  const work = async () => {
    for (let name = names[next++]; name !== undefined; name = names[next++]) {
      await run(name).catch((error: unknown) => {
        next = names.length;
        throw error;
      });
      report(++done, names.length);
    }
  };
  report(0, names.length);
  const outcomes = await Promise.allSettled(Array.from({ length: Math.min(atOnce, names.length) }, work));
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
}

/**
 * Copies files of the storage that are not in the copy yet. A name has one content for ever.
 * @param known hashes of files that an earlier backup has copied
 * @returns hashes of all; which of them were copied; which ones the storage doesn't have
 */
export async function copyMedia(
  storage: Storage,
  copy: Storage,
  names: readonly string[],
  known: MediaList,
  report: Report,
): Promise<{ list: MediaList; copied: number; missing: string[] }> {
  const present = new Set<string>();
  for await (const { name } of copy.list()) present.add(name);
  const list: MediaList = new Map();
  const missing: string[] = [];
  let copied = 0;
  await forEach(names, report, async (name) => {
    const hash = present.has(name) ? known.get(name) : undefined;
    if (hash !== undefined) {
      list.set(name, hash);
      return;
    }
    // Of a backup that was broken off: whole, because it is renamed when it is.
    const bytes = present.has(name) ? await copy.get(name) : await storage.get(name);
    if (bytes === null) {
      missing.push(name);
      return;
    }
    if (!present.has(name)) {
      await copy.put(name, bytes, '');
      copied++;
    }
    list.set(name, hashOf(bytes));
  });
  return { list, copied, missing: missing.sort() };
}

/** What is wrong with the files of a list: a sentence each. */
export async function checkMedia(copy: Storage, list: MediaList, report: Report): Promise<string[]> {
  const problems: string[] = [];
  await forEach([...list.keys()], report, async (name) => {
    const bytes = await copy.get(name);
    if (bytes === null) problems.push(`Datei ${name} fehlt`);
    else if (hashOf(bytes) !== list.get(name)) problems.push(`Datei ${name} ist verändert`);
  });
  return problems.sort();
}

/**
 * Puts files back into the storage that are not there, or not as they were.
 * @returns how many
 */
export async function restoreMedia(copy: Storage, storage: Storage, list: MediaList, report: Report): Promise<number> {
  const present = new Set<string>();
  for await (const { name } of storage.list()) if (list.has(name)) present.add(name);
  let restored = 0;
  await forEach([...list.keys()], report, async (name) => {
    const there = present.has(name) ? await storage.get(name) : null;
    if (there !== null && hashOf(there) === list.get(name)) return;
    const bytes = await copy.get(name);
    if (bytes === null) throw new Error('a file of the backup is gone that was there when it was checked');
    await storage.put(name, bytes, mediumTypes[name.slice(33)] ?? '');
    restored++;
  });
  return restored;
}

/** Removes files from the copy that are no longer in the list. */
export async function pruneCopy(copy: Storage, list: MediaList): Promise<void> {
  const gone: string[] = [];
  for await (const { name } of copy.list()) if (!list.has(name)) gone.push(name);
  await copy.remove(gone);
  await copy.removePartialFiles(new Date());
}

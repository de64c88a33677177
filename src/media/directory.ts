// Media in a directory. A file is written aside, forced to disk and renamed: under its name it is whole or not there, also
// after a power cut.
import { randomUUID } from 'node:crypto';
import { open, opendir, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { copyDurably, makeDirectory, syncDirectory, writeDurably } from './durable.ts';
import { isExportName, isMediumName, requireExportName, requireMediumName, requireStoredName } from './name.ts';
import { type ByteRange, type OpenedFile, type Storage, StorageError, type StoredMedium } from './storage.ts';

// On the same file system as the files, or the rename would be a copy.
const partialDirectory = '.tmp';
// Wherever MEDIA_URL leads, photos of private records are in it.
const privateMode = 0o700;

export class DirectoryStorage implements Storage {
  readonly #root: string;
  constructor(root: string) {
    this.#root = resolve(root);
  }

  async put(name: string, bytes: Uint8Array): Promise<void> {
    await this.#putAside(requireMediumName(name), (partial) => writeDurably(partial, bytes));
  }

  async putFile(name: string, path: string): Promise<void> {
    await this.#putAside(requireExportName(name), (partial) => copyDurably(path, partial));
  }

  async #putAside(name: string, write: (partial: string) => Promise<void>): Promise<void> {
    const path = this.#pathOf(name);
    const partial = join(this.#root, partialDirectory, randomUUID());
    try {
      await makeDirectory(dirname(partial), privateMode);
      await write(partial);
      await makeDirectory(dirname(path), privateMode);
      await rename(partial, path);
      await syncDirectory(dirname(path));
    } catch (cause) {
      await rm(partial, { force: true }).catch(() => {});
      throw toStorageError(cause);
    }
  }

  async get(name: string): Promise<Uint8Array | null> {
    try {
      return await readFile(this.#pathOf(requireMediumName(name)));
    } catch (cause) {
      if (isMissing(cause)) return null;
      throw toStorageError(cause);
    }
  }

  async open(name: string, range?: ByteRange): Promise<OpenedFile | null> {
    try {
      const file = await open(this.#pathOf(requireExportName(name)));
      const { size } = await file.stat();
      return { size, stream: file.createReadStream(range ?? {}) };
    } catch (cause) {
      if (isMissing(cause)) return null;
      throw toStorageError(cause);
    }
  }

  async remove(names: readonly string[]): Promise<void> {
    const paths = names.map((name) => this.#pathOf(name));
    const results = await Promise.allSettled(paths.map((path) => rm(path, { force: true })));
    for (const result of results) if (result.status === 'rejected') throw toStorageError(result.reason);
  }

  async *list(): AsyncGenerator<StoredMedium> {
    for await (const directory of this.#listEntries('.', /^[0-9a-f]{2}$/)) {
      for await (const name of this.#listEntries(directory, /./)) {
        const modified = isMediumName(name) && name.startsWith(directory) ? await this.#readTime(directory, name) : null;
        if (modified) yield { name, modified };
      }
    }
  }

  async *listExport(): AsyncGenerator<StoredMedium> {
    for await (const kuerzel of this.#listEntries('export', /./)) {
      for await (const file of this.#listEntries(join('export', kuerzel), /./)) {
        const name = `export/${kuerzel}/${file}`;
        const modified = isExportName(name) ? await this.#readTime(join('export', kuerzel), file) : null;
        if (modified) yield { name, modified };
      }
    }
  }

  async removePartialFiles(olderThan: Date): Promise<void> {
    for await (const name of this.#listEntries(partialDirectory, /./)) {
      const modified = await this.#readTime(partialDirectory, name);
      if (modified && modified < olderThan) {
        await rm(join(this.#root, partialDirectory, name), { force: true }).catch((cause) =>
          Promise.reject(toStorageError(cause)),
        );
      }
    }
  }

  // Media by the first two digits, so that no directory holds more than a 256th of them.
  #pathOf(name: string): string {
    return isExportName(name) ? join(this.#root, name) : join(this.#root, requireStoredName(name).slice(0, 2), name);
  }

  async *#listEntries(directory: string, pattern: RegExp): AsyncGenerator<string> {
    try {
      for await (const entry of await opendir(join(this.#root, directory))) if (pattern.test(entry.name)) yield entry.name;
    } catch (cause) {
      if (!isMissing(cause)) throw toStorageError(cause);
    }
  }

  // null for what has been removed meanwhile.
  async #readTime(directory: string, name: string): Promise<Date | null> {
    try {
      return (await stat(join(this.#root, directory, name))).mtime;
    } catch (cause) {
      if (isMissing(cause)) return null;
      throw toStorageError(cause);
    }
  }
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}

function toStorageError(cause: unknown): StorageError {
  if (cause instanceof StorageError) return cause;
  const { code } = cause as NodeJS.ErrnoException;
  return new StorageError(`the media directory does not work${code === undefined ? '' : ` (${code})`}`, { cause });
}

// Files of requests that are under way: written to disk as they come, so that memory stays flat.
import { randomUUID } from 'node:crypto';
import { mkdir, open, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { Limit } from '../guard/limit.ts';
import { StorageError } from './storage.ts';

export interface ReceivedFile {
  path: string;
  bytes: number;
}

export interface Uploads {
  /**
   * Takes a place for the files of the request that is being answered.
   * @throws OverloadError when as many requests with files as allowed are under way, of all, of its network or of its account
   */
  begin(): Promise<Upload>;
  /** Removes what processes left that were killed. */
  removeLeftovers(olderThan: Date): Promise<void>;
}

/**
 * @param directory for the files, made when it is missing
 * @param bounds requests with files at once
 */
export function createUploads(directory: string, { all, perAccount }: { all: number; perAccount: number }): Uploads {
  // Of one network: whoever sends slowly keeps a place for minutes.
  const share = Math.ceil(all / 4);
  // Nobody waits: a client that is not read from goes on sending.
  const limit = new Limit({ name: 'uploads', slots: all, share, accountShare: perAccount, queue: 0, waitMs: 0 });
  return {
    begin: async () => new Upload(directory, await limit.enter()),
    async removeLeftovers(olderThan) {
      for (const name of await readdir(directory).catch(() => [])) {
        const path = join(directory, name);
        const entry = await stat(path).catch(() => null);
        if (entry && entry.mtime < olderThan) await rm(path, { force: true });
      }
    },
  };
}

/** The files of one request. */
export class Upload {
  readonly #directory: string;
  readonly #free: () => void;
  readonly #paths: string[] = [];
  constructor(directory: string, free: () => void) {
    this.#directory = directory;
    this.#free = free;
  }

  /**
   * Writes a file to disk; what comes beyond `maxBytes` is read and dropped.
   * @returns null when it is larger than that, and nothing is kept
   * @throws StorageError when the disk is full or can't be written; the stream's own error when it breaks off
   */
  async receive(stream: Readable, maxBytes: number): Promise<ReceivedFile | null> {
    const path = join(this.#directory, randomUUID());
    this.#paths.push(path);
    let bytes = 0;
    let file: Awaited<ReturnType<typeof open>> | null = null;
    let failure: Error | null = null;
    try {
      for await (const chunk of stream as AsyncIterable<Buffer>) {
        bytes += chunk.length;
        if (bytes > maxBytes || failure) continue;
        try {
          file ??= await this.#open(path);
          for (let written = 0; written < chunk.length; ) {
            written += (await file.write(chunk, written)).bytesWritten;
          }
        } catch (error) {
          // The rest is read all the same: a client that is still sending would not hear the answer.
          failure = new StorageError('an upload could not be written', { cause: error });
        }
      }
    } finally {
      await file?.close();
    }
    if (bytes > maxBytes || failure) await rm(path, { force: true });
    if (failure) throw failure;
    return bytes > maxBytes ? null : { path, bytes };
  }

  async #open(path: string) {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    return open(path, 'wx', 0o600);
  }

  /** Removes the files and makes room for the next request. */
  async end(): Promise<void> {
    await Promise.all(this.#paths.map((path) => rm(path, { force: true }).catch(() => {})));
    this.#free();
  }
}

// The main thread's side of the threads that make photos small: one photo at a time in each, the others wait in line.

import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { limitRuns, OverloadError } from '../guard/admission.ts';
import { currentScope } from '../guard/request.ts';
import type { JpegRefusal } from './jpeg.ts';
import type { PhotoReply, PhotoRequest } from './photo-worker.ts';

/** Makes photos small; close it at the end. */
export interface PhotoPool {
  /**
   * Reads the JPEG at this path and makes the one to store: upright, at most 2048 pixels long, below 500 000 bytes,
   * without metadata. The file stays as it is.
   * errors  PhotoRefusedError (the picture is at fault), PhotoBusyError (waited too long), PhotoUnavailableError (all else)
   */
  compress(path: string): Promise<Uint8Array>;
  /** Ends all threads; photos under way or waiting fail with PhotoUnavailableError. */
  close(): Promise<void>;
}

export interface PhotoPoolOptions {
  /** Threads at most; without it two to four, by cores. Each takes 350 MB for 24 megapixels, 550 MB for 50, 900 MB for the worst (60, progressive, full colour). */
  workers?: number | undefined;
  /** Longest wait for a thread in milliseconds. */
  waitMs?: number;
  /** Longest work on one photo in milliseconds, with the start of a thread. */
  jobMs?: number;
  /** After how many milliseconds without work a thread ends, and gives its memory back. */
  idleMs?: number;
}

/** This file can't become a photo, now or later. */
export class PhotoRefusedError extends Error {
  override name = 'PhotoRefusedError';
  readonly code = 'PHOTO_REFUSED';
  readonly reason: JpegRefusal;
  constructor(reason: JpegRefusal) {
    super(`photo refused: ${reason}`);
    this.reason = reason;
  }
}

/** Too many photos are before this one. */
export class PhotoBusyError extends Error {
  override name = 'PhotoBusyError';
  readonly code = 'PHOTO_BUSY';
}

/** The work on this photo was given up: its thread hung or died, or the pool was closed. */
export class PhotoUnavailableError extends Error {
  override name = 'PhotoUnavailableError';
  readonly code = 'PHOTO_UNAVAILABLE';
}

/** What a thread needs of JavaScript's own memory is little and known; pictures are outside of it. */
const resourceLimits = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32 };

// More threads than a few are a matter of memory, not of cores; two at least, so that one network, which never has them all, leaves
// one to others.
const defaultWorkers = Math.min(4, Math.max(2, availableParallelism() - 1));

/** Starts no thread before the first photo. */
export function createPhotoPool(options: PhotoPoolOptions = {}): PhotoPool {
  const { workers = defaultWorkers, waitMs = 60_000, jobMs = 20_000, idleMs = 10_000 } = options;
  const threads = new Set<PhotoThread>();
  const idle = new Set<PhotoThread>();
  const inTurn = limitRuns({
    name: 'photos',
    slots: workers,
    share: Math.max(1, workers - 1),
    queue: 200,
    waitMs,
    isApart: true,
  });
  let closed = false;

  function requireOpen(): void {
    if (closed) throw new PhotoUnavailableError('the photo pool is closed');
  }
  function takeThread(): PhotoThread {
    // The last one used, so that the others come to their end.
    const rested = [...idle].at(-1);
    if (rested) {
      idle.delete(rested);
      return rested;
    }
    const thread: PhotoThread = new PhotoThread({
      onDeath: () => idle.delete(thread),
      onExit: () => threads.delete(thread),
    });
    threads.add(thread);
    return thread;
  }

  return {
    async compress(path) {
      requireOpen();
      const work = async () => {
        requireOpen();
        // Seconds of a core, for nobody.
        if (currentScope()?.hasLeft()) throw new PhotoUnavailableError('whoever sent the photo has gone');
        const thread = takeThread();
        const reply = await thread.run({ path }, jobMs);
        idle.add(thread);
        thread.rest(idleMs);
        return reply;
      };
      const reply = await inTurn(work).catch((error: unknown) => {
        throw error instanceof OverloadError ? new PhotoBusyError(`a photo waited ${waitMs} ms for its thread`) : error;
      });
      if (reply.kind === 'refused') throw new PhotoRefusedError(reply.reason);
      return reply.bytes;
    },
    async close() {
      closed = true;
      await Promise.all([...threads].map((thread) => thread.end(new PhotoUnavailableError('the photo pool was closed'))));
    },
  };
}

/** A worker and the photo it works on. */
class PhotoThread {
  readonly #worker = new Worker(new URL('./photo-worker.ts', import.meta.url), { name: 'photo', resourceLimits });
  #job: { resolve: (reply: PhotoReply) => void; reject: (error: Error) => void } | null = null;
  #timer: NodeJS.Timeout | undefined;
  #dead: Error | null = null;
  readonly #onDeath: () => void;

  constructor({ onDeath, onExit }: { onDeath: () => void; onExit: () => void }) {
    this.#onDeath = onDeath;
    this.#worker.on('message', (reply: PhotoReply) => this.#job?.resolve(reply));
    this.#worker.on('error', (cause) => this.#die(new PhotoUnavailableError('the thread of a photo failed', { cause })));
    this.#worker.on('exit', (code) => {
      this.#die(new PhotoUnavailableError(`the thread of a photo ended (code ${code})`));
      onExit();
    });
    // The clock of a running job keeps the process alive, nothing else. After the listeners: that for messages undoes it.
    this.#worker.unref();
  }

  /** One photo; when it fails, the thread has ended. */
  async run(request: PhotoRequest, jobMs: number): Promise<PhotoReply> {
    clearTimeout(this.#timer);
    if (this.#dead) throw this.#dead;
    const { promise, resolve, reject } = Promise.withResolvers<PhotoReply>();
    this.#job = { resolve, reject };
    this.#timer = setTimeout(() => this.#die(new PhotoUnavailableError(`a photo took longer than ${jobMs} ms`)), jobMs);
    this.#worker.postMessage(request);
    try {
      return await promise;
    } catch (error) {
      await this.#worker.terminate();
      throw error;
    } finally {
      this.#job = null;
      clearTimeout(this.#timer);
    }
  }

  /** Ends the thread after a while, unless it gets to run again. */
  rest(idleMs: number): void {
    this.#timer = setTimeout(() => void this.end(new PhotoUnavailableError('an idle photo thread ended')), idleMs).unref();
  }

  async end(reason: Error): Promise<void> {
    this.#die(reason);
    await this.#worker.terminate();
  }

  #die(error: Error): void {
    if (this.#dead) return;
    this.#dead = error;
    clearTimeout(this.#timer);
    this.#onDeath();
    this.#job?.reject(error);
  }
}

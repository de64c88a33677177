// The threads that make photos small and clean sound files. They begin with the first file and end when there is none for a while.
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { Limit } from '../guard/limit.ts';
import { currentScope } from '../guard/request.ts';
import { AudioRefusedError } from './audio/refusal.ts';
import type { AudioKind } from './audio.ts';
import type { JpegRefusal } from './jpeg.ts';
import type { MediaReplies, MediaRequest } from './thread.ts';

/** Makes of files what is stored of them, which stay as they are. */
export interface FileMaker {
  /**
   * Reads the JPEG at this path and makes the one to store: upright, at most 2048 pixels long, below 500 000 bytes,
   * without metadata.
   * errors  PhotoRefusedError (the picture is at fault), MediaUnavailableError (all else)
   */
  compress(path: string): Promise<Uint8Array>;
  /**
   * Reads the sound file at this path and makes the one to store, as cleanAudio does.
   * errors  AudioRefusedError (the file is at fault), MediaUnavailableError
   */
  clean(path: string): Promise<{ kind: AudioKind; bytes: Uint8Array }>;
}

/** Close it at the end. */
export interface MediaThreads {
  /**
   * Waits for a place for all files of a request together, so that one is never refused after others of it were made. They are made one
   * after the other.
   * errors  OverloadError (waited too long), those of `work`
   */
  run<T>(work: (files: FileMaker) => Promise<T>): Promise<T>;
  /** Ends all threads; files under way or waiting fail with MediaUnavailableError. */
  close(): Promise<void>;
}

export interface MediaThreadsOptions {
  /** Threads at most; without it two or three, by cores. Each takes 200 MB, and up to 400 for the worst photo (60 megapixels, progressive). */
  workers?: number | undefined;
  /** Longest wait for a place, in milliseconds. */
  waitMs?: number;
  /** Files after which a thread ends: the library gives back neither its memory nor the errors of what it refused. */
  fileLimit?: number;
  /** Longest work on one file in milliseconds, with the start of a thread: a large photo takes 3 s, and much more where others have the cores. */
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

/** The work on this file was given up: its thread hung or died, or all were closed. */
export class MediaUnavailableError extends Error {
  override name = 'MediaUnavailableError';
  readonly code = 'MEDIA_UNAVAILABLE';
}

// More threads than a few are a matter of memory, not of cores; two at least, so that one network, which never has them all, leaves
// one to others; three at most, because pictures are made in the four threads of Node that read files and hash passwords too.
const defaultWorkers = Math.min(3, Math.max(2, availableParallelism() - 1));

/** Longest wait of a request for a place, in milliseconds: proxies wait longer for an answer. */
export const fileWaitMs = 60_000;

export function createMediaThreads(options: MediaThreadsOptions = {}): MediaThreads {
  const { workers = defaultWorkers, waitMs = fileWaitMs, jobMs = 40_000, idleMs = 60_000, fileLimit = 500 } = options;
  const limit = new Limit({ name: 'photos', slots: workers, share: Math.max(1, workers - 1), queue: 200, waitMs });
  const threads = new Set<MediaThread>();
  const idle = new Set<MediaThread>();
  let closed = false;

  function startThread(): MediaThread {
    const thread: MediaThread = new MediaThread(() => {
      idle.delete(thread);
      threads.delete(thread);
    });
    threads.add(thread);
    return thread;
  }
  async function make<K extends keyof MediaReplies>(kind: K, path: string): Promise<MediaReplies[K]> {
    if (closed) throw new MediaUnavailableError('the threads are closed');
    // Seconds of a core, for nobody.
    if (currentScope()?.hasLeft()) throw new MediaUnavailableError('whoever sent the file has gone');
    // The last one used, so that the others come to their end.
    const thread = [...idle].at(-1) ?? startThread();
    idle.delete(thread);
    const reply = await thread.run({ kind, path }, jobMs);
    if (thread.files < fileLimit) {
      idle.add(thread);
      thread.rest(idleMs);
    } else void thread.end('a thread has made enough files');
    return reply as MediaReplies[K];
  }
  const files: FileMaker = {
    async compress(path) {
      const reply = await make('photo', path);
      if ('refused' in reply) throw new PhotoRefusedError(reply.refused);
      return reply.bytes;
    },
    async clean(path) {
      const reply = await make('audio', path);
      if ('refused' in reply) throw new AudioRefusedError(reply.refused, 'by its thread');
      return reply;
    },
  };
  return {
    run: (work) => limit.run(() => work(files)),
    async close() {
      closed = true;
      await Promise.all([...threads].map((thread) => thread.end('the threads were closed')));
    },
  };
}

type Reply = MediaReplies[keyof MediaReplies];

/** What a thread needs of JavaScript's own memory is little and known; pictures are outside of it. */
const resourceLimits = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32 };

/** A worker and the file it works on. */
class MediaThread {
  readonly #worker = new Worker(new URL('./thread.ts', import.meta.url), {
    name: 'media',
    resourceLimits,
    // Node reads TypeScript by itself here: tsx would be loaded again by each thread.
    execArgv: [],
    // Where strangers' files are read there are no keys of the service.
    env: {},
  });
  #job: { resolve: (reply: Reply) => void; reject: (error: Error) => void } | null = null;
  #timer: NodeJS.Timeout | undefined;
  #dead: Error | null = null;
  /** Files that it was given. */
  files = 0;
  readonly #onDeath: () => void;

  constructor(onDeath: () => void) {
    this.#onDeath = onDeath;
    this.#worker.on('message', (reply: Reply) => this.#job?.resolve(reply));
    this.#worker.on('error', (cause) => this.#die(new MediaUnavailableError('the thread of a file failed', { cause })));
    this.#worker.on('exit', (code) => this.#die(new MediaUnavailableError(`the thread of a file ended (code ${code})`)));
    // The clock of a running job keeps the process alive, nothing else. After the listeners: that for messages undoes it.
    this.#worker.unref();
  }

  /** One file; when it fails, the thread has ended. */
  async run(request: MediaRequest, jobMs: number): Promise<Reply> {
    this.files++;
    clearTimeout(this.#timer);
    if (this.#dead) throw this.#dead;
    const { promise, resolve, reject } = Promise.withResolvers<Reply>();
    this.#job = { resolve, reject };
    this.#timer = setTimeout(() => this.#die(new MediaUnavailableError(`a file took longer than ${jobMs} ms`)), jobMs);
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
    this.#timer = setTimeout(() => void this.end('an idle thread ended'), idleMs).unref();
  }

  async end(reason: string): Promise<void> {
    this.#die(new MediaUnavailableError(reason));
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

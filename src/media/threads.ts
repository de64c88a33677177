// The main thread's side of the threads that make photos small and clean sound files: one at a time in each, the others wait.
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { limitRuns, OverloadError } from '../guard/admission.ts';
import { bringFile, fileOrder, makeFile, type Pausing } from '../guard/files.ts';
import { currentScope } from '../guard/request.ts';
import { AudioRefusedError } from './audio/refusal.ts';
import type { AudioKind } from './audio.ts';
import { makeGate, resetGate, setGate, waitedAt } from './gate.ts';
import type { JpegRefusal } from './jpeg.ts';
import type { LoadReply, MediaReplies, MediaRequest } from './thread.ts';

/** Makes of files what is stored of them, which stay as they are; close it at the end. */
export interface MediaThreads {
  /**
   * Reads the JPEG at this path and makes the one to store: upright, at most 2048 pixels long, below 500 000 bytes,
   * without metadata.
   * errors  PhotoRefusedError (the picture is at fault), MediaBusyError (waited too long), MediaUnavailableError (all else)
   */
  compress(path: string): Promise<Uint8Array>;
  /**
   * Reads the sound file at this path and makes the one to store, as cleanAudio does.
   * errors  AudioRefusedError (the file is at fault), MediaBusyError, MediaUnavailableError
   */
  clean(path: string): Promise<{ kind: AudioKind; bytes: Uint8Array }>;
  /** Waits until the thread that is kept ready from the start on is so, or has failed; at once when none is kept. Never fails. */
  untilReady(): Promise<void>;
  /** Ends all threads; files under way or waiting fail with MediaUnavailableError. */
  close(): Promise<void>;
}

export interface MediaThreadsOptions {
  /** Threads at most; without it two to four, by cores. Each takes 250 MB, and up to 700 for the worst photo (60 megapixels, progressive, full colour). */
  workers?: number | undefined;
  /** Longest wait for threads in milliseconds, of all files of a request together. */
  waitMs?: number;
  /** Files after which a thread ends: the library gives back neither its memory nor the errors of what it refused. */
  fileLimit?: number;
  /** Longest work on one file in milliseconds, with the start of a thread: a large photo takes 2 s, and much more where others have the cores. */
  jobMs?: number;
  /** After how many milliseconds without work a thread ends, and gives its memory back. */
  idleMs?: number;
  /** Keeps a thread at hand that has made a photo for nobody: one that must begin while the cores are busy takes seconds for its first file. */
  keepsReady?: boolean;
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

/** Too many files are before this one. */
export class MediaBusyError extends Error {
  override name = 'MediaBusyError';
  readonly code = 'MEDIA_BUSY';
}

/** The work on this file was given up: its thread hung or died, or all were closed. */
export class MediaUnavailableError extends Error {
  override name = 'MediaUnavailableError';
  readonly code = 'MEDIA_UNAVAILABLE';
}

type Reply = MediaReplies[keyof MediaReplies] | LoadReply;

/** What a thread needs of JavaScript's own memory is little and known; pictures are outside of it. */
const resourceLimits = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32 };

// More threads than a few are a matter of memory, not of cores; two at least, so that one network, which never has them all, leaves
// one to others.
const defaultWorkers = Math.min(4, Math.max(2, availableParallelism() - 1));

/** Longest wait for threads, in milliseconds, of all files of a request together: proxies wait longer for an answer. */
export const fileWaitMs = 60_000;

// What a pool that keeps a thread ready waits with another one: whatever is under way comes first.
const readyMs = 3000;

/** Starts no thread before the first file, unless it keeps one ready. */
export function createMediaThreads(options: MediaThreadsOptions = {}): MediaThreads {
  const {
    workers = defaultWorkers,
    waitMs = fileWaitMs,
    jobMs = 40_000,
    idleMs = 60_000,
    fileLimit = 500,
    keepsReady = false,
  } = options;
  const threads = new Set<MediaThread>();
  const idle = new Set<MediaThread>();
  const inTurn = limitRuns({
    name: 'photos',
    slots: workers,
    share: Math.max(1, workers - 1),
    queue: 200,
    waitMs,
    isApart: true,
    order: fileOrder,
  });
  let closed = false;

  function requireOpen(): void {
    if (closed) throw new MediaUnavailableError('the threads are closed');
  }
  function takeThread(): MediaThread {
    // The last one used, so that the others come to their end.
    const rested = [...idle].at(-1);
    if (rested) {
      idle.delete(rested);
      return rested;
    }
    return startThread();
  }
  function startThread(): MediaThread {
    const thread: MediaThread = new MediaThread({
      onDeath: () => idle.delete(thread),
      onExit: () => threads.delete(thread),
    });
    threads.add(thread);
    return thread;
  }
  let ready: NodeJS.Timeout | undefined;
  function keepReady(): void {
    if (!keepsReady) return;
    ready ??= setTimeout(() => {
      ready = undefined;
      if (!closed && idle.size === 0 && threads.size < workers) loadThread().catch(() => {});
    }, readyMs).unref();
  }
  async function loadThread(): Promise<void> {
    const thread = startThread();
    idle.add(thread);
    await thread.load(jobMs);
  }
  async function make<K extends keyof MediaReplies>(kind: K, path: string): Promise<MediaReplies[K]> {
    requireOpen();
    const work = async () => {
      requireOpen();
      // Seconds of a core, for nobody.
      if (currentScope()?.hasLeft()) throw new MediaUnavailableError('whoever sent the file has gone');
      let thread = takeThread();
      if (thread.loading && !(await thread.loading)) {
        requireOpen();
        thread = startThread();
      }
      keepReady();
      const reply = await makeFile(
        () => thread.run({ kind, path }, jobMs),
        // A sound has no steps, and takes a tenth of a second.
        kind === 'photo' ? thread : undefined,
      );
      if (thread.files < fileLimit) {
        idle.add(thread);
        thread.rest(idleMs, keepReady);
      } else {
        void thread.end(new MediaUnavailableError('a thread has made enough files')).then(keepReady);
      }
      return reply as MediaReplies[K];
    };
    return bringFile(() => inTurn(work)).catch((error: unknown) => {
      throw error instanceof OverloadError
        ? new MediaBusyError(`the files of a request waited ${waitMs} ms for their threads`)
        : error;
    });
  }

  // Nothing else is under way. Where the system gives no thread, the first photo tells.
  const loaded = keepsReady ? loadThread().catch(() => {}) : Promise.resolve();
  return {
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
    untilReady: () => loaded,
    async close() {
      closed = true;
      clearTimeout(ready);
      await Promise.all([...threads].map((thread) => thread.end(new MediaUnavailableError('the threads were closed'))));
    },
  };
}

/** A worker and the file it works on. */
class MediaThread implements Pausing {
  readonly #gate = makeGate();
  readonly #worker = new Worker(new URL('./thread.ts', import.meta.url), {
    name: 'media',
    resourceLimits,
    // Node reads TypeScript by itself here: tsx would be loaded again by each thread, and by those that the library starts.
    execArgv: [],
    // Where strangers' files are read there are no keys of the service. The library would write its warnings to the log.
    env: { VIPS_WARNING: '1' },
    workerData: this.#gate,
  });
  #job: { resolve: (reply: Reply) => void; reject: (error: Error) => void } | null = null;
  #timer: NodeJS.Timeout | undefined;
  #dead: Error | null = null;
  /** While it loads: whether it will be of use then. */
  loading: Promise<boolean> | null = null;
  /** Files that it was given. */
  files = 0;
  readonly #onDeath: () => void;

  constructor({ onDeath, onExit }: { onDeath: () => void; onExit: () => void }) {
    this.#onDeath = onDeath;
    this.#worker.on('message', (reply: Reply) => this.#job?.resolve(reply));
    this.#worker.on('error', (cause) => this.#die(new MediaUnavailableError('the thread of a file failed', { cause })));
    this.#worker.on('exit', (code) => {
      this.#die(new MediaUnavailableError(`the thread of a file ended (code ${code})`));
      onExit();
    });
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
    resetGate(this.#gate);
    const since = performance.now();
    // What it paused is not its work.
    const watch = (ms: number) => {
      this.#timer = setTimeout(() => {
        const left = jobMs - (performance.now() - since - this.pausedMs());
        if (left > 0) watch(left);
        else this.#die(new MediaUnavailableError(`a file took longer than ${jobMs} ms`));
      }, ms);
    };
    watch(jobMs);
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

  /** Has the file under way pause before its next step, or go on. */
  hold(isHeld: boolean): void {
    if (this.#job) setGate(this.#gate, isHeld);
  }

  /** For how many milliseconds the last file has paused. */
  pausedMs(): number {
    return waitedAt(this.#gate);
  }

  /** Loads what a photo needs, and makes one for nobody: whether that went well. What fails ends the thread, and the next photo tells. */
  load(jobMs: number): Promise<boolean> {
    const isOfUse = () => {
      this.loading = null;
      return true;
    };
    this.loading = this.run({ kind: 'load' }, jobMs).then(isOfUse, () => false);
    return this.loading;
  }

  /** Ends the thread after a while, unless it gets to run again. */
  rest(idleMs: number, onEnd: () => void): void {
    const end = async () => {
      await this.end(new MediaUnavailableError('an idle thread ended'));
      onEnd();
    };
    this.#timer = setTimeout(() => void end(), idleMs).unref();
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

// The threads that make photos small and clean sound files: one at a time in each, the others wait.
import { availableParallelism } from 'node:os';
import { Limit, OverloadError } from '../guard/limit.ts';
import { currentScope } from '../guard/request.ts';
import { AudioRefusedError } from './audio/refusal.ts';
import type { AudioKind } from './audio.ts';
import type { JpegRefusal } from './jpeg.ts';
import { MediaThread, MediaUnavailableError } from './media-thread.ts';
import type { MediaReplies } from './thread.ts';

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
  /** Waits until the threads that are kept ready from the start on are so, or have failed; at once when none are kept. Never fails. */
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
  /** Keeps threads at hand that have made a photo for nobody: one that must begin while the cores are busy takes seconds for its first file. */
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

// More threads than a few are a matter of memory, not of cores; two at least, so that one network, which never has them all, leaves
// one to others.
const defaultWorkers = Math.min(4, Math.max(2, availableParallelism() - 1));

/** Longest wait for threads, in milliseconds, of all files of a request together: proxies wait longer for an answer. */
export const fileWaitMs = 60_000;

// How many a pool keeps ready: who sends photos all the time takes one, and the other is for whoever comes then.
const keptReady = 2;
// What it waits with another one: whatever is under way comes first.
const readyMs = 3000;

/** Starts no thread before the first file, unless it keeps some ready. */
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
  const limit = new Limit({
    name: 'photos',
    slots: workers,
    share: Math.max(1, workers - 1),
    queue: 200,
    waitMs,
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
  const leastThreads = keepsReady ? Math.min(keptReady, workers) : 0;
  let ready: NodeJS.Timeout | undefined;
  function keepReady(): void {
    if (!keepsReady) return;
    ready ??= setTimeout(() => {
      ready = undefined;
      if (closed || threads.size >= workers || (threads.size >= leastThreads && idle.size > 0)) return;
      void loadThread().then((isLoaded) => isLoaded && keepReady());
    }, readyMs).unref();
  }
  /** Whether it is ready then; where the system gives no thread, the next photo tells. */
  async function loadThread(): Promise<boolean> {
    try {
      const thread = startThread();
      idle.add(thread);
      return await thread.load(jobMs);
    } catch {
      return false;
    }
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
      const reply = await thread.run({ kind, path }, jobMs);
      if (thread.files < fileLimit) {
        idle.add(thread);
        thread.rest(idleMs, keepReady);
      } else {
        void thread.end(new MediaUnavailableError('a thread has made enough files')).then(keepReady);
      }
      return reply as MediaReplies[K];
    };
    return limit.run(work).catch((error: unknown) => {
      throw error instanceof OverloadError
        ? new MediaBusyError(`the files of a request waited ${waitMs} ms for their threads`)
        : error;
    });
  }

  // Nothing else is under way.
  const loaded = Promise.all(Array.from({ length: leastThreads }, loadThread)).then(() => {});
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

// The main thread's side of a thread that makes photos small and cleans sound files.
import { Worker } from 'node:worker_threads';
import { makeGate, resetGate, setGate, waitedAt } from './gate.ts';
import type { LoadReply, MediaReplies, MediaRequest } from './thread.ts';

/** The work on this file was given up: its thread hung or died, or all were closed. */
export class MediaUnavailableError extends Error {
  override name = 'MediaUnavailableError';
  readonly code = 'MEDIA_UNAVAILABLE';
}

type Reply = MediaReplies[keyof MediaReplies] | LoadReply;

/** What a thread needs of JavaScript's own memory is little and known; pictures are outside of it. */
const resourceLimits = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32 };

/** A worker and the file it works on. */
export class MediaThread {
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

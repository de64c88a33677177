// Bounded waiting for what is scarce. The database's driver queues without limit: behind a few slow statements every request
// would hang.

export interface AdmissionOptions {
  /** Runs at once; for the database, the connections of the pool. */
  slots: number;
  /** Runs that may wait. */
  queue: number;
  /** Longest wait for a slot in milliseconds. */
  waitMs: number;
}

export interface CallOptions extends AdmissionOptions {
  /** Longest run of a call in milliseconds: the driver may lose a statement whose connection breaks. */
  runMs: number;
}

/** There is no connection to be had soon. */
export class OverloadError extends Error {
  readonly code = 'OVERLOADED';
}

// Of postgres.js' client, what requests use.
interface Client {
  // biome-ignore lint/suspicious/noExplicitAny: passed through as it is
  (...args: any[]): unknown;
  // biome-ignore lint/suspicious/noExplicitAny: passed through as it is
  begin(...args: any[]): unknown;
}

/** What is given to the result runs when a slot is free, within bounds; beyond them it fails with OverloadError. */
export function limitRuns(options: AdmissionOptions): <T>(run: () => Promise<T>) => Promise<T> {
  const admission = new Admission(options);
  return async (run) => {
    await admission.enter();
    try {
      return await run();
    } finally {
      admission.leave();
    }
  };
}

/**
 * The same client, whose calls and transactions wait for a free connection within bounds and fail with OverloadError beyond.
 * Its calls are plain promises that may be asked for `raw` bytes: no fragments, no cursors.
 */
export function admitCalls<C extends Client>(client: C, options: CallOptions): C {
  const limited = limitRuns(options);
  const admit = (run: () => unknown) => limited(() => withDeadline(run(), options.runMs));
  return new Proxy(client, {
    apply: (target, _self, args) => {
      let isRaw = false;
      // Nothing is sent before the caller had its turn to say so.
      const answer = admit(() => (isRaw ? (target(...args) as { raw(): unknown }).raw() : target(...args)));
      const raw = () => {
        isRaw = true;
        return answer;
      };
      return Object.assign(answer, { raw });
    },
    get: (target, name) =>
      name === 'begin' ? (...args: unknown[]) => admit(() => target.begin(...args)) : Reflect.get(target, name),
  });
}

async function withDeadline(result: unknown, ms: number): Promise<unknown> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new OverloadError('no answer in time')), ms);
  try {
    return await Promise.race([result, late]);
  } finally {
    clearTimeout(timer);
  }
}

class Admission {
  readonly #options: AdmissionOptions;
  #running = 0;
  readonly #waiting: { resolve: () => void; timer: NodeJS.Timeout }[] = [];
  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  enter(): Promise<void> {
    if (this.#running < this.#options.slots) {
      this.#running++;
      return Promise.resolve();
    }
    if (this.#waiting.length >= this.#options.queue) return Promise.reject(new OverloadError('too many wait'));
    return new Promise((resolve, reject) => {
      const entry = {
        resolve,
        timer: setTimeout(() => {
          this.#waiting.splice(this.#waiting.indexOf(entry), 1);
          reject(new OverloadError('waited too long'));
        }, this.#options.waitMs),
      };
      this.#waiting.push(entry);
    });
  }

  leave(): void {
    const next = this.#waiting.shift();
    if (!next) {
      this.#running--;
      return;
    }
    clearTimeout(next.timer);
    next.resolve();
  }
}

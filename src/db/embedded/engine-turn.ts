// Who may use the engine now: one owner at a time, the others in the order of their arrival.

/** Somebody waited longer than allowed. */
export class EngineTurnTimeoutError extends Error {
  override name = 'EngineTurnTimeoutError';
}

/** Somebody was taken out of the queue (connection gone, request cancelled). */
export class EngineTurnCancelledError extends Error {
  override name = 'EngineTurnCancelledError';
}

interface Waiting {
  who: object;
  resolve: () => void;
  reject: (error: Error) => void;
  timer: NodeJS.Timeout | null;
}

/** A fair lock with a bound on waiting. */
export class EngineTurn {
  #owner: object | null = null;
  #queue: Waiting[] = [];

  /** Waits for the turn; without `timeoutMs` for as long as it takes. */
  take(who: object, timeoutMs?: number): Promise<void> {
    if (this.#owner === null) {
      this.#owner = who;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const waiting: Waiting = { who, resolve, reject, timer: null };
      if (timeoutMs !== undefined) {
        waiting.timer = setTimeout(() => {
          this.#remove(waiting);
          reject(new EngineTurnTimeoutError(`waited ${timeoutMs} ms`));
        }, timeoutMs);
      }
      this.#queue.push(waiting);
    });
  }

  /** Gives the turn to whoever waits longest. */
  give(who: object): void {
    if (this.#owner !== who) return;
    const next = this.#queue.shift();
    this.#owner = next?.who ?? null;
    if (!next) return;
    if (next.timer) clearTimeout(next.timer);
    next.resolve();
  }

  /** Takes somebody out of the queue; false when it wasn't in it. */
  cancel(who: object): boolean {
    const waiting = this.#queue.find((entry) => entry.who === who);
    if (!waiting) return false;
    this.#remove(waiting);
    waiting.reject(new EngineTurnCancelledError('cancelled'));
    return true;
  }

  #remove(waiting: Waiting): void {
    if (waiting.timer) clearTimeout(waiting.timer);
    this.#queue = this.#queue.filter((entry) => entry !== waiting);
  }
}

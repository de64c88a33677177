// Who may use the engine now: one owner at a time, the others in the order of their arrival.

interface Waiting {
  who: object;
  end(isMine: boolean): void;
}

/** A fair lock with a bound on waiting. */
export class EngineTurn {
  #owner: object | null = null;
  readonly #queue: Waiting[] = [];

  /**
   * Waits for the turn; without `timeoutMs` for as long as it takes.
   * @returns false when it took longer, or `leave` was called
   */
  take(who: object, timeoutMs?: number): Promise<boolean> {
    if (this.#owner === null) {
      this.#owner = who;
      return Promise.resolve(true);
    }
    return new Promise((resolve) => {
      const timer = timeoutMs === undefined ? undefined : setTimeout(() => this.leave(who), timeoutMs);
      this.#queue.push({
        who,
        end(isMine) {
          clearTimeout(timer);
          resolve(isMine);
        },
      });
    });
  }

  /** Gives the turn to whoever waits longest. */
  give(who: object): void {
    if (this.#owner !== who) return;
    const next = this.#queue.shift();
    this.#owner = next?.who ?? null;
    next?.end(true);
  }

  /** Takes somebody out of the queue. */
  leave(who: object): void {
    const at = this.#queue.findIndex((entry) => entry.who === who);
    if (at >= 0) this.#queue.splice(at, 1)[0]?.end(false);
  }
}

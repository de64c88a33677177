// Whether somebody else is there, or was lately.

/** For how long a network that asked for something counts as there, in milliseconds. */
export const lingerMs = 10_000;

interface Seen {
  network: string;
  at: number;
}

/** The two networks that asked last: of whomever it is asked, one of them is another. */
export class Others {
  #latest: Seen | undefined;
  #before: Seen | undefined;

  /** @param at in milliseconds, no less than at the call before */
  note(network: string, at: number): void {
    if (this.#latest && this.#latest.network !== network) this.#before = this.#latest;
    this.#latest = { network, at };
  }

  /** Whether another network than this one was noted lately. */
  areThere(network: string, at: number): boolean {
    const other = this.#latest?.network === network ? this.#before : this.#latest;
    return other !== undefined && at - other.at < lingerMs;
  }
}

// The one limit on what runs and what waits: places, of them a share for each network and each account, a bounded queue and a longest
// wait. Connections of the database, hashes, photos and uploads are all admitted by it.
import { currentScope, isAccount } from './request.ts';

export interface LimitOptions {
  /** Under which operators are shown it; not at all without it. */
  name?: 'database' | 'regexp' | 'passwords' | 'photos' | 'uploads';
  /** Runs at once. */
  slots: number;
  /** Of these, what one network, or one account, may have at once; all of them without it. */
  share?: number;
  /** The same of one account, where that is less. */
  accountShare?: number;
  /** Runs that may wait; of one network, half of them. */
  queue: number;
  /** Longest wait in milliseconds. */
  waitMs: number;
}

/** Why somebody was not admitted, or given up. */
export type RefusalReason = 'queue_full' | 'waited_too_long' | 'no_answer' | 'gone';

/** There is no place to be had soon. */
export class OverloadError extends Error {
  readonly code = 'OVERLOADED';
  readonly reason: RefusalReason;
  constructor(reason: RefusalReason) {
    super(reason.replaceAll('_', ' '));
    this.reason = reason;
  }
}

const named = new Map<string, Limit>();
/** The limits of this process by name. */
export const listLimits = (): ReadonlyMap<string, Limit> => named;

interface Waiting {
  owners: readonly string[];
  isGone(): boolean;
  admit(): void;
  refuse(reason: RefusalReason): void;
}

export class Limit {
  readonly slots: number;
  readonly refused: Record<RefusalReason, number> = { queue_full: 0, waited_too_long: 0, no_answer: 0, gone: 0 };
  readonly #options: LimitOptions;
  /** Network or account → how many places it has, and how many of its runs wait. */
  readonly #held = new Map<string, number>();
  readonly #queued = new Map<string, number>();
  readonly #waiting = new Set<Waiting>();
  #running = 0;

  constructor(options: LimitOptions) {
    this.#options = options;
    this.slots = options.slots;
    if (options.name) named.set(options.name, this);
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Waits for a place, for the request that asks; work of the service itself has no share.
   * @returns gives the place back, once
   * @throws OverloadError when too many wait, or none came free in time
   */
  async enter(): Promise<() => void> {
    const scope = currentScope();
    const owners = scope?.owners ?? [];
    if (scope?.isGone()) throw this.refusal('gone');
    if (this.#mayRun(owners)) this.#take(owners);
    else await this.#wait(owners, () => scope?.isGone() ?? false);
    return () => {
      this.#running--;
      for (const owner of owners) add(this.#held, owner, -1);
      if (this.#waiting.size > 0) this.#admitNext();
    };
  }

  /** Runs this when there is a place for it. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const leave = await this.enter();
    try {
      return await work();
    } finally {
      leave();
    }
  }

  /** The error for a reason, which is counted. */
  refusal(reason: RefusalReason): OverloadError {
    this.refused[reason]++;
    return new OverloadError(reason);
  }

  #mayRun(owners: readonly string[]): boolean {
    const { slots, share = slots, accountShare = share } = this.#options;
    const hasShare = (owner: string) => (this.#held.get(owner) ?? 0) < (isAccount(owner) ? accountShare : share);
    return this.#running < slots && owners.every(hasShare);
  }

  #take(owners: readonly string[]): void {
    this.#running++;
    for (const owner of owners) add(this.#held, owner, 1);
  }

  async #wait(owners: readonly string[], isGone: () => boolean): Promise<void> {
    const { queue, waitMs } = this.#options;
    const isFull = this.#waiting.size >= queue || owners.some((owner) => (this.#queued.get(owner) ?? 0) >= queue / 2);
    if (isFull) throw this.refusal('queue_full');
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const entry = { owners, isGone, admit: resolve, refuse: (reason: RefusalReason) => reject(this.refusal(reason)) };
    this.#waiting.add(entry);
    for (const owner of owners) add(this.#queued, owner, 1);
    const timer = setTimeout(() => this.#waiting.delete(entry) && entry.refuse('waited_too_long'), waitMs);
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      for (const owner of owners) add(this.#queued, owner, -1);
    }
  }

  // Of those who may run, the one whose network and account have least; of equals, whoever came first.
  #admitNext(): void {
    let chosen: Waiting | undefined;
    let least = Number.POSITIVE_INFINITY;
    for (const entry of this.#waiting) {
      const held = Math.max(0, ...entry.owners.map((owner) => this.#held.get(owner) ?? 0));
      if (entry.isGone() && this.#waiting.delete(entry)) entry.refuse('gone');
      else if (held < least && this.#mayRun(entry.owners)) [chosen, least] = [entry, held];
      if (least === 0) break;
    }
    if (!chosen) return;
    this.#waiting.delete(chosen);
    this.#take(chosen.owners);
    chosen.admit();
  }
}

function add(counts: Map<string, number>, owner: string, by: number): void {
  const count = (counts.get(owner) ?? 0) + by;
  if (count > 0) counts.set(owner, count);
  else counts.delete(owner);
}

// The one limit on what runs and what waits: places, of them a share for each network and each account, a bounded queue and a longest
// wait. Connections of the database, hashes, photos and uploads are all admitted by it.
import { currentScope, isAccount } from './request.ts';

/** What is limited, as operators are shown it. */
export const limitNames = ['database', 'regexp', 'passwords', 'photos', 'uploads'] as const;
export type LimitName = (typeof limitNames)[number];

/** Why somebody was not admitted, or given up. */
export const refusalReasons = ['queue_full', 'waited_too_long', 'no_answer', 'gone'] as const;
export type RefusalReason = (typeof refusalReasons)[number];

export interface LimitOptions {
  /** Under which it is counted for operators; not at all without it. */
  name?: LimitName;
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

/** What a limit has under way at present, and whom it refused since the process began. */
export interface LimitUsage {
  slots: number;
  running: number;
  waiting: number;
  readonly refused: Record<RefusalReason, number>;
}

/** There is no place to be had soon. */
export class OverloadError extends Error {
  readonly code = 'OVERLOADED';
  readonly reason: RefusalReason;
  constructor(reason: RefusalReason) {
    super(reason.replaceAll('_', ' '));
    this.reason = reason;
  }
}

const makeUsage = (): LimitUsage => ({
  slots: 0,
  running: 0,
  waiting: 0,
  refused: { queue_full: 0, waited_too_long: 0, no_answer: 0, gone: 0 },
});
const usages = new Map<LimitName, LimitUsage>(limitNames.map((name) => [name, makeUsage()]));

/** The limits of this process by name. */
export const listUsage = (): ReadonlyMap<LimitName, Readonly<LimitUsage>> => usages;

interface Waiting {
  owners: readonly string[];
  isGone(): boolean;
  admit(): void;
  refuse(reason: RefusalReason): void;
}

export class Limit {
  readonly #options: LimitOptions;
  readonly #usage: LimitUsage;
  /** Network or account → how many places it has, and how many of its runs wait. */
  readonly #held = new Map<string, number>();
  readonly #queued = new Map<string, number>();
  readonly #waiting = new Set<Waiting>();
  #running = 0;

  constructor(options: LimitOptions) {
    this.#options = options;
    this.#usage = (options.name && usages.get(options.name)) ?? makeUsage();
    this.#usage.slots = options.slots;
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
    if (!this.#mayRun(owners)) await this.#wait(owners, () => scope?.isGone() ?? false);
    else this.#take(owners);
    return () => {
      this.#running--;
      this.#usage.running--;
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
    this.#usage.refused[reason]++;
    return new OverloadError(reason);
  }

  #mayRun(owners: readonly string[]): boolean {
    const { slots, share = slots, accountShare = share } = this.#options;
    return (
      this.#running < slots && owners.every((owner) => (this.#held.get(owner) ?? 0) < (isAccount(owner) ? accountShare : share))
    );
  }

  #take(owners: readonly string[]): void {
    this.#running++;
    this.#usage.running++;
    for (const owner of owners) add(this.#held, owner, 1);
  }

  async #wait(owners: readonly string[], isGone: () => boolean): Promise<void> {
    const { queue, waitMs } = this.#options;
    const isFull = this.#waiting.size >= queue || owners.some((owner) => (this.#queued.get(owner) ?? 0) >= queue / 2);
    if (isFull) throw this.refusal('queue_full');
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const entry = { owners, isGone, admit: resolve, refuse: (reason: RefusalReason) => reject(this.refusal(reason)) };
    const leave = (sign: 1 | -1) => {
      this.#usage.waiting += sign;
      for (const owner of owners) add(this.#queued, owner, sign);
    };
    this.#waiting.add(entry);
    leave(1);
    const timer = setTimeout(() => this.#waiting.delete(entry) && entry.refuse('waited_too_long'), waitMs);
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      leave(-1);
    }
  }

  // Of those who may run, the one whose network and account have least; of equals, whoever came first.
  #admitNext(): void {
    let chosen: Waiting | undefined;
    let least = Number.POSITIVE_INFINITY;
    for (const entry of this.#waiting) {
      if (entry.isGone()) {
        this.#waiting.delete(entry);
        entry.refuse('gone');
        continue;
      }
      const held = Math.max(0, ...entry.owners.map((owner) => this.#held.get(owner) ?? 0));
      if (held >= least || !this.#mayRun(entry.owners)) continue;
      chosen = entry;
      least = held;
      if (held === 0) break;
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

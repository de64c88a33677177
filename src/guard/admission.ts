// Bounded waiting for what is scarce. The database's driver queues without limit: behind a few slow statements every request
// would hang. Those who wait come from networks, which take turns: a network that asks for more waits for itself.
import { type Client, withDeadline, wrapCalls } from './calls.ts';
import { Others } from './others.ts';
import { type OverloadError, refusal } from './overload.ts';
import { currentScope, isAccount, isNamed, type RequestScope } from './request.ts';
import { goesOnWorking, placesOf } from './rest.ts';
import { type LimitName, type LimitUsage, usageOf } from './usage.ts';

export interface AdmissionOptions {
  /** Under which it is counted for operators; not at all without it. */
  name?: LimitName;
  /** Runs at once; for the database, the connections of the pool. */
  slots: number;
  /** Limits of this name, where there are several. */
  count?: number;
  /** Of these, what requests of one network, or of one account, may have at once; all of them without it. */
  share?: number;
  /**
   * Of these, what of a network or an account that does more than is spare may run at once while others ask too, or did lately; `share`
   * without it. What of them began at once, on all cores, is in the way of each longer statement that others ask for. Not while photos are
   * made small: then what was done rests.
   */
  besideOthers?: number;
  /** Of these, what requests that name the same may have, whoever asks; `share` without it. */
  namedShare?: number;
  /** Runs that may wait; of one network, half of them. */
  queue: number;
  /** Longest wait for a slot in milliseconds; of a request that comes several times, of all its waits. */
  waitMs: number;
  /** Time spent here, and with what runs, is not part of a request's age. */
  isApart?: boolean;
  /**
   * For how long what ran for so many milliseconds counts in its network's and its account's shares after that; all else is free at once. Of
   * what rests, who has a file made has half a share.
   */
  restMs?: (ranMs: number) => number;
  /** Whether something of these owners that has a place may begin, which is asked again while something waits; and what is told of it. */
  order?: { mayBegin(owners: readonly string[]): boolean; begin(owners: readonly string[]): void };
  /** Whether the result shows that what the request names is its own: then that rests as well. */
  proves?: (result: unknown) => boolean;
}

export interface CallOptions extends AdmissionOptions {
  /** Longest run of a call in milliseconds: the driver may lose a statement whose connection breaks. */
  runMs: number;
}

/** Another client, for calls that find those of the first one all under way. */
export interface Reserve<C> {
  client: C;
  /** Calls that the first one may have under way; the rest of the slots is the reserve's. */
  after: number;
}

/** What is given to the result runs when a slot is free, within bounds; beyond them it fails with OverloadError. */
export function limitRuns(options: AdmissionOptions): <T>(run: () => Promise<T>) => Promise<T> {
  const admission = new Admission(options, usageOf(options));
  return async (run) => {
    const since = performance.now();
    const leave = await admission.enter();
    const begun = performance.now();
    let isOwn = false;
    try {
      const result = await run();
      isOwn = options.proves?.(result) ?? false;
      return result;
    } finally {
      leave(options.restMs?.(performance.now() - begun) ?? 0, isOwn);
      if (options.isApart) currentScope()?.leaveOut(performance.now() - since);
    }
  };
}

/**
 * The same client, whose calls and transactions wait for a free connection within bounds and fail with OverloadError beyond.
 * Its calls are plain promises that may be asked for `raw` bytes: no fragments, no cursors.
 */
export function admitCalls<C extends Client>(client: C, options: CallOptions, reserve?: Reserve<C>): C {
  const limited = limitRuns(options);
  const usage = usageOf(options);
  const giveUp = () => refusal(usage, 'no_answer');
  let underWay = 0;
  const admit = (run: (chosen: C) => unknown) =>
    limited(async () => {
      if (reserve && underWay >= reserve.after) return withDeadline(run(reserve.client), options.runMs, giveUp);
      underWay++;
      try {
        return await withDeadline(run(client), options.runMs, giveUp);
      } finally {
        underWay--;
      }
    });
  return wrapCalls(client, admit);
}

interface Waiting {
  keys: readonly string[];
  isGone(): boolean;
  resolve: () => void;
  reject: (error: OverloadError) => void;
  timer: NodeJS.Timeout;
}

const nobody: readonly string[] = [];

function giveBack(counts: Map<string, number>, keys: readonly string[]): void {
  for (const key of keys) {
    const left = (counts.get(key) ?? 0) - 1;
    if (left > 0) counts.set(key, left);
    else counts.delete(key);
  }
}

// For whoever waits because of the order.
const lookAgainMs = 100;
class Admission {
  readonly #options: Required<Omit<AdmissionOptions, 'name' | 'count' | 'restMs' | 'order' | 'proves'>>;
  readonly #order: AdmissionOptions['order'];
  readonly #rests: boolean;
  readonly #others = new Others();
  readonly #usage: LimitUsage;
  #running = 0;
  /** Network or account → what it has, with what rests; and what runs of it. */
  readonly #held = new Map<string, number>();
  readonly #runs = new Map<string, number>();
  /** Network, null for the service itself → who waits, in the order in which it is the networks' turn. */
  readonly #lines = new Map<string | null, Waiting[]>();
  /** Request → milliseconds that it has waited here, where that is not told by its age. */
  readonly #waited = new WeakMap<RequestScope, number>();
  #waiting = 0;
  #timer: NodeJS.Timeout | undefined;
  constructor(options: AdmissionOptions, usage: LimitUsage) {
    const share = options.share ?? options.slots;
    this.#options = { isApart: false, namedShare: share, besideOthers: share, ...options, share };
    this.#rests = options.restMs !== undefined;
    this.#order = options.order;
    this.#usage = usage;
  }

  /** Waits for a slot; the result gives it back, and what it takes of shares so many milliseconds later, of what is named only as its own. */
  async enter(): Promise<(restMs: number, isOwn: boolean) => void> {
    const scope = currentScope();
    // Work of the service itself has no share.
    const keys = scope?.owners ?? nobody;
    if (scope?.isGone()) throw refusal(this.#usage, 'gone');
    if (scope) this.#others.note(scope.network, performance.now());
    // Who waits because of the order is not behind who comes later.
    if (!(this.#order && this.#lines.has(scope?.network ?? null)) && this.#mayRun(scope?.network ?? null, keys)) this.#take(keys);
    else {
      const since = performance.now();
      await this.#wait(keys, scope);
      if (scope && this.#options.isApart) this.#waited.set(scope, this.#spentOf(scope) + performance.now() - since);
    }
    return (restMs, isOwn) => this.#leave(keys, restMs, isOwn);
  }

  #mayRun(network: string | null, keys: readonly string[]): boolean {
    const hasPlace = this.#running < this.#options.slots && keys.every((key) => this.#hasPlace(network, key));
    return hasPlace && this.#order?.mayBegin(keys) !== false;
  }

  #hasPlace(network: string | null, key: string): boolean {
    const { share, namedShare, besideOthers } = this.#options;
    const held = this.#held.get(key) ?? 0;
    if (isNamed(key)) return held < namedShare;
    if (held >= (this.#rests ? placesOf(key, share) : share)) return false;
    const runs = this.#runs.get(key) ?? 0;
    if (runs < besideOthers || network === null || !goesOnWorking(key)) return true;
    return !this.#others.areThere(network, performance.now());
  }

  #take(keys: readonly string[]): void {
    this.#running++;
    this.#usage.running++;
    this.#order?.begin(keys);
    for (const counts of [this.#held, this.#runs]) for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  }

  #wait(keys: readonly string[], scope: RequestScope | undefined): Promise<void> {
    const network = scope?.network ?? null;
    const line = this.#lines.get(network) ?? [];
    const { queue, waitMs } = this.#options;
    const leftMs = waitMs - this.#spentOf(scope);
    if (leftMs <= 0) return Promise.reject(refusal(this.#usage, 'waited_too_long'));
    const mayWait = line.length < (network === null ? queue : Math.ceil(queue / 2));
    if (!mayWait || (this.#waiting >= queue && !this.#pushOut(line.length + 1)))
      return Promise.reject(refusal(this.#usage, 'queue_full'));
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#remove(network, line, entry);
        reject(refusal(this.#usage, 'waited_too_long'));
      }, leftMs);
      const entry: Waiting = { keys, isGone: () => scope?.isGone() ?? false, resolve, reject, timer };
      line.push(entry);
      this.#lines.set(network, line);
      this.#waiting++;
      this.#usage.waiting++;
      if (this.#order) this.#lookAgain();
    });
  }

  #lookAgain(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#admitNext();
      if (this.#waiting > 0) this.#lookAgain();
    }, lookAgainMs);
  }

  // Milliseconds of a request's patience that are used up.
  #spentOf(scope: RequestScope | undefined): number {
    if (!scope) return 0;
    return this.#options.isApart ? (this.#waited.get(scope) ?? 0) : scope.age();
  }

  // Two networks can fill all places: the one that has the most gives one up to another that has fewer.
  #pushOut(than: number): boolean {
    let longest: [network: string | null, line: Waiting[]] | null = null;
    for (const line of this.#lines) if (line[1].length > (longest?.[1].length ?? than)) longest = line;
    const last = longest?.[1].at(-1);
    if (!longest || !last) return false;
    clearTimeout(last.timer);
    this.#remove(...longest, last);
    last.reject(refusal(this.#usage, 'pushed_out'));
    return true;
  }

  #leave(keys: readonly string[], restMs: number, isOwn: boolean): void {
    this.#running--;
    this.#usage.running--;
    giveBack(this.#runs, keys);
    if (restMs === 0) giveBack(this.#held, keys);
    else {
      // What is only named is no reason for those to wait whose it is.
      const rests = (key: string) => isOwn || !isNamed(key);
      giveBack(
        this.#held,
        keys.filter((key) => !rests(key)),
      );
      setTimeout(() => {
        giveBack(this.#held, keys.filter(rests));
        if (this.#waiting > 0) this.#admitNext();
      }, restMs);
    }
    if (this.#waiting > 0) this.#admitNext();
  }

  // A slot, or a share, came free, and with it perhaps more than one may run.
  #admitNext(): void {
    while (this.#running < this.#options.slots && this.#admitOne());
  }

  // The first network in turn that has somebody who may run; of those whose account or login name has something running elsewhere, the one
  // that has least, and only where there are no others. An account that asks from twenty networks would have twenty turns.
  #admitOne(): boolean {
    let chosen: { network: string | null; line: Waiting[]; entry: Waiting; held: number } | null = null;
    for (const [network, line] of this.#lines) {
      const entry = this.#nextOf(network, line);
      if (!entry) continue;
      const held = this.#heldElsewhere(entry.keys);
      if (!chosen || held < chosen.held) chosen = { network, line, entry, held };
      if (held === 0) break;
    }
    if (!chosen) return false;
    const { network, line, entry } = chosen;
    clearTimeout(entry.timer);
    this.#remove(network, line, entry);
    // Behind the others.
    if (this.#lines.delete(network)) this.#lines.set(network, line);
    this.#take(entry.keys);
    entry.resolve();
    return true;
  }

  // What an account has from its own network is no reason to wait. Who is only asked for, anybody can name: all who name the same are alike,
  // or whoever floods a login name would come before its owner.
  #heldElsewhere([network = '', ...others]: readonly string[]): number {
    const here = this.#held.get(network) ?? 0;
    return Math.max(0, ...others.map((key) => (this.#held.get(key) ?? 0) - (isAccount(key) ? here : 0)));
  }

  // The first that may run; those before it who have gone are told that nobody waits for them.
  #nextOf(network: string | null, line: Waiting[]): Waiting | undefined {
    for (const entry of [...line]) {
      if (!this.#mayRun(network, entry.keys)) continue;
      if (!entry.isGone()) return entry;
      clearTimeout(entry.timer);
      this.#remove(network, line, entry);
      entry.reject(refusal(this.#usage, 'gone'));
    }
  }

  #remove(network: string | null, line: Waiting[], entry: Waiting): void {
    line.splice(line.indexOf(entry), 1);
    this.#waiting--;
    this.#usage.waiting--;
    if (line.length === 0) this.#lines.delete(network);
  }
}

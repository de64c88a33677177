// Turns on the one thread that everything is computed on. What comes in at once would be computed at once, before anybody who comes
// a moment later is even heard: after some milliseconds networks take turns, and who sends more waits for itself.
import { OverloadError } from './admission.ts';
import { currentScope } from './request.ts';

// How long is computed before those that came meanwhile are heard.
export const turnMs = 4;
// The event loop accepts one connection a turn: before anything is computed, those that wait at the door are let in for so long. By
// time, because what they bring may cost milliseconds each to be parsed.
const letInMs = 80;
// Begun between two looks at what came, as far as that time allows: looking costs more than most requests.
const maxBegun = 16;

interface Entry {
  run: () => void;
  timer?: NodeJS.Timeout;
}

/**
 * What of one network waits: what was begun and what was not have every second turn, each in the order in which it came. In one line, an
 * answer of thirty steps waited thirty times for all that came after it, more than 20 s; and without a turn, what is short was refused
 * for as long as its network reads long pages.
 */
class Line {
  readonly #begun = new Set<Entry>();
  readonly #coming = new Set<Entry>();
  #wasBegun = false;

  get size(): number {
    return this.#begun.size + this.#coming.size;
  }

  add(entry: Entry, isBegun: boolean): void {
    (isBegun ? this.#begun : this.#coming).add(entry);
  }

  delete(entry: Entry): boolean {
    return this.#begun.delete(entry) || this.#coming.delete(entry);
  }

  take(): Entry | undefined {
    const isBegun = this.#begun.size > 0 && !(this.#wasBegun && this.#coming.size > 0);
    this.#wasBegun = isBegun;
    const [entry] = isBegun ? this.#begun : this.#coming;
    if (entry) this.delete(entry);
    return entry;
  }
}

/** For how long something waits for its turn, in milliseconds, and what is done when it did not come. */
export interface Patience {
  ms: number;
  giveUp: () => void;
}

/** Network, null for the service itself → what waits, in the order in which it is the networks' turn. */
type Lines = Map<string | null, Line>;
/** Of networks that nothing waited for when it came: they have every second turn, so that who asks for little is not behind all others. */
const fresh: Lines = new Map();
/** Of networks that had a turn and for which more waits. */
const busy: Lines = new Map();
let wasFresh = false;
/** When computing began in this turn of the event loop; null before that. */
let began: number | null = null;
/** Whether a connection came since the last look. */
let hasArrival = false;
/** Whether what waits is going to be begun. */
let isTurning = false;

/**
 * Runs this at once while there is time, otherwise when it is its network's turn.
 * @param run computes for some milliseconds at most, and goes on by itself; must not throw
 * @param patience for ever without it
 * @param isBegun whether it is part of something that has had a turn: it does not stand behind what has not
 * @returns null when it ran; else a function that gives the place up and says whether that was in time
 */
export function runInTurn(network: string | null, run: () => void, patience?: Patience, isBegun = false): (() => boolean) | null {
  if (isFree()) {
    run();
    return null;
  }
  if (!isTurning) setImmediate(letIn, performance.now());
  isTurning = true;
  const entry: Entry = { run };
  const line = fresh.get(network) ?? busy.get(network) ?? new Line();
  line.add(entry, isBegun);
  if (line.size === 1) fresh.set(network, line);
  const leave = () => {
    clearTimeout(entry.timer);
    const mine = linesOf(network);
    const isInTime = mine.get(network)?.delete(entry) === true;
    if (mine.get(network)?.size === 0) mine.delete(network);
    return isInTime;
  };
  // By a timer, not when its turn comes: that is seconds later where many wait. What came one after the other leaves so too.
  if (patience) entry.timer = setTimeout(() => leave() && patience.giveUp(), patience.ms);
  return leave;
}

/**
 * Waits until the current request, or the service itself, may compute for some milliseconds; null when it may at once.
 * @returns fails with OverloadError when whoever asked has gone meanwhile: thousands who ask and go would have all of it made
 */
export function waitForTurn(): Promise<void> | null {
  if (isFree()) return null;
  const scope = currentScope();
  return new Promise((resolve, reject) => {
    const run = () => (scope?.isGone() ? reject(new OverloadError('gone')) : resolve());
    runInTurn(scope?.network ?? null, run, undefined, true);
  });
}

/** The same, but no longer than that: whether its turn came. */
export function waitForTurnAtMost(ms: number): Promise<boolean> | null {
  if (isFree()) return null;
  if (ms <= 0) return Promise.resolve(false);
  return new Promise((resolve) =>
    runInTurn(currentScope()?.network ?? null, () => resolve(true), { ms, giveUp: () => resolve(false) }, true),
  );
}

/** To be told of what is computed next and how much that is: waits for a turn when it would be too much at a stretch. */
export type Pace = (weight: number) => Promise<void> | null;

/** By weight, not each time: where others wait, many small things would wait for a turn each. */
export function makePace(atOnce: number): Pace {
  let done = 0;
  return (weight) => {
    done += weight;
    if (done <= atOnce) return null;
    done = weight;
    return waitForTurn();
  };
}

/** To be told of each new connection. */
export function noteArrival(): void {
  hasArrival = true;
}

const linesOf = (network: string | null) => (fresh.has(network) ? fresh : busy);
const isWaiting = () => fresh.size > 0 || busy.size > 0;

function isFree(): boolean {
  return !isWaiting() && !hasArrival && hasTime();
}

function hasTime(): boolean {
  const now = performance.now();
  if (began !== null) return now - began < turnMs;
  began = now;
  setImmediate(endTurn);
  return true;
}

function endTurn(): void {
  began = null;
}

function letIn(since: number): void {
  if (hasArrival && performance.now() - since < letInMs) setImmediate(letIn, since);
  else beginSome();
  hasArrival = false;
}

// Each in a callback of its own: only after one is computed what follows from it without waiting.
function beginSome(): void {
  for (let i = 0; i < maxBegun; i++) setImmediate(beginNext);
  setImmediate(() => {
    isTurning = isWaiting();
    if (isTurning) letIn(performance.now());
  });
}

function beginNext(): void {
  const isFresh = fresh.size > 0 && !(wasFresh && busy.size > 0);
  const lines = isFresh ? fresh : busy;
  const [next] = lines;
  if (!next || !hasTime()) return;
  wasFresh = isFresh;
  const [network, line] = next;
  const entry = line.take();
  lines.delete(network);
  // Behind the others.
  if (line.size > 0) busy.set(network, line);
  clearTimeout(entry?.timer);
  entry?.run();
}

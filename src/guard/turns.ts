// Turns on the one thread that everything is computed on. What comes in at once would be computed at once, before anybody who comes
// a moment later is even heard: after some milliseconds networks take turns, and who sends more waits for itself.

import { beginComputing, endComputing, type Owners, restLeft, turnMs } from './computed.ts';
import { OverloadError } from './overload.ts';
import { currentScope, isAccount, networkOwner } from './request.ts';

// The event loop accepts one connection a turn: before anything is computed, those that wait at the door are let in for so long. By
// time, because what they bring may cost milliseconds each to be parsed.
const letInMs = 80;
// Begun between two looks at what came, as far as that time allows: looking costs more than most requests.
const maxBegun = 16;

interface Entry {
  run: () => void;
  owners: Owners;
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

  get hasBegun(): boolean {
    return this.#begun.size > 0;
  }

  add(entry: Entry, isBegun: boolean): void {
    (isBegun ? this.#begun : this.#coming).add(entry);
  }

  delete(entry: Entry): boolean {
    return this.#begun.delete(entry) || this.#coming.delete(entry);
  }

  /** @param rests whether only what was begun may have a turn */
  take(rests: boolean): Entry | undefined {
    const isBegun = this.hasBegun && (rests || !(this.#wasBegun && this.#coming.size > 0));
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
/**
 * Of networks that much was computed for while others have photos made: nothing is begun before they have rested. What was begun goes on,
 * without a rest before each of its steps: it holds what others wait for, and is no more than what was let in.
 */
const resting: Lines = new Map();
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
export function runInTurn(
  network: string | null,
  run: () => void,
  patience?: Patience,
  isBegun = false,
  owners: Owners = network === null ? [] : [networkOwner(network)],
): (() => boolean) | null {
  if (takeTime(network, isBegun, owners)) {
    run();
    return null;
  }
  const entry: Entry = { run, owners };
  standInLine(network, entry, isBegun);
  goOn();
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
  const scope = currentScope();
  const { network, owners } = scope ?? nobody;
  if (takeTime(network, true, owners)) return null;
  return new Promise((resolve, reject) => {
    const run = () => (scope?.isGone() ? reject(new OverloadError('gone')) : resolve());
    runInTurn(network, run, undefined, true, owners);
  });
}

/**
 * The same, but no longer than that: whether its turn came. Its account rests here, which may ask from many networks, and of which nothing
 * is known when a request is begun.
 */
export function waitForTurnAtMost(ms: number): Promise<boolean> | null {
  const { network, owners } = currentScope() ?? nobody;
  const account = owners.find(isAccount);
  if (restLeft(account) === 0 && takeTime(network, true, owners)) return null;
  const until = performance.now() + ms;
  return new Promise((resolve) => {
    const attempt = () => {
      const left = until - performance.now();
      const restMs = restLeft(account);
      if (left <= 0) resolve(false);
      else if (restMs > 0) setTimeout(attempt, Math.min(restMs, left));
      // All of an account's that wait have rested at the same time: one after the other is computed, until it rests again.
      else
        runInTurn(
          network,
          () => (restLeft(account) > 0 ? attempt() : resolve(true)),
          { ms: left, giveUp: () => resolve(false) },
          true,
          owners,
        );
    };
    attempt();
  });
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

const nobody: { network: null; owners: Owners } = { network: null, owners: [] };
const linesOf = (network: string | null) => (busy.has(network) ? busy : resting.has(network) ? resting : fresh);
const isWaiting = () => fresh.size > 0 || busy.size > 0;

function standInLine(network: string | null, entry: Entry, isBegun: boolean): void {
  const line = linesOf(network).get(network) ?? new Line();
  line.add(entry, isBegun);
  if (line.size > 1) {
    if (isBegun && resting.delete(network)) busy.set(network, line);
    return;
  }
  const restMs = isBegun ? 0 : restOfNetwork(network);
  if (restMs > 0) layAside(network, line, restMs);
  else fresh.set(network, line);
}

/** Whether this may be computed at once; then what is computed next counts as its network's. */
function takeTime(network: string | null, isBegun: boolean, owners: Owners): boolean {
  endComputing();
  const isFree = !isWaiting() && !hasArrival && (isBegun || restOfNetwork(network) === 0) && hasTime();
  if (isFree) beginComputing(owners);
  return isFree;
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
  endComputing();
}

const restOfNetwork = (network: string | null) => (network === null ? 0 : restLeft(networkOwner(network)));

/** Puts what waits of a network aside, until it has rested. */
function layAside(network: string | null, line: Line, restMs: number): void {
  resting.set(network, line);
  setTimeout(() => {
    if (resting.get(network) !== line) return;
    resting.delete(network);
    busy.set(network, line);
    goOn();
  }, restMs);
}

// Begins what waits, unless that is under way.
function goOn(): void {
  if (isTurning || !isWaiting()) return;
  isTurning = true;
  setImmediate(letIn, performance.now());
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
  endComputing();
  const next = pickLine();
  if (!next || !hasTime()) return;
  const { network, line, lines, rests } = next;
  wasFresh = lines === fresh;
  const entry = line.take(rests);
  lines.delete(network);
  // Behind the others.
  if (line.size > 0) busy.set(network, line);
  if (!entry) return;
  clearTimeout(entry.timer);
  beginComputing(entry.owners);
  entry.run();
}

/** Whose turn it is: puts those aside that only wait for what must not begin yet. */
function pickLine(): { network: string | null; line: Line; lines: Lines; rests: boolean } | undefined {
  while (isWaiting()) {
    const lines = fresh.size > 0 && !(wasFresh && busy.size > 0) ? fresh : busy;
    const [first] = lines;
    if (!first) break;
    const [network, line] = first;
    const restMs = restOfNetwork(network);
    if (restMs === 0 || line.hasBegun) return { network, line, lines, rests: restMs > 0 };
    lines.delete(network);
    layAside(network, line, restMs);
  }
  return undefined;
}

// Turns on the one thread that everything is computed on. What comes in at once would be computed at once, before anybody who comes
// a moment later is even heard: after some milliseconds networks take turns, and who sends more waits for itself.
import { currentScope } from './request.ts';

// How long is computed before those that came meanwhile are heard.
export const turnMs = 4;
// The event loop accepts one connection a turn: before anything is computed, so many of those that wait at the door are let in.
const maxLetIn = 500;
// Begun between two looks at what came, as far as that time allows: looking costs more than most requests.
const maxBegun = 16;

/** Network, null for the service itself → what waits, in the order in which it is the networks' turn. */
const lines = new Map<string | null, (() => void)[]>();
/** When computing began in this turn of the event loop; null before that. */
let began: number | null = null;
/** Whether a connection came since the last look. */
let hasArrival = false;

/**
 * Runs this at once while there is time, otherwise when it is its network's turn.
 * @param run computes for some milliseconds at most, and goes on by itself; must not throw
 */
export function runInTurn(network: string | null, run: () => void): void {
  if (isFree()) {
    run();
    return;
  }
  if (lines.size === 0) setImmediate(letIn, maxLetIn);
  const line = lines.get(network);
  if (line) line.push(run);
  else lines.set(network, [run]);
}

/** Waits until the current request, or the service itself, may compute for some milliseconds; null when it may at once. */
export function waitForTurn(): Promise<void> | null {
  if (isFree()) return null;
  return new Promise((resolve) => runInTurn(currentScope()?.network ?? null, resolve));
}

/** To be told of each new connection. */
export function noteArrival(): void {
  hasArrival = true;
}

function isFree(): boolean {
  return lines.size === 0 && !hasArrival && hasTime();
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

function letIn(left: number): void {
  if (hasArrival && left > 0) setImmediate(letIn, left - 1);
  else beginSome();
  hasArrival = false;
}

// Each in a callback of its own: only after one is computed what follows from it without waiting.
function beginSome(): void {
  for (let i = 0; i < maxBegun; i++) setImmediate(beginNext);
  setImmediate(() => {
    if (lines.size > 0) letIn(maxLetIn);
  });
}

function beginNext(): void {
  const [next] = lines;
  if (!next || !hasTime()) return;
  const [network, line] = next;
  const run = line.shift();
  // Behind the others.
  lines.delete(network);
  if (line.length > 0) lines.set(network, line);
  run?.();
}

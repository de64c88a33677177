// Where a thread pauses between two steps, for as long as another one tells it to.

/** Of one thread, shared with it: whether it is shut, and for how many milliseconds was waited at it. */
export type Gate = Int32Array<SharedArrayBuffer>;

const [open, shut] = [0, 1];
const [state, waited] = [0, 1];
// What was waited is told while it is.
const tellMs = 100;

/** An open one. */
export const makeGate = (): Gate => new Int32Array(new SharedArrayBuffer(8));

/** Shuts or opens it; who waits goes on. */
export function setGate(gate: Gate, isShut: boolean): void {
  Atomics.store(gate, state, isShut ? shut : open);
  Atomics.notify(gate, state);
}

/** Opens it, and what was waited is forgotten. */
export function resetGate(gate: Gate): void {
  setGate(gate, false);
  Atomics.store(gate, waited, 0);
}

/** For how many milliseconds was waited, to a tenth of a second while it is. */
export const waitedAt = (gate: Gate): number => Atomics.load(gate, waited);

/** Waits while it is shut, and nothing else is done meanwhile: not for the main thread. */
export function passGate(gate: Gate): void {
  while (Atomics.load(gate, state) === shut) {
    const since = performance.now();
    Atomics.wait(gate, state, shut, tellMs);
    Atomics.add(gate, waited, Math.round(performance.now() - since));
  }
}

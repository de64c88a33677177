// Where a thread pauses between two steps, for as long as another one tells it to.

/** Of one thread, shared with it. */
export type Gate = Int32Array<SharedArrayBuffer>;

const [open, shut] = [0, 1];

/** An open one. */
export const makeGate = (): Gate => new Int32Array(new SharedArrayBuffer(4));

/** Shuts or opens it; who waits goes on. */
export function setGate(gate: Gate, isShut: boolean): void {
  Atomics.store(gate, 0, isShut ? shut : open);
  Atomics.notify(gate, 0);
}

/** Waits while it is shut, and nothing else is done meanwhile: not for the main thread. */
export function passGate(gate: Gate): void {
  Atomics.wait(gate, 0, shut);
}

// Long work in steps, each a transaction: others wait for one of them at most, the more so where the database has one connection.

/** Rows of a step. */
export interface StepRows {
  least: number;
  first: number;
  most: number;
}

// Who logs in has four statements, and may wait for a step before each of them.
const stepMs = { short: 100, long: 250 };

/** How many rows the next step takes, by how long the last one took; `null` before the first. */
export function makeSteps({ least, first, most }: StepRows): (tookMs: number | null) => number {
  let rows = first;
  return (tookMs) => {
    if (tookMs !== null && tookMs < stepMs.short) rows = Math.min(rows * 2, most);
    // At once: one that took ten times as long would be as long twice more.
    if (tookMs !== null && tookMs > stepMs.long) rows = Math.max(Math.floor((rows * stepMs.long) / tookMs), least);
    return rows;
  };
}

/**
 * Does a work step by step, until there is nothing left to do.
 * @param step does so many rows at most, and returns how many it did
 * @param goesOn asked before each step
 * @param onStep told how much a step has done, and how long it took in milliseconds; waited for
 */
export async function workInSteps(
  bounds: StepRows,
  step: (rows: number) => Promise<number>,
  goesOn = () => true,
  onStep: (done: number, tookMs: number) => void | Promise<void> = () => {},
): Promise<void> {
  const rowsOfStep = makeSteps(bounds);
  for (let tookMs: number | null = null; goesOn(); ) {
    const begin = performance.now();
    const done = await step(rowsOfStep(tookMs));
    if (done === 0) return;
    tookMs = performance.now() - begin;
    await onStep(done, tookMs);
  }
}

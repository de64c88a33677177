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

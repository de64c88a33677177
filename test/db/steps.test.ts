// How much of a long work is done in one transaction.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { makeSteps, type StepRows } from '../../src/db/steps.ts';

const rows: StepRows = { least: 10, first: 50, most: 500 };

const cases: { name: string; tookMs: number[]; steps: number[] }[] = [
  { name: 'grows while its steps are short', tookMs: [20, 20, 20, 20, 20], steps: [50, 100, 200, 400, 500, 500] },
  { name: 'stays where its steps take some tenths of a second', tookMs: [101, 249], steps: [50, 50, 50] },
  {
    name: 'shrinks at once to what would have taken a quarter of a second',
    tookMs: [20, 20, 1000, 2000],
    steps: [50, 100, 200, 50, 10],
  },
  { name: 'never below the least', tookMs: [60_000, 60_000], steps: [50, 10, 10] },
];

for (const { name, tookMs, steps } of cases) {
  it(`S5.3 a long work ${name}`, () => {
    const next = makeSteps(rows);
    assert.deepEqual([null, ...tookMs].map(next), steps);
  });
}

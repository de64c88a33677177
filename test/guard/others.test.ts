// Whether somebody else than a network is there: of two that asked last, and for how long.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { lingerMs, Others } from '../../src/guard/others.ts';

it('counts the networks that were there lately, whoever asked how often in between', () => {
  const others = new Others();
  assert.equal(others.areThere('a', 0), false);
  for (const at of [1, 2, 3]) others.note('a', at);
  assert.deepEqual([others.areThere('a', 3), others.areThere('b', 3)], [false, true]);
  others.note('b', 4);
  for (const at of [5, 6]) others.note('a', at);
  assert.deepEqual([others.areThere('a', 6), others.areThere('b', 6), others.areThere('c', 6)], [true, true, true]);
  const gone = 4 + lingerMs;
  assert.deepEqual([others.areThere('a', gone - 1), others.areThere('a', gone), others.areThere('b', gone)], [true, false, true]);
  others.note('c', gone);
  others.note('a', gone + 1);
  assert.equal(others.areThere('a', gone + 1), true);
});

// The clock of counts by squares: what changes all the time is not counted all the time.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { Sql } from '../../src/db/client.ts';
import { workRaster } from '../../src/jobs/raster.ts';

it('counts squares that change all the time in a fifth of it, and ends at once while it rests', async (t) => {
  const steps: { begunAt: number; endedAt: number }[] = [];
  const { promise: hasThree, resolve } = Promise.withResolvers<void>();
  // What it asks of a database in which something has changed after each step.
  const sql = (async () => {
    const begunAt = performance.now();
    await sleep(100);
    if (steps.push({ begunAt, endedAt: performance.now() }) === 3) resolve();
    return [{ counted: 1 }];
  }) as unknown as Sql;
  const end = workRaster(sql, (error) => assert.fail(String(error)));
  t.after(end);
  await hasThree;
  for (const [n, { begunAt }] of steps.slice(1).entries()) {
    const before = steps[n] as (typeof steps)[number];
    // A timer may come a millisecond early.
    assert.ok(begunAt - before.endedAt >= 4 * (before.endedAt - before.begunAt) - 2, JSON.stringify(steps));
  }
  await nextTurn();
  // Without a timer in between.
  assert.equal(await Promise.race([end().then(() => 'ended'), nextTurn('rests')]), 'ended');
  assert.equal(steps.length, 3);
});

// The clock of counts by squares: what changes all the time is not counted all the time.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Sql } from '../../src/db/client.ts';
import { pauseMs, workRaster } from '../../src/jobs/raster.ts';

it('counts squares that change all the time in a fifth of it, and ends at once while it rests', async () => {
  const stepMs = 200;
  let steps = 0;
  // What it asks of a database in which something has changed after each step.
  const sql = (async () => {
    steps++;
    await sleep(stepMs);
    return [{ counted: 1 }];
  }) as unknown as Sql;
  const end = workRaster(sql, (error) => assert.fail(String(error)));
  await sleep(pauseMs + 2.5 * 5 * stepMs);
  assert.ok(steps === 2 || steps === 3, `${steps} steps`);
  const begin = performance.now();
  await end();
  assert.ok(performance.now() - begin < 2 * stepMs);
});

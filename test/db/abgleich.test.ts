// Who waits for the feed: for all of them it is looked by nobody's request.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { watchAbgleich } from '../../src/db/abgleich.ts';
import type { Sql } from '../../src/db/client.ts';
import { currentScope, runInScope } from '../../src/guard/request.ts';

const waitFor = (watch: ReturnType<typeof watchAbgleich>, ms: number) => watch.waitForChange(ms, () => {});

it('S5.3 the look of the feed is no request’s, whoever waits first: it would wait in the line of that network', async () => {
  const lookedFor = new Set<unknown>();
  let stelle = 1;
  const sql = (async () => {
    lookedFor.add(currentScope());
    return [{ stelle }];
  }) as unknown as Sql;
  const watch = watchAbgleich({ kind: 'postgres' }, sql, (error) => assert.fail(error as Error));
  // Told at first that it may have missed something, then of the change.
  await runInScope('192.0.2.1', () => waitFor(watch, 5000));
  const second = runInScope('192.0.2.2', () => waitFor(watch, 5000));
  await sleep(200);
  assert.equal(watch.waiting, 1);
  stelle = 2;
  await second;
  assert.deepEqual([...lookedFor], [undefined]);
  watch.release();
});

it('a look that fails is told, and the next one comes a second later; nobody waits for less than was asked', async () => {
  let looks = 0;
  const sql = (async () => {
    looks++;
    throw new Error('away');
  }) as unknown as Sql;
  const errors: unknown[] = [];
  const watch = watchAbgleich({ kind: 'postgres' }, sql, (error) => errors.push(error));
  const begin = performance.now();
  await waitFor(watch, 700);
  assert.ok(performance.now() - begin > 650);
  assert.deepEqual([looks, errors.length], [1, 1]);
  watch.release();
});

// The one limit: places, shares, a bounded queue, a longest wait.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Limit, type LimitOptions, OverloadError } from '../../src/guard/limit.ts';
import { runInScope } from '../../src/guard/request.ts';

const wide: LimitOptions = { slots: 2, queue: 100, waitMs: 10_000 };
const refusedFor = (reason: string) => (error: unknown) => error instanceof OverloadError && error.reason === reason;

/** Keeps places until it is told to give them back. */
function holding(limit: Limit) {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { hold: () => limit.run(() => promise), release: resolve };
}

describe('the limit', () => {
  it('S5.3 runs no more at once than there are places', async () => {
    const limit = new Limit(wide);
    let [running, most] = [0, 0];
    const work = async () => {
      most = Math.max(most, ++running);
      await sleep(2);
      running--;
    };
    await Promise.all(Array.from({ length: 20 }, () => limit.run(work)));
    assert.equal(most, 2);
    assert.deepEqual([limit.running, limit.waiting], [0, 0]);
  });

  it('S5.3 a network has its share, and whoever comes then finds a place', async () => {
    const limit = new Limit({ ...wide, slots: 3, share: 2 });
    const { hold, release } = holding(limit);
    const flood = Array.from({ length: 20 }, () => runInScope('flood', hold));
    assert.equal(await runInScope('other', () => limit.run(async () => 'ran')), 'ran');
    assert.equal(limit.running, 2);
    release();
    await Promise.all(flood);
  });

  it('S5.3 an account has its share, from however many networks', async () => {
    const limit = new Limit({ ...wide, slots: 5, share: 4, accountShare: 1 });
    const { hold, release } = holding(limit);
    const asked = Array.from({ length: 5 }, (_, n) =>
      runInScope(`network ${n}`, (scope) => {
        scope.identify(7);
        return hold();
      }),
    );
    await sleep(5);
    assert.equal(limit.running, 1);
    release();
    await Promise.all(asked);
  });

  it('who has least is next, however many of others came before', async () => {
    const limit = new Limit({ ...wide, share: 2 });
    const order: string[] = [];
    const ask = (network: string) =>
      runInScope(network, () =>
        limit.run(async () => {
          order.push(network);
          await sleep(5);
        }),
      );
    await Promise.all([...Array.from({ length: 20 }, () => ask('many')), ask('other'), ask('third')]);
    assert.ok(order.indexOf('other') <= 3 && order.indexOf('third') <= 4, order.join());
  });

  it('S5.3 refuses what waits too long, and what comes when too many wait; of one network half of them may', async () => {
    const limit = new Limit({ slots: 1, queue: 4, waitMs: 30 });
    const { hold, release } = holding(limit);
    const held = hold();
    const waiting = [1, 2].map(() => assert.rejects(runInScope('a', hold), refusedFor('waited_too_long')));
    await assert.rejects(runInScope('a', hold), refusedFor('queue_full'));
    waiting.push(...[1, 2].map(() => assert.rejects(runInScope('b', hold), refusedFor('waited_too_long'))));
    await assert.rejects(runInScope('c', hold), refusedFor('queue_full'));
    await Promise.all(waiting);
    assert.deepEqual(limit.refused, { queue_full: 2, waited_too_long: 4, no_answer: 0, gone: 0 });
    release();
    await held;
    assert.equal(await limit.run(async () => 'ran'), 'ran');
  });

  it('gives no place to who has gone, and gives places back when work fails', async () => {
    const limit = new Limit({ ...wide, slots: 1 });
    const { hold, release } = holding(limit);
    const held = hold();
    const gone = runInScope('gone', (scope) => {
      setTimeout(() => {
        scope.isGone = () => true;
      });
      return limit.run(async () => assert.fail('it has gone'));
    });
    const failing = limit.run(async () => {
      throw new Error('broken');
    });
    await sleep(5);
    release();
    await held;
    await assert.rejects(gone, refusedFor('gone'));
    await assert.rejects(failing, /broken/);
    assert.equal(limit.running, 0);
  });
});

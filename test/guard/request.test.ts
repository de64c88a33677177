// The age of a request: what others ask for, and nothing else (S5.3).
import assert from 'node:assert/strict';
import { beforeEach, describe, it, mock } from 'node:test';
import { limitRuns } from '../../src/guard/admission.ts';
import { OverloadError } from '../../src/guard/overload.ts';
import { patienceMs, runInScope } from '../../src/guard/request.ts';

let now = 0;
mock.method(performance, 'now', () => now);
beforeEach(() => {
  now = 1_000_000;
});

const pass = (ms: number) => {
  now += ms;
};

describe('the age of a request', () => {
  it('S5.3 is the time since it came, what it waited for its turn included', () =>
    runInScope('network', async (scope) => {
      assert.equal(scope.age(), 0);
      pass(200);
      assert.equal(scope.age(), 200);
      scope.startEarlier(300);
      assert.equal(scope.age(), 500);
      pass(100);
      assert.equal(scope.age(), 600);
    }));

  it('is without what its client took to send', () =>
    runInScope('network', async (scope) => {
      pass(700);
      scope.leaveOut(400);
      assert.equal(scope.age(), 300);
      pass(100);
      scope.leaveOut(50);
      assert.equal(scope.age(), 350);
    }));

  it('is that of no other', () =>
    runInScope('network', async (first) => {
      pass(900);
      await runInScope('network', async (second) => {
        pass(10);
        assert.deepEqual([first.age(), second.age()], [910, 10]);
      });
    }));

  it('is none once it goes on for long: it waits anew each time', () =>
    runInScope('network', async (scope) => {
      pass(5000);
      assert.equal(scope.age(), 5000);
      pass(1);
      assert.equal(scope.age(), 0);
      pass(10_000);
      scope.leaveOut(12_000);
      assert.equal(scope.age(), 0);
    }));
});

describe('where a request waits for a slot', () => {
  /** What becomes of a request of this age that finds the only slot taken. */
  const askAtAge = async (ageMs: number, isApart = false) => {
    const limited = limitRuns({ slots: 1, queue: 10, waitMs: patienceMs, isApart });
    const { promise: free, resolve: release } = Promise.withResolvers<void>();
    const holding = limited(() => free);
    const asking = runInScope('network', (scope) => {
      scope.startEarlier(ageMs);
      return limited(async () => 'ran');
    });
    release();
    await holding;
    return asking;
  };

  it('S5.3 it waits as long as it is young', async () => assert.equal(await askAtAge(patienceMs - 1), 'ran'));

  it('S5.3 it is refused at once when it is too old', () =>
    assert.rejects(askAtAge(patienceMs), (error) => error instanceof OverloadError && error.reason === 'waited_too_long'));

  it('it may wait at any age for what is apart, which makes it no older', async () => {
    assert.equal(await askAtAge(patienceMs, true), 'ran');
    const limited = limitRuns({ slots: 1, queue: 10, waitMs: patienceMs, isApart: true });
    await runInScope('network', async (scope) => {
      pass(100);
      await limited(async () => pass(2000));
      assert.equal(scope.age(), 100);
    });
  });
});

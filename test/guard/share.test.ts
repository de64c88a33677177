// One look for many who ask at the same time.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { currentScope, runInScope } from '../../src/guard/request.ts';
import { patientMs, shareLooks } from '../../src/guard/share.ts';

function setUp(patience?: number | null) {
  const begun: PromiseWithResolvers<number>[] = [];
  const look = shareLooks(() => {
    const run = Promise.withResolvers<number>();
    begun.push(run);
    return run.promise;
  }, patience);
  const end = (index: number) => begun[index]?.resolve(index);
  return { begun, look, end };
}

describe('a look that is shared', () => {
  it('is one for all who ask before it begins, and another one for whoever comes later', async () => {
    const { begun, look, end } = setUp();
    const first = look();
    const later = [look(), look(), look()];
    assert.equal(begun.length, 1);
    end(0);
    assert.equal(await first, 0);
    assert.equal(begun.length, 2);
    // While the second one runs, it is too old again.
    const last = look();
    end(1);
    assert.deepEqual(await Promise.all(later), [1, 1, 1]);
    end(2);
    assert.equal(await last, 2);
    assert.equal(begun.length, 3);
  });

  it('is not waited for when it takes long', async () => {
    const { begun, look, end } = setUp();
    const hanging = look();
    const next = look();
    await sleep(2 * patientMs);
    assert.equal(begun.length, 2);
    end(1);
    assert.equal(await next, 1);
    end(0);
    assert.equal(await hanging, 0);
  });

  it('is waited for, however long it takes, where another one would stand behind it', async () => {
    const { begun, look, end } = setUp(null);
    const first = look();
    const later = [look(), look()];
    await sleep(2 * patientMs);
    assert.equal(begun.length, 1);
    end(0);
    assert.equal(await first, 0);
    end(1);
    assert.deepEqual(await Promise.all(later), [1, 1]);
    assert.equal(begun.length, 2);
  });

  it('fails for those who share it, and for nobody after them', async () => {
    const { begun, look, end } = setUp();
    const first = look();
    const others = [look(), look()];
    begun[0]?.reject(new Error('away'));
    await assert.rejects(first, /away/);
    begun[1]?.reject(new Error('away still'));
    for (const other of others) await assert.rejects(other, /away still/);
    const after = look();
    end(2);
    assert.equal(await after, 2);
  });

  it('is of nobody’s request', async () => {
    const look = shareLooks(async () => currentScope()?.network ?? 'nobody');
    assert.equal(await runInScope('192.0.2.1', () => look()), 'nobody');
  });
});

// The scope of a request: whose it is, wherever its work has got to.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { currentScope, runInScope, runOutsideScope } from '../../src/guard/request.ts';

describe('the scope of a request', () => {
  it('is found behind every wait, and not outside of it', async () => {
    const network = await runInScope('net', async () => {
      await sleep(1);
      assert.equal(runOutsideScope(currentScope), undefined);
      return currentScope()?.network;
    });
    assert.equal(network, 'net');
    assert.equal(currentScope(), undefined);
  });

  it('counts for its network, and for its account once that is known', async () => {
    await runInScope('net', async (scope) => {
      const before = scope.owners;
      scope.identify(7);
      assert.deepEqual([before, scope.owners], [['network net'], ['network net', 'account 7']]);
    });
  });

  it('ends with an error that was thrown where nobody waited for it', async () => {
    const forever = runInScope('net', async (scope) => {
      setTimeout(() => scope.fail(new Error('defect')));
      return new Promise(() => {});
    });
    await assert.rejects(forever, /defect/);
  });
});

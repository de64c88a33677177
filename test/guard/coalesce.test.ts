// One look for many who ask at the same time.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { coalesce } from '../../src/guard/coalesce.ts';
import { currentScope, runInScope } from '../../src/guard/request.ts';

describe('looks that are shared', () => {
  it('one runs and one waits to, which is every later caller’s; none is told what was true before it asked', async () => {
    let value = 0;
    let looks = 0;
    const ask = coalesce(async () => {
      looks++;
      const seen = value;
      await sleep(10);
      return seen;
    });
    const first = ask();
    value = 1;
    const others = Array.from({ length: 50 }, ask);
    assert.equal(await first, 0);
    assert.deepEqual(new Set(await Promise.all(others)), new Set([1]));
    assert.equal(looks, 2);
    assert.equal(await ask(), 1);
    assert.equal(looks, 3);
  });

  it('one that fails is the failure of who shared it, and of nobody after', async () => {
    let fails = true;
    const ask = coalesce(async () => {
      await sleep(2);
      if (fails) throw new Error('away');
      return 'there';
    });
    const asked = [ask(), ask(), ask()];
    await assert.rejects(asked[0] as Promise<string>, /away/);
    fails = false;
    assert.deepEqual(await Promise.all(asked.slice(1)), ['there', 'there']);
  });

  it('is nobody’s request: the first one’s leaving ends it for none', async () => {
    const ask = coalesce(async () => currentScope());
    assert.equal(await runInScope('network', ask), undefined);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { keepAnswers } from '../../src/http/wire/kept.ts';

const answer = (bytes: number) => ({ tag: '"1"', answer: { body: Buffer.alloc(bytes), type: 'text/plain' } });

describe('kept answers', () => {
  it('go in the order of their last use when there are too many', () => {
    const kept = keepAnswers(10_000);
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) kept.set(name, answer(1000));
    kept.get('a');
    for (const name of ['h', 'i']) kept.set(name, answer(1000));
    assert.deepEqual(
      ['a', 'b', 'c', 'd', 'h', 'i'].map((name) => kept.get(name) !== undefined),
      [true, false, true, true, true, true],
    );
  });

  it('are replaced, not added up', () => {
    const kept = keepAnswers(10_000);
    kept.set('a', answer(500));
    for (let n = 0; n < 100; n++) kept.set('b', answer(n));
    assert.equal(kept.get('b')?.answer?.body.length, 99);
    assert.ok(kept.get('a'));
  });

  it('do not push all others out: a large one is not kept, and its older state goes', () => {
    const kept = keepAnswers(10_000);
    kept.set('a', answer(500));
    kept.set('b', answer(500));
    kept.set('b', answer(2000));
    assert.deepEqual([kept.get('a')?.answer?.body.length, kept.get('b')], [500, undefined]);
  });

  it('hold no memory but their own', () => {
    const kept = keepAnswers(10_000);
    kept.set('a', { tag: '"1"', answer: { body: Buffer.from('{"result":[]}'), type: 'text/plain' } });
    const body = kept.get('a')?.answer?.body;
    assert.deepEqual([body?.toString(), body?.buffer.byteLength], ['{"result":[]}', 13]);
  });

  it('stay within the limit whatever their addresses are', () => {
    const kept = keepAnswers(10_000);
    for (let n = 0; n < 1000; n++) kept.set(`${n}`.padStart(100, '0'), { tag: '"1"' });
    const left = Array.from({ length: 1000 }, (_, n) => kept.get(`${n}`.padStart(100, '0'))).filter(Boolean).length;
    assert.equal(left, 25);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createAnswerCache } from '../../src/http/wire/answer-cache.ts';

const answer = (bytes: number) => ({ tag: '"1"', answer: { body: Buffer.alloc(bytes), type: 'text/plain' } });

describe('cached answers', () => {
  it('go in the order of their last use when there are too many', () => {
    const cached = createAnswerCache(10_000);
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) cached.set(name, answer(1000));
    cached.get('a');
    for (const name of ['h', 'i']) cached.set(name, answer(1000));
    const found = ['a', 'b', 'c', 'd', 'h', 'i'].map((name) => cached.get(name) !== undefined);
    assert.deepEqual(found, [true, false, true, true, true, true]);
  });

  it('are replaced, not added up', () => {
    const cached = createAnswerCache(10_000);
    cached.set('a', answer(500));
    for (let n = 0; n < 100; n++) cached.set('b', answer(n));
    assert.equal(cached.get('b')?.answer?.body.length, 99);
    assert.ok(cached.get('a'));
  });

  it('do not push all others out: a large one is not kept, and its older state goes', () => {
    const cached = createAnswerCache(10_000);
    cached.set('a', answer(500));
    cached.set('b', answer(500));
    cached.set('b', answer(2000));
    assert.deepEqual([cached.get('a')?.answer?.body.length, cached.get('b')], [500, undefined]);
  });

  it('hold no memory but their own', () => {
    const cached = createAnswerCache(10_000);
    cached.set('a', { tag: '"1"', answer: { body: Buffer.from('{"result":[]}'), type: 'text/plain' } });
    const body = cached.get('a')?.answer?.body;
    assert.deepEqual([body?.toString(), body?.buffer.byteLength], ['{"result":[]}', 13]);
  });

  it('stay within the limit whatever their addresses are', () => {
    const cached = createAnswerCache(10_000);
    for (let n = 0; n < 1000; n++) cached.set(`${n}`.padStart(100, '0'), { tag: '"1"' });
    const left = Array.from({ length: 1000 }, (_, n) => cached.get(`${n}`.padStart(100, '0'))).filter(Boolean).length;
    assert.equal(left, 25);
  });
});

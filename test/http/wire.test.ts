// What travels: bodies as they come from the connection (in pieces, too large, broken off), queries, and answers that are kept.
import assert from 'node:assert/strict';
import { PassThrough, type Readable } from 'node:stream';
import { describe, it } from 'node:test';
import { createAnswerCache } from '../../src/http/wire/answer-cache.ts';
import { readBody } from '../../src/http/wire/body.ts';
import { PortalError } from '../../src/http/wire/portal-error.ts';
import { decodeText, parseQuery, queryOf } from '../../src/http/wire/query.ts';

describe('a body', () => {
  async function readAll(body: Readable, maxBytes = 1000): Promise<string> {
    const chunks: Buffer[] = [];
    for await (const chunk of readBody(body, maxBytes)) chunks.push(chunk);
    return Buffer.concat(chunks).toString();
  }

  const isCode = (code: string) => (error: unknown) => error instanceof PortalError && error.code === code;
  const countListeners = (body: Readable) => ['data', 'end', 'close'].map((event) => body.listenerCount(event));

  for (const pieces of [[], ['a=1'], ['a=', '1&b', '=2'], ['ä'.repeat(200), 'x'.repeat(600)]]) {
    it(`reads ${pieces.length} pieces to the end`, async () => {
      const body = new PassThrough();
      const read = readAll(body);
      for (const piece of pieces) {
        body.write(piece);
        await new Promise(setImmediate);
      }
      body.end();
      assert.equal(await read, pieces.join(''));
    });
  }

  it('reads what was there before it was asked for', async () => {
    const body = new PassThrough();
    body.end('a=1');
    await new Promise(setImmediate);
    assert.equal(await readAll(body), 'a=1');
  });

  it('leaves a body that is too large as it is: the answer comes before its end', async () => {
    const body = new PassThrough();
    const before = countListeners(body);
    body.write('x'.repeat(600));
    const read = readAll(body);
    body.write('x'.repeat(600));
    await assert.rejects(read, isCode('zu_gross'));
    assert.equal(body.destroyed, false);
    assert.deepEqual(countListeners(body), before);
    // What still comes flows to whoever drops it.
    body.resume();
    body.end('x'.repeat(100_000));
    await new Promise((resolve) => body.once('end', resolve));
  });

  for (const [how, error] of [
    ['with an error', new Error('aborted')],
    ['without one', undefined],
  ] as const) {
    it(`fails when the client breaks off ${how}, and is silent when that happens later`, async () => {
      const body = new PassThrough();
      const read = readAll(body);
      body.write('a=');
      await new Promise(setImmediate);
      body.destroy(error);
      await assert.rejects(read, isCode('ungueltige_anfrage'));

      const left = new PassThrough();
      left.write('x'.repeat(2000));
      await assert.rejects(readAll(left), isCode('zu_gross'));
      left.destroy(error);
      // An error that nobody listens for would fail this test.
      await new Promise((resolve) => left.once('close', resolve));
    });
  }

  it('leaves the rest when its reader ends early', async () => {
    const body = new PassThrough();
    body.write('a');
    body.write('b');
    for await (const chunk of readBody(body, 1000)) {
      assert.equal(chunk.toString()[0], 'a');
      break;
    }
    assert.equal(body.destroyed, false);
  });
});

describe('decodeText decodes what is an escape and keeps what is none (D1.1)', () => {
  const rows: [sent: string, text: string][] = [
    ['', ''],
    ['vespa velutina', 'vespa velutina'],
    ['vespa+velutina', 'vespa velutina'],
    ['vespa%2Bvelutina', 'vespa+velutina'],
    ['vespa%20velutina', 'vespa velutina'],
    ['vespa%velutina', 'vespa%velutina'],
    ['vespa%25velutina', 'vespa%velutina'],
    ['vespa%2525velutina', 'vespa%25velutina'],
    ['%', '%'],
    ['%%', '%%'],
    ['%%%25', '%%%'],
    ['100%', '100%'],
    ['a%2', 'a%2'],
    ['a%2g', 'a%2g'],
    ['a%g2', 'a%g2'],
    ['%u00e4', '%u00e4'],
    ['Egretta%caerulea', 'Egretta%caerulea'],
    ['Egretta%CAerulea', 'Egretta%CAerulea'],
    ['Gr%C3%BCn', 'Grün'],
    ['Gr%c3%bcn%velutina', 'Grün%velutina'],
    ['%velutina%20Gr%C3%BCn%', '%velutina Grün%'],
    ['Gr%FCn', 'Gr%FCn'],
    ['%C3', '%C3'],
    ['%C3%', '%C3%'],
    ['%C3x%BC', '%C3x%BC'],
    ['%C3%C3%BC', '%C3ü'],
    ['%BC%C3%BC', '%BCü'],
    ['%C3%BC%BC', 'ü%BC'],
    ['%F0%9F%A6%89', '🦉'],
    ['%F0%9F%A6', '%F0%9F%A6'],
    ['%F0%9F%A6%20', '%F0%9F%A6 '],
    ['%E2%82%AC%ca', '€%ca'],
    ['%ED%A0%80', '%ED%A0%80'],
    ['%C0%80', '%C0%80'],
    ['%E0%80%80', '%E0%80%80'],
    ['%F4%90%80%80', '%F4%90%80%80'],
    ['%F5%80%80%80', '%F5%80%80%80'],
    ['%FF', '%FF'],
    ['%00', '\0'],
    ['%EF%BB%BF', '\ufeff'],
    ['ü%C3%BC', 'üü'],
    ['a%26b%3Dc%23', 'a&b=c#'],
  ];
  for (const [sent, text] of rows) it(`${sent} is ${JSON.stringify(text)}`, () => assert.equal(decodeText(sent), text));

  // As much as a form may hold, from anyone: an exception per bad byte took seconds, in which nobody else was answered.
  for (const run of ['%', '%e', '%C3%BC', '%F0%9F%9F%9F', '%c3', '%e4', '%F0%9F', '%ED%A0%80', '%FF']) {
    it(`a long run of ${run} is decoded without letting anything throw`, (t) => {
      const decode = t.mock.method(globalThis, 'decodeURIComponent');
      const sent = run.repeat(1000);
      const good = run === '%C3%BC' ? 'ü' : run === '%F0%9F%9F%9F' ? '\u{1f7df}' : run;
      assert.equal(decodeText(sent), good.repeat(1000));
      assert.ok(decode.mock.calls.every((call) => call.error === undefined));
    });
  }
});

describe('parseQuery keeps names, values and their order', () => {
  /** Names with `:`, values with `|` between them. */
  const rows: [query: string, ...parameters: string[]][] = [
    [''],
    ['&&'],
    ['a', 'a:'],
    ['a=', 'a:'],
    ['=a', ':a'],
    ['a=b=c', 'a:b=c'],
    ['a==', 'a:='],
    ['b=1&a=2&b=3', 'b:1|3', 'a:2'],
    ['a=1&a', 'a:1|'],
    ['na%6De=v%61l', 'name:val'],
    ['a+b=c+d', 'a b:c d'],
    ['a%3Db=c%26d', 'a=b:c&d'],
    ['a;b=1', 'a;b:1'],
    ['a?b=1?2', 'a?b:1?2'],
    ['a[]=1', 'a[]:1'],
    ['t=vespa%velutina&u=%C3%BC', 't:vespa%velutina', 'u:ü'],
    ['__proto__=1&constructor=2', '__proto__:1', 'constructor:2'],
    ['A=1&a=2', 'A:1', 'a:2'],
  ];
  for (const [query, ...parameters] of rows)
    it(`?${query}`, () => {
      const found = [...parseQuery(query)].map(([name, values]) => `${name}:${values.join('|')}`);
      assert.deepEqual(found, parameters);
    });
});

describe('queryOf finds the part behind the question mark', () => {
  for (const [url, query] of [
    ['http://n.test/api', ''],
    ['http://n.test/api?', ''],
    ['http://n.test/api?a=%velutina', 'a=%velutina'],
    ['http://n.test/api?a=1?b=2', 'a=1?b=2'],
    ['http://n.test/api?a=1#b', 'a=1'],
    ['/api?a=1', 'a=1'],
  ] as const) {
    it(url, () => assert.equal(queryOf(url), query));
  }
});

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

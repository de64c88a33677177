// Bodies as they come from the connection: in pieces, too large, broken off.
import assert from 'node:assert/strict';
import { PassThrough, Readable } from 'node:stream';
import { it } from 'node:test';
import { runInScope } from '../../src/guard/request.ts';
import { runInTurn } from '../../src/guard/turns.ts';
import { readBody } from '../../src/http/wire/body.ts';
import { PortalError } from '../../src/http/wire/errors.ts';

async function readAll(body: Readable, maxBytes = 1000): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of readBody(body, maxBytes, 0)) chunks.push(chunk);
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
  for await (const chunk of readBody(body, 1000, 0)) {
    assert.equal(chunk.toString()[0], 'a');
    break;
  }
  assert.equal(body.destroyed, false);
});

it('S5.3 a large body is read to its end while others compute all the time', async () => {
  let isOver = false;
  const compute = () => {
    const end = performance.now() + 5;
    while (performance.now() < end);
    if (!isOver) setImmediate(() => runInTurn('others', compute));
  };
  for (let n = 0; n < 10; n++) runInTurn('others', compute);
  const pieces = Array.from({ length: 512 }, () => Buffer.alloc(64 * 1024));
  const read = runInScope('one', async () => {
    let bytes = 0;
    for await (const chunk of readBody(Readable.from(pieces, { objectMode: false, highWaterMark: 64 * 1024 }), 40_000_000, 0))
      bytes += chunk.length;
    return bytes;
  });
  assert.equal(await read.finally(() => (isOver = true)), 512 * 64 * 1024);
});

for (const [name, bytes, count] of [
  ['large pieces', 64 * 1024, 64],
  ['pieces of one byte', 1, 100_000],
] as const) {
  it(`S5.3 what comes in ${name} while nobody reads is passed on as one, and no more is taken in than a megabyte and a thousand pieces`, async () => {
    let given = 0;
    const body = new Readable({
      highWaterMark: 64 * 1024,
      read() {
        setImmediate(() => this.push(given++ < count ? Buffer.alloc(bytes) : null));
      },
    });
    const read = readBody(body, bytes * count, 0)[Symbol.asyncIterator]();
    let length = (await read.next()).value?.length ?? 0;
    while (!body.isPaused()) await new Promise(setImmediate);
    for (let n = 0; n < 100; n++) await new Promise(setImmediate);
    const kept = given * bytes - length;
    assert.ok(kept <= 1024 * 1024 + 64 * 1024 && kept / bytes <= 1024 + 64 * 1024, `${kept} bytes`);
    const next = (await read.next()).value?.length ?? 0;
    assert.ok(next === 1024 * 1024 || next === 1024 * bytes, `${next} bytes`);
    length += next;
    for await (const chunk of { [Symbol.asyncIterator]: () => read }) length += chunk.length;
    assert.equal(length, bytes * count);
  });
}

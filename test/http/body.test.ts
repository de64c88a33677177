// Bodies as they come from the connection: in pieces, too large, broken off.
import assert from 'node:assert/strict';
import { PassThrough, type Readable } from 'node:stream';
import { it } from 'node:test';
import { readBody } from '../../src/http/wire/body.ts';
import { PortalError } from '../../src/http/wire/portal-error.ts';

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

// One network is read only so fast, whatever it sends, and all of it arrives.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerType } from '@hono/node-server';
import { Hono } from 'hono';
import { freeChunks, minPacketBytes } from '../../src/http/bodies.ts';
import type { Env } from '../../src/http/context.ts';
import { readRate } from '../../src/http/reading.ts';
import { scopeMiddleware } from '../../src/http/scope.ts';
import { listen } from '../../src/http/server.ts';
import { wideSettings } from '../support/listen.ts';

const mib = 1024 * 1024;

// Answers with the hash of a body that is wanted; of another one, before any of it has come.
const app = new Hono<Env>()
  .use(scopeMiddleware({ config: { trustedHops: 0 } }))
  .all('/hash', async (c) => {
    const hash = createHash('sha1');
    for await (const chunk of c.req.raw.body ?? []) hash.update(chunk);
    return c.text(hash.digest('hex'));
  })
  .all('/late', async (c) => {
    await c.req.raw.arrayBuffer();
    await sleep(1000);
    return c.text('ok');
  })
  .all('/soon', async (c) => {
    await c.req.raw.arrayBuffer();
    await sleep(2);
    return c.text('ok');
  })
  .all('/', (c) => c.text('ok'));

let server: ServerType;
let port: number;
const sockets: Socket[] = [];
before(async () => {
  server = await listen(app.fetch as Parameters<typeof listen>[0], '127.0.0.1', 0, wideSettings);
  server.on('connection', (socket: Socket) => sockets.push(socket));
  port = (server.address() as AddressInfo).port;
});
after(() => {
  server.close();
  (server as { closeAllConnections?(): void }).closeAllConnections?.();
});

async function open(localAddress: string): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port, localAddress });
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

async function readAll(socket: Socket): Promise<string> {
  let text = '';
  for await (const chunk of socket) text += chunk;
  return text;
}

const readOf = (address: string) =>
  sockets.filter(({ remoteAddress }) => remoteAddress === address).reduce((sum, { bytesRead }) => sum + bytesRead, 0);

// As fast as the other side takes it, until the connection is closed or this returns false.
function pump(socket: Socket, chunk: Buffer, goesOn: () => boolean): void {
  const write = () => {
    while (goesOn() && !socket.destroyed && socket.write(chunk));
  };
  socket.on('drain', write);
  write();
}

const chunks = (bytes: number) => `${bytes.toString(16)}\r\n${'a'.repeat(bytes)}\r\n`.repeat(Math.ceil(65_536 / bytes));
const post = (path: string, length: string) => `POST ${path} HTTP/1.1\r\nHost: n.test\r\n${length}\r\n\r\n`;
const length = `Content-Length: ${1000 * mib}`;

describe('a network that sends as fast as it can', () => {
  const inChunks = 'Transfer-Encoding: chunked';
  const many = 'a'.repeat(65_536);
  // Of chunks of 300 bytes a quarter is read, as each counts more. Bodies are looked at as they come, empty lines only now and then.
  const kinds: Record<string, { head: string; chunk: string; share: number; unseenMib: number }> = {
    'bodies that nobody wants': { head: post('/', length), chunk: many, share: 1, unseenMib: 2 },
    'bodies that are read': { head: post('/hash', length), chunk: many, share: 1, unseenMib: 2 },
    'bodies behind a raw line': { head: post('/hash?ä', length), chunk: many, share: 1, unseenMib: 2 },
    'empty lines': { head: '', chunk: '\r\n'.repeat(32_768), share: 1, unseenMib: 8 },
    'short chunks': { head: post('/hash', inChunks), chunk: chunks(300), share: 0.25, unseenMib: 3 },
    'short chunks that nobody wants': { head: post('/', inChunks), chunk: chunks(300), share: 0.25, unseenMib: 3 },
    'short chunks behind a raw line': { head: post('/hash?ä', inChunks), chunk: chunks(300), share: 0.25, unseenMib: 3 },
  };
  for (const [index, [what, { head, chunk, share, unseenMib }]] of Object.entries(kinds).entries()) {
    it(`${what}: is read no faster than it may be, and others are answered`, async () => {
      const address = `127.0.1.${index + 1}`;
      let goesOn = true;
      const begin = performance.now();
      const senders = await Promise.all(Array.from({ length: 12 }, () => open(address)));
      for (const sender of senders) {
        sender.write(head);
        pump(sender, Buffer.from(chunk), () => goesOn);
      }
      await sleep(2000);
      const other = await open('127.0.0.2');
      other.write('GET / HTTP/1.1\r\nHost: n.test\r\nConnection: close\r\n\r\n');
      assert.match(await readAll(other), /ok$/);
      const read = readOf(address);
      const seconds = (performance.now() - begin) / 1000;
      goesOn = false;
      for (const sender of senders) sender.destroy();
      // Twice a second's share at first, and what each brings before it is looked at.
      const allowed = (2 + seconds) * readRate * share + senders.length * unseenMib * mib;
      assert.ok(read < allowed, `${Math.round(read / mib)} of ${Math.round(allowed / mib)} MiB`);
      assert.ok(read > mib, `${read}`);
    });
  }

  for (const [what, path, address] of [
    ['arrives', '/hash', '127.0.2.1'],
    ['arrives, behind a raw line too', '/hash?ä', '127.0.2.2'],
  ] as const)
    it(`all that it sends ${what}`, async () => {
      // Twice what comes before the first pause.
      const size = 25 * mib;
      const block = Buffer.alloc(mib, 'abc');
      const expected = createHash('sha1');
      for (let n = 0; n < size / block.length; n++) expected.update(block);
      const hash = expected.digest('hex');
      const send = async () => {
        const socket = await open(address);
        socket.write(post(path, `Connection: close\r\nContent-Length: ${size}`));
        let left = size / block.length;
        pump(socket, block, () => left-- > 0);
        return (await readAll(socket)).slice(-hash.length);
      };
      assert.deepEqual(await Promise.all(Array.from({ length: 5 }, send)), Array(5).fill(hash));
    });

  it('what comes while a raw line waits for the answer before it arrives, once it is read again', async () => {
    const address = '127.0.2.3';
    // So many that some come while their network is not read.
    const own = await Promise.all(Array.from({ length: 24 }, () => open(address)));
    const senders = await Promise.all(Array.from({ length: 12 }, () => open(address)));
    for (const sender of senders) {
      sender.write(post('/hash', inChunks));
      pump(sender, Buffer.from(chunks(300)), () => true);
    }
    await sleep(1500);
    const body = 'b'.repeat(30_000);
    const hash = createHash('sha1').update(body).digest('hex');
    const sized = `Content-Length: ${body.length}`;
    for (const socket of own) {
      socket.write(`${post('/late', sized)}${body}${post('/hash?ä', `Connection: close\r\n${sized}`)}`);
      await sleep(20);
      socket.write(body);
    }
    await sleep(500);
    for (const sender of senders) sender.destroy();
    const answers = await Promise.all(own.map((socket) => Promise.race([readAll(socket), sleep(5000, 'none', { ref: false })])));
    for (const socket of own) socket.destroy();
    assert.deepEqual(
      answers.map((answer) => answer.slice(-hash.length)),
      Array(own.length).fill(hash),
    );
  });
});

describe('a body in tiny packets', () => {
  it('closes the connection, also when nobody reads it', async () => {
    for (const [index, path] of ['/', '/hash'].entries()) {
      const socket = await open(`127.0.3.${index + 1}`);
      socket.setNoDelay(true).write(post(path, 'Content-Length: 100000'));
      socket.resume();
      let sent = 0;
      while (!socket.destroyed && sent < 5 * freeChunks) {
        socket.write('a');
        sent++;
        await sleep(1);
      }
      assert.ok(sent < 5 * freeChunks, `${path}: ${sent}`);
      socket.destroy();
    }
  });

  it(`is read when it brings ${minPacketBytes} bytes each`, async () => {
    const socket = await open('127.0.3.9');
    const packets = 2 * freeChunks;
    const packet = 'a'.repeat(minPacketBytes + 1);
    socket.setNoDelay(true).write(post('/hash', `Connection: close\r\nContent-Length: ${packets * packet.length}`));
    for (let n = 0; n < packets; n++) {
      socket.write(packet);
      await sleep(1);
    }
    const hash = createHash('sha1').update(packet.repeat(packets)).digest('hex');
    assert.equal((await readAll(socket)).slice(-hash.length), hash);
  });
});

describe('a connection that has requests behind each other all the time', () => {
  const bodies = {
    'with their lengths': `${post('/soon', 'Content-Length: 57')}${'a'.repeat(57)}`,
    'in chunks': `${post('/soon', 'Transfer-Encoding: chunked')}39\r\n${'a'.repeat(57)}\r\n0\r\n\r\n`,
  };
  for (const [index, [name, text]] of Object.entries(bodies).entries()) {
    it(`has all of them answered, bodies ${name}`, async () => {
      const socket = await open(`127.0.4.${index + 1}`);
      const requests = Math.round(1.5 * freeChunks);
      let sent = 0;
      let answered = 0;
      const goOn = () => {
        for (; sent < requests && sent < answered + 3; sent++) socket.write(text);
      };
      goOn();
      for await (const piece of socket) {
        answered += String(piece).split('HTTP/1.1 200').length - 1;
        if (answered === requests) break;
        goOn();
      }
      assert.equal(answered, requests);
    });
  }

  it('is closed where the bodies that wait are of too many pieces together', async () => {
    const socket = await open('127.0.4.9');
    const body = '1\r\na\r\n'.repeat(freeChunks / 2 - 10);
    socket.write(`${post('/late', 'Content-Length: 1')}a`);
    for (let n = 0; n < 3; n++) socket.write(`${post('/hash', 'Transfer-Encoding: chunked')}${body}0\r\n\r\n`);
    assert.equal(await readAll(socket), '');
  });
});

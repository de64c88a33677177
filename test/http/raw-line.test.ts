// What Node's parser can't read: raw UTF-8 in a request line is understood, everything else is answered with the reason.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { after, before, beforeEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { listen } from '../../src/http/server.ts';
import { wideSettings } from '../support/listen.ts';

let server: Server;
let port = 0;
let seen: string[] = [];
before(async () => {
  const answer = async (request: Request) => {
    const { pathname, search } = new URL(request.url);
    seen.push(`${request.method} ${pathname}${search}`);
    if (pathname === '/slow') await sleep(300);
    return new Response(`${decodeURIComponent(search)}|${await request.text()}`);
  };
  server = await listen(answer, '127.0.0.1', 0, { ...wideSettings, headersTimeoutSeconds: 1, requestTimeoutSeconds: 2 });
  port = (server.address() as AddressInfo).port;
});
after(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  seen = [];
});

const open = () => connect(port, '127.0.0.1').on('error', () => {});
/** What comes until the server closes the connection. */
async function readAll(socket: ReturnType<typeof open>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
const get = (target: string) => `GET ${target} HTTP/1.1\r\nHost: n\r\n\r\n`;
const bodyOf = (text: string) => text.slice(text.indexOf('\r\n\r\n') + 4);

describe('raw UTF-8 in a request line', () => {
  it('is read as its escapes are, and the connection closes after the answer', async () => {
    const socket = open();
    socket.write(get('/arten?name_regexp_ci=Hörnisse€🦉'));
    const text = await readAll(socket);
    assert.match(text, /^HTTP\/1\.1 200 OK\r\n[\s\S]*Connection: close\r\n/i);
    assert.equal(bodyOf(text), '?name_regexp_ci=Hörnisse€🦉|');
  });

  it('also on a connection that is kept alive', async () => {
    const socket = open();
    socket.write(get('/a?n=1'));
    await once(socket, 'data');
    socket.write(get('/a?n=ä'));
    assert.match(await readAll(socket), /\?n=ä\|$/);
  });

  it('of bytes that are no UTF-8 too, each as its own escape', async () => {
    const socket = open();
    socket.write(Buffer.from(get('/%C3%A4/\xe4'), 'latin1'));
    await readAll(socket);
    assert.deepEqual(seen, ['GET /%C3%A4/%E4']);
  });

  it('before a body that comes later, and one that is larger than the buffers in between', async () => {
    for (const length of [6, 1_000_000]) {
      const socket = open();
      socket.write(`POST /b?x=ü HTTP/1.1\r\nHost: n\r\nContent-Length: ${length}\r\n\r\nabc`);
      await sleep(100);
      socket.write('d'.repeat(length - 3));
      assert.equal(bodyOf(await readAll(socket)), `?x=ü|abc${'d'.repeat(length - 3)}`);
    }
  });

  it('ends with its client, and its place among the connections comes back', async () => {
    const sockets = Array.from({ length: 40 }, open);
    for (const socket of sockets) socket.write(get('/slow?ä'));
    await sleep(100);
    for (const socket of sockets) socket.resetAndDestroy();
    await sleep(500);
    const count = await new Promise<number>((done) => server.getConnections((_error, n) => done(n)));
    assert.equal(count, 0);
  });
});

describe('what can’t be read is answered with its reason', () => {
  const chunked = 'POST /b HTTP/1.1\r\nHost: n\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n';
  const table: [what: string, bytes: string, status: number, code: string][] = [
    ['an unknown method', 'FOO /a HTTP/1.1\r\nHost: n\r\n\r\n', 405, 'methode_nicht_erlaubt'],
    ['a header without a colon', 'GET /a HTTP/1.1\r\nHost\r\n\r\n', 400, 'ungueltige_anfrage'],
    ['a head of 20 kB', `GET /a HTTP/1.1\r\nHost: n\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431, 'kopf_zu_gross'],
    ['a request line of 20 kB', get(`/${'a'.repeat(20_000)}`), 431, 'kopf_zu_gross'],
    ['a request line whose umlauts are 18 kB when escaped', get(`/${'ä'.repeat(3000)}`), 431, 'kopf_zu_gross'],
    ['a length that is none', 'POST /a HTTP/1.1\r\nHost: n\r\nContent-Length: x\r\n\r\n', 400, 'ungueltige_anfrage'],
    ['a space in the address', get('/a b'), 400, 'ungueltige_anfrage'],
    ['a control character in the address', get('/a\x01'), 400, 'ungueltige_anfrage'],
    ['a host that is none', 'GET /a HTTP/1.1\r\nHost: a, b\r\n\r\n', 400, 'ungueltige_anfrage'],
    ['an address of one star', 'OPTIONS * HTTP/1.1\r\nHost: n\r\n\r\n', 400, 'ungueltige_anfrage'],
    ['chunks that are none', chunked, 400, 'ungueltige_anfrage'],
    ['half a head', 'GET /a HTTP/1.1\r\nHost: n\r\n', 408, 'zu_langsam'],
    ['half a body', 'POST /a HTTP/1.1\r\nHost: n\r\nContent-Length: 9\r\n\r\nabc', 408, 'zu_langsam'],
  ];
  for (const [what, bytes, status, code] of table) {
    it(what, async () => {
      const socket = open();
      socket.write(bytes);
      const text = await readAll(socket);
      assert.match(text, new RegExp(`^HTTP/1\\.1 ${status} [\\s\\S]*"status":${status},"code":"${code}","message":"[^"]+"`));
      assert.match(text, /\r\nConnection: close\r\n/i);
      if (status === 405) assert.match(text, /\r\nAllow: GET, HEAD, POST, PUT, DELETE, OPTIONS\r\n/);
    });
  }

  it('without the sentence where HEAD was asked, which has no body', async () => {
    const socket = open();
    socket.write(`HEAD /a HTTP/1.1\r\nHost: n\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`);
    assert.match(await readAll(socket), /^HTTP\/1\.1 431 [^{]*\r\n\r\n$/);
  });

  it('never in the place of the answer before it', async () => {
    const socket = open();
    socket.write(`${get('/slow')}FOO /a HTTP/1.1\r\n\r\n`);
    assert.doesNotMatch(await readAll(socket), /405/);
  });
});

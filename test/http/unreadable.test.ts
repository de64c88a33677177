// What Node's parser can't read: raw UTF-8 in a request line is understood, everything else is answered with the reason.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { after, before, beforeEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerType } from '@hono/node-server';
import { freeChunks } from '../../src/http/bodies.ts';
import { listen, maxPipelined } from '../../src/http/server.ts';
import { maxHeaders } from '../../src/http/unreadable.ts';

const largeBytes = 400 * 65_536;
let server: ServerType;
let port = 0;
let seen: string[] = [];
let slow: Promise<void> | null = null;
before(async () => {
  const answer = async (request: Request) => {
    const { pathname, search } = new URL(request.url);
    seen.push(`${request.method} ${pathname}${search}`);
    if (pathname === '/slow') await slow;
    if (pathname === '/late') await sleep(300);
    if (pathname === '/large') {
      let left = largeBytes / 65_536;
      return new Response(new ReadableStream({ pull: (to) => (left-- > 0 ? to.enqueue(new Uint8Array(65_536)) : to.close()) }));
    }
    if (pathname === '/closing') return new Response('{}', { headers: { Connection: 'close' } });
    if (pathname === '/unread' || pathname === '/late') return new Response(`${decodeURIComponent(search)}|`);
    return new Response(`${decodeURIComponent(search)}|${await request.text()}`);
  };
  server = await listen(answer, '127.0.0.1', 0, {
    maxConnections: 100,
    maxConnectionsPerNetwork: 50,
    connectionRate: 1000,
    headersTimeoutSeconds: 2,
    requestTimeoutSeconds: 60,
    minSendRate: 1,
    trustedHops: 0,
  });
  port = (server.address() as AddressInfo).port;
});
after(() => {
  if ('closeAllConnections' in server) server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  seen = [];
  slow = null;
});

const open = async (localAddress = '127.0.0.1') => {
  const socket = connect({ port, host: '127.0.0.1', localAddress }).on('error', () => {});
  await once(socket, 'connect');
  return socket;
};
type Connection = Awaited<ReturnType<typeof open>>;
/** Bodies of so many answers, or of all until the end. */
async function readBodies(socket: Connection, count = Number.POSITIVE_INFINITY): Promise<string[]> {
  let text = '';
  const bodies = () =>
    [...text.matchAll(/HTTP\/1\.1 (\d+) [\s\S]*?[Cc]ontent-[Ll]ength: (\d+)[\s\S]*?\r\n\r\n/g)].flatMap((match) => {
      const from = Buffer.byteLength(text.slice(0, (match.index ?? 0) + match[0].length));
      const body = Buffer.from(text).subarray(from, from + Number(match[2]));
      return body.length === Number(match[2]) ? [`${match[1]} ${body}`] : [];
    });
  if (count !== Number.POSITIVE_INFINITY) {
    while (bodies().length < count) text += (await once(socket, 'data', { signal: AbortSignal.timeout(5000) }))[0];
    return bodies();
  }
  for await (const chunk of socket) text += chunk;
  return bodies();
}
const get = (target: string, ...headers: string[]) =>
  `GET ${target} HTTP/1.1\r\nHost: n\r\n${headers.map((h) => `${h}\r\n`).join('')}\r\n`;
const close = 'Connection: close';

describe('raw UTF-8 in a request line', () => {
  it('is read as its escapes are', async () => {
    const socket = await open();
    socket.write(get('/arten?name_regexp_ci=Hörnisse€🦉', close));
    assert.deepEqual(await readBodies(socket), ['200 ?name_regexp_ci=Hörnisse€🦉|']);
    assert.equal(socket.destroyed, true);
  });

  it('also on a connection that is kept alive, again and again, between usual ones', async () => {
    const socket = await open();
    for (let n = 0; n < 5; n++) {
      for (const [target, body] of [
        [`/a?n=${n}`, `200 ?n=${n}|`],
        [`/a?n=ä${n}`, `200 ?n=ä${n}|`],
        [`/a?n=ö${n}`, `200 ?n=ö${n}|`],
      ] as const) {
        socket.write(get(target));
        assert.deepEqual(await readBodies(socket, 1), [body]);
      }
    }
    assert.equal(seen.length, 15);
    socket.destroy();
  });

  it('and in a pipeline, in order, behind an answer that takes its time, before a body', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    slow = promise;
    const socket = await open();
    const post = `POST /b?x=ü HTTP/1.1\r\nHost: n\r\nContent-Length: 3\r\n\r\nä1`;
    socket.write(`${get('/slow')}${get('/a?n=ä')}${get('/a?n=b')}${get('/a?n=ß')}${post}${get('/ende?ñ', close)}`);
    await sleep(100);
    assert.deepEqual(seen, ['GET /slow']);
    resolve();
    assert.deepEqual(await readBodies(socket), ['200 |', '200 ?n=ä|', '200 ?n=b|', '200 ?n=ß|', '200 ?x=ü|ä1', '200 ?ñ|']);
  });

  it('of bytes that are no UTF-8 too, each as its own escape', async () => {
    const socket = await open();
    socket.write(Buffer.from(get('/%C3%A4/\xe4', close), 'latin1'));
    await readBodies(socket);
    assert.deepEqual(seen, ['GET /%C3%A4/%E4']);
  });

  it('costs a slow sender nothing: a body that comes later is waited for', async () => {
    const socket = await open();
    socket.write('POST /b?x=ü HTTP/1.1\r\nHost: n\r\nConnection: close\r\nContent-Length: 6\r\n\r\nabc');
    await sleep(3000);
    socket.write('def');
    assert.deepEqual(await readBodies(socket), ['200 ?x=ü|abcdef']);
  });

  it('before a body that is larger than the buffers in between, whatever the answer does with it', async () => {
    const body = 'x'.repeat(1_000_000);
    const post = (target: string) =>
      `POST ${target} HTTP/1.1\r\nHost: n\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    for (const target of ['/b?x=ü', '/unread?x=ü', '/late?x=ü']) {
      const socket = await open();
      socket.write(post(target));
      const answer = await Promise.race([readBodies(socket), sleep(5000, ['none'], { ref: false })]);
      assert.match(answer[0] ?? '', /^200 \?x=ü\|/, target);
    }
    // Again and again on one connection, also when all of it is there at once.
    const socket = await open();
    const kept = (n: number) =>
      `POST /b?x=ü${n} HTTP/1.1\r\nHost: n\r\nContent-Length: 300000\r\n\r\n${String(n).repeat(300_000)}`;
    for (let n = 0; n < 3; n++) {
      socket.write(kept(n));
      assert.deepEqual(await readBodies(socket, 1), [`200 ?x=ü${n}|${String(n).repeat(300_000)}`]);
    }
    socket.write(`${kept(3)}${kept(4)}${get('/a?ä', close)}`);
    let answers = '';
    for await (const chunk of socket) answers += chunk;
    assert.deepEqual(
      [...answers.matchAll(/\?x=ü\d\|\d+|\?ä\|/g)].map(([body]) => body),
      [`?x=ü3|${'3'.repeat(300_000)}`, `?x=ü4|${'4'.repeat(300_000)}`, '?ä|'],
    );
  });

  it('ends with its client', async () => {
    const sockets = await Promise.all(Array.from({ length: 40 }, open));
    const { promise, resolve } = Promise.withResolvers<void>();
    slow = promise;
    for (const socket of sockets) socket.write(get('/slow?ä'));
    await sleep(200);
    for (const socket of sockets) socket.resetAndDestroy();
    resolve();
    await sleep(200);
    const count = await new Promise<number>((done) => 'getConnections' in server && server.getConnections((_e, n) => done(n)));
    assert.equal(count, 0);
    // Its share of connections came back.
    const more = await Promise.all(Array.from({ length: 40 }, open));
    for (const socket of more) socket.write(get('/a', close));
    await Promise.all(more.map((socket) => readBodies(socket)));
  });

  it('leaves none of its connections inside behind', async () => {
    const inside = new Set<Duplex>();
    const note = ({ socket }: IncomingMessage) => inside.add(socket);
    server.on('request', note);
    const socket = await open();
    socket.write(get('/a?ä').repeat(20));
    await readBodies(socket, 20);
    socket.destroy();
    await sleep(200);
    server.off('request', note);
    assert.ok(inside.size >= 20, `${inside.size}`);
    assert.deepEqual(
      [...inside].map((each) => each.destroyed).filter((isDestroyed) => !isDestroyed),
      [],
    );
  });

  it('and a keep-alive that nobody uses any more is closed', async () => {
    const socket = await open();
    socket.write(get('/a?ä'));
    await readBodies(socket, 1);
    const begin = performance.now();
    await once(socket, 'close', { signal: AbortSignal.timeout(15_000) });
    assert.ok(performance.now() - begin > 1000);
  });
});

describe('what can’t be read', () => {
  const table: [what: string, bytes: string, status: number, code: string, headers?: RegExp][] = [
    [
      'an unknown method',
      'FOO /a HTTP/1.1\r\nHost: n\r\n\r\n',
      405,
      'methode_nicht_erlaubt',
      /\r\nAllow: GET, HEAD, POST, PUT, DELETE, OPTIONS\r\n/,
    ],
    ['a header without a colon', 'GET /a HTTP/1.1\r\nHost\r\n\r\n', 400, 'ungueltige_anfrage'],
    ['a head of 20 kB', `GET /a HTTP/1.1\r\nHost: n\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431, 'kopf_zu_gross'],
    ['a request line of 20 kB', `GET /${'a'.repeat(20_000)} HTTP/1.1\r\nHost: n\r\n\r\n`, 431, 'kopf_zu_gross'],
    ['a request line of 20 kB with an umlaut', `GET /ä${'a'.repeat(20_000)} HTTP/1.1\r\nHost: n\r\n\r\n`, 431, 'kopf_zu_gross'],
    [
      'a request line whose umlauts are 16 kB when escaped',
      `GET /${'ä'.repeat(3000)} HTTP/1.1\r\nHost: n\r\n\r\n`,
      431,
      'kopf_zu_gross',
    ],
    ['more than a hundred fields', `GET /a HTTP/1.1\r\nHost: n\r\n${'X: y\r\n'.repeat(100)}\r\n`, 431, 'kopf_zu_gross'],
    ['a tunnel', 'CONNECT n:80 HTTP/1.1\r\nHost: n\r\n\r\n', 405, 'methode_nicht_erlaubt', /\r\nAllow: GET, /],
    ['a length that is none', 'POST /a HTTP/1.1\r\nHost: n\r\nContent-Length: x\r\n\r\n', 400, 'ungueltige_anfrage'],
    ['another version', 'GET /a HTTP/9.1\r\nHost: n\r\n\r\n', 400, 'ungueltige_anfrage'],
    ['a space in the address', 'GET /a b HTTP/1.1\r\nHost: n\r\n\r\n', 400, 'ungueltige_anfrage'],
    ['a control character in the address', 'GET /a\x01 HTTP/1.1\r\nHost: n\r\n\r\n', 400, 'ungueltige_anfrage'],
    ['TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400, 'ungueltige_anfrage'],
    ['a host that is none', 'GET /a HTTP/1.1\r\nHost: a, b\r\n\r\n', 400, 'ungueltige_anfrage'],
    ['an address that is none', 'GET http://[/a HTTP/1.1\r\nHost: n\r\n\r\n', 400, 'ungueltige_anfrage'],
    ['an address of one star', 'OPTIONS * HTTP/1.1\r\nHost: n\r\n\r\n', 400, 'ungueltige_anfrage'],
    ['half a head', 'GET /a HTTP/1.1\r\nHost: n\r\n', 408, 'zu_langsam'],
  ];
  for (const [what, bytes, status, code, headers] of table) {
    it(`is answered with its reason: ${what}`, async () => {
      const socket = await open();
      socket.write(Buffer.from(bytes, what.includes('umlaut') ? 'utf8' : 'latin1'));
      const chunks: Buffer[] = [];
      for await (const chunk of socket) chunks.push(chunk);
      const text = Buffer.concat(chunks).toString();
      assert.match(text, new RegExp(`^HTTP/1\\.1 ${status} [\\s\\S]*"status":${status},"code":"${code}","message":"[^"]+"`));
      assert.match(text, /\r\nConnection: close\r\n/);
      if (headers) assert.match(text, headers);
      assert.deepEqual(seen, []);
    });
  }

  it('is not made into fields either, beyond those that are allowed', async () => {
    let made = 0;
    server.once('request', ({ rawHeaders }: IncomingMessage) => {
      made = rawHeaders.length / 2;
    });
    const socket = await open();
    socket.write(`GET /a HTTP/1.1\r\nHost: n\r\n${'X: y\r\n'.repeat(500)}\r\n`);
    assert.match((await readBodies(socket))[0] ?? '', /^431 /);
    // None where the parser itself refuses them; others hand them over by batches.
    assert.ok(made < 2 * maxHeaders, `${made}`);
  });

  it('without a body where HEAD asked', async () => {
    const socket = await open();
    socket.write(`${get('/a')}HEAD /${'a'.repeat(20_000)} HTTP/1.1\r\nHost: n\r\n\r\n`);
    const chunks: Buffer[] = [];
    for await (const chunk of socket) chunks.push(chunk);
    assert.match(Buffer.concat(chunks).toString(), /\r\n\r\n\|HTTP\/1\.1 431 [\s\S]*\r\n\r\n$/);
  });

  for (const field of ['Foo : x', 'FOO bar: x', 'X: GET /a HTTP/1.1', 'Foo']) {
    it(`without a body where HEAD asked, whatever is behind it: ${field}`, async () => {
      for (const target of ['/a', '/a?ä']) {
        const socket = await open();
        socket.write(`HEAD ${target} HTTP/1.1\r\nHost: n\r\n${field}\r\nX\r\n\r\n`);
        const chunks: Buffer[] = [];
        for await (const chunk of socket) chunks.push(chunk);
        assert.match(Buffer.concat(chunks).toString(), /^HTTP\/1\.1 400 [^{]*\r\n\r\n$/);
      }
    });
  }

  it('but with one where it was another that asked by HEAD', async () => {
    for (const broken of ['GET /a b HTTP/1.1', 'foo /a HTTP/1.1']) {
      const socket = await open();
      socket.write(`HEAD /a HTTP/1.1\r\nHost: n\r\n\r\n${broken}\r\nHost: n\r\n\r\n`);
      const chunks: Buffer[] = [];
      for await (const chunk of socket) chunks.push(chunk);
      assert.match(
        Buffer.concat(chunks).toString(),
        /^HTTP\/1\.1 200 [^{]*\r\n\r\nHTTP\/1\.1 40[05] [^{]*\r\n\r\n\{"error":/,
        broken,
      );
    }
  });

  const large = 'x'.repeat(20_000);
  const headed: [what: string, head: string][] = [
    ['a long address', `HEAD /${large} HTTP/1.1\r\nHost: n\r\n\r\n`],
    ['a long field', `HEAD /a HTTP/1.1\r\nHost: n\r\nX: ${large}\r\n\r\n`],
    ['a long field after raw UTF-8', `HEAD /a?ä HTTP/1.1\r\nHost: n\r\nX: ${large}\r\n\r\n`],
    ['a long trailer', `HEAD /late HTTP/1.1\r\nHost: n\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: ${large}\r\n\r\n`],
    ['more than a hundred', `HEAD /a HTTP/1.1\r\nHost: n\r\n${'X: y\r\n'.repeat(200)}\r\n`],
    ['many fields', `HEAD /a HTTP/1.1\r\nHost: n\r\n${`X: ${'y'.repeat(500)}\r\n`.repeat(40)}\r\n`],
  ];
  for (const before of ['', get('/a')]) {
    for (const [what, head] of headed) {
      it(`nor where its head comes in pieces: ${what}${before && ', behind another request'}`, async () => {
        const socket = await open();
        const bytes = Buffer.from(before + head);
        for (let at = 0; at < bytes.length; at += 5000) {
          socket.write(bytes.subarray(at, at + 5000));
          await sleep(20);
        }
        const chunks: Buffer[] = [];
        for await (const chunk of socket) chunks.push(chunk);
        const answers = Buffer.concat(chunks).toString();
        assert.match(
          answers,
          before ? /^HTTP\/1\.1 200 [^|]*\|HTTP\/1\.1 431 [^|{]*\r\n\r\n$/ : /^HTTP\/1\.1 431 [^|{]*\r\n\r\n$/,
        );
        assert.match(answers, /\r\nConnection: close\r\n/);
      });
    }
  }

  it('the sentence comes where a head in pieces is not of HEAD, and up to its bound a head is read', async () => {
    const ask = async (text: string) => {
      const socket = await open();
      socket.write(text.slice(0, 9000));
      await sleep(20);
      socket.write(text.slice(9000));
      return (await readBodies(socket)).join();
    };
    const line = 'POST /b HTTP/1.1\r\nHost: n\r\nConnection: close\r\n';
    // What is counted: the address, names and values; or those behind the chunks.
    const headOf = (bytes: number) =>
      `${line}X: ${'x'.repeat(bytes - '/bHostnConnectioncloseXContent-Length2'.length)}\r\nContent-Length: 2\r\n\r\nok`;
    const trailerOf = (bytes: number) =>
      `${line}Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX: ${'x'.repeat(bytes - 1)}\r\n\r\n`;
    for (const make of [headOf, trailerOf]) {
      assert.equal(await ask(make(16 * 1024 - 1)), '200 |ok');
      assert.deepEqual(seen, ['POST /b']);
      for (const bytes of [16 * 1024, 60_000]) assert.match(await ask(make(bytes)), /^431 .*"code":"kopf_zu_gross"/);
      seen = [];
    }
    // Beyond what the parser reads.
    assert.match(await ask(headOf(200_000)), /^431 .*"code":"kopf_zu_gross"/);
  });

  const trailed = (line: string) => `${line}\r\nHost: n\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX: ${large}\r\n\r\n`;
  const refused: [what: string, bytes: string, status: number][] = [
    ['a head that is too large', get('/a', `X: ${large}`), 431],
    ['one of a POST with a body', `POST /b HTTP/1.1\r\nHost: n\r\nX: ${large}\r\nContent-Length: 3\r\n\r\nabc`, 431],
    [
      'one of another with no HTTP behind it',
      `POST /b HTTP/1.1\r\nHost: n\r\nX: ${large}\r\nContent-Length: 1\r\n\r\na\0\r\n`,
      431,
    ],
    ['one of raw UTF-8', get('/ä', `X: ${large}`), 431],
    ['a trailer that is too large', trailed('POST /b HTTP/1.1'), 431],
    ['one behind raw UTF-8', trailed('POST /ü HTTP/1.1'), 431],
    ['no host', 'GET /a HTTP/1.1\r\n\r\n', 400],
    ['a host that is none', 'GET /a HTTP/1.1\r\nHost: a b\r\n\r\n', 400],
    ['an address of one star', 'OPTIONS * HTTP/1.1\r\nHost: n\r\n\r\n', 400],
    ['what the app itself closes', get('/closing'), 200],
  ];
  for (const [what, bytes, status] of refused) {
    for (const before of ['/a', '/slow']) {
      it(`nothing behind it is done: ${what}, after ${before}`, async () => {
        const { promise, resolve } = Promise.withResolvers<void>();
        slow = promise;
        const socket = await open();
        socket.write(get(before));
        // It is begun by itself: connections that come are let in before others go on.
        await sleep(100);
        assert.deepEqual(seen, [`GET ${before}`]);
        socket.write(`${bytes}POST /next HTTP/1.1\r\nHost: n\r\nContent-Length: 3\r\n\r\nabc${get('/next')}`);
        await sleep(100);
        resolve();
        const [first, ...told] = await readBodies(socket);
        assert.ok(!seen.some((request) => request.endsWith('/next')), seen.join());
        // In the middle of its body, a request behind another can only be ended, with all of its connection.
        if (before === '/slow' && what === 'a trailer that is too large') return;
        assert.equal(first, '200 |');
        assert.equal(told.length, 1, told.join());
        for (const answer of told) assert.match(answer, new RegExp(`^${status} \\{`));
      });
    }
  }

  it('nor behind one that is refused because too many wait, when fewer do', async () => {
    const socket = await open();
    socket.pause();
    const pipeline = ['/a', '/a', '/large', '/a', '/a'];
    assert.equal(pipeline.length, maxPipelined + 1);
    socket.write(pipeline.map((target) => get(target)).join(''));
    await sleep(200);
    socket.write(get('/next'));
    await sleep(100);
    let text = '';
    for await (const chunk of socket) text = (text + chunk).slice(-1000);
    assert.match(text, /HTTP\/1\.1 503 [^{]*\{[^\n]*\}$/);
    assert.ok(!seen.includes('GET /next'));
  });

  it('nor is more read of the body of what is refused than of any other while an answer before it is waited for', {
    timeout: 10_000,
  }, async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    slow = promise;
    let pieces = 0;
    let kept = 0;
    const count = (request: IncomingMessage) => {
      kept = JSON.stringify([request.url, request.headers, request.rawHeaders]).length;
      const push = request.push.bind(request);
      request.push = (chunk) => {
        pieces++;
        return push(chunk);
      };
    };
    server.on('request', count);
    const socket = await open();
    socket.write(get('/slow'));
    await sleep(50);
    pieces = 0;
    socket.write(`POST /b HTTP/1.1\r\nHost: n\r\nX: ${large}\r\nTransfer-Encoding: chunked\r\n\r\n`);
    const closed = new Promise((done) => socket.once('close', done));
    socket.write('1\r\na\r\n'.repeat(20_000));
    await closed;
    server.off('request', count as () => void);
    assert.ok(pieces > 0 && pieces < 2 * freeChunks, `${pieces}`);
    assert.ok(kept < 20, `${kept}`);
    resolve();
  });

  it('what is behind another is begun when that is answered, and all of it is', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    slow = promise;
    const socket = await open();
    const posts = ['ä', 'b', 'c'].map(
      (text) =>
        `POST /${text} HTTP/1.1\r\nHost: n\r\nContent-Length: 300000\r\n\r\n${text}${'x'.repeat(300_000 - Buffer.byteLength(text))}`,
    );
    socket.write(`${get('/slow')}${posts.join('')}`);
    await sleep(200);
    assert.deepEqual(seen, ['GET /slow']);
    resolve();
    const answers = await readBodies(socket, 4);
    assert.deepEqual(seen, ['GET /slow', 'POST /%C3%A4', 'POST /b', 'POST /c']);
    assert.deepEqual(
      answers.map((answer) => answer.slice(0, 6)),
      ['200 |', '200 |ä', '200 |b', '200 |c'],
    );
    socket.destroy();
  });

  const tunnel = 'CONNECT n:80 HTTP/1.1\r\nHost: n\r\n\r\n';
  const upgrade = get('/next', 'Connection: Upgrade', 'Upgrade: x');
  const behind: [what: string, bytes: string, statuses: string][] = [
    ['a tunnel', get('/late') + tunnel, '200 405'],
    ['a tunnel behind a head that is too large', get('/late') + get('/a', `X: ${large}`) + tunnel, '200 431'],
    ['a tunnel behind raw UTF-8', get('/late?ä') + tunnel, '200 405'],
    ['the same behind raw UTF-8', get('/late?ä') + get('/a', `X: ${large}`) + tunnel, '200 431'],
    ['an upgrade behind a head that is too large', get('/late') + get('/a', `X: ${large}`) + upgrade, '200 431'],
    ['a tunnel behind a trailer that is too large', trailed('POST /b HTTP/1.1') + tunnel, '431'],
    ['a tunnel behind too many', get('/late').repeat(maxPipelined + 1) + tunnel, '200 200 200 200 503'],
  ];
  for (const [what, bytes, statuses] of behind) {
    it(`answers before it are given first: ${what}`, async () => {
      const socket = await open();
      socket.write(bytes);
      const answers = await readBodies(socket);
      assert.equal(answers.map((answer) => answer.slice(0, 3)).join(' '), statuses);
      assert.ok(!seen.includes('GET /next'));
    });
  }

  const kept: [what: string, bytes: string[]][] = [
    ['answers that wait', [get('/slow') + get('/a') + tunnel]],
    ['one that is sent and those that wait', [get('/large') + get('/large') + tunnel]],
    [
      'a body whose trailer is too large',
      [trailed('POST /b HTTP/1.1').slice(0, 80), trailed('POST /b HTTP/1.1').slice(80) + tunnel],
    ],
    ['one behind raw UTF-8', [trailed('POST /b?ä HTTP/1.1').slice(0, 80), trailed('POST /b?ä HTTP/1.1').slice(80) + tunnel]],
  ];
  for (const [what, packets] of kept) {
    it(`before a tunnel, all that was begun ends when the client leaves: ${what}`, { timeout: 10_000 }, async () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      slow = promise;
      const ends: Promise<unknown>[] = [];
      const note = (request: IncomingMessage, response: ServerResponse) => {
        ends.push(new Promise((done) => response.once('close', done)), new Promise((done) => request.once('close', done)));
      };
      server.on('request', note);
      const socket = await open();
      socket.pause();
      for (const bytes of packets) {
        socket.write(bytes);
        await sleep(100);
      }
      socket.resetAndDestroy();
      await sleep(50);
      server.off('request', note as () => void);
      resolve();
      assert.ok(ends.length >= 2, `${ends.length}`);
      await Promise.all(ends);
    });
  }

  it('costs nobody else a body, many at a time: floods behind raw UTF-8', async () => {
    for (let round = 0; round < 5; round++) {
      // Each of a network of its own, which pays for it.
      const floods = await Promise.all(Array.from({ length: 5 }, (_, n) => open(`127.0.${10 + round}.${1 + n}`)));
      await sleep(50);
      for (const socket of floods) socket.write(get('/a?ä') + get('/a').repeat(3 * maxPipelined));
      await Promise.all(floods.map((socket) => readBodies(socket).catch(() => [])));
    }
    // All at the same time, so that each parser that was used is used again.
    const others = await Promise.all(Array.from({ length: 30 }, () => open()));
    for (const socket of others) socket.write('POST /b HTTP/1.1\r\nHost: n\r\nContent-Length: 3\r\n\r\n');
    await sleep(50);
    for (const socket of others) socket.write('abc');
    const answers = await Promise.all(others.map((socket) => readBodies(socket, 1)));
    assert.deepEqual(answers.flat(), Array(30).fill('200 |abc'));
    for (const socket of others) socket.destroy();
  });

  it('a large answer before it is sent to its end, to a reader that takes its time', { timeout: 30_000 }, async () => {
    for (const last of [get('/ä', close), get('/a', `X: ${large}`), 'FOO /a HTTP/1.1\r\n\r\n', tunnel]) {
      const socket = await open();
      socket.pause();
      socket.write(get('/large') + last);
      await sleep(300);
      let bytes = 0;
      for await (const chunk of socket) {
        bytes += chunk.length;
        await sleep(1);
      }
      assert.ok(bytes > largeBytes, `${last.slice(0, 8)} ${bytes}`);
    }
  });

  it('and what comes behind one that is still being sent is read, too', async () => {
    const socket = await open();
    socket.pause();
    socket.write(get('/large'));
    await sleep(200);
    socket.write(get('/a?n=1') + get('/a?n=ä'));
    await sleep(50);
    socket.write(get('/a?n=3', close));
    await sleep(50);
    let text = '';
    for await (const chunk of socket) text = (text + chunk).slice(-2000);
    assert.match(text, /\?n=1\|[\s\S]*\?n=ä\|[\s\S]*\?n=3\|$/);
  });

  const broken: [what: string, bytes: string, end: boolean][] = [
    ['chunks that are none', 'POST /b HTTP/1.1\r\nHost: n\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n', false],
    ['an end in the middle', 'POST /b HTTP/1.1\r\nHost: n\r\nContent-Length: 9\r\n\r\nabc', true],
    ['the same after raw UTF-8', 'POST /b?ä HTTP/1.1\r\nHost: n\r\nContent-Length: 9\r\n\r\nabc', true],
    ['an end in the middle of a head', 'POST /b HTTP/1.1\r\nHost: n\r\nCont', true],
  ];
  for (const [what, bytes, end] of broken) {
    it(`nor a body: ${what}`, async () => {
      const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => {});
      const begin = performance.now();
      socket.write(bytes);
      if (end) socket.end();
      const [answer] = await readBodies(socket);
      assert.match(answer ?? '', /^400 .*"code":"ungueltige_anfrage"/);
      assert.ok(performance.now() - begin < 3000);
      socket.destroy();
    });
  }

  it('after what can: that is answered first', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    slow = promise;
    const socket = await open();
    socket.write(`${get('/slow')}FOO /a HTTP/1.1\r\n\r\n`);
    await sleep(100);
    resolve();
    const [first = '', second = ''] = await readBodies(socket);
    assert.equal(first, '200 |');
    assert.match(second, /^405 /);
  });
});

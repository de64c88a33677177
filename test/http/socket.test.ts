import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { before, describe, it } from 'node:test';
import { arten } from '../support/catalogue.ts';
import { serveApp } from '../support/listen.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
let port: number;
before(async () => {
  service = await startTestService();
  port = await serveApp(service.app.fetch);
});

interface RawAnswer {
  status: number;
  head: string;
  body: string;
}

/** Writes bytes, one per character, and reads until the server closes the connection. */
async function send(lines: string[], body = ''): Promise<RawAnswer> {
  const socket = connect(port, '127.0.0.1');
  socket.setTimeout(10_000, () => socket.destroy(new Error('no answer for 10 s')));
  // not ended: a client that closes its side early is gone
  socket.write(Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`, 'latin1'));
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString('utf8');
  const end = text.indexOf('\r\n\r\n');
  return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1]), head: text.slice(0, end), body: text.slice(end + 4) };
}
const get = (target: string, ...headers: string[]) =>
  send([`GET ${target} HTTP/1.1`, 'Host: n.test', 'Connection: close', ...headers]);
const utf8 = (text: string) => Buffer.from(text, 'utf8').toString('latin1');

describe('over a socket', () => {
  it('a bare % in the request line is a wildcard (D1.1)', async () => {
    const id = await service.makeReleased({ art: String(arten.hornisse) });
    for (const value of ['vespa%velutina', 'Vespa%20%25', '%velutina', 'VESPA+VELUTINA']) {
      const { status, body } = await get(`/api/v2/sichtbeobachtungen?titel_wissenschaftlich=${value}&restrict=id`);
      assert.equal(status, 200, body);
      assert.deepEqual(JSON.parse(body), { result: [{ id }] }, value);
    }
    const { status } = await get('/api/v2/sichtbeobachtungen?titel_wissenschaftlich=Egretta%caerulea');
    assert.equal(status, 200);
  });

  it('next of a query with a bare % works on the request line too', async () => {
    await service.makeReleased({ art: String(arten.hornisse), lon: '430000' });
    const { body } = await get('/api/v2/sichtbeobachtungen?titel_wissenschaftlich=vespa%velutina&limit=1', 'X-Other: 1');
    const next = new URL(JSON.parse(body).next);
    assert.equal(next.origin, 'http://n.test');
    const second = await get(`${next.pathname}${next.search}`);
    assert.equal(JSON.parse(second.body).result.length, 1);
  });

  it('names the port of the Host header in next', async () => {
    const lines = ['GET /api/v2/arten?limit=1 HTTP/1.1', `Host: n2.test:${port}`, 'Connection: close'];
    const { body } = await send(lines);
    assert.equal(new URL(JSON.parse(body).next).host, `n2.test:${port}`);
  });

  const path = '/api/v2/arten?limit=1&restrict=id';
  const close = 'Connection: close';
  const form = 'Content-Type: application/x-www-form-urlencoded';
  const refused: [title: string, lines: string[], body?: string][] = [
    ['two Host headers', [`GET ${path} HTTP/1.1`, 'Host: n.test', 'Host: s.test', close]],
    ['the same Host header twice', [`GET ${path} HTTP/1.1`, 'Host: n.test', 'host: n.test', close]],
    ['no Host header', [`GET ${path} HTTP/1.1`, close]],
    ['an absolute-form target', [`GET http://n.test${path} HTTP/1.1`, 'Host: n.test', close]],
    ['an absolute-form target of another host', [`GET http://s.test${path} HTTP/1.1`, 'Host: n.test', close]],
    ['a target without a slash', ['GET api/v2/arten HTTP/1.1', 'Host: n.test', close]],
    ['an asterisk target', ['GET * HTTP/1.1', 'Host: n.test', close]],
    ['a NUL in the target', ['GET /api/v2/arten?a=\0 HTTP/1.1', 'Host: n.test', close]],
    [
      'Content-Length with Transfer-Encoding',
      ['POST /api/v2/login HTTP/1.1', 'Host: n.test', close, form, 'Content-Length: 5', 'Transfer-Encoding: chunked'],
      '0\r\n\r\n',
    ],
    [
      'Transfer-Encoding with Content-Length',
      ['POST /api/v2/login HTTP/1.1', 'Host: n.test', close, form, 'Transfer-Encoding: chunked', 'Content-Length: 5'],
      '0\r\n\r\n',
    ],
    [
      'two Content-Lengths',
      ['POST /api/v2/login HTTP/1.1', 'Host: n.test', close, form, 'Content-Length: 1', 'Content-Length: 2'],
      'ab',
    ],
    [
      'a Content-Length that is no number',
      ['POST /api/v2/login HTTP/1.1', 'Host: n.test', close, form, 'Content-Length: 1a'],
      'a',
    ],
    ['a line feed inside a header', [`GET ${path} HTTP/1.1`, 'Host: n.test', close, 'X-A: a\n b: c']],
  ];
  for (const [title, lines, body] of refused) {
    it(`S3.8 ${title}: 400`, async () => {
      const answer = await send(lines, body);
      assert.equal(answer.status, 400, `${answer.head}\n${answer.body}`);
    });
  }

  it('S2.3 the same header of a login twice: 400, whether the values are equal or not (D1.16)', async () => {
    const token = await service.tokenOf('melder');
    const key = `X-Auth-Token: ${token}`;
    for (const headers of [
      ['X-Auth-User: melder', 'X-Auth-User: melder', key],
      ['X-Auth-User: melder', 'x-auth-user: nachbarin', key],
      ['X-Auth-User: melder', key, key],
      ['X-Auth-User: melder', key, 'X-AUTH-TOKEN: x'],
      ['X-Auth-User: ', 'X-Auth-User: melder', key],
    ]) {
      const { status, body } = await get(path, ...headers);
      assert.equal(status, 400, `${headers}: ${body}`);
      assert.equal(JSON.parse(body).error.code, 'ungueltige_anfrage');
    }
    assert.equal((await get(path, 'X-Auth-User: melder', key)).status, 200);
  });

  it('S3.9 the method override twice: 400', async () => {
    const token = await service.tokenOf('melder');
    const account = ['X-Auth-User: melder', `X-Auth-Token: ${token}`, 'Content-Length: 0', close];
    const override = 'X-HTTP-Method-Override: DELETE';
    const post = 'POST /api/v2/sichtbeobachtungen/1 HTTP/1.1';
    assert.equal((await send([post, 'Host: n.test', override, override, ...account])).status, 400);
  });

  it('the login name comes as UTF-8 or latin-1 bytes', async () => {
    const key = `X-Auth-Token: ${await service.tokenOf('käfer anna')}`;
    for (const bytes of [utf8('käfer anna'), 'käfer anna', utf8('ka\u0308fer anna'), 'KÄFER ANNA']) {
      const { status, body } = await get('/api/v2/sichtbeobachtungen?bereich=privat', `X-Auth-User: ${bytes}`, key);
      assert.equal(status, 200, `${JSON.stringify(bytes)}: ${body}`);
    }
    const wrong = await get('/api/v2/arten', 'X-Auth-User: kafer anna', key);
    assert.equal(wrong.status, 401);
  });

  it('HEAD has the status and headers of GET and no body (D1.17)', async () => {
    for (const [target, status] of [
      ['/api/v2/arten', 200],
      ['/api/v2/arten?format=xml', 200],
      ['/api/v2/arten?limit=0', 400],
      ['/api/v2/sichtbeobachtungen/999999', 404],
      ['/api/v2/sichtbeobachtungen?bereich=privat', 401],
      ['/health/live', 200],
    ] as const) {
      const head = await send([`HEAD ${target} HTTP/1.1`, 'Host: n.test', close]);
      const full = await get(target);
      assert.deepEqual([head.status, head.body], [status, ''], target);
      const headersOf = ({ head }: RawAnswer) =>
        head.split('\r\n').filter((line) => !/^(date|content-length|transfer-encoding|x-request-id):/i.test(line));
      assert.deepEqual(headersOf(head), headersOf(full), target);
      const length = /content-length: *(\d+)/i.exec(head.head)?.[1];
      if (length !== undefined) assert.equal(Number(length), Buffer.byteLength(full.body), target);
    }
  });

  it('S3.10 no answer names the server or its framework', async () => {
    const { head } = await get(path);
    assert.doesNotMatch(head, /^(server|x-powered-by):/im);
  });

  it('several requests on one connection are answered in order', async () => {
    const host = 'Host: n.test';
    const answer = await send(['GET /health/live HTTP/1.1', host, '', `GET ${path} HTTP/1.1`, host, close]);
    assert.equal(answer.status, 200);
    assert.match(answer.body, /^ok.*HTTP\/1\.1 200.*\{"result":\[\{"id":7\}\]/s);
  });

  it('S5.2 whoever is answered before their body has come hears it while they still send', async () => {
    const socket = connect(port, '127.0.0.1');
    socket.setTimeout(10_000, () => socket.destroy(new Error('no answer for 10 s')));
    const head = ['POST /api/v2/sichtbeobachtungen HTTP/1.1', 'Host: n.test', form, 'Content-Length: 1000000'];
    socket.write(`${head.join('\r\n')}\r\n\r\n`);
    const [answer] = await once(socket, 'data');
    assert.match(String(answer), /^HTTP\/1\.1 401 /);
    socket.destroy();
  });

  it('a path that climbs, doubles slashes or holds broken escapes is 404, never 500', async () => {
    for (const target of [
      ...['/api/v2/../../etc/passwd', '//n.test/api/v2/arten', '/api/v2//arten', '/api/v2/%', '/%2e%2e/x'],
      ...['/api/v2/arten%00', '//'],
    ]) {
      const { status, body } = await get(target);
      assert.ok(status === 404 || status === 400, `${target}: ${status} ${body}`);
    }
  });
});

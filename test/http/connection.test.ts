// What comes over a connection: bytes that are no proper request, raw UTF-8 in a request line, and the host that one is addressed to.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Deps } from '../../src/http/context.ts';
import { listen } from '../../src/http/server.ts';
import { arten } from '../support/catalogue.ts';
import { closeAtEnd } from '../support/database.ts';
import { serveApp, wideSettings } from '../support/listen.ts';
import { headerOf, startTestService, testConfig } from '../support/service.ts';

const settings: Deps['config'] = { ...testConfig };
const service = await startTestService({ config: settings });
const port = await serveApp(service.app.fetch);

const open = (to = port) => {
  const socket = connect(to, '127.0.0.1');
  return socket.setTimeout(10_000, () => socket.destroy(new Error('no answer for 10 s')));
};
/** What comes until the server closes the connection. */
async function readAll(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** Writes bytes, one per character, and reads the answer. */
async function send(lines: string[], body = '') {
  const socket = open();
  // not ended: a client that closes its side early is gone
  socket.write(Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`, 'latin1'));
  const text = await readAll(socket);
  const end = text.indexOf('\r\n\r\n');
  return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1]), head: text.slice(0, end), body: text.slice(end + 4) };
}
const get = (target: string, ...headers: string[]) =>
  send([`GET ${target} HTTP/1.1`, 'Host: n.test', 'Connection: close', ...headers]);

const seen: string[] = [];
const answer = async (request: Request) => {
  const { pathname, search } = new URL(request.url);
  seen.push(`${request.method} ${pathname}${search}`);
  if (pathname === '/slow') await sleep(300);
  return new Response(`${decodeURIComponent(search)}|${await request.text()}`);
};
const server = await listen(answer, '127.0.0.1', 0, { ...wideSettings, headersTimeoutSeconds: 1, requestTimeoutSeconds: 2 });
closeAtEnd(async () => {
  server.closeAllConnections();
  server.close();
});
const openRaw = () => open((server.address() as AddressInfo).port).on('error', () => {});
const lineOf = (target: string) => `GET ${target} HTTP/1.1\r\nHost: n\r\n\r\n`;
const bodyOf = (text: string) => text.slice(text.indexOf('\r\n\r\n') + 4);

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
    const { body } = await send(['GET /api/v2/arten?limit=1 HTTP/1.1', `Host: n2.test:${port}`, close]);
    assert.equal(new URL(JSON.parse(body).next).host, `n2.test:${port}`);
  });

  const path = '/api/v2/arten?limit=1&restrict=id';
  const close = 'Connection: close';
  const form = 'Content-Type: application/x-www-form-urlencoded';
  const login = ['POST /api/v2/login HTTP/1.1', 'Host: n.test', close, form];
  const refused: [title: string, lines: string[], body?: string][] = [
    ['two Host headers', [`GET ${path} HTTP/1.1`, 'Host: n.test', 'Host: s.test', close]],
    ['the same Host header twice', [`GET ${path} HTTP/1.1`, 'Host: n.test', 'host: n.test', close]],
    ['no Host header', [`GET ${path} HTTP/1.1`, close]],
    ['an absolute-form target', [`GET http://n.test${path} HTTP/1.1`, 'Host: n.test', close]],
    ['an absolute-form target of another host', [`GET http://s.test${path} HTTP/1.1`, 'Host: n.test', close]],
    ['a target without a slash', ['GET api/v2/arten HTTP/1.1', 'Host: n.test', close]],
    ['an asterisk target', ['GET * HTTP/1.1', 'Host: n.test', close]],
    ['a NUL in the target', ['GET /api/v2/arten?a=\0 HTTP/1.1', 'Host: n.test', close]],
    ['Content-Length with Transfer-Encoding', [...login, 'Content-Length: 5', 'Transfer-Encoding: chunked'], '0\r\n\r\n'],
    ['Transfer-Encoding with Content-Length', [...login, 'Transfer-Encoding: chunked', 'Content-Length: 5'], '0\r\n\r\n'],
    ['two Content-Lengths', [...login, 'Content-Length: 1', 'Content-Length: 2'], 'ab'],
    ['a Content-Length that is no number', [...login, 'Content-Length: 1a'], 'a'],
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
    for (const bytes of [headerOf('käfer anna'), 'käfer anna', headerOf('ka\u0308fer anna'), 'KÄFER ANNA']) {
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
      const headersOf = ({ head }: { head: string }) =>
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
    const socket = open();
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

describe('raw UTF-8 in a request line', () => {
  it('is read as its escapes are, and the connection closes after the answer', async () => {
    const socket = openRaw();
    socket.write(lineOf('/arten?name_regexp_ci=Hörnisse€🦉'));
    const text = await readAll(socket);
    assert.match(text, /^HTTP\/1\.1 200 OK\r\n[\s\S]*Connection: close\r\n/i);
    assert.equal(bodyOf(text), '?name_regexp_ci=Hörnisse€🦉|');
  });

  it('also on a connection that is kept alive', async () => {
    const socket = openRaw();
    socket.write(lineOf('/a?n=1'));
    await once(socket, 'data');
    socket.write(lineOf('/a?n=ä'));
    assert.match(await readAll(socket), /\?n=ä\|$/);
  });

  it('of bytes that are no UTF-8 too, each as its own escape', async () => {
    seen.length = 0;
    const socket = openRaw();
    socket.write(Buffer.from(lineOf('/%C3%A4/\xe4'), 'latin1'));
    await readAll(socket);
    assert.deepEqual(seen, ['GET /%C3%A4/%E4']);
  });

  it('before a body that comes later, and one that is larger than the buffers in between', async () => {
    for (const length of [6, 1_000_000]) {
      const socket = openRaw();
      socket.write(`POST /b?x=ü HTTP/1.1\r\nHost: n\r\nContent-Length: ${length}\r\n\r\nabc`);
      await sleep(100);
      socket.write('d'.repeat(length - 3));
      assert.equal(bodyOf(await readAll(socket)), `?x=ü|abc${'d'.repeat(length - 3)}`);
    }
  });

  it('ends with its client, and its place among the connections comes back', async () => {
    const sockets = Array.from({ length: 40 }, openRaw);
    for (const socket of sockets) socket.write(lineOf('/slow?ä'));
    await sleep(100);
    for (const socket of sockets) socket.resetAndDestroy();
    const count = () => new Promise<number>((done) => server.getConnections((_error, n) => done(n)));
    for (let attempt = 0; attempt < 100 && (await count()) > 0; attempt++) await sleep(20);
    assert.equal(await count(), 0);
  });
});

describe('what can’t be read is answered with its reason', () => {
  const chunked = 'POST /b HTTP/1.1\r\nHost: n\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n';
  const table: [what: string, bytes: string, status: number, code: string][] = [
    ['an unknown method', 'FOO /a HTTP/1.1\r\nHost: n\r\n\r\n', 405, 'methode_nicht_erlaubt'],
    ['a header without a colon', 'GET /a HTTP/1.1\r\nHost\r\n\r\n', 400, 'ungueltige_anfrage'],
    ['a head of 20 kB', `GET /a HTTP/1.1\r\nHost: n\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431, 'kopf_zu_gross'],
    ['a request line of 20 kB', lineOf(`/${'a'.repeat(20_000)}`), 431, 'kopf_zu_gross'],
    ['a request line whose umlauts are 18 kB when escaped', lineOf(`/${'ä'.repeat(3000)}`), 431, 'kopf_zu_gross'],
    ['a length that is none', 'POST /a HTTP/1.1\r\nHost: n\r\nContent-Length: x\r\n\r\n', 400, 'ungueltige_anfrage'],
    ['a space in the address', lineOf('/a b'), 400, 'ungueltige_anfrage'],
    ['a control character in the address', lineOf('/a\x01'), 400, 'ungueltige_anfrage'],
    ['a host that is none', 'GET /a HTTP/1.1\r\nHost: a, b\r\n\r\n', 400, 'ungueltige_anfrage'],
    ['an address of one star', 'OPTIONS * HTTP/1.1\r\nHost: n\r\n\r\n', 400, 'ungueltige_anfrage'],
    ['chunks that are none', chunked, 400, 'ungueltige_anfrage'],
    ['half a head', 'GET /a HTTP/1.1\r\nHost: n\r\n', 408, 'zu_langsam'],
    ['half a body', 'POST /a HTTP/1.1\r\nHost: n\r\nContent-Length: 9\r\n\r\nabc', 408, 'zu_langsam'],
  ];
  for (const [what, bytes, status, code] of table) {
    it(what, async () => {
      const socket = openRaw();
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
    const socket = openRaw();
    socket.write(`${lineOf('/slow')}FOO /a HTTP/1.1\r\n\r\n`);
    assert.doesNotMatch(await readAll(socket), /405/);
  });
});

/** The species list of the service with these settings. */
async function askAt(config: Partial<Deps['config']>, host: string, headers: Record<string, string> = {}) {
  Object.assign(settings, testConfig, config);
  const { status, json } = await service.request('/arten?limit=1&restrict=art_id&gid=1', { host, headers });
  return { status, json, tenant: json?.result?.[0]?.art_id[0], origin: json?.next && new URL(json.next).origin };
}

describe('the tenant is the one whose domain the request is addressed to (D1.15)', () => {
  type Headers = Record<string, string>;
  const hops = (trustedHops: number): Partial<Deps['config']> => ({ trustedHops });
  const at = (host: string): Headers => ({ 'X-Forwarded-Host': host });
  const by = (protocol: string): Headers => ({ 'X-Forwarded-Proto': protocol });
  const fixed = { defaultTenant: 'S', publicUrl: 'https://portal.example/' };
  /** Of the answer the tenant and the address in `next`, or 421. */
  const rows: [title: string, config: Partial<Deps['config']>, host: string, headers: Headers, answer: string][] = [
    ['a domain', {}, 'n.test', {}, 'N http://n.test'],
    ['another domain of the same tenant', {}, 'n2.test', {}, 'N http://n2.test'],
    ['any case, any port', {}, 'S.Test:1234', {}, 'S http://s.test:1234'],
    ['the usual port', {}, 's.test:80', {}, 'S http://s.test'],
    ['a dot at the end', {}, 'w.test.', {}, 'W http://w.test.'],
    ['an unknown host is 421', {}, 'fremd.example', {}, '421'],
    ['part of a domain is 421', {}, 'test', {}, '421'],
    ['below a domain is 421', {}, 'x.n.test', {}, '421'],
    ['an IPv6 address is 421', {}, '[::1]:8080', {}, '421'],
    ['PUBLIC_URL is the address of DEFAULT_TENANT', { defaultTenant: 'S' }, 'fremd.example', {}, 'S http://s.test:8080'],
    ['DEFAULT_TENANT in another case', { defaultTenant: 'w' }, '127.0.0.1:8080', {}, 'W http://w.test:8080'],
    ['DEFAULT_TENANT takes IPv6 addresses', { defaultTenant: 'N' }, '[::1]:8080', {}, 'N http://n.test:8080'],
    ['DEFAULT_TENANT leaves known hosts alone', { defaultTenant: 'S' }, 'n.test', {}, 'N http://n.test'],
    ['an unknown DEFAULT_TENANT is 421', { defaultTenant: 'X' }, 'fremd.example', {}, '421'],
    ['PUBLIC_URL without {domain}', fixed, 'fremd.example', {}, 'S https://portal.example'],
    ['X-Forwarded-Host without TRUST_PROXY', {}, 'n.test', at('s.test'), 'N http://n.test'],
    ['X-Forwarded-Proto without TRUST_PROXY', {}, 'n.test', by('https'), 'N http://n.test'],
    ['X-Forwarded-Host', hops(1), 'inside:9', at('s.test'), 'S http://s.test'],
    ['what the proxy appended, not the client (D6.6)', hops(1), 'inside', at('n.test, S.test:444 '), 'S http://s.test:444'],
    [
      ...(['with two proxies, what the outer one appended', hops(2), 'inside'] as const),
      ...([{ ...at('w.test, s.test, n.test'), ...by('http, https, http') }, 'S https://s.test'] as const),
    ],
    ['with two proxies that replace, what they wrote', hops(2), 'inside', at('s.test'), 'S http://s.test'],
    ['X-Forwarded-Proto', hops(1), 'inside', { ...at('s.test'), ...by('HTTPS') }, 'S https://s.test'],
    ['X-Forwarded-Proto alone', hops(1), 'n.test', by('http, https'), 'N https://n.test'],
    ['an unknown X-Forwarded-Proto', hops(1), 'n.test', by('javascript'), 'N http://n.test'],
    ['an empty X-Forwarded-Host', hops(1), 'n.test', at(''), 'N http://n.test'],
    ['no forwarding headers', hops(1), 'n.test', {}, 'N http://n.test'],
    ['a foreign X-Forwarded-Host is 421', hops(1), 'n.test', at('fremd.example'), '421'],
  ];
  for (const [title, config, host, headers, expected] of rows) {
    it(title, async () => {
      const { status, tenant, origin, json } = await askAt(config, host, headers);
      assert.equal(status === 200 ? `${tenant} ${origin}` : String(status), expected, JSON.stringify(json));
      if (status === 421) assert.equal(json.error.code, 'unbekannter_host');
    });
  }

  it('a hostile Host never reaches next, nor anything but the address of the answer', async () => {
    for (const forwarded of [
      ...['n.test"><script>', 'n.test/x', 'a@n.test', 'n.test#', 'n.test?x', 'n.test\\', ' ', 'n.test:80:80', 'n.test:'],
      ...['n.test:99999', '[::1'],
    ]) {
      const { status, origin, json } = await askAt({ trustedHops: 1 }, 'w.test', { 'X-Forwarded-Host': forwarded });
      assert.ok([200, 400, 421].includes(status), `${forwarded}: ${status}`);
      assert.ok(!forwarded.endsWith('99999') || status === 400);
      if (status === 200) assert.ok(['http://n.test', 'http://w.test'].includes(origin), `${forwarded}: ${json.next}`);
    }
  });

  it('S3.8 a Host that is no name, or longer than names are, is refused: it stands in every link of an answer', async () => {
    const long = 15_000;
    const hosts = [
      `localhost${"'".repeat(long)}`,
      '&'.repeat(long),
      `n.test:${'0'.repeat(long)}80`,
      `${'a'.repeat(254)}`,
      `${'a.'.repeat(long)}test`,
      "n'.test",
      'n&.test',
    ];
    for (const host of hosts) assert.equal((await askAt({}, host)).status, 400, host.slice(0, 20));
    for (const host of hosts) assert.equal((await askAt({ trustedHops: 1 }, 'n.test', { 'X-Forwarded-Host': host })).status, 400);
    const page = '/ogc/collections/sichtbeobachtung/items?f=html';
    for (const host of hosts) assert.equal((await service.request(page, { below: '', host })).status, 400, host.slice(0, 20));
    for (const host of ['[::1]:8080', '127.0.0.1:80', 'xn--bcher-kva.example', 'a_b.test', `${'a'.repeat(63)}.test`])
      assert.equal((await service.request(page, { below: '', host })).status, 200, host);
  });

  it('a domain that moves to another tenant is noticed within seconds', async () => {
    assert.equal((await askAt({}, 'neu.example')).status, 421);
    await service.database.sql`update portal.mandant set domains = domains || 'neu.example'::text where kuerzel = 'W'`;
    const deadline = Date.now() + 10_000;
    while ((await askAt({}, 'neu.example')).tenant !== 'W') {
      assert.ok(Date.now() < deadline, 'not noticed for 10 s');
      await sleep(200);
    }
  });

  it('health checks need no tenant', async () => {
    for (const path of ['/health/live', '/health/ready']) {
      const response = await service.app.request(`http://fremd.example${path}`);
      assert.deepEqual([response.status, await response.text()], [200, 'ok']);
      assert.equal(response.headers.get('x-content-type-options'), 'nosniff');
    }
  });
});

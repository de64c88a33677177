// The proxies of docs/deploy in front of the service: what passes through them arrives as it is meant.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerType } from '@hono/node-server';
import { loadConfig } from '../../src/config.ts';
import { maxWaitSeconds } from '../../src/http/outputs/abgleich.ts';
import { keepAliveMs, listen } from '../../src/http/server.ts';
import { maxBodyBytes, maxFieldsBytes } from '../../src/http/wire/form.ts';
import { answerError, type ErrorCode, PortalError } from '../../src/http/wire/portal-error.ts';
import { fileWaitMs } from '../../src/media/threads.ts';
import { makeAudio } from '../support/audio.ts';
import { onPostgres } from '../support/database.ts';
import { followFeed, idsOf } from '../support/feed.ts';
import { listenAsService } from '../support/listen.ts';
import { makeJpeg, stackJpeg } from '../support/photo.ts';
import { freePort } from '../support/port.ts';
import {
  ask,
  askHttp2,
  knownAddress,
  type Question,
  type Reply,
  readProxyFile,
  type StartedProxy,
  startProxy,
  withoutProxy,
} from '../support/proxy.ts';
import { startTestService, type TestService, testConfig, toFormData } from '../support/service.ts';
import { waitFor } from '../support/wait.ts';

const mebibyte = 1024 * 1024;
const proxies = ['nginx', 'caddy'] as const;
let service: TestService;
let port: number;
/** What arrived at the service, the last one last. */
const arrived: Request[] = [];

before(async () => {
  if (!onPostgres || proxies.every((name) => withoutProxy(name))) return;
  service = await startTestService({ config: { ...testConfig, trustedHops: 1 } });
  const fetch = (request: Request, env: object) => {
    arrived.push(request);
    return service.app.fetch(request, env);
  };
  port = await listenAsService(fetch, loadConfig({ TRUST_PROXY: '1' }));
});

/** Body and head of a form with files. */
async function encode(form: FormData): Promise<{ method: string; headers: Record<string, string>; body: Uint8Array }> {
  const made = new Response(form);
  const token = await service.tokenOf('melder');
  const sent = { 'X-Auth-User': 'melder', 'X-Auth-Token': token, 'Content-Type': made.headers.get('content-type') ?? '' };
  return { method: 'POST', headers: sent, body: new Uint8Array(await made.arrayBuffer()) };
}

for (const name of proxies) {
  const skip = (!onPostgres && 'the same as with DATABASE_URL') || withoutProxy(name);
  describe(`${name} as in docs/deploy`, { skip }, () => {
    let proxy: StartedProxy;
    before(async () => {
      if (skip) return;
      proxy = await startProxy(name, port);
    });
    after(() => proxy?.end());

    it('hands on the host that was asked, and nothing that a client claims of itself', async () => {
      const path = '/api/v2/arten?limit=1&restrict=art_id&gid=1';
      const claims = { 'X-Forwarded-Host': 'w.test', 'X-Forwarded-Proto': 'http', 'X-Forwarded-For': '203.0.113.9' };
      for (const [host, tenant] of [
        ['n.test', 'N'],
        ['s.test', 'S'],
      ] as const) {
        for (const reply of [await ask(proxy, host, path, { headers: claims }), await askHttp2(proxy, host, path)]) {
          const { result, next } = JSON.parse(reply.body.toString());
          assert.deepEqual([reply.status, result[0].art_id[0]], [200, tenant]);
          assert.ok(next.startsWith(`https://${host}`), next);
          assert.equal(reply.headers['strict-transport-security'], 'max-age=31536000');
        }
      }
      const told = arrived.at(-2)?.headers;
      assert.deepEqual(
        ['x-forwarded-for', 'x-forwarded-proto'].map((field) => told?.get(field)),
        ['127.0.0.1', 'https'],
      );
    });

    it('leads from http to https, and has no certificate for a host of no tenant', async () => {
      const { status, headers } = await ask(proxy, 'n.test', '/karte?x=1', { isPlain: true });
      assert.deepEqual([Math.floor(status / 100), headers.location], [3, 'https://n.test/karte?x=1']);
      await assert.rejects(ask(proxy, 'fremd.example', '/karte'));
    });

    it('hands on a photo of 12 MiB, and a part of the sound that came with it; of a body beyond all bounds nothing', async () => {
      const foto = new Blob([new Uint8Array(stackJpeg(await makeJpeg({ width: 640, height: 480 }), 1, 12 * mebibyte))]);
      const audio = new Blob([new Uint8Array(makeAudio('wav'))]);
      const place = { art: '2', lat: '5530000', lon: String(410_000 + proxies.indexOf(name)), datum: '1.9.2026' };
      const form = await encode(toFormData({ ...place, foto, audio }));
      const created = await ask(proxy, 'n.test', '/api/v2/sichtbeobachtungen', form);
      assert.equal(created.status, 201, created.body.toString());
      const { id } = JSON.parse(created.body.toString()).result[0];
      assert.equal(created.headers.location, `https://n.test/api/v2/sichtbeobachtungen/${id}`);

      const { 'Content-Type': _, ...credentials } = form.headers;
      const detail = await ask(proxy, 'n.test', `/api/v2/sichtbeobachtungen/${id}`, { headers: credentials });
      const url = new URL(JSON.parse(detail.body.toString()).result[0].audio);
      const whole = await ask(proxy, url.host, url.pathname + url.search);
      const part = await ask(proxy, url.host, url.pathname + url.search, { headers: { Range: 'bytes=20-49' } });
      assert.deepEqual([whole.status, part.status], [200, 206]);
      assert.equal(part.headers['content-range'], `bytes 20-49/${whole.body.length}`);
      assert.deepEqual(part.body, whole.body.subarray(20, 50));

      const before = arrived.length;
      const headers = { ...form.headers, 'Content-Length': String(60 * mebibyte) };
      const refused = await ask(proxy, 'n.test', '/api/v2/sichtbeobachtungen', { ...form, headers }).catch(() => null);
      assert.ok(refused === null || refused.status >= 400);
      assert.ok(arrived.length === before || name === 'caddy', 'it arrived at the service');
    });

    it('hands on the refusal of a photo that is refused before it has come', async () => {
      const foto = new Blob([new Uint8Array(stackJpeg(await makeJpeg({ width: 640, height: 480 }), 1, 3 * mebibyte))]);
      const { headers, ...form } = await encode(toFormData({ art: '2', foto }));
      const statuses = new Map<number | string, number>();
      for (let n = 0; n < 25; n++) {
        const sent = { ...form, headers: { 'Content-Type': headers['Content-Type'] ?? '' } };
        const reply = await ask(proxy, 'n.test', '/api/v2/sichtbeobachtungen', sent).catch(({ code }) => ({ status: code }));
        statuses.set(reply.status, (statuses.get(reply.status) ?? 0) + 1);
      }
      assert.deepEqual([...statuses], [[401, 25]]);
    });

    it('lets a mirror wait, tells it at once, and the service when the mirror has gone', async () => {
      const { cursor } = await followFeed(service, null);
      const { watch } = service.deps.feed;
      const untilWaiting = (count: number) => waitFor(`the wait of ${count}`, () => watch.waiting === count);
      const path = `/abgleich/v1/sichtbeobachtungen?seit=${cursor}&warten=30`;
      const answer = ask(proxy, 'n.test', path);
      await untilWaiting(1);
      const id = await service.makeReleased({ lat: String(5_530_001 + proxies.indexOf(name)) });
      assert.deepEqual(idsOf(JSON.parse((await answer).body.toString()).result), [id]);

      const ending = new AbortController();
      const latest = (await followFeed(service, null)).cursor;
      const broken = ask(proxy, 'n.test', path.replace(cursor, latest), { signal: ending.signal });
      await untilWaiting(1);
      ending.abort();
      await assert.rejects(broken);
      await untilWaiting(0);
    });

    it('loses no request while its instances are started again, one after the other', async () => {
      const start = (port: number) => listen(service.app.fetch, '127.0.0.1', port, loadConfig({ TRUST_PROXY: '1' }));
      const end = async (instance: ServerType) => {
        instance.close();
        if ('closeIdleConnections' in instance) instance.closeIdleConnections();
        await once(instance, 'close');
      };
      let [first, second] = [await start(0), await start(0)];
      const [firstPort, secondPort] = [first, second].map((each) => (each.address() as AddressInfo).port) as [number, number];
      const pair = await startProxy(name, firstPort, secondPort);
      const answers: number[] = [];
      const askFor = async (ms: number) => {
        for (const until = performance.now() + ms; performance.now() < until; await sleep(50))
          answers.push((await ask(pair, 'n.test', '/api/v2/stadien')).status);
      };
      try {
        await askFor(200);
        await end(first);
        await askFor(500);
        first = await start(firstPort);
        await askFor(2000);
        await end(second);
        await askFor(1000);
        second = await start(secondPort);
        assert.ok(answers.length > 20);
        assert.deepEqual(
          answers.filter((status) => status !== 200),
          [],
        );
      } finally {
        await pair.end();
        await end(first);
        await end(second);
      }
    });

    it("says in the service's form that the service is away", async () => {
      const alone = await startProxy(name, await freePort());
      try {
        assertIsError(await ask(alone, 'n.test', '/api/v2/stadien', { method: 'POST' }), 'ueberlastet');
      } finally {
        await alone.end();
      }
    });

    it('S2.2 logs no password and no key, whether the service answers or not', async () => {
      for (const servicePort of [port, await freePort()]) {
        const own = await startProxy(name, servicePort);
        try {
          const path = '/api/v2/login?loginname=melder&password=0123456789abcdef0123456789abcdef01234567';
          for (const method of ['GET', 'POST'])
            for (const isPlain of [false, true]) {
              const headers = { 'X-Auth-User': 'melder', 'X-Auth-Token': 'GeheimerSchluessel', Cookie: 'GeheimerSchluessel' };
              await ask(own, 'n.test', path, { method, isPlain, headers });
            }
          await waitFor('a line of the log', () => /\/api\/v2\/login/.test(own.readLog()));
          // Hosts that are no tenant's, one of them behind a tenant's certificate.
          for (const isPlain of [false, true]) {
            const { status } = await ask(own, 'n.test', path, { isPlain, headers: { Host: 'fremd.example' } });
            if (name === 'nginx') assert.equal(status, 421);
          }
          await sleep(200);
          if (name === 'nginx') {
            // A disk that takes no body.
            rmSync(join(own.home, 'body'), { recursive: true });
            writeFileSync(join(own.home, 'body'), '');
            const body = new Uint8Array(mebibyte);
            const upload = path.replace('login', 'sichtbeobachtungen');
            assert.equal((await ask(own, 'n.test', upload, { method: 'POST', body })).status, 500);
          }
          assert.doesNotMatch(own.readLog(), /0123456789abcdef|GeheimerSchluessel/);
        } finally {
          await own.end();
        }
      }
    });
  });
}

/** That this is an error of the service's own form. */
function assertIsError({ status, headers, body }: Reply, code: ErrorCode) {
  const expected = answerError(new PortalError(code));
  assert.deepEqual([status, JSON.parse(body.toString())], [expected.status, expected.body]);
  assert.equal(headers['content-type'], 'application/json; charset=utf-8');
  if (code !== 'zu_gross') assert.equal(headers['retry-after'], '5');
}

const skip = (!onPostgres && 'the same as with DATABASE_URL') || withoutProxy('nginx');
describe('nginx as in docs/deploy', { skip }, () => {
  let proxy: StartedProxy;
  before(async () => {
    if (!skip) proxy = await startProxy('nginx', port);
  });
  after(() => proxy?.end());

  it('refuses what is too much of one address in the form of the service, and counts nothing of those that it knows', async () => {
    const ending = new AbortController();
    try {
      const askAs = (localAddress: string, path: string, count: number, question: Question = {}) =>
        Array.from({ length: count }, () => ask(proxy, 'n.test', path, { localAddress, ...question }));
      const findTooOften = async (localAddress: string) => {
        const agent = new Agent({ keepAlive: true, maxSockets: 40, localAddress });
        const answers = await Promise.all(askAs(localAddress, '/api/v2/stadien', 1000, { agent }));
        agent.destroy();
        return answers.filter(({ status }) => status === 429);
      };
      const tooOften = await findTooOften('127.0.0.5');
      assert.ok(tooOften.length > 0 && tooOften.length <= 800, String(tooOften.length));
      assertIsError(tooOften[0] as Reply, 'zu_oft');
      assert.equal((await findTooOften(knownAddress)).length, 0);

      const { cursor } = await followFeed(service, null);
      const path = `/abgleich/v1/sichtbeobachtungen?seit=${cursor}&warten=30`;
      const polls = askAs('127.0.0.6', path, 151, { signal: ending.signal });
      assertIsError(await Promise.any(polls), 'ueberlastet');
      assert.equal((await ask(proxy, 'n.test', '/api/v2/stadien')).status, 200);
      ending.abort();
      await Promise.allSettled(polls);

      const body = new Uint8Array(300 * 1024);
      assertIsError(await ask(proxy, 'n.test', '/api/v2/login', { method: 'POST', body }), 'zu_gross');
    } finally {
      ending.abort();
    }
  });

  it('S5.10 answers others while 2 000 clients of one address send their heads a byte at a time', async () => {
    const slow: Socket[] = [];
    try {
      for (let n = 0; n < 2000; n++) {
        const socket = connect({ host: '127.0.0.1', port: proxy.httpPort, localAddress: '127.0.0.7' });
        socket.on('error', () => {});
        socket.write('GET / HTTP/1.1\r\nHost: n.test\r\nX: ');
        slow.push(socket);
        if (n % 100 === 99) await once(socket, 'connect');
      }
      for (let n = 0; n < 20; n++) {
        for (const socket of slow) socket.write('x');
        assert.equal((await ask(proxy, 'n.test', '/api/v2/stadien', { localAddress: '127.0.0.2' })).status, 200);
        await sleep(100);
      }
      assert.ok(slow.filter(({ destroyed }) => !destroyed).length > 1900);
    } finally {
      for (const socket of slow) socket.destroy();
    }
  });

  it('keeps tiles, asks whether they still hold, and shows what changed', async () => {
    await service.makeReleased({ lat: '5530100' });
    const path = '/tiles/v1/10/534/347.mvt';
    const first = await ask(proxy, 'n.test', path);
    assert.equal(first.status, 200);
    assert.ok(first.body.length > 0);
    let asked = arrived.length;
    const questions = () => arrived.slice(asked).map(({ headers }) => headers.get('if-none-match'));
    // Until what nginx has is older than a second.
    for (let attempt = 0; questions().length === 0 && attempt < 50; attempt++) {
      assert.deepEqual((await ask(proxy, 'n.test', path)).body, first.body);
      await sleep(100);
    }
    assert.deepEqual(questions(), [first.headers.etag]);
    await service.makeReleased({ lat: '5530200' });
    asked = arrived.length;
    let last = first;
    for (let attempt = 0; last.body.equals(first.body) && attempt < 50; attempt++) {
      await sleep(100);
      last = await ask(proxy, 'n.test', path);
    }
    assert.ok(!last.body.equals(first.body), 'the old tile is still shown');
    assert.notEqual(last.headers.etag, first.headers.etag);
  });
});

describe('the bounds in docs/deploy', () => {
  const config = loadConfig({ TRUST_PROXY: '1' });
  const numberOf = (text: string, pattern: RegExp) => Number(pattern.exec(text)?.[1]);

  it('of nginx let pass what the service takes, and wait as long as it may', () => {
    const text = readProxyFile('nginx');
    assert.ok(numberOf(text, /client_max_body_size (\d+)m;/) * mebibyte > maxBodyBytes);
    assert.ok(numberOf(text, /client_max_body_size (\d+)k;/) * 1024 > maxFieldsBytes);
    for (const [, seconds] of text.matchAll(/proxy_read_timeout (\d+)s;/g)) assert.ok(Number(seconds) > maxWaitSeconds, seconds);
    assert.ok(numberOf(text, /proxy_read_timeout (\d+)s;/) > fileWaitMs / 1000);
    assert.equal(numberOf(text, /limit_conn species_sighting_networks (\d+);/), config.maxConnectionsPerNetwork);
    assert.equal(numberOf(text, /client_header_timeout (\d+)s;/), config.headersTimeoutSeconds);
  });

  it('end an idle connection before the service does, which may not know of its proxy', async () => {
    const served: number[] = [];
    for (const env of [{}, { TRUST_PROXY: '1' }]) {
      const server = await listen(() => new Response(), '127.0.0.1', 0, loadConfig(env));
      served.push(server.keepAliveTimeout);
      server.close();
    }
    assert.deepEqual(served, [keepAliveMs.direct, keepAliveMs.proxied]);
    const shortest = Math.min(...served) / 1000;
    assert.ok(numberOf(readProxyFile('nginx'), /^ *upstream [^}]*\n *keepalive_timeout (\d+)s;/m) < shortest);
    assert.ok(numberOf(readProxyFile('caddy'), /\n\t*keepalive (\d+)s\n/) < shortest);
    const haproxy = /```haproxy\n(.*?)```/s.exec(
      readFileSync(new URL('../../docs/operations/proxy.md', import.meta.url), 'utf8'),
    );
    assert.match(haproxy?.[1] ?? '', /^ *option http-server-close$/m);
  });

  it('of Caddy do the same', () => {
    const text = readProxyFile('caddy');
    assert.ok(numberOf(text, /max_size (\d+)MiB/) * mebibyte > maxBodyBytes);
    assert.ok(numberOf(text, /response_header_timeout (\d+)s/) > Math.max(maxWaitSeconds, fileWaitMs / 1000));
    assert.equal(numberOf(text, /read_header (\d+)s/), config.headersTimeoutSeconds);
    assert.equal(numberOf(text, /read_body (\d+)m/) * 60, config.requestTimeoutSeconds);
  });
});

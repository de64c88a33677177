// One network or one account never has everything: connections, places for uploads, answers that nobody reads.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerType } from '@hono/node-server';
import { loadConfig } from '../../src/config.ts';
import { callBounds, poolSize, reservedConnections } from '../../src/db/client.ts';
import { admitCalls } from '../../src/guard/admission.ts';
import { networkOf } from '../../src/guard/network.ts';
import type { OverloadError } from '../../src/guard/overload.ts';
import { hashPassword, sha1OfPlain, turnBounds } from '../../src/guard/password.ts';
import { limitRate } from '../../src/guard/rate.ts';
import { runInScope } from '../../src/guard/request.ts';
import { freeChunks } from '../../src/http/bodies.ts';
import { listen, maxPipelined, type ServerSettings } from '../../src/http/server.ts';
import { createUploads } from '../../src/media/uploads.ts';
import { type Account, arten } from '../support/catalogue.ts';
import { onPostgres, openTestDatabase, type TestDatabase } from '../support/database.ts';
import { headerOf, startTestService, type TestService, testConfig } from '../support/service.ts';

const settings: ServerSettings = {
  maxConnections: 200,
  maxConnectionsPerNetwork: 60,
  connectionRate: 100,
  headersTimeoutSeconds: 2,
  requestTimeoutSeconds: 60,
  minSendRate: 100_000_000,
  trustedHops: 0,
};

let opened: Promise<TestDatabase> | undefined;
/** One for all of them. */
function database(): Promise<TestDatabase> {
  opened ??= openTestDatabase();
  return opened;
}

describe('what is scarce', () => {
  it('new connections: those beyond the rate are refused and cost nothing; penalties are owed', async () => {
    const rate = limitRate(100);
    const takeAll = (network: string) => Array.from({ length: 1000 }, () => rate.take(network)).filter(Boolean).length;
    const first = takeAll('a');
    assert.ok(first >= 200 && first < 300, String(first));
    await sleep(100);
    assert.ok(takeAll('a') >= 9, 'ten came back');
    rate.owe('a', 300);
    rate.owe('c', 1_000_000);
    await sleep(100);
    assert.equal(takeAll('a'), 0, 'ten came back, three hundred are owed');
    assert.equal(rate.take('b'), true);
    await sleep(5100);
    assert.equal(rate.take('c'), true, 'five seconds at most');
  });

  it('S5.3 passwords: who logs in as one account from many networks leaves a place to everybody else', async () => {
    const shared = await startTestService({ config: { ...testConfig, trustedHops: 1 } }, await database());
    const done: string[] = [];
    const login = async (name: string, address: string) => {
      const { status } = await shared.request(`/login?loginname=${name}&password=${sha1OfPlain(name)}`, {
        headers: { 'x-forwarded-for': address },
      });
      done.push(`${name} ${status}`);
    };
    const many = Array.from({ length: 20 }, (_, n) => login('melder', `198.51.100.${n + 1}`));
    await sleep(1);
    await Promise.all([...many, login('nachbarin', '203.0.113.1')]);
    // Where the machine is slow, some are refused before: nothing is hashed for them.
    const hashed = done.filter((entry) => entry.endsWith(' 200'));
    assert.ok(hashed.includes('nachbarin 200') && hashed.indexOf('nachbarin 200') < 10, done.join());
  });

  it('S5.3 passwords: none is hashed for a change that is refused', async () => {
    const shared = await startTestService({}, await database());
    const [account] = await shared.database.sql<{ id: number }[]>`select id from portal.nutzer where loginname = 'melder'`;
    const change = () =>
      shared.request(`/nutzer/${account?.id}`, {
        method: 'PUT',
        as: 'melder',
        form: { passwort: sha1OfPlain('neu und lang'), vorname: 'Max' },
      });
    assert.equal((await change()).status, 403);
    // All places in the line are taken: whoever comes with another one takes one away.
    const refused = new Set<string>();
    let isOver = false;
    const lanes = Array.from({ length: turnBounds.slots + turnBounds.queue }, async () => {
      while (!isOver)
        await hashPassword(sha1OfPlain('x')).catch((error: OverloadError) => {
          refused.add(error.reason);
          return sleep(5);
        });
    });
    await sleep(100);
    const { status } = await change();
    isOver = true;
    await Promise.all(lanes);
    assert.equal(status, 403);
    assert.ok(!refused.has('pushed_out'));
  });

  it('is divided for transactions too', async () => {
    const call = Object.assign(() => sleep(5), { begin: () => sleep(5) });
    const client = admitCalls(call, { slots: 2, share: 1, queue: 10, waitMs: 1000, runMs: 1000 });
    await runInScope('one', async () => {
      await Promise.all([client.begin(), client(), client.begin()]);
    });
  });

  it('is not waited for behind another’s long statement while a job has one', {
    skip: !onPostgres && 'one statement at a time',
  }, async () => {
    const { sql: pool, reserve, work } = await database();
    const sql = admitCalls(
      pool,
      { ...callBounds, slots: poolSize + reservedConnections, share: poolSize },
      { client: reserve, after: poolSize },
    );
    const ask = (network: string, seconds: number) =>
      runInScope(network, async () => void (await sql`select pg_sleep(${seconds}::float8)`).length);
    // All connections are there.
    await Promise.all(Array.from({ length: poolSize }, () => ask('warm', 0)));
    const long = Array.from({ length: poolSize - 1 }, () => ask('one', 2).then(() => 'long'));
    await sleep(50);
    const job = work`select pg_sleep(0.3)`.execute();
    await sleep(50);
    assert.equal(await Promise.race([...long, ask('other', 0).then(() => 'other')]), 'other');
    await Promise.all([job, ...long]);
  });

  it('is counted by IPv4 address, and by the first half of an IPv6 address', () => {
    for (const [address, network] of [
      ['192.0.2.7', '192.0.2.7'],
      ['::ffff:192.0.2.7', '192.0.2.7'],
      ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
      ['2001:DB8:1:2::1', '2001:db8:1:2'],
      ['2001:0db8:0001:0002::1', '2001:db8:1:2'],
      ['fe80::1%eth0', 'fe80:0:0:0'],
      ['::1', '0:0:0:0'],
      // As proxies write them.
      ['192.0.2.7:5678', '192.0.2.7'],
      ['[2001:db8:1:2::1]:443', '2001:db8:1:2'],
      ['[2001:db8:1:2::1]', '2001:db8:1:2'],
      ['::ffff:c000:207', '192.0.2.7'],
      ['[0:0:0:0:0:FFFF:192.0.2.7]:1', '192.0.2.7'],
      ['[::ffff:192.0.2.7%eth0]:1', '192.0.2.7'],
      ['[x]:1', 'x'],
      ['x'.repeat(10_000), 'x'.repeat(100)],
    ] as const) {
      assert.equal(networkOf(address), network);
    }
  });
});

describe('uploads', () => {
  it('of one account are two at once, of one network a quarter of all, and each place comes back', async () => {
    const uploads = createUploads('/nowhere', { all: 16, perAccount: 2 });
    const begin = (account: number, network: string) => uploads.begin([`account ${account}`, `network ${network}`]);
    const [first, second] = [begin(1, 'a'), begin(1, 'a')];
    assert.ok(first && second);
    assert.equal(begin(1, 'b'), null);
    assert.ok(begin(2, 'a') && begin(2, 'a'));
    assert.equal(begin(3, 'a'), null, 'the network has its quarter');
    assert.ok(begin(3, 'b'));
    await first.end();
    assert.ok(begin(1, 'c'));
    assert.equal(begin(1, 'c'), null);
  });
});

describe('over sockets', () => {
  let service: TestService;
  let server: ServerType;
  let port = 0;
  before(async () => {
    service = await startTestService({}, await database());
    const { maxUploads: all, maxUploadsPerAccount: perAccount } = loadConfig({});
    service.media.uploads = createUploads(`${service.mediaDirectory}/uploads`, { all, perAccount });
    server = await listen(service.app.fetch, '127.0.0.1', 0, settings);
    port = (server.address() as AddressInfo).port;
  });
  after(() => {
    if ('closeAllConnections' in server) server.closeAllConnections();
    server.close();
  });

  const open = async (localAddress: string): Promise<Socket> => {
    const socket = connect({ port, host: '127.0.0.1', localAddress });
    socket.on('error', () => {});
    await once(socket, 'connect');
    return socket;
  };
  const readAll = async (socket: Socket): Promise<string> => {
    const chunks: Buffer[] = [];
    for await (const chunk of socket) chunks.push(chunk);
    return Buffer.concat(chunks).toString();
  };
  const ask = async (localAddress: string, target = '/api/v2/arten?limit=1'): Promise<string> => {
    const socket = await open(localAddress);
    socket.write(`GET ${target} HTTP/1.1\r\nHost: n.test\r\nConnection: close\r\n\r\n`);
    return readAll(socket);
  };

  it('one network does not get all connections: the next one is told 503, others go on', async () => {
    const sockets = await Promise.all(Array.from({ length: settings.maxConnectionsPerNetwork }, () => open('127.0.0.1')));
    const refused = await readAll(await open('127.0.0.1'));
    assert.match(refused, /^HTTP\/1\.1 503 .*\r\nRetry-After: \d+\r\n.*"code":"ueberlastet"/s);
    assert.match(await ask('127.0.0.2'), /^HTTP\/1\.1 200 /);
    for (const socket of sockets) socket.destroy();
    await sleep(100);
    assert.match(await ask('127.0.0.1'), /^HTTP\/1\.1 200 /);
  });

  it('nor all the time by opening new ones: those beyond its rate are closed, others go on', async () => {
    // So many that a slow machine, too, is asked for more than come back meanwhile.
    const outcomes = await Promise.all(Array.from({ length: 900 }, () => ask('127.0.0.4').catch(() => '')));
    assert.ok(outcomes.some((answer) => answer === '') && outcomes.some((answer) => answer !== ''), 'some of many');
    assert.match(await ask('127.0.0.2'), /^HTTP\/1\.1 200 /);
    await sleep(1000);
    assert.match(await ask('127.0.0.4'), /^HTTP\/1\.1 200 /);
  });

  it('S5.10 a head that does not come is not waited for', async () => {
    const socket = await open('127.0.0.1');
    socket.write('GET /api/v2/arten HTTP/1.1\r\nHost: n.test\r\n');
    const begin = performance.now();
    await readAll(socket).catch(() => '');
    assert.ok(performance.now() - begin < 15_000);
  });

  it(`more than ${maxPipelined} requests of a connection that wait for their answers are refused, and those before are answered`, async () => {
    const socket = await open('127.0.0.1');
    const count = 2 * maxPipelined;
    const request = 'GET /api/v2/sichtbeobachtungen?limit=1 HTTP/1.1\r\nHost: n.test\r\n';
    socket.write(`${`${request}\r\n`.repeat(count - 1)}${request}Connection: close\r\n\r\n`);
    const statuses = [...(await readAll(socket)).matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => status);
    assert.deepEqual(statuses.slice(0, maxPipelined), Array(maxPipelined).fill('200'));
    assert.deepEqual([...new Set(statuses.slice(maxPipelined))], ['503']);
    assert.ok(statuses.length <= count);
  });

  it('a flood of them closes the connection without a word, and others go on', async () => {
    const socket = await open('127.0.0.5');
    socket.write('GET /health/live HTTP/1.1\r\nHost: n.test\r\n\r\n'.repeat(1500));
    await readAll(socket).catch(() => '');
    assert.match(await ask('127.0.0.2'), /^HTTP\/1\.1 200 /);
  });

  it('a body in tiny chunks closes the connection, also when nobody reads it; one in usual chunks is read', async () => {
    const post = 'POST /api/v2/login HTTP/1.1\r\nHost: n.test\r\nContent-Type: application/x-www-form-urlencoded\r\n';
    const get = 'GET /api/v2/sichtbeobachtungen?limit=1 HTTP/1.1\r\nHost: n.test\r\n';
    for (const [n, head] of [post, get].entries()) {
      const socket = await open(`127.0.0.${6 + n}`);
      socket.write(`${head}Transfer-Encoding: chunked\r\n\r\n${'1\r\na\r\n'.repeat(freeChunks + 100)}`);
      const answer = await readAll(socket).catch(() => '');
      assert.doesNotMatch(answer, /keep-alive/);
      assert.ok(socket.destroyed);
    }
    // Of 64 bytes each a fast sender's kept others waiting for seconds.
    const small = await open('127.0.0.12');
    small.write(`${post}Transfer-Encoding: chunked\r\n\r\n${`40\r\n${'a'.repeat(64)}\r\n`.repeat(freeChunks + 400)}`);
    assert.equal(await readAll(small).catch(() => ''), '');
    const socket = await open('127.0.0.8');
    const chunk = `${(1000).toString(16)}\r\n${'a'.repeat(1000)}\r\n`;
    socket.write(`${post}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n${'1\r\na\r\n'.repeat(freeChunks - 10)}`);
    socket.write(`${chunk.repeat(120)}0\r\n\r\n`);
    assert.match(await readAll(socket), /^HTTP\/1\.1 400 .*fehlt/s);
  });

  const uploadPart =
    '--b\r\nContent-Disposition: form-data; name="foto"; filename="x.jpg"\r\nContent-Type: image/jpeg\r\n\r\n'.padEnd(2000, 'x');
  const endOfUpload = '\r\n--b--\r\n'.padStart(1_000_000 - uploadPart.length, 'x');
  const beginUpload = async (as: Account, localAddress: string) => {
    const socket = await open(localAddress);
    const head = [
      'POST /api/v2/sichtbeobachtungen HTTP/1.1',
      'Host: n.test',
      `X-Auth-User: ${headerOf(as)}`,
      `X-Auth-Token: ${await service.tokenOf(as)}`,
      'Content-Type: multipart/form-data; boundary=b',
      'Content-Length: 1000000',
      'Connection: close',
    ];
    socket.write(`${head.join('\r\n')}\r\n\r\n${uploadPart}`, 'latin1');
    return socket;
  };

  it('a head or a trailer of more fields than there may be costs its network further connections, others go on', async () => {
    const fields = 'a:\r\n'.repeat(1000);
    const line = 'GET /api/v2/arten?limit=1 HTTP/1.1\r\n';
    const floods: Record<string, { sent: string; told: RegExp }> = {
      'a head of many fields': { sent: `${line}Host: n.test\r\n${fields}\r\n`, told: /^HTTP\/1\.1 431 / },
      'a head of too many bytes': { sent: `${line}Host: n.test\r\na: ${'x'.repeat(20_000)}\r\n\r\n`, told: /^HTTP\/1\.1 431 / },
      'a trailer of many fields': {
        sent: `${line}Host: n.test\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n${fields}\r\n`,
        told: /^HTTP\/1\.1 431 /,
      },
      'a trailer of too many bytes': {
        sent: `${line}Host: n.test\r\nTransfer-Encoding: chunked\r\n\r\n0\r\na: ${'x'.repeat(20_000)}\r\n\r\n`,
        told: /^HTTP\/1\.1 431 /,
      },
    };
    for (const [n, [name, { sent, told }]] of Object.entries(floods).entries()) {
      const address = `127.0.0.${20 + n}`;
      const floodAndAsk = async () => {
        const answers: string[] = [];
        for (let flood = 0; flood < 10; flood++) {
          const socket = await open(address);
          socket.write(sent);
          answers.push(await readAll(socket).catch(() => ''));
        }
        const next = await Promise.all([1, 2, 3].map(() => ask(address).catch(() => '')));
        return { first: answers[0] ?? '', next };
      };
      let { first, next } = await floodAndAsk();
      assert.match(first, told, name);
      // A connection comes back each hundredth of a second, which a busy machine may take. By itself none is refused: all of these are
      // fewer than a network may open at once.
      for (let again = 0; again < 3 && next.some((answer) => answer !== ''); again++) ({ next } = await floodAndAsk());
      assert.deepEqual(next, ['', '', ''], name);
    }
    assert.match(await ask('127.0.0.2'), /^HTTP\/1\.1 200 /);
  });

  it('bodies whose senders leave before their end cost their network further connections, whole ones nothing, others go on', async () => {
    const post = 'POST /api/v2/login HTTP/1.1\r\nHost: n.test\r\nContent-Type: application/x-www-form-urlencoded\r\n';
    const breakAndAsk = async (address: string, length: number) => {
      for (let n = 0; n < 25; n++) {
        const socket = await open(address);
        socket.write(`${post}Connection: close\r\nContent-Length: ${length}\r\n\r\nloginname=melder`);
        if (length > 16) socket.destroy();
        else await readAll(socket);
      }
      await sleep(20);
      return Promise.all([1, 2, 3].map(() => ask(address).catch(() => '')));
    };
    let next = await breakAndAsk('127.0.0.30', 1000);
    for (let again = 0; again < 3 && next.some((answer) => answer !== ''); again++) next = await breakAndAsk('127.0.0.30', 1000);
    assert.deepEqual(next, ['', '', '']);
    for (const answer of await breakAndAsk('127.0.0.31', 16)) assert.match(answer, /^HTTP\/1\.1 200 /);
    assert.match(await ask('127.0.0.2'), /^HTTP\/1\.1 200 /);
  });

  it('a field without a name gives the places of its form back', async () => {
    const headers = { 'X-Auth-User': 'melder', 'X-Auth-Token': await service.tokenOf('melder') };
    const head = (about: string) => `--b\r\nContent-Disposition: form-data${about}\r\n\r\n`;
    const body = `${head('; name="foto"; filename="x.jpg"')}abc\r\n${head('')}x\r\n--b--\r\n`;
    for (let n = 0; n < 5; n++) {
      const answer = await service.request('/sichtbeobachtungen', {
        method: 'POST',
        headers: { ...headers, 'content-type': 'multipart/form-data; boundary=b' },
        body,
      });
      assert.equal(answer.status, 400, `${n}: ${answer.text}`);
    }
  });

  it('S5.3 uploads that one network begins and does not end leave places to eight others who send at the same time', async () => {
    const held = await Promise.all(
      (['expertin', 'expertin', 'vogelexperte', 'vogelexperte'] as const).map((account) => beginUpload(account, '127.0.0.30')),
    );
    await sleep(300);
    const senders = (['melder', 'nachbarin', 'admin', 'käfer anna'] as const).flatMap((account) => [account, account]);
    const begun = await Promise.all(senders.map((account, n) => beginUpload(account, `127.0.0.${31 + n}`)));
    await sleep(300);
    const answers = await Promise.all(
      begun.map((socket) => {
        const answer = readAll(socket);
        socket.write(endOfUpload);
        return answer;
      }),
    );
    // It is no photo, which nobody looks for who has no place.
    assert.deepEqual(
      answers.map((answer) => answer.slice(0, 12)),
      Array(8).fill('HTTP/1.1 400'),
    );
    for (const socket of held) socket.destroy();
  });

  it('S5.10 bodies a byte at a time hold two places of their account for some seconds, others upload meanwhile', async () => {
    const begin = performance.now();
    const slow = await Promise.all(['127.0.0.1', '127.0.0.1'].map((address) => beginUpload('melder', address)));
    await sleep(200);
    const dripping = setInterval(() => {
      for (const socket of slow) socket.write('x');
    }, 100);
    // The third of the account is refused, when its body has come; another account's goes on.
    const photo = new Blob([new Uint8Array(2000)]);
    const fields = { art: String(arten.amsel), lat: '5530000', lon: '420000', datum: '1.9.2026' };
    const third = await service.request('/sichtbeobachtungen', { as: 'melder', form: { ...fields, foto: photo } });
    assert.equal(third.status, 503, third.text);
    const other = await service.request('/sichtbeobachtungen', { as: 'nachbarin', form: { ...fields, foto: photo } });
    assert.equal(other.status, 400, other.text);
    const answers = await Promise.all(slow.map((socket) => readAll(socket).catch(() => '')));
    clearInterval(dripping);
    for (const answer of answers) assert.match(answer, /^HTTP\/1\.1 408 .*"code":"zu_langsam"/s);
    assert.ok(performance.now() - begin < 40_000);
    const again = await service.request('/sichtbeobachtungen', { as: 'melder', form: { ...fields, foto: photo } });
    assert.equal(again.status, 400, 'the places came back');
  });

  it('S5.10 a connection that only sends empty lines is closed after its answer, one that waits for an answer is not', async () => {
    const answered = async (localAddress: string, target: string) => {
      const socket = await open(localAddress);
      const closed = once(socket, 'close').then(() => true);
      socket.resume();
      socket.write(Buffer.from(`GET ${target} HTTP/1.1\r\nHost: n.test\r\n\r\n`));
      const dripping = setInterval(() => socket.write('\r\n'), 500);
      const isClosed = await Promise.race([closed, sleep(15_000, false)]);
      clearInterval(dripping);
      socket.destroy();
      return isClosed;
    };
    const { cursor } = JSON.parse(
      (await ask('127.0.0.11', '/abgleich/v1/sichtbeobachtungen?limit=1000')).replace(/^.*?\r\n\r\n/s, ''),
    );
    const outcomes = await Promise.all([
      answered('127.0.0.9', '/api/v2/arten?limit=1'),
      answered('127.0.0.10', '/api/v2/arten?limit=1&x=ä'),
      ask('127.0.0.11', `/abgleich/v1/sichtbeobachtungen?seit=${encodeURIComponent(cursor)}&warten=12`),
    ]);
    assert.deepEqual(outcomes.slice(0, 2), [true, true]);
    assert.match(String(outcomes[2]), /^HTTP\/1\.1 200 /);
  });

  it('S5.10 whoever asks for much and reads nothing is closed', async () => {
    await service.database.sql`
      insert into portal.sichtbeobachtung (nutzer_id, art, point, datum, bereich, status, bemerkung)
      select (select min(u.id) from portal.nutzer u), ${arten.amsel}::integer, st_setsrid(st_makepoint(417000 + n, 5531000), 25832),
        date '2026-09-01', 'oeffentlich', 'freigegeben', repeat('x', 3000)
      from generate_series(1, 600) n`;
    const socket = await open('127.0.0.3');
    const closed = once(socket, 'close');
    socket.pause();
    // No more than are answered, all of which together are more than the system holds for a socket.
    for (let n = 0; n < maxPipelined; n++)
      socket.write(`GET /api/v2/sichtbeobachtungen?limit=1000&n=${n} HTTP/1.1\r\nHost: n.test\r\n\r\n`);
    const begin = performance.now();
    // Its own side notices when it reads: what the system holds for it, then the end.
    await sleep(13_000);
    socket.resume();
    await closed;
    assert.ok(performance.now() - begin < 30_000);
    assert.ok(socket.bytesRead < maxPipelined * 1_800_000, `${socket.bytesRead} bytes`);
    assert.match(await ask('127.0.0.2'), /^HTTP\/1\.1 200 /);
  });
});

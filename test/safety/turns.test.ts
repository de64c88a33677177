// Much that comes at once is computed by turns of networks: what comes a moment later from somebody else is heard in between.
import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { after, before, beforeEach, describe, it } from 'node:test';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { ServerType } from '@hono/node-server';
import { createApp } from '../../src/app.ts';
import { admitCalls, limitRuns } from '../../src/guard/admission.ts';
import { turnMs } from '../../src/guard/computed.ts';
import { makeFile } from '../../src/guard/files.ts';
import { OverloadError } from '../../src/guard/overload.ts';
import { currentScope, type RequestScope, runInScope } from '../../src/guard/request.ts';
import { restAfter, restFactor, spareWork } from '../../src/guard/rest.ts';
import { noteArrival, runInTurn, waitForTurn, waitForTurnAtMost } from '../../src/guard/turns.ts';
import { listUsage } from '../../src/guard/usage.ts';
import { collections } from '../../src/http/outputs/ogc/collections.ts';
import { makeCsv } from '../../src/http/outputs/ogc/csv.ts';
import { eachLot, type Feature } from '../../src/http/outputs/ogc/geometry.ts';
import { drawMap } from '../../src/http/outputs/ogc/map.ts';
import { listen, maxPipelined } from '../../src/http/server.ts';
import { bytesAtOnce } from '../../src/http/wire/body.ts';
import { readMultipart } from '../../src/http/wire/multipart.ts';
import { makeRows, shortPages } from '../../src/http/wire/reply.ts';
import { toXml } from '../../src/http/wire/xml.ts';
import { wideSettings } from '../support/listen.ts';
import { startTestService } from '../support/service.ts';

function compute(ms: number): void {
  for (const until = performance.now() + ms; performance.now() < until; );
}

describe('what computes', () => {
  it('is begun by turns of networks, all of it, and in each network in order', async () => {
    const order: string[] = [];
    const ask = (network: string, n: number) =>
      new Promise<void>((resolve) =>
        runInTurn(network, () => {
          compute(1);
          order.push(`${network} ${n}`);
          resolve();
        }),
      );
    const many = Array.from({ length: 100 }, (_, n) => ask('many', n));
    await Promise.all([...many, ask('other', 0), ask('third', 0), ask('other', 1)]);
    const place = (entry: string) => order.indexOf(entry);
    // What had time at once came before anybody else was there.
    assert.ok(Math.max(place('other 0'), place('third 0')) < 12 && place('other 1') < 16, order.join());
    assert.deepEqual(
      order.filter((entry) => entry.startsWith('many')),
      Array.from({ length: 100 }, (_, n) => `many ${n}`),
    );
  });

  it('comes soon for who asks for one thing after another, however many networks ask for much, and theirs goes on', async () => {
    const order: string[] = [];
    const ask = (network: string) =>
      new Promise<void>((resolve) =>
        runInTurn(network, () => {
          compute(1);
          order.push(network);
          resolve();
        }),
      );
    const many = Array.from({ length: 30 * 20 }, (_, n) => ask(`many ${n % 30}`));
    await Promise.all(many.slice(0, 30));
    const begin = order.length;
    for (let n = 0; n < 10; n++) await ask('other');
    const between = order.slice(begin);
    // One after the other, with a round of all others between, they would take 300.
    assert.ok(between.length < 100, `${between.length}`);
    assert.ok(between.filter((network) => network !== 'other').length >= 5, between.join());
    await Promise.all(many);
    assert.equal(order.length, 610);
  });

  it('S3.7 rests beside photos for who computes much, and for nobody else', async () => {
    /** How much is computed for this one of what it always asks for, by milliseconds at a time, in 400 of them. */
    const computeAWhile = async (network: string, ms: number) => {
      const until = performance.now() + 400;
      let sum = 0;
      for (; performance.now() < until; sum += ms) {
        await new Promise<void>((resolve) => runInTurn(network, resolve));
        compute(ms);
        await nextTurn();
      }
      return sum;
    };
    const spend = (network: string) => runInScope(network, async () => restAfter(2 * spareWork.atOnceMs));
    await spend('much');
    const without = await computeAWhile('much', 2);
    const { promise: end, resolve } = Promise.withResolvers<void>();
    const photo = runInScope('photographer', () => makeFile(() => end));
    const [much, little] = await Promise.all([computeAWhile('much', 2), computeAWhile('little', 0.5)]);
    resolve();
    await photo;
    // An eighth, where nothing else is computed on this machine.
    assert.ok(much >= 4 && 2 * much <= without, `${much} of ${without} ms`);
    assert.ok(little > much, `${little} of ${much} ms`);
    const again = await computeAWhile('much', 2);
    assert.ok(again > 2 * much, `no photos any more: ${again} of ${without} ms`);
  });

  it('S3.7 goes on beside photos with what it began, and loses nothing that waits while its network rests', async () => {
    await runInScope('full', async () => restAfter(2 * spareWork.atOnceMs));
    const { promise: end, resolve } = Promise.withResolvers<void>();
    const photo = runInScope('photographer', () => makeFile(() => end));
    let begun = 0;
    let isDone = false;
    const coming = Array.from(
      { length: 200 },
      () =>
        new Promise<void>((next) => {
          runInTurn('full', () => {
            compute(0.2);
            if (!isDone) begun += 1;
            next();
          });
        }),
    );
    await runInScope('full', async () => {
      for (let step = 0; step < 30; step++) {
        await waitForTurn();
        compute(turnMs);
      }
    });
    isDone = true;
    // 4 ms of them before it rests for the first time; with one after each step that rested, it would be fifty.
    assert.ok(begun < 35, `${begun}`);
    await Promise.all(coming);
    resolve();
    await photo;
  });

  it('S3.7 rests beside photos for an account that computes much from many networks', async () => {
    const asAccount = (network: string, run: () => Promise<void>) =>
      runInScope(network, async () => {
        currentScope()?.identify(4711);
        await run();
      });
    await asAccount('one of many', async () => void restAfter(2 * spareWork.atOnceMs));
    const { promise: end, resolve } = Promise.withResolvers<void>();
    const photo = runInScope('photographer', () => makeFile(() => end));
    const begin = performance.now();
    const forms = Array.from({ length: 20 }, (_, n) =>
      asAccount(`of many ${n % 10}`, async () => {
        // Each in a callback of its own, as forms come.
        await nextTurn();
        assert.notEqual(await waitForTurnAtMost(30_000), false);
        compute(turnMs);
      }),
    );
    await Promise.all(forms);
    const took = performance.now() - begin;
    resolve();
    await photo;
    // It rests after each, or after two that were computed at once; each of the networks for itself has time to spare.
    assert.ok(took >= 9 * restFactor * turnMs, `${took} ms`);
  });

  it('takes forms of many parts apart by turns, each of which came in one small piece', async () => {
    const part = (n: number) => `--x\r\nContent-Disposition: form-data; name="f${n}"\r\n\r\n1\r\n`;
    const body = Buffer.from(`${Array.from({ length: 190 }, (_, n) => part(n)).join('')}--x--\r\n`);
    assert.ok(body.length < bytesAtOnce);
    async function* comes() {
      yield body;
    }
    const bounds = { maxFields: 200, maxFieldsBytes: 100_000 };
    let read = 0;
    // No more: on a busy machine, the last ones would have waited too long for their turn.
    const forms = Array.from({ length: 40 }, () =>
      runInScope('one', async () => {
        const form = await readMultipart(comes(), 'multipart/form-data; boundary=x', bounds, () => Promise.reject());
        assert.equal(form.fields.size, 190);
        read++;
      }),
    );
    const before = await runInScope('other', async () => {
      await nextTurn();
      await waitForTurn();
      return read;
    });
    await Promise.all(forms);
    assert.ok(before < 20, `${before} of 40 came before`);
  });

  it('S3.7 rests beside photos before small requests of an account that had much computed, wherever they come from', async () => {
    const service = await startTestService();
    const [row] = await service.database.sql<{ id: number }[]>`select id from portal.nutzer where loginname = 'melder'`;
    const take = async (as: 'melder' | 'expertin') => {
      const begin = performance.now();
      const { status } = await service.request('/sichtbeobachtungen?limit=1', { as });
      assert.equal(status, 200);
      return performance.now() - begin;
    };
    for (const as of ['melder', 'expertin'] as const) await take(as);
    const { promise: end, resolve } = Promise.withResolvers<void>();
    const photo = runInScope('photographer', () => makeFile(() => end));
    await runInScope('elsewhere', async () => {
      currentScope()?.identify(row?.id ?? 0);
      restAfter(2 * spareWork.atOnceMs);
      await waitForTurnAtMost(30_000);
      compute(100);
      await nextTurn();
      await nextTurn();
    });
    const [mine, other] = await Promise.all([take('melder'), take('expertin')]);
    resolve();
    await photo;
    assert.ok(mine > 400 && mine > 2 * other, `${mine} ms, of another account ${other} ms`);
  });

  it('gives way within a request too', async () => {
    let steps = 0;
    const long = runInScope('one', async () => {
      for (; steps < 100; steps++) {
        await waitForTurn();
        compute(2);
      }
    });
    const short = runInScope('other', async () => {
      await waitForTurn();
      return steps;
    });
    assert.ok((await short) < 10);
    await long;
    assert.equal(steps, 100);
  });

  it('goes on by every second turn of its network: an answer of many steps does not wait for all that came after it each time', async () => {
    let begun = 0;
    const many = Array.from(
      { length: 300 },
      () =>
        new Promise<void>((resolve) =>
          runInTurn('one', () => {
            compute(1);
            begun++;
            resolve();
          }),
        ),
    );
    const long = runInScope('one', async () => {
      for (let n = 0; n < 20; n++) {
        await waitForTurn();
        compute(2);
      }
      return begun;
    });
    // And what has not begun goes on too.
    assert.ok((await long) >= 10 && (await long) < 100, `${await long} came before its end`);
    await Promise.all(many);
    assert.equal(begun, 300);
  });

  it('is not kept for who gives the place up', async () => {
    const done: string[] = [];
    const places = Array.from({ length: 100 }, (_, n) =>
      runInTurn('many', () => {
        compute(1);
        done.push(`many ${n}`);
      }),
    );
    const waiting = places.filter((leave) => leave !== null);
    assert.ok(waiting.length > 90);
    const last = new Promise<void>((resolve) => runInTurn('other', resolve));
    for (const leave of waiting) assert.equal(leave(), true);
    await last;
    assert.equal(done.length, places.length - waiting.length);
    // What has begun can't be given up any more.
    let leave: (() => boolean) | null = null;
    await new Promise<void>((resolve) => {
      compute(2 * turnMs);
      leave = runInTurn('one', resolve) ?? runInTurn('one', resolve);
    });
    assert.equal((leave as (() => boolean) | null)?.() ?? false, false);
  });

  it('waits for new connections by time, not by their number', async () => {
    let arrivals = 0;
    let isOver = false;
    const arrive = () => {
      noteArrival();
      compute(5);
      arrivals++;
      if (!isOver && arrivals < 500) setImmediate(arrive);
    };
    arrive();
    await new Promise<void>((resolve) => runInTurn('one', resolve));
    isOver = true;
    assert.ok(arrivals < 60, `${arrivals} connections came first`);
  });

  it('of pages as XML, short ones too', async () => {
    const page = { result: Array.from({ length: 20 }, () => ({ bemerkung: 'x'.repeat(2000), art: 'Amsel' })) };
    let pages = 0;
    const make = async () => {
      await toXml('xml', page);
      pages++;
    };
    const many = Array.from({ length: 60 }, () => runInScope('many', make));
    const other = runInScope('other', async () => {
      await toXml('xml', page);
      return pages;
    });
    assert.ok((await other) < 30, `${await other} pages before`);
    await Promise.all(many);
  });

  it('of short pages is made for few at once, for each network: what is parsed takes ten times its room', async () => {
    const rows = Buffer.from(JSON.stringify(Array.from({ length: 100 }, () => ({ bemerkung: 'x'.repeat(900) }))));
    const usage = listUsage().get('short_pages');
    let most = 0;
    let isOver = false;
    const watch = runInScope('other', async () => {
      while (!isOver) {
        await waitForTurn();
        most = Math.max(most, usage?.running ?? 0);
        await nextTurn();
      }
    });
    const many = Array.from({ length: 24 }, () =>
      runInScope('many', () => makeRows({ format: 'xml', callback: null }, rows, null, undefined, 200)),
    );
    const pages = await Promise.all(many).finally(() => {
      isOver = true;
    });
    await watch;
    assert.ok(pages.every(({ body }) => String(body).endsWith('</xml>')));
    assert.ok(most > 0 && most <= shortPages.share, `${most} at once`);
  });
});

// How many there are in a page is not what it weighs: the boundary of a country has tens of thousands of corners.
describe('features', () => {
  const makeBoundary = (id: number, corners: number): Feature => ({
    id,
    geometry: {
      type: 'MultiPolygon',
      coordinates: [
        [
          Array.from({ length: corners }, (_, n) => {
            const angle = (n / (corners - 1)) * 2 * Math.PI;
            return [Number((8 + id + Math.cos(angle)).toFixed(7)), Number((50 + Math.sin(angle)).toFixed(7))];
          }),
        ],
      ],
    },
    properties: { id },
  });
  const toPage = (features: readonly Feature[]) => ({
    features: Buffer.from(features.map((each) => JSON.stringify(each)).join(',\n')),
    returned: features.length,
    lastKey: null,
  });
  const heavy = Array.from({ length: 16 }, (_, id) => makeBoundary(id, 20_000));
  const [collection] = collections;
  assert.ok(collection);

  /** How often somebody else had a turn until that was done. */
  async function countTurns(work: () => Promise<unknown>): Promise<number> {
    let isDone = false;
    let turns = 0;
    const other = runInScope('other', async () => {
      while (!isDone) {
        await waitForTurn();
        compute(turnMs);
        turns++;
      }
    });
    await runInScope('one', work);
    isDone = true;
    await other;
    return turns;
  }

  it('are parsed in lots by what they weigh, all of them, in their order', async () => {
    for (const [page, expected] of [
      [[], []],
      [heavy.slice(0, 3), [1, 1, 1]],
      [Array.from({ length: 450 }, (_, id) => makeBoundary(id, 5)), [200, 200, 50]],
      [
        [makeBoundary(0, 5), makeBoundary(1, 20_000), makeBoundary(2, 5), makeBoundary(3, 5)],
        [1, 1, 2],
      ],
    ] as const) {
      const lots: Feature[][] = [];
      await eachLot(toPage(page), (lot) => lots.push(lot));
      assert.deepEqual(
        lots.map(({ length }) => length),
        expected,
      );
      assert.deepEqual(lots.flat(), page);
    }
  });

  it('give way as CSV', async () => {
    const turns = await countTurns(() => makeCsv(collection, toPage(heavy)));
    assert.ok(turns > 50, `${turns} turns`);
  });

  it('give way while they are drawn', async () => {
    const turns = await countTurns(async () => drawMap(heavy));
    assert.ok(turns > 50, `${turns} turns`);
  });
});

describe('over sockets', () => {
  let server: ServerType;
  let port = 0;
  let begun = 0;
  before(async () => {
    const answer = async (request: Request) => {
      if (request.method === 'POST') return new Response(`${(await request.text()).length} bytes`);
      begun++;
      compute(2);
      return new Response(`${begun} ${new URL(request.url).pathname}`);
    };
    server = await listen(answer, '127.0.0.1', 0, wideSettings);
    port = (server.address() as AddressInfo).port;
  });
  beforeEach(() => {
    begun = 0;
  });
  after(() => {
    if ('closeAllConnections' in server) server.closeAllConnections();
    server.close();
  });
  const open = (localAddress: string) => connect({ port, host: '127.0.0.1', localAddress }).on('error', () => {});
  const request = 'GET / HTTP/1.1\r\nHost: n.test\r\n\r\n';
  /** How many were begun when this one was. */
  const placeOf = async (socket: ReturnType<typeof open>) => {
    const [chunk] = await once(socket, 'data');
    return Number(/\r\n\r\n(\d+) \//.exec(String(chunk))?.[1]);
  };

  it('requests that many connections send at once do not come before another network’s', async () => {
    const sockets = Array.from({ length: 50 }, () => open('127.0.0.1'));
    const other = open('127.0.0.2');
    await Promise.all([...sockets, other].map((socket) => once(socket, 'connect')));
    await sleep(200);
    for (const socket of sockets) socket.write(request.repeat(maxPipelined));
    other.write(request);
    const place = await placeOf(other);
    assert.ok(place < 30, `${place} of ${50 * maxPipelined}`);
    await Promise.all(sockets.map((socket) => once(socket, 'data')));
    for (const socket of [...sockets, other]) socket.destroy();
  });

  it('nor those of many that come at once, each to be let in first', async () => {
    const sockets = Array.from({ length: 200 }, () => open('127.0.0.1'));
    const other = open('127.0.0.2');
    for (const socket of [...sockets, other]) socket.write(request);
    const place = await placeOf(other);
    assert.ok(place < 60, `${place} of 200`);
    for (const socket of [...sockets, other]) socket.destroy();
  });

  it('what was asked on a connection that is gone is not begun', async () => {
    const sockets = Array.from({ length: 200 }, () => open('127.0.0.3'));
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    await sleep(200);
    for (const socket of sockets) {
      socket.write(request);
      setImmediate(() => socket.resetAndDestroy());
    }
    await sleep(1000);
    assert.ok(begun < 100, `${begun} of 200`);
    const other = open('127.0.0.2');
    other.write(request);
    assert.equal(await placeOf(other), begun);
    other.destroy();
  });

  it('keeps nothing of what was answered, however long the connection lives', async () => {
    const socket = open('127.0.0.6');
    let inside: Socket | undefined;
    server.once('request', (request: IncomingMessage) => {
      inside = request.socket;
    });
    const others = Array.from({ length: 20 }, () => open('127.0.0.7'));
    let before = 0;
    for (let n = 0; n < 40; n++) {
      socket.write(request);
      for (const other of others) other.write(request);
      await once(socket, 'data');
      if (n === 5) before = inside?.listenerCount('close') ?? 0;
    }
    assert.ok(before > 0);
    assert.equal(inside?.listenerCount('close'), before);
    for (const each of [socket, ...others]) each.destroy();
  });

  it('and costs its network new connections', async () => {
    const server = await listen(() => new Response(String(compute(10))), '127.0.0.1', 0, { ...wideSettings, connectionRate: 4 });
    const to = (localAddress: string) =>
      connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', localAddress }).on('error', () => {});
    const hasAnswer = async (localAddress: string) => {
      const socket = to(localAddress);
      socket.write(request);
      const isAnswered = await Promise.race([once(socket, 'data').then(() => true), once(socket, 'close').then(() => false)]);
      socket.destroy();
      return isAnswered;
    };
    const sockets = Array.from({ length: 8 }, () => to('127.0.0.4'));
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    for (const socket of sockets) socket.end(request.repeat(maxPipelined));
    await sleep(500);
    const answered = [await hasAnswer('127.0.0.4'), await hasAnswer('127.0.0.5')];
    server.close();
    if ('closeAllConnections' in server) server.closeAllConnections();
    assert.deepEqual(answered, [false, true]);
  });
});

describe('a chunk full of requests', () => {
  let server: ServerType;
  let port = 0;
  let parsed = 0;
  const count = () => parsed++;
  before(async () => {
    server = await listen(async (request) => new Response(`${(await request.text()).length} bytes`), '127.0.0.1', 0, {
      ...wideSettings,
      connectionRate: 5000,
    });
    port = (server.address() as AddressInfo).port;
    subscribe('http.server.request.start', count);
  });
  after(() => {
    unsubscribe('http.server.request.start', count);
    if ('closeAllConnections' in server) server.closeAllConnections();
    server.close();
  });
  const open = async (localAddress: string) => {
    const socket = connect({ port, host: '127.0.0.1', localAddress }).on('error', () => {});
    await once(socket, 'connect');
    return socket;
  };
  const readAll = async (socket: Awaited<ReturnType<typeof open>>) => {
    const chunks: Buffer[] = [];
    for await (const chunk of socket) chunks.push(chunk);
    return Buffer.concat(chunks).toString();
  };

  const kinds: [what: string, request: string][] = [
    ['usual ones', 'GET / HTTP/1.1\r\nHost: n\r\n\r\n'],
    ['ones without a host', 'GET / HTTP/1.1\r\n\r\n'],
    ['ones that expect what there is not', 'GET / HTTP/1.1\r\nHost: n\r\nExpect: x\r\n\r\n'],
    ['ones that wait to be told to send', 'GET / HTTP/1.1\r\nHost: n\r\nExpect: 100-continue\r\n\r\n'],
  ];
  for (const [n, [what, request]] of kinds.entries()) {
    it(`is not read to its end: ${what}`, async () => {
      parsed = 0;
      const socket = await open(`127.0.1.${n + 1}`);
      socket.write(request.repeat(Math.floor(64_000 / request.length)));
      await readAll(socket).catch(() => '');
      assert.ok(parsed > maxPipelined && parsed < 3 * maxPipelined, `${parsed} requests were made`);
    });
  }

  it('or of tiny pieces of a body costs nobody else a body', async () => {
    const head = 'POST / HTTP/1.1\r\nHost: n\r\nTransfer-Encoding: chunked\r\n\r\n';
    for (let round = 0; round < 20; round++) {
      const [flood, other] = await Promise.all([open('127.0.1.9'), open('127.0.1.10')]);
      flood.write(`${head}${'1\r\na\r\n'.repeat(9000)}`);
      other.write(`POST / HTTP/1.1\r\nHost: n\r\nConnection: close\r\nContent-Length: 5\r\n\r\nab`);
      setImmediate(() => other.write('cde'));
      assert.match(await readAll(other), /^HTTP\/1\.1 200 .*\r\n\r\n5 bytes$/s);
      await readAll(flood).catch(() => '');
    }
  });

  it('of one is answered: without a host with 400, and whoever waits is told to send', async () => {
    const lonely = await open('127.0.1.11');
    lonely.write('GET / HTTP/1.1\r\n\r\n');
    assert.match(await readAll(lonely), /^HTTP\/1\.1 400 .*"code":"ungueltige_anfrage"/s);
    const patient = await open('127.0.1.11');
    patient.write('POST / HTTP/1.1\r\nHost: n\r\nConnection: close\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n');
    const [told] = await once(patient, 'data');
    assert.match(String(told), /^HTTP\/1\.1 100 Continue\r\n\r\n$/);
    patient.write('abcde');
    assert.match(await readAll(patient), /^HTTP\/1\.1 200 .*5 bytes$/s);
  });
});

describe('whoever has gone', () => {
  it('waits for nothing any more, and those behind come next', async () => {
    const limited = limitRuns({ slots: 1, queue: 10, waitMs: 10_000 });
    const done: string[] = [];
    let isGone = false;
    const ask = (name: string, leaves: boolean) =>
      runInScope('network', (scope) => {
        if (leaves) scope.isGone = () => isGone;
        return limited(async () => {
          await sleep(20);
          done.push(name);
        });
      });
    const all = [ask('first', false), ask('gone', true), ask('gone', true), ask('last', false)];
    isGone = true;
    const outcomes = await Promise.allSettled([...all, ask('late', true)]);
    assert.deepEqual(done, ['first', 'last']);
    for (const outcome of [outcomes[1], outcomes[2], outcomes[4]])
      assert.ok(outcome?.status === 'rejected' && outcome.reason instanceof OverloadError);
    await assert.rejects(ask('later', true), OverloadError);
  });

  it('has nothing more computed: neither a page nor what it is made of', async () => {
    const page = { result: Array.from({ length: 100 }, () => ({ bemerkung: 'x'.repeat(2000) })) };
    let isGone = false;
    const ask = (scope: RequestScope) => {
      scope.isGone = () => isGone;
      return toXml('xml', page);
    };
    const all = Array.from({ length: 20 }, () => runInScope('network', ask));
    const stays = runInScope('network', () => toXml('xml', page));
    await nextTurn();
    isGone = true;
    const outcomes = await Promise.allSettled(all);
    const failed = outcomes.filter((each) => each.status === 'rejected' && each.reason instanceof OverloadError);
    assert.ok(failed.length > 15, `${failed.length} of 20 were given up`);
    assert.ok((await stays).length > 200_000);
  });

  it('is not read for, and is counted as gone', async () => {
    const { deps } = await startTestService();
    const { sql } = deps;
    let calls = 0;
    let { promise: free, resolve: release } = Promise.withResolvers<void>();
    const slow = Object.assign(
      async (...args: Parameters<typeof sql>) => {
        calls++;
        await free;
        return sql(...args);
      },
      { begin: sql.begin },
    ) as unknown as typeof sql;
    const admitted = admitCalls(slow, { slots: 1, queue: 100, waitMs: 10_000, runMs: 10_000 });
    release();
    const server = await listen(createApp({ ...deps, sql: admitted, reads: admitted }).fetch, '127.0.0.1', 0, wideSettings);
    const { port } = server.address() as AddressInfo;
    const ask = () => {
      const socket = connect({ port, host: '127.0.0.1' }).on('error', () => {});
      socket.write('GET /api/v2/stadien HTTP/1.1\r\nHost: n.test\r\n\r\n');
      return socket;
    };
    const first = ask();
    await once(first, 'data');
    first.destroy();
    ({ promise: free, resolve: release } = Promise.withResolvers<void>());
    calls = 0;
    const sockets = Array.from({ length: 20 }, ask);
    while (calls === 0) await sleep(5);
    await sleep(200);
    for (const socket of sockets) socket.destroy();
    await sleep(200);
    release();
    await sleep(200);
    assert.ok(calls < 5, `${calls} statements for twenty that had gone`);
    const last = ask();
    assert.match(String((await once(last, 'data'))[0]), /^HTTP\/1\.1 200 /);
    last.destroy();
    const counted = await deps.metrics.collect();
    assert.match(counted, /status="499"/);
    assert.doesNotMatch(counted, /status="503"/);
    server.close();
  });
});

// Answers that nobody reads: what one network may leave in memory, however it asks; and pages that are long because they are escaped.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { runInNewContext } from 'node:vm';
import type { ServerType } from '@hono/node-server';
import { loadConfig } from '../../src/config.ts';
import { maxUnreadBytes } from '../../src/http/scope.ts';
import { listen } from '../../src/http/server.ts';
import { arten } from '../support/catalogue.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
let server: ServerType;
before(async () => {
  service = await startTestService();
  server = await listen(service.app.fetch, '127.0.0.1', 0, loadConfig({ CONNECTION_RATE: '100000' }));
  await service.database.sql`
    insert into portal.sichtbeobachtung (nutzer_id, art, point, datum, bereich, status, bemerkung)
    select (select min(u.id) from portal.nutzer u), ${arten.amsel}::integer, st_setsrid(st_makepoint(417000 + n, 5531000), 25832),
      date '2026-09-01', 'oeffentlich', 'freigegeben', repeat('<', 3000) || U&'\\2028\\2029' || n
    from generate_series(1, 600) n`;
});
after(async () => {
  if ('closeAllConnections' in server) server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

const page = '/sichtbeobachtungen?limit=1000&callback=a.b';

/** Asks so often, on connections of one network that read nothing but the status; how many answers had it. */
async function countUnread(count: number, query: string, localAddress: string): Promise<Record<string, number>> {
  const sockets = Array.from({ length: count }, () =>
    connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', localAddress }),
  );
  const statuses: Record<string, number> = {};
  await Promise.all(
    sockets.map(async (socket, n) => {
      socket.on('error', () => {});
      await once(socket, 'connect');
      socket.write(`GET /api/v2${page}&n=${n}&${query} HTTP/1.1\r\nHost: n.test\r\n\r\n`, 'utf8');
      await Promise.race([once(socket, 'readable'), sleep(20_000, undefined, { ref: false })]);
      const status = String(socket.read(12) ?? 'none').slice(9);
      statuses[status] = (statuses[status] ?? 0) + 1;
    }),
  );
  for (const socket of sockets) socket.destroy();
  return statuses;
}

describe('answers that a network does not read', () => {
  for (const [what, query, address] of [
    ['asked for as usual', 'x=%C3%A4', '127.0.0.5'],
    ['asked for by raw UTF-8, where another pair of streams lies in between', 'x=ä', '127.0.0.6'],
  ] as const) {
    it(`are bounded: ${what}`, async () => {
      const one = Buffer.byteLength((await service.request(page)).text);
      assert.ok(one > 8 * 1024 * 1024, `${one} bytes`);
      const statuses = await countUnread(30, query, address);
      // One more: what is made is counted when it is there.
      assert.ok((statuses['200'] ?? 0) <= Math.ceil(maxUnreadBytes / one), JSON.stringify(statuses));
      assert.ok((statuses['200'] ?? 0) > 0 && (statuses['503'] ?? 0) > 0, JSON.stringify(statuses));
      // What they held comes back when they have gone.
      await sleep(500);
      assert.ok((await countUnread(1, query, address))['200'] === 1);
    });
  }
});

describe('a page that is escaped', () => {
  it('is the one without callback, and can be a script', async () => {
    const { text } = await service.request(page);
    assert.doesNotMatch(text, /[<\u2028\u2029]/);
    let shown: unknown;
    runInNewContext(text, { a: { b: (value: unknown) => (shown = value) } });
    const plain = await service.request(page.replace('&callback=a.b', ''));
    // The address of the next page holds the callback.
    assert.deepEqual(JSON.parse(JSON.stringify((shown as { result: unknown }).result)), plain.json.result);
  });
});

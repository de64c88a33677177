// What the service asks itself at its start: usual answers, of which nothing is left.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createApp } from '../src/app.ts';
import { warmHashes } from '../src/guard/password.ts';
import { listUsage } from '../src/guard/usage.ts';
import { listRefusals } from '../src/http/refusal.ts';
import { createLog } from '../src/observe/log.ts';
import { createMetrics } from '../src/observe/metrics.ts';
import { warmUp } from '../src/warmup.ts';
import { onPostgres } from './support/database.ts';
import { wideSettings } from './support/listen.ts';
import { startTestService, type TestService } from './support/service.ts';

let service: TestService;
before(async () => {
  service = await startTestService();
  await service.makeReleased();
});

const hashed = Promise.resolve();
/** Ports that are open, once those are closed that are about to be. */
async function countPorts(): Promise<number> {
  await sleep(50);
  return process.getActiveResourcesInfo().filter((name) => name === 'TCPServerWrap').length;
}

describe('warming up', () => {
  it('gets the answers that clients get, none refused, and leaves no line, no request in the figures and no record', async () => {
    // Whatever writes takes a number.
    const nextTransaction = async () => {
      const [row] = await service.database.sql`select pg_snapshot_xmax(pg_current_snapshot())::text as next`;
      return row?.next;
    };
    const readRefused = () =>
      JSON.stringify([[...listRefusals()], [...listUsage()].map(([name, { refused }]) => [name, refused])]);
    const [before, refusedBefore, ports] = [await nextTransaction(), readRefused(), await countPorts()];
    let written = '';
    const write = (line: string) => {
      written += line;
    };
    const log = createLog('trace', () => undefined, { requests: true, output: { write, hold: write } });
    const metrics = createMetrics();
    // Bounds of clients are not those of one that asks itself.
    const narrow = { ...wideSettings, maxConnections: 1, maxConnectionsPerNetwork: 1, connectionRate: 1 };
    const app = createApp({ ...service.deps, metrics, log, start: { isOver: false } });
    const answers = await warmUp(app.fetch, narrow, 'n.test', hashed, 60_000);
    const { 200: found = 0, 404: absent = 0, ...refused } = answers;
    assert.deepEqual(refused, { 400: 180, 401: 60 });
    // There are few records with numbers as small as those that are asked for.
    assert.equal(found + absent, 360);
    assert.ok(found >= 300, JSON.stringify(answers));
    assert.equal(written, '');
    assert.doesNotMatch(await metrics.collect(), /^http_requests_total\{/m);
    assert.equal(readRefused(), refusedBefore);
    assert.equal(await countPorts(), ports);
    // Of a server, other databases take numbers too.
    if (!onPostgres) assert.equal(await nextTransaction(), before, 'a transaction wrote something');
  });

  it('ends in time, and its port with it, when the database does not answer', async () => {
    const never = new Promise<never>(() => {});
    const sql = Object.assign(() => never, { begin: () => never }) as never;
    const ports = await countPorts();
    const begin = performance.now();
    const { fetch } = createApp({ ...service.deps, sql, reads: sql });
    const answers = await warmUp(fetch, wideSettings, 'n.test', hashed, 500);
    const ms = performance.now() - begin;
    assert.ok(ms >= 490 && ms < 5000, `${ms} ms`);
    assert.equal(answers[404], undefined, JSON.stringify(answers));
    assert.equal(await countPorts(), ports);
  });

  it('does not wait for hashes for ever, and asks for nothing where there is no tenant', async () => {
    assert.deepEqual(await warmUp(service.app.fetch, wideSettings, 'n.test', new Promise(() => {}), 50), {});
    assert.deepEqual(await warmUp(service.app.fetch, wideSettings, null, hashed), {});
    // The database takes such a name.
    assert.deepEqual(await warmUp(service.app.fetch, wideSettings, 'ż.example', hashed), {});
  });

  it('hashes on every thread', async () => {
    const { user } = process.cpuUsage();
    await warmHashes();
    // 19 MB twice over, eight times: some 30 ms each.
    assert.ok(process.cpuUsage().user - user > 8 * 15_000, 'too little was computed');
  });
});

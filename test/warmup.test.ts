// What the service asks itself at its start: usual answers, of which nothing is left.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { createApp } from '../src/app.ts';
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

describe('warming up', () => {
  it('gets the answers that clients get, none refused, and leaves no line, no figure and no record', async () => {
    // Whatever writes takes a number.
    const nextTransaction = async () => {
      const [row] = await service.database.sql`select pg_snapshot_xmax(pg_current_snapshot())::text as next`;
      return row?.next;
    };
    const before = await nextTransaction();
    let written = '';
    const write = (line: string) => {
      written += line;
    };
    const metrics = createMetrics();
    const deps = {
      ...service.deps,
      metrics,
      log: createLog('trace', () => undefined, { requests: true, output: { write, hold: write } }),
    };
    const answers = await warmUp(deps, wideSettings, 'n.test');
    const statuses = Object.keys(answers).map(Number);
    const all = Object.values(answers).reduce((sum, count) => sum + count, 0);
    assert.deepEqual(
      statuses.filter((status) => ![200, 400, 401, 404].includes(status)),
      [],
      JSON.stringify(answers),
    );
    assert.ok(all >= 600, `${all} answers`);
    assert.ok((answers[200] ?? 0) >= all / 2 - 60, JSON.stringify(answers));
    assert.equal(written, '');
    assert.doesNotMatch(await metrics.collect(), /^http_requests_total\{/m);
    // Of a server, other databases take numbers too.
    if (!onPostgres) assert.equal(await nextTransaction(), before, 'a transaction wrote something');
  });

  it('is over before the service says that it is ready; all else is answered meanwhile', async () => {
    const start = { isOver: false };
    const app = createApp({ ...service.deps, metrics: createMetrics(), start });
    const ask = async (path: string) => {
      const response = await app.request(`http://n.test${path}`);
      return [response.status, await response.text()];
    };
    assert.deepEqual(await ask('/health/ready'), [503, 'Der Dienst startet noch.']);
    assert.deepEqual(await ask('/health/live'), [200, 'ok']);
    assert.equal((await ask('/api/v2/sichtbeobachtungen'))[0], 200);
    start.isOver = true;
    assert.deepEqual(await ask('/health/ready'), [200, 'ok']);
  });
});

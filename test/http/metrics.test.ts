import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { createApp } from '../../src/app.ts';
import type { Deps, Env } from '../../src/http/context.ts';
import { createMetrics } from '../../src/observe/metrics.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
before(async () => {
  service = await startTestService();
});

async function read(config: Partial<Deps['config']>, { address = '127.0.0.1', authorization = '' } = {}) {
  const { deps } = service;
  const app = createApp({ ...deps, metrics: createMetrics(), config: { ...deps.config, ...config } });
  await app.request('http://n.test/api/v2/sichtbeobachtungen?titel_deutsch=geheim', { headers: { host: 'n.test' } });
  await app.request('http://n.test/api/v2/sichtbeobachtungen/99', { headers: { host: 'n.test' } });
  const env = { incoming: { socket: { remoteAddress: address }, rawHeaders: [], url: '/metrics' } } as unknown as Env['Bindings'];
  return app.request('http://n.test/metrics', { headers: authorization ? { authorization } : {} }, env);
}

describe('/metrics answers', () => {
  const rows: [config: Partial<Deps['config']>, from: { address?: string; authorization?: string }, status: number][] = [
    [{}, { address: '127.0.0.1' }, 200],
    [{}, { address: '::1' }, 200],
    [{}, { address: '::ffff:127.0.0.1' }, 200],
    [{}, { address: '192.0.2.1' }, 403],
    [{}, { address: '1127.0.0.1' }, 403],
    [{ trustedHops: 1 }, { address: '127.0.0.1' }, 403],
    [{ metricsToken: 'geheim' }, { address: '127.0.0.1' }, 401],
    [{ metricsToken: 'geheim' }, { authorization: 'Bearer falsch' }, 401],
    [{ metricsToken: 'geheim' }, { authorization: 'Bearer geheim', address: '192.0.2.1' }, 200],
    [{ metricsToken: 'geheim', trustedHops: 1 }, { authorization: 'Bearer geheim' }, 200],
  ];
  for (const [config, from, status] of rows) {
    it(`${JSON.stringify(config)} ${JSON.stringify(from)}: ${status}`, async () => {
      assert.equal((await read(config, from)).status, status);
    });
  }

  it('with counts by route, and nothing that a client sent', async () => {
    const text = await (await read({})).text();
    assert.match(text, /http_requests_total\{method="GET",route="\/api\/v2\/sichtbeobachtungen",status="200"\} 1/);
    assert.match(text, /http_requests_total\{method="GET",route="\/api\/v2\/sichtbeobachtungen\/:id",status="404"\} 1/);
    assert.match(text, /^process_resident_memory_bytes /m);
    assert.ok(!text.includes('geheim'));
  });
});

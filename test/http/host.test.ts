import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Deps } from '../../src/http/context.ts';
import { startTestService, type TestService, testConfig } from '../support/service.ts';

const settings: Deps['config'] = { ...testConfig };

let service: TestService;
before(async () => {
  service = await startTestService({ config: settings });
});

/** The species list of the service with these settings. */
async function ask(config: Partial<Deps['config']>, host: string, headers: Record<string, string> = {}) {
  Object.assign(settings, testConfig, config);
  const url = `http://${host}/api/v2/arten?limit=1&restrict=art_id&gid=1`;
  const response = await service.app.request(url, { headers: { host, ...headers } });
  const text = await response.text();
  const json = text.startsWith('{') ? JSON.parse(text) : undefined;
  return { status: response.status, json, tenant: json?.result?.[0]?.art_id[0], origin: json?.next && new URL(json.next).origin };
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
      const { status, tenant, origin, json } = await ask(config, host, headers);
      assert.equal(status === 200 ? `${tenant} ${origin}` : String(status), expected, JSON.stringify(json));
      if (status === 421) assert.equal(json.error.code, 'unbekannter_host');
    });
  }

  it('a hostile Host never reaches next, nor anything but the address of the answer', async () => {
    for (const forwarded of [
      ...['n.test"><script>', 'n.test/x', 'a@n.test', 'n.test#', 'n.test?x', 'n.test\\', ' ', 'n.test:80:80', 'n.test:'],
      ...['n.test:99999', '[::1'],
    ]) {
      const { status, origin, json } = await ask({ trustedHops: 1 }, 'w.test', { 'X-Forwarded-Host': forwarded });
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
    for (const host of hosts) assert.equal((await ask({}, host)).status, 400, host.slice(0, 20));
    for (const host of hosts) assert.equal((await ask({ trustedHops: 1 }, 'n.test', { 'X-Forwarded-Host': host })).status, 400);
    const page = '/ogc/collections/sichtbeobachtung/items?f=html';
    for (const host of hosts) assert.equal((await service.request(page, { below: '', host })).status, 400, host.slice(0, 20));
    for (const host of ['[::1]:8080', '127.0.0.1:80', 'xn--bcher-kva.example', 'a_b.test', `${'a'.repeat(63)}.test`])
      assert.equal((await service.request(page, { below: '', host })).status, 200, host);
  });

  it('a domain that moves to another tenant is noticed within seconds', async () => {
    const { sql } = service.database;
    assert.equal((await ask({}, 'neu.example')).status, 421);
    await sql`update portal.mandant set domains = domains || 'neu.example'::text where kuerzel = 'W'`;
    const deadline = Date.now() + 10_000;
    while ((await ask({}, 'neu.example')).tenant !== 'W') {
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

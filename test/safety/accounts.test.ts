// Guessing accounts: how long a refusal takes, limits that several instances share, and keys that end on all of them.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { createApp } from '../../src/app.ts';
import { sha1OfPlain } from '../../src/guard/password.ts';
import type { Account } from '../support/catalogue.ts';
import { headerOf, startTestService, type TestService, testConfig } from '../support/service.ts';

// Behind a proxy, because only then a test can come from several addresses.
const config = { ...testConfig, trustedHops: 1 };

let service: TestService;
/** Two processes on one database, as a load balancer uses them in turn. */
let instances: TestService['app'][];
before(async () => {
  service = await startTestService({ config });
  instances = [service.app, createApp({ ...service.deps, config })];
});

async function ask(instance: number, path: string, headers: Record<string, string> = {}, init: RequestInit = {}) {
  const app = instances[instance] as TestService['app'];
  const answer = await app.request(`http://n.test/api/v2${path}`, { ...init, headers: { host: 'n.test', ...headers } });
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
}
const logIn = (instance: number, loginname: string, password: string, address = '192.0.2.1') =>
  ask(instance, `/login?${new URLSearchParams({ loginname, password: sha1OfPlain(password) })}`, { 'x-forwarded-for': address });

describe('a refused login', () => {
  it('S2.1 takes as long for an unknown name as for a wrong password and a blocked account', async () => {
    const cases = {
      'unknown name': ['niemand', 'falsch'],
      'wrong password': ['nachbarin', 'falsch'],
      'blocked account': ['gesperrt', 'gesperrt'],
    } as const;
    const times = new Map(Object.keys(cases).map((name) => [name, [] as number[]]));
    // One after the other in turn, so that whatever else the machine does meets all three alike.
    for (let round = 0; round < 15; round++) {
      for (const [name, [loginname, password]] of Object.entries(cases)) {
        const start = performance.now();
        assert.equal((await logIn(round % 2, loginname, password, '192.0.2.2')).text, '');
        times.get(name)?.push(performance.now() - start);
      }
    }
    const medians = [...times].map(([name, list]) => [name, list.sort((a, b) => a - b)[7] ?? 0] as const);
    const slowest = Math.max(...medians.map(([, ms]) => ms));
    // The hash is nearly all of it: without one an answer takes a tenth.
    for (const [name, ms] of medians) assert.ok(ms > slowest / 2, `${name} tells by its time: ${medians.join(' ')} ms`);
  });
});

describe('limits', () => {
  const expectRefused = (answer: Awaited<ReturnType<typeof ask>>, seconds: number, what: string) => {
    assert.equal(answer.status, 429, `${what}: ${answer.text}`);
    const wait = Number(answer.headers.get('retry-after'));
    assert.ok(wait > 0 && wait <= seconds, `${what}: Retry-After ${wait}`);
  };
  /** As if this had been asked for so many times more. */
  const count = (zweck: string, schluessel: string, seconds: number, amount: number) =>
    service.database.sql`
      select api.count_versuch(zweck => ${zweck}::text, schluessel => ${schluessel}::text, limit_ => 0,
        window_seconds => ${seconds}::integer, amount => ${amount}::integer)`;

  it('S2.5 50 failed logins of one account from one address are counted by all instances together', async () => {
    const token = await service.tokenOf('nachbarin');
    await service.database.sql`delete from portal.versuch`;
    for (let n = 0; n < 50; n += 10) {
      const batch = Array.from({ length: 10 }, (_, i) => logIn(i % 2, 'nachbarin', 'falsch', '192.0.2.99'));
      for (const answer of await Promise.all(batch)) assert.equal(answer.status, 200);
    }
    for (const instance of [0, 1]) {
      expectRefused(await logIn(instance, 'nachbarin', 'nachbarin', '192.0.2.99'), 900, `instance ${instance}`);
      const headers = { 'X-Auth-User': 'nachbarin', 'X-Auth-Token': token };
      assert.equal((await ask(instance, '/nutzer', headers)).status, 200, 'whoever is logged in is not locked out');
    }
  });

  // Another one each time: an answer that is kept costs nothing, and is not counted.
  let searches = 0;
  const search = (address: string) => ask(0, `/arten?name_regexp_ci=a%7Cx${++searches}`, { 'x-forwarded-for': address });

  const limits: [
    what: string,
    zweck: string,
    limit: number,
    seconds: number,
    ask: (address: string) => ReturnType<typeof ask>,
  ][] = [
    ['logins', 'login adresse', 500, 900, (address) => logIn(0, `niemand ${Math.random()}`, 'x', address)],
    [
      'registrations',
      'registrierung adresse',
      100,
      3600,
      (address) => {
        const name = `n${Math.random()}`;
        const form = { loginname: name, email: `${name}@example.org`, vorname: 'N', nachname: 'N' };
        return ask(0, `/register?${new URLSearchParams(form)}`, { 'x-forwarded-for': address });
      },
    ],
    ['regular expressions', 'regexp adresse', 300, 60, search],
    [
      'links',
      'link adresse',
      100,
      900,
      (address) =>
        ask(
          0,
          '/passwort',
          { 'x-forwarded-for': address, 'content-type': 'application/x-www-form-urlencoded' },
          { method: 'POST', body: 'loginname=niemand' },
        ),
    ],
  ];
  for (const [what, zweck, limit, seconds, send] of limits) {
    it(`S2.5 ${limit} ${what} of one address are allowed, one more is 429; other addresses go on`, async () => {
      const address = '198.51.100.7';
      assert.equal((await send(address)).status, 200);
      // On a busy machine one may have counted for ten.
      await service.database.sql`delete from portal.versuch`;
      await count(zweck, address, seconds, limit - 1);
      assert.equal((await send(address)).status, 200, `number ${limit}`);
      expectRefused(await send(address), seconds, what);
      assert.equal((await send('198.51.100.8')).status, 200, 'another address');
      await service.database.sql`update portal.versuch set seit = seit - ${`${seconds + 1} seconds`}::text::interval`;
      assert.equal((await send(address)).status, 200, 'when the time is over');
    });
  }

  it('S2.5 an address of IPv6 counts as its network', async () => {
    assert.equal((await search('2001:db8:1:2::1')).status, 200);
    await count('regexp adresse', '2001:db8:1:2', 60, 299);
    expectRefused(await search('2001:db8:1:2:ffff::7'), 60, 'the same /64');
    assert.equal((await search('2001:db8:1:3::1')).status, 200, 'another /64');
  });
});

describe('an access key', () => {
  const enter = async (account: Account) => JSON.parse((await logIn(0, account, account, '203.0.113.9')).text).token as string;
  const statusOf = async (account: Account, token: string) => {
    const headers = { 'X-Auth-User': headerOf(account), 'X-Auth-Token': token };
    return Promise.all([0, 1].map(async (instance) => (await ask(instance, '/arten', headers)).status));
  };

  it('S2.3 dies on every instance at once: with the password, a block, a logout, and with time', async () => {
    const { sql } = service.database;
    const ends: [what: string, (token: string) => Promise<unknown>][] = [
      ['a logout', (token) => ask(0, '/logout', { 'X-Auth-User': 'melder', 'X-Auth-Token': token }, { method: 'POST' })],
      ['time', () => sql`update portal.token set genutzt = now() - interval '30 days 1 minute'`],
      [
        'a new password',
        async (token) => {
          const [row] = await sql`select id from portal.nutzer where loginname = 'melder'`;
          const body = new URLSearchParams({ passwort: sha1OfPlain('melder') });
          const headers = { 'X-Auth-User': 'melder', 'X-Auth-Token': token };
          assert.equal((await ask(0, `/nutzer/${row?.id}`, headers, { method: 'PUT', body })).status, 200);
        },
      ],
      ['a block', () => sql`update portal.nutzer set status = 0 where loginname = 'melder'`],
    ];
    for (const [what, end] of ends) {
      const token = await enter('melder');
      assert.deepEqual(await statusOf('melder', token), [200, 200], `before ${what}`);
      await end(token);
      assert.deepEqual(await statusOf('melder', token), [401, 401], what);
    }
    await sql`update portal.nutzer set status = 1 where loginname = 'melder'`;
  });
});

// What may be done often, by whomever and wherever, and what is told by the way.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createApp } from '../../src/app.ts';
import { admitCalls } from '../../src/db/admitted.ts';
import { countVersuch } from '../../src/db/versuch.ts';
import { Limit } from '../../src/guard/limit.ts';
import { sha1OfPlain } from '../../src/guard/password.ts';
import { limitPerDay } from '../../src/guard/rate.ts';
import { runInScope, runOutsideScope } from '../../src/guard/request.ts';
import { limits, runRegexp } from '../../src/http/too-often.ts';
import { readBuild } from '../../src/observe/build.ts';
import { onPostgres } from '../support/database.ts';
import { makeJpeg } from '../support/photo.ts';
import { type Answer, startTestService, type TestService, testConfig } from '../support/service.ts';

let service: TestService;
/** Two on one database, as a load balancer uses them in turn. */
let instances: TestService[];
before(async () => {
  service = await startTestService();
  instances = [service, await startTestService({}, service.database)];
});
const logIn = (instance: number, loginname: string, password: string, from: string) =>
  (instances[instance] ?? service).request(`/login?${new URLSearchParams({ loginname, password: sha1OfPlain(password) })}`, {
    from,
  });

describe('a slow regular expression', () => {
  it('counts for ten, also when somebody else has all connections by then', async () => {
    const { database, deps } = service;
    const network = '198.51.100.77';
    let busy: Promise<void> | undefined;
    const sql = admitCalls(database.sql, new Limit({ slots: 1, queue: 10, waitMs: 1500 }), 10_000);
    await runInScope(network, () =>
      runRegexp({ ...deps, sql: sql as typeof database.sql }, async () => {
        await sleep(100);
        // Somebody else has the only place.
        busy = runOutsideScope(async () => void (await sql`select pg_sleep(0.3)`));
      }),
    );
    await busy;
    const { zweck, limit, windowSeconds } = limits.regexp;
    const left = [];
    while (
      left.length <= limit &&
      (await countVersuch(database.sql, { zweck, limit, windowSeconds, schluessel: network, amount: 1 })) === 0
    )
      left.push(1);
    assert.equal(left.length, limit - 10);
  });
});

describe('an ETag', () => {
  const tagOf = async (build: string, path = '/arten', host = 'n.test') => {
    const app = createApp({ ...service.deps, build });
    return (await app.request(`http://${host}/api/v2${path}`, { headers: { host } })).headers.get('etag') ?? '';
  };

  it('is opaque: neither a count of writes nor a hash that others could make shows in it (D6.7)', async () => {
    const { sql } = service.database;
    const [row] = await sql<{ stand: string }[]>`select api.get_stand_protokoll() as stand`;
    const first = await tagOf('1', '/protokoll');
    assert.match(first, /^"[\w-]{22}"$/);
    for (const part of row?.stand.split('-') ?? []) if (part.length > 3) assert.ok(!first.includes(part), part);
    await service.makeSichtbeobachtung();
    const second = await tagOf('1', '/protokoll');
    // Not one more than before, but another one.
    const same = [...first].filter((letter, at) => letter === second[at]).length;
    assert.ok(same < 12, `${first} ${second}`);
  });

  it('differs with the build, the tenant and the address, and is the same otherwise', async () => {
    const tag = await tagOf('1');
    assert.equal(await tagOf('1'), tag);
    for (const other of [await tagOf('2'), await tagOf('1', '/arten?limit=1'), await tagOf('1', '/arten', 's.test')])
      assert.notEqual(other, tag);
  });

  it('the build is what the service is made of', () => {
    assert.match(readBuild(), /^[\w-]{16}$/);
    assert.equal(readBuild(), readBuild());
  });
});

it('photos and sound files of an account are counted for a day; what has none is stored all the same', async () => {
  const { sql } = service.database;
  const [account] = await sql<{ id: number }[]>`select id from portal.nutzer where loginname = 'vogelexperte'`;
  const { zweck, limit, windowSeconds } = limits.files;
  await sql`
    select api.count_versuch(
      zweck => ${zweck}::text, schluessel => ${String(account?.id)}::text, limit_ => ${limit}::integer,
      window_seconds => ${windowSeconds}::integer, amount => ${limit - 1}::integer)`;
  const foto = new Blob([new Uint8Array(await makeJpeg({ width: 32, height: 32 }))]);
  const report = async (lon: number, files: Record<string, Blob>) => {
    const form = { art: '2', lat: '5530000', lon: String(lon), ...files };
    return service.request('/sichtbeobachtungen', { as: 'vogelexperte', form });
  };
  assert.equal((await report(440001, { foto })).status, 201);
  const refused = await report(440002, { foto, biotopfoto: foto });
  assert.equal(refused.status, 429);
  assert.ok(Number(refused.headers.get('retry-after')) > 3600);
  assert.equal((await report(440002, {})).status, 201);
});

it('S2.5 reports and changes of an account are counted for a day; reading goes on, and others are not refused', async () => {
  const few = await startTestService({ writes: limitPerDay(3) }, service.database);
  const report = (as: 'melder' | 'nachbarin', lon: number) =>
    few.request('/sichtbeobachtungen', { as, form: { art: '2', lat: '5530000', lon: String(lon) } });
  const first = await report('melder', 450001);
  assert.equal(first.status, 201);
  assert.equal((await report('melder', 450002)).status, 201);
  const path = `/sichtbeobachtungen/${first.json.result[0].id}`;
  assert.equal((await few.request(path, { method: 'PUT', as: 'melder', form: { anzahl: '3' } })).status, 200);
  for (const refused of [
    await report('melder', 450003),
    await few.request(path, { method: 'PUT', as: 'melder', form: { anzahl: '4' } }),
  ]) {
    assert.equal(refused.status, 429);
    assert.ok(Number(refused.headers.get('retry-after')) > 86_000);
  }
  assert.equal((await few.request(path, { as: 'melder' })).json.result[0].anzahl, '3');
  assert.equal((await report('nachbarin', 450003)).status, 201);
});

it('a change of one’s own address is counted: by the answers nobody learns which addresses are taken', async () => {
  const [row] = await service.database.sql`select id from portal.nutzer where loginname = 'nachbarin'`;
  const statuses: number[] = [];
  for (let n = 0; n <= limits.email.limit; n++) {
    // Alternately one that is taken: also what is refused counts.
    const email = n % 2 === 0 ? '0@example.org' : `nachbarin-${n}@example.org`;
    statuses.push((await service.request(`/nutzer/${row?.id}`, { method: 'PUT', as: 'nachbarin', form: { email } })).status);
    service.forgetTokens();
  }
  assert.equal(statuses.at(-1), 429, statuses.join());
  assert.deepEqual(new Set(statuses.slice(0, -1)), new Set([409, 200]));
  // An administrator sees all addresses anyway.
  const byAdmin = await service.request(`/nutzer/${row?.id}`, { method: 'PUT', as: 'admin', form: { email: 'n@example.org' } });
  assert.equal(byAdmin.status, 200);
});

it('a password of somebody else is refused before it is hashed, whatever it is', async () => {
  const [row] = await service.database.sql`select id from portal.nutzer where loginname = 'admin'`;
  for (const form of [{ passwort: 'a'.repeat(40) }, { passwort: 'x' }, { nachname: 'x' }]) {
    const answer = await service.request(`/nutzer/${row?.id}`, { method: 'PUT', as: 'melder', form });
    assert.equal(answer.status, 403, JSON.stringify(form));
  }
});

it('a regular expression that computes for long counts as ten', { skip: !onPostgres && 'no clock there' }, async () => {
  const ask = (expression: string, from: string) =>
    service.request(`/arten?name_regexp_ci=${encodeURIComponent(expression)}`, { from });
  const slow = '(x?y?z?a?b?c?d?e?){1,240}q';
  let asked = 0;
  while ((await ask(slow, '192.0.2.3')).status !== 429) assert.ok(++asked < 40, 'three hundred of the others');
  assert.ok(asked >= 20, String(asked));
  assert.equal((await ask('^amsel', '192.0.2.3')).status, 429);
  assert.equal((await ask('^amsel', '192.0.2.4')).status, 200);
});

it('of regular expressions one computes at a time where they share the connection of all others', {
  skip: onPostgres && 'they have connections of their own',
}, async () => {
  let running = 0;
  let most = 0;
  const one = () =>
    runRegexp(service.deps, async () => {
      most = Math.max(most, ++running);
      await sleep(5);
      running--;
    });
  await Promise.all(Array.from({ length: 10 }, (_, n) => runInScope(`192.0.2.${n % 2}`, one)));
  assert.equal(most, 1);
});

it('/metrics refuses whatever came through a proxy that nobody named: its clients all come from this machine', async () => {
  const ask = (headers: Record<string, string>, config = testConfig) =>
    createApp({ ...service.deps, config }).request('http://n.test/metrics', { headers }, {
      incoming: { socket: { remoteAddress: '127.0.0.1' }, rawHeaders: [], url: '/metrics' },
    } as never);
  assert.equal((await ask({})).status, 200);
  for (const name of ['X-Forwarded-For', 'X-Forwarded-Host', 'X-Forwarded-Proto', 'Forwarded', 'Via'])
    assert.equal((await ask({ [name]: '127.0.0.1' })).status, 403, name);
  const config = { ...testConfig, metricsToken: 'geheim' };
  assert.equal((await ask({ Authorization: 'Bearer geheim', 'X-Forwarded-For': '192.0.2.1' }, config)).status, 200);
});

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
  const expectRefused = (answer: Answer, seconds: number, what: string) => {
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
      assert.equal(
        (await instances[instance]?.request('/nutzer', { headers }))?.status,
        200,
        'whoever is logged in is not locked out',
      );
    }
  });

  // Another one each time: an answer that is kept costs nothing, and is not counted.
  let searches = 0;
  const search = (from: string) => service.request(`/arten?name_regexp_ci=a%7Cx${++searches}`, { from });

  const table: [what: string, zweck: string, limit: number, seconds: number, ask: (from: string) => Promise<Answer>][] = [
    ['logins', 'login adresse', 500, 900, (from) => logIn(0, `niemand ${Math.random()}`, 'x', from)],
    [
      'registrations',
      'registrierung adresse',
      100,
      3600,
      (from) => {
        const name = `n${Math.random()}`;
        const form = { loginname: name, email: `${name}@example.org`, vorname: 'N', nachname: 'N' };
        return service.request('/register', { form, from });
      },
    ],
    ['regular expressions', 'regexp adresse', 300, 60, search],
    ['links', 'link adresse', 100, 900, (from) => service.request('/passwort', { form: { loginname: 'niemand' }, from })],
  ];
  for (const [what, zweck, limit, seconds, send] of table) {
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

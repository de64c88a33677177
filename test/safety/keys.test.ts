// A key to an account ends with what it was given for: nobody who lost the password, the address or the account keeps one.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createApp } from '../../src/app.ts';
import { createToken, getLogin, getNutzerLink, setNutzerLink, setNutzerStatus, setPasswordHash } from '../../src/db/nutzer.ts';
import { OverloadError } from '../../src/guard/limit.ts';
import { hashPassword, sha1OfPlain } from '../../src/guard/password.ts';
import { currentScope } from '../../src/guard/request.ts';
import { loginLimits } from '../../src/http/too-often.ts';
import { onPostgres } from '../support/database.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
let id: number;
before(async () => {
  service = await startTestService();
  const [row] = await service.database.sql`select id from portal.nutzer where loginname = 'melder'`;
  id = row?.id;
});

const newHash = () => createHash('sha256').update(randomBytes(32)).digest();
const login = async (password: string, loginname = 'melder') =>
  (await service.request(`/login?loginname=${loginname}&password=${sha1OfPlain(password)}`)).json?.token as string | undefined;
const countKeys = async () => {
  const [row] = await service.database.sql`
    select (select count(*)::integer from portal.token where nutzer_id = ${id}) as tokens,
      (select count(*)::integer from portal.nutzer_link where nutzer_id = ${id}) as links`;
  return { tokens: row?.tokens as number, links: row?.links as number };
};

describe('all access keys and links of an account end', () => {
  const changes: [title: string, form: Record<string, string>, as: 'melder' | 'admin'][] = [
    ['with a new address', { email: 'neu@example.org' }, 'melder'],
    ['with no address any more', { email: '' }, 'admin'],
    ['with the old address again', { email: 'alt@example.org' }, 'admin'],
    ['with a new password', { passwort: sha1OfPlain('anderes') }, 'melder'],
    ['with the old password again', { passwort: sha1OfPlain('melder') }, 'admin'],
    ['when it is blocked', { status: '0' }, 'admin'],
    ['and when it is let in again', { status: '1' }, 'admin'],
  ];
  for (const [title, form, as] of changes) {
    it(`${title} (D6.11)`, async () => {
      const { sql } = service.database;
      service.forgetTokens();
      const account = await getLogin(sql, 'melder');
      // Blocked accounts get neither; what is left over of one would end too.
      await sql`insert into portal.token (nutzer_id, hash) values (${id}, ${newHash()})`;
      await sql`
        insert into portal.nutzer_link (nutzer_id, hash) values (${id}, ${newHash()})
        on conflict (nutzer_id) do update set hash = excluded.hash`;
      assert.ok(account);
      const { status, text } = await service.request(`/nutzer/${id}`, { method: 'PUT', as, form });
      assert.equal(status, 200, text);
      assert.deepEqual(await countKeys(), { tokens: 0, links: 0 });
    });
  }

  it('but not with a change of something else', async () => {
    service.forgetTokens();
    await service.tokenOf('melder');
    const before = await countKeys();
    assert.equal((await service.request(`/nutzer/${id}`, { method: 'PUT', as: 'admin', form: { nachname: 'Neu' } })).status, 200);
    assert.deepEqual(await countKeys(), before);
  });
});

it('S2.3 an access key dies on every instance at once: with the password, a block, a logout, and with time', async () => {
  const { sql } = service.database;
  const instances = [service, await startTestService({}, service.database)];
  const ends: [what: string, end: (headers: Record<string, string>) => Promise<unknown>][] = [
    ['a logout', (headers) => service.request('/logout', { method: 'POST', headers })],
    ['time', () => sql`update portal.token set genutzt = now() - interval '30 days 1 minute'`],
    [
      'a new password',
      async (headers) => {
        const form = { passwort: sha1OfPlain('melder') };
        assert.equal((await service.request(`/nutzer/${id}`, { method: 'PUT', headers, form })).status, 200);
      },
    ],
    ['a block', () => sql`update portal.nutzer set status = 0 where loginname = 'melder'`],
  ];
  for (const [what, end] of ends) {
    const headers = { 'X-Auth-User': 'melder', 'X-Auth-Token': (await login('melder')) ?? '' };
    const statuses = () => Promise.all(instances.map(async ({ request }) => (await request('/arten', { headers })).status));
    assert.deepEqual(await statuses(), [200, 200], `before ${what}`);
    await end(headers);
    assert.deepEqual(await statuses(), [401, 401], what);
  }
  await sql`update portal.nutzer set status = 1 where loginname = 'melder'`;
});

it('a link that was mailed to an address sets no password any more once the owner has another address and password', async () => {
  const { sql } = service.database;
  service.forgetTokens();
  const link = newHash();
  const [{ email } = { email: '' }] = await sql`select email from portal.nutzer where id = ${id}`;
  assert.equal(await setNutzerLink(sql, id, link, email), true);
  assert.equal(await getNutzerLink(sql, link), 'melder');
  const form = { email: 'drittes@example.org', passwort: sha1OfPlain('sicher') };
  assert.equal((await service.request(`/nutzer/${id}`, { method: 'PUT', as: 'melder', form })).status, 200);
  assert.equal(await getNutzerLink(sql, link), null);
  // Nor does one that was on its way: the mail would go to the address as it was.
  assert.equal(await setNutzerLink(sql, id, newHash(), email), false);
  await service.request(`/nutzer/${id}`, { method: 'PUT', as: 'admin', form: { passwort: sha1OfPlain('melder') } });
});

describe('a password that was right is worth a key only while it is the account’s', () => {
  it('none is made for a hash that was replaced', async () => {
    const { sql } = service.database;
    const account = await getLogin(sql, 'melder');
    assert.ok(account?.passwordHash);
    assert.equal(await createToken(sql, id, newHash(), account.passwordHash, 'netz'), true);
    await service.request(`/nutzer/${id}`, { method: 'PUT', as: 'admin', form: { passwort: sha1OfPlain('neues') } });
    assert.equal(await createToken(sql, id, newHash(), account.passwordHash, 'netz'), false);
    assert.equal((await countKeys()).tokens, 0);
  });

  it('of forty logins with the old password during its change none lives on', {
    skip: !onPostgres && 'needs several connections',
  }, async () => {
    for (let round = 0; round < 4; round++) {
      const [old, next] = round % 2 === 0 ? ['neues', 'melder'] : ['melder', 'neues'];
      const logins = Array.from({ length: 20 }, () => login(old));
      // From another network: it doesn't wait behind all of these.
      const form = { passwort: sha1OfPlain(next) };
      const change = service.request(`/nutzer/${id}`, { method: 'PUT', as: 'admin', form, from: '192.0.2.50' });
      const more = Array.from({ length: 20 }, () => login(old));
      await Promise.all([...logins, ...more]);
      assert.equal((await change).status, 200);
      assert.equal((await countKeys()).tokens, 0, `round ${round}`);
    }
  });
});

describe('wrong passwords for an account', () => {
  const attempt = (from: string, password: string, loginname = 'expertin', { request } = service) =>
    request(`/login?loginname=${loginname}&password=${sha1OfPlain(password)}`, { from });

  it('lock strangers out, not the network from which it logged in lately, and a new password ends the count', async () => {
    assert.equal((await attempt('192.0.2.1', 'expertin')).status, 200);
    for (let n = 0; n <= loginLimits.account; n++) await attempt('198.51.100.7', 'falsch');
    assert.equal((await attempt('198.51.100.7', 'expertin')).status, 429);
    // One network alone locks out nobody but itself, from wherever the owner comes.
    assert.equal((await attempt('203.0.113.4', 'falsch')).status, 200);
    // Many together do: otherwise each of them would be another way to guess.
    await service.database.sql`
      update portal.versuch set anzahl = ${loginLimits.strangers} where zweck = 'login konto'`;
    assert.equal((await attempt('203.0.113.5', 'expertin')).status, 429);
    const known = await attempt('192.0.2.1', 'expertin');
    assert.equal(known.status, 200);
    assert.match(known.text, /"token"/);

    const [row] = await service.database.sql`select id from portal.nutzer where loginname = 'expertin'`;
    service.forgetTokens();
    await service.request(`/nutzer/${row?.id}`, { method: 'PUT', as: 'admin', form: { passwort: sha1OfPlain('expertin2') } });
    const fresh = await attempt('203.0.113.5', 'expertin2');
    assert.match(fresh.text, /"token"/);
  });

  it('from a network that is known count by themselves', async () => {
    assert.match((await attempt('192.0.2.9', 'vogelexperte', 'vogelexperte')).text, /"token"/);
    for (let n = 0; n <= loginLimits.account; n++) await attempt('192.0.2.9', 'falsch', 'vogelexperte');
    assert.equal((await attempt('192.0.2.9', 'vogelexperte', 'vogelexperte')).status, 429);
    assert.equal((await attempt('192.0.2.77', 'vogelexperte', 'vogelexperte')).status, 200);
  });

  it('count those that were looked at, not those that an overloaded service refused (S2.5)', async () => {
    const answers = await Promise.all(Array.from({ length: 150 }, () => attempt('192.0.2.30', 'nachbarin', 'nachbarin')));
    const count = (status: number) => answers.filter((answer) => answer.status === status).length;
    assert.ok(count(200) > 0 && count(503) > 0, `${count(200)} let in, ${count(503)} refused`);
    const [row] = await service.database.sql`
      select sum(anzahl)::integer as wrong from portal.versuch
      where schluessel = private.to_versuch_key('login adresse', '192.0.2.30')
        or zweck = 'login netz ' || (select id from portal.nutzer where loginname = 'nachbarin')`;
    assert.equal(row?.wrong, 0);
  });

  it('do not count a right one that is found so late that its request would be refused its key (S2.5)', async () => {
    const { sql: quick } = service.deps;
    const strict = Object.assign(
      async (...args: Parameters<typeof quick>) => {
        if (String(args[0]).includes('create_token') && currentScope()) throw new OverloadError('waited_too_long');
        return quick(...args);
      },
      { begin: quick.begin },
    ) as unknown as typeof quick;
    const other = await startTestService({ sql: strict }, service.database);
    assert.match((await attempt('192.0.2.31', 'nachbarin', 'nachbarin', other)).text, /"token"/);
  });

  it('no address of a network is stored', async () => {
    const rows = await service.database.sql`select octet_length(netz) as bytes from portal.nutzer_netz`;
    assert.ok(rows.length > 0 && rows.every(({ bytes }) => bytes === 32));
  });
});

it('an account has at most ten thousand access keys, the latest', { skip: !onPostgres && 'takes minutes' }, async () => {
  const { sql } = service.database;
  const [row] = await sql`select id, password_hash from portal.nutzer where loginname = 'nachbarin'`;
  await sql`
    insert into portal.token (nutzer_id, hash, genutzt)
    select ${row?.id}::bigint, sha256(convert_to(n::text, 'UTF8')), now() - n * interval '1 second' from generate_series(1, 10500) n`;
  const latest = newHash();
  assert.equal(await createToken(sql, row?.id, latest, row?.password_hash, 'netz'), true);
  const [left] = await sql`
    select count(*)::integer as count, bool_or(hash = ${latest}) as latest from portal.token where nutzer_id = ${row?.id}`;
  assert.deepEqual({ ...left }, { count: 10000, latest: true });
});

describe('a request that was under way when its key ended', () => {
  /** A body whose second half waits until `between` is done. */
  const send = async (
    path: string,
    method: string,
    as: 'melder' | 'nachbarin',
    body: string,
    between: () => Promise<unknown>,
  ) => {
    const token = await service.tokenOf(as);
    const half = Math.floor(body.length / 2);
    const stream = new ReadableStream({
      async start(controller) {
        controller.enqueue(Buffer.from(body.slice(0, half)));
        await sleep(400);
        await between();
        controller.enqueue(Buffer.from(body.slice(half)));
        controller.close();
      },
    });
    const headers = {
      host: 'n.test',
      'X-Auth-User': as,
      'X-Auth-Token': token,
      'content-type': 'application/x-www-form-urlencoded',
    };
    return service.app.request(`http://n.test/api/v2${path}`, { method, headers, body: stream, duplex: 'half' } as RequestInit);
  };

  it('does not give the account back to whoever lost it', async () => {
    const { sql } = service.database;
    const [row] = await sql`select id from portal.nutzer where loginname = 'nachbarin'`;
    for (const body of [`passwort=${sha1OfPlain('gestohlen')}`, 'email=dieb%40example.org']) {
      service.forgetTokens();
      const answer = await send(`/nutzer/${row?.id}`, 'PUT', 'nachbarin', body, async () => {
        await setPasswordHash(sql, 'nachbarin', await hashPassword(sha1OfPlain('nachbarin')));
      });
      assert.equal(answer.status, 401, await answer.text());
      assert.ok(await login('nachbarin', 'nachbarin'), 'the owner’s password');
    }
  });

  it('stores nothing for an account that was blocked', async () => {
    const { sql } = service.database;
    await setPasswordHash(sql, 'melder', await hashPassword(sha1OfPlain('melder')));
    service.forgetTokens();
    const body = 'art=2&lat=5530000&lon=433333&datum=1.9.2026&bereich=oeffentlich';
    const answer = await send('/sichtbeobachtungen', 'POST', 'melder', body, () => setNutzerStatus(sql, 'melder', 0));
    assert.equal(answer.status, 401);
    const rows = await sql`select from portal.sichtbeobachtung where st_x(point) = 433333`;
    assert.equal(rows.length, 0);
    await setNutzerStatus(sql, 'melder', 1);
  });
});

it('a key that ends while a write waits its turn writes nothing', async () => {
  const { deps, database } = await startTestService({}, service.database);
  const { sql } = database;
  let before: () => Promise<unknown> = async () => {};
  // Just before the statement itself, when everything else was asked.
  const late = Object.assign(
    async (...args: Parameters<typeof sql>) => {
      if (/api\.(create|update|delete)_sichtbeobachtung/.test(String(args[0]))) await before();
      return sql(...args);
    },
    { begin: sql.begin },
  ) as unknown as typeof sql;
  const app = createApp({ ...deps, sql: late, reads: late });
  const [row] = await sql<{ id: number }[]>`
    insert into portal.sichtbeobachtung (nutzer_id, art, point, datum, bereich)
    select u.id, 2, st_setsrid(st_makepoint(420000, 5530000), 25832), date '2026-09-01', 'privat'
    from portal.nutzer u where u.loginname = 'melder'
    returning id`;
  const read = () => sql`select * from portal.sichtbeobachtung order by id`;
  const stored = await read();
  const body = new URLSearchParams({ art: '2', lat: '5530000', lon: '421000', datum: '1.9.2026', anzahl: '7' });
  for (const [method, path, form] of [
    ['DELETE', `/sichtbeobachtungen/${row?.id}`],
    ['PUT', `/sichtbeobachtungen/${row?.id}`, body],
    ['POST', '/sichtbeobachtungen', body],
  ] as const) {
    before = async () => {};
    const login = await app.request(`http://n.test/api/v2/login?loginname=melder&password=${sha1OfPlain('melder')}`);
    const { token } = (await login.json()) as { token: string };
    before = () => sql`delete from portal.token`;
    const headers = { 'X-Auth-User': 'melder', 'X-Auth-Token': token };
    const answer = await app.request(`http://n.test/api/v2${path}`, { method, headers, ...(form && { body: form }) });
    assert.equal(answer.status, 401, `${method} ${await answer.text()}`);
    assert.deepEqual(await read(), stored);
  }
});

it('an administrator who is none any more when it is their turn changes nothing as one', {
  skip: !onPostgres && 'needs several connections',
}, async () => {
  const { sql } = service.database;
  service.forgetTokens();
  await service.tokenOf('admin');
  const [admin] = await sql`select id from portal.nutzer where loginname = 'admin'`;
  let put: ReturnType<typeof service.request> | null = null;
  await sql.begin(async (tx) => {
    await tx`lock table portal.sperre_konto in exclusive mode`;
    put = service.request(`/nutzer/${admin?.id}`, { method: 'PUT', as: 'admin', form: { rollen: 'administrator' } });
    await sleep(400);
    await tx`delete from portal.nutzer_rolle where nutzer_id = ${admin?.id}`;
  });
  const answer = await (put as unknown as ReturnType<typeof service.request>);
  assert.equal(answer.status, 403, answer.text);
  assert.equal((await sql`select from portal.nutzer_rolle where nutzer_id = ${admin?.id}`).length, 0);
  await sql`insert into portal.nutzer_rolle (nutzer_id, rolle) values (${admin?.id}, 'administrator')`;
});

it('asking for mails to somebody uses up nothing of theirs', async () => {
  const ask = (email: string, from: string) => service.request('/passwort', { form: { email }, from });
  const [row] = await service.database.sql`select id, email from portal.nutzer where loginname = 'käfer anna'`;
  for (let n = 0; n < 10; n++) await ask(row?.email, '198.51.100.8');
  // As a login name it is nobody's.
  for (let n = 0; n < 10; n++) await service.request('/passwort', { form: { loginname: row?.email } });
  service.mails.length = 0;
  await ask(row?.email, '192.0.2.60');
  assert.deepEqual(
    service.mails.map(({ nutzerId }) => nutzerId),
    [row?.id],
  );
});

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { hashPassword, sha1OfPlain } from '../../src/guard/password.ts';
import type { Account } from '../support/catalogue.ts';
import { type Answer, headerOf, startTestService } from '../support/service.ts';

const service = await startTestService();
const { sql } = service.database;

const credentials = (loginname: string, password = sha1OfPlain(loginname)) => ({ loginname, password });
const logIn = (fields: Record<string, string>, query = '') =>
  service.request(`/login?${new URLSearchParams(fields)}${query && `&${query}`}`);

/** What only an accepted login can read. */
const askWith = (headers: Record<string, string>, path = '/sichtbeobachtungen?bereich=privat') =>
  service.request(path, { headers });

async function logInAs(account: Account): Promise<{ token: string; id: number }> {
  const answer = await logIn(credentials(account));
  assert.equal(answer.status, 200);
  return answer.json;
}

describe('login', () => {
  it('answers with name, id, token and loginname', async () => {
    const { status, json } = await logIn(credentials('nachbarin'));
    assert.equal(status, 200);
    assert.deepEqual(Object.keys(json), ['name', 'id', 'token', 'loginname']);
    const [row] = await sql`select id from portal.nutzer where loginname = 'nachbarin'`;
    assert.deepEqual([json.name, json.id, json.loginname], ['Ödön Ünal', row?.id, 'nachbarin']);
    assert.match(json.token, /^[\w-]{43}$/);
  });

  it('by POST is the same, as multipart and urlencoded, and keeps the format in the URL', async () => {
    const fields = credentials('käfer anna');
    const expected = (await logIn(fields)).json;
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const body = new URLSearchParams(fields).toString();
    const answers = [
      await service.request('/login', { form: fields }),
      await service.request('/login', { method: 'POST', body, headers }),
    ];
    for (const { status, json } of answers) {
      assert.equal(status, 200);
      assert.deepEqual({ ...json, token: '' }, { ...expected, token: '' });
      assert.equal((await askWith({ 'X-Auth-User': headerOf('käfer anna'), 'X-Auth-Token': json.token })).status, 200);
    }
    assert.match((await service.request('/login?format=xml', { form: fields })).text, /^<\?xml.*<result><name>/);
  });

  it('by POST takes no credentials from the URL', async () => {
    const answer = await service.request(`/login?${new URLSearchParams(credentials('melder'))}`, { form: { x: '1' } });
    assert.equal(answer.status, 400, answer.text);
  });

  it('gives each login a token of its own; the ones before stay valid', async () => {
    const tokens = [(await logInAs('melder')).token, (await logInAs('melder')).token];
    assert.notEqual(tokens[0], tokens[1]);
    for (const token of tokens) assert.equal((await askWith({ 'X-Auth-User': 'melder', 'X-Auth-Token': token })).status, 200);
  });

  const spellings: [Account, loginname: string][] = [
    ['melder', 'Melder'],
    ['melder', 'MELDER'],
    ['melder', ' melder '],
    ['melder', 'ｍｅｌｄｅｒ'],
    ['käfer anna', 'KÄFER ANNA'],
    ['käfer anna', 'ka\u0308fer anna'],
    ['käfer anna', 'käfer  Anna'],
    ['käfer anna', 'käfer\u00a0anna'],
  ];
  for (const [account, loginname] of spellings) {
    it(`S2.4 takes ${JSON.stringify(loginname)} for ${account}, in the header too`, async () => {
      const { status, json } = await logIn({ loginname, password: sha1OfPlain(account) });
      assert.equal(status, 200);
      assert.equal(json.loginname, account);
      const answer = await askWith({ 'X-Auth-User': headerOf(loginname), 'X-Auth-Token': json.token });
      assert.equal(answer.status, 200, answer.text);
    });
  }

  it('takes the SHA-1 in any case', async () => {
    const password = sha1OfPlain('melder').toUpperCase();
    assert.equal((await logIn({ loginname: 'melder', password })).json.loginname, 'melder');
  });
});

describe('a refused login is an empty 200, whatever the reason (D2.9)', () => {
  const rows: [title: string, fields: Record<string, string>][] = [
    ['unknown name', credentials('niemand')],
    ['wrong password', credentials('melder', sha1OfPlain('falsch'))],
    ['blocked account, right password', credentials('gesperrt')],
    ['blocked account, wrong password', credentials('gesperrt', sha1OfPlain('falsch'))],
    ['plain password', credentials('melder', 'melder')],
    ['39 digits', credentials('melder', sha1OfPlain('melder').slice(1))],
    ['41 digits', credentials('melder', `${sha1OfPlain('melder')}0`)],
    ['SHA-1 with a line end', credentials('melder', `${sha1OfPlain('melder')}\n`)],
    ['empty password', credentials('melder', '')],
    ['empty name', credentials('', sha1OfPlain('melder'))],
    ['password of 60 kB', credentials('melder', '0'.repeat(60_000))],
    ['name of 60 kB', credentials('m'.repeat(60_000), sha1OfPlain('melder'))],
    ['SQL', credentials("melder' or '1'='1", "' or '1'='1")],
    ['wildcards', credentials('%', sha1OfPlain('melder'))],
    ['name with an invisible letter', credentials('mel\u200bder', sha1OfPlain('melder'))],
    ['name in Cyrillic letters', credentials('m\u0435lder', sha1OfPlain('melder'))],
  ];
  const describeAnswer = ({ status, text, headers }: Answer) => ({
    status,
    text,
    headers: Object.fromEntries([...headers].filter(([name]) => name !== 'x-request-id')),
  });
  const countTokens = async () => (await sql`select count(*)::integer as n from portal.token`)[0]?.n;
  for (const format of ['', 'format=xml', 'callback=f']) {
    it(`S2.1 with the same headers for all, and makes no token${format && `, ${format}`}`, async () => {
      const tokensBefore = await countTokens();
      // One after the other: all at once, a busy machine may refuse some.
      const answers = [];
      for (const [, fields] of rows) answers.push(describeAnswer(await logIn(fields, format)));
      const [first, ...others] = answers;
      assert.deepEqual([first?.status, first?.text], [200, '']);
      for (const [index, answer] of others.entries()) assert.deepEqual(answer, first, rows[index + 1]?.[0]);
      assert.equal(await countTokens(), tokensBefore);
    });
  }
  it('S2.1 by POST too', async () => {
    for (const [title, form] of rows) {
      const { status, text } = await service.request('/login', { form });
      assert.deepEqual([status, text], [200, ''], title);
    }
  });
});

describe('the two headers', () => {
  it('are accepted in any capitalisation', async () => {
    const { token } = await logInAs('melder');
    for (const [user, key] of [
      ['X-Auth-User', 'X-Auth-Token'],
      ['x-auth-user', 'x-auth-token'],
      ['X-AUTH-USER', 'X-AUTH-TOKEN'],
      ['X-Auth-user', 'X-auth-Token'],
    ] as const) {
      assert.equal((await askWith({ [user]: 'melder', [key]: token })).status, 200, key);
    }
  });

  it('take the login name as UTF-8 and as latin-1 bytes, composed and decomposed (D1.16)', async () => {
    const { token } = await logInAs('käfer anna');
    for (const [status, ...names] of [
      [200, 'k\u00c3\u00a4fer anna', 'k\u00e4fer anna', 'ka\u00cc\u0088fer anna', 'K\u00c3\u0084FER ANNA', 'K\u00c4FER anna'],
      [401, 'k\u00c3fer anna', 'kafer anna', 'k%C3%A4fer anna', 'k\u00c3\u0083\u00c2\u00a4fer anna'],
    ] as [number, ...string[]][])
      for (const bytes of names)
        assert.equal((await askWith({ 'X-Auth-User': bytes, 'X-Auth-Token': token })).status, status, JSON.stringify(bytes));
  });

  const paths = ['/sichtbeobachtungen', '/sichtbeobachtungen/1', '/arten', '/artengruppen', '/sichtbeobachtungen?bereich=privat'];
  const rows: [title: string, headers: (melder: string, nachbarin: string) => Record<string, string>][] = [
    ['a wrong token', () => ({ 'X-Auth-User': 'melder', 'X-Auth-Token': 'A'.repeat(43) })],
    ['the token of another account', (_, nachbarin) => ({ 'X-Auth-User': 'melder', 'X-Auth-Token': nachbarin })],
    ['the name of another account', (melder) => ({ 'X-Auth-User': 'nachbarin', 'X-Auth-Token': melder })],
    ['an unknown name', (melder) => ({ 'X-Auth-User': 'niemand', 'X-Auth-Token': melder })],
    ['a prefix of the token', (melder) => ({ 'X-Auth-User': 'melder', 'X-Auth-Token': melder.slice(0, -1) })],
    ['the token and more', (melder) => ({ 'X-Auth-User': 'melder', 'X-Auth-Token': `${melder}A` })],
    ['the token in lower case', (melder) => ({ 'X-Auth-User': 'melder', 'X-Auth-Token': melder.toLowerCase() })],
    ['the token twice in one header', (melder) => ({ 'X-Auth-User': 'melder', 'X-Auth-Token': `${melder}, ${melder}` })],
    ['a token of 20 kB', (melder) => ({ 'X-Auth-User': 'melder', 'X-Auth-Token': melder.repeat(500) })],
    ['a name of 20 kB', (melder) => ({ 'X-Auth-User': 'm'.repeat(20_000), 'X-Auth-Token': melder })],
    ['the password', () => ({ 'X-Auth-User': 'melder', 'X-Auth-Token': sha1OfPlain('melder') })],
    ['only the name', () => ({ 'X-Auth-User': 'melder' })],
    ['only the token', (melder) => ({ 'X-Auth-Token': melder })],
    ['empty headers', () => ({ 'X-Auth-User': '', 'X-Auth-Token': '' })],
    ['an empty name', (melder) => ({ 'X-Auth-User': '', 'X-Auth-Token': melder })],
    ['an empty token', () => ({ 'X-Auth-User': 'melder', 'X-Auth-Token': '' })],
    ['what is stored of the token', (melder) => ({ 'X-Auth-User': 'melder', 'X-Auth-Token': sha256(melder).toString('hex') })],
  ];
  for (const [title, headers] of rows) {
    it(`S2.3 with ${title} are 401 everywhere, never an anonymous answer (D2.2)`, async () => {
      const [melder, nachbarin] = [await service.tokenOf('melder'), await service.tokenOf('nachbarin')];
      for (const path of paths) {
        const answer = await askWith(headers(melder, nachbarin), path);
        assert.equal(answer.status, 401, `${path}: ${answer.text.slice(0, 200)}`);
        assert.equal(answer.json.error.code, 'nicht_angemeldet');
        assert.ok(!answer.text.includes(melder));
      }
      const form = { art: '2', lat: '5530000', lon: '420000' };
      const answer = await service.request('/sichtbeobachtungen', { form, headers: headers(melder, nachbarin) });
      assert.equal(answer.status, 401);
    });
  }
});

const sha256 = (text: string) => createHash('sha256').update(text).digest();

describe('a token', () => {
  const statusOf = async (account: Account, token: string) =>
    (await askWith({ 'X-Auth-User': headerOf(account), 'X-Auth-Token': token }, '/arten')).status;

  it('S2.2 is stored as its SHA-256 only', async () => {
    const { token, id } = await logInAs('admin');
    const rows = await sql`select hash from portal.token where nutzer_id = ${id} order by angelegt desc limit 1`;
    assert.deepEqual(Buffer.from(rows[0]?.hash), sha256(token));
    const [dump] =
      await sql`select (select string_agg(t::text, '') from portal.token t) || (select string_agg(u::text, '') from portal.nutzer u) as text`;
    assert.ok(!dump?.text.includes(token));
    assert.ok(!dump?.text.includes(Buffer.from(token).toString('hex')));
    assert.ok(!dump?.text.includes(sha1OfPlain('admin')), 'a SHA-1 of a password is stored');
  });

  it('S2.3 dies 30 days after it was used last', async () => {
    const { token } = await logInAs('expertin');
    const use = async (age: string) => {
      await sql`update portal.token set genutzt = now() - ${age}::text::interval where hash = ${sha256(token)}`;
      return statusOf('expertin', token);
    };
    assert.equal(await use('29 days 23 hours'), 200);
    const [{ recent } = { recent: false }] = await sql`
      select genutzt > now() - interval '1 minute' as recent from portal.token where hash = ${sha256(token)}`;
    assert.ok(recent, 'using a token does not prolong it');
    assert.equal(await use('30 days 1 minute'), 401);
    assert.equal(await use('1 day'), 200);
  });

  it('S2.3 dies with the password, also when that is changed by SQL, and only those of that account', async () => {
    const [first, second, other] = [await logInAs('vogelexperte'), await logInAs('vogelexperte'), await logInAs('melder')];
    const hash = await hashPassword(sha1OfPlain('neu'));
    await sql`update portal.nutzer set password_hash = ${hash} where loginname = 'vogelexperte'`;
    assert.equal(await statusOf('vogelexperte', first.token), 401);
    assert.equal(await statusOf('vogelexperte', second.token), 401);
    assert.equal(await statusOf('melder', other.token), 200);
    assert.equal((await logIn(credentials('vogelexperte'))).text, '');
    const { json } = await logIn(credentials('vogelexperte', sha1OfPlain('neu')));
    assert.equal(await statusOf('vogelexperte', json.token), 200);
  });

  it('S2.3 dies when the account is blocked, and does not come back with it', async () => {
    const { token } = await logInAs('nachbarin');
    await sql`update portal.nutzer set status = 0 where loginname = 'nachbarin'`;
    assert.equal(await statusOf('nachbarin', token), 401);
    assert.equal((await logIn(credentials('nachbarin'))).text, '');
    await sql`update portal.nutzer set status = 1 where loginname = 'nachbarin'`;
    assert.equal(await statusOf('nachbarin', token), 401);
    assert.ok((await logInAs('nachbarin')).token);
  });
});

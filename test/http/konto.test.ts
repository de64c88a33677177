// Registration, lost passwords and the own data, each with the page behind its link (D3.18, D3.22, D7.3, S2.4, S2.5).
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { completeEmails } from '../../src/db/nutzer.ts';
import { sha1OfPlain } from '../../src/guard/password.ts';
import { makeToken } from '../../src/guard/token.ts';
import { limits } from '../../src/http/too-often.ts';
import { eraseBegun } from '../../src/jobs/loeschung.ts';
import { pluck, startTestService } from '../support/service.ts';
import { readZip } from '../support/zip.ts';

const service = await startTestService();
const { sql } = service.database;

const query = (fields: Record<string, string>) =>
  new URLSearchParams({ loginname: 'Neu', email: 'neu@example.org', vorname: 'Nele', nachname: 'Neumann', ...fields });
const register = (fields: Record<string, string>) => service.request(`/register?${query(fields)}`);

/** What the mail job does, without the mail. */
async function makeLink(loginname: string): Promise<string> {
  const { token, hash } = makeToken();
  await sql`
    select api.set_nutzer_link(nutzer_id => u.id, hash => ${hash}::bytea, email => u.email)
    from portal.nutzer u where u.loginname = ${loginname}::text`;
  return `/konto/${token}`;
}
const urlencoded = { 'content-type': 'application/x-www-form-urlencoded' };
const post = (path: string, fields: Record<string, string>) =>
  service.request(path, { method: 'POST', headers: urlencoded, body: new URLSearchParams(fields).toString() });
const setPassword = (link: string, passwort: string, wiederholung = passwort) => post(link, { passwort, wiederholung });
const canLogIn = async (loginname: string, password: string) =>
  (await service.request(`/login?${new URLSearchParams({ loginname, password: sha1OfPlain(password) })}`)).text !== '';

describe('GET /register', () => {
  it('S2.2 answers login, name and email, and puts a mail into the queue that carries no secret', async () => {
    const answer = await register({ loginname: "Anna-Lena O'Neill_2.0", email: 'anna@example.org', 'portal-name': 'Naturbund' });
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(answer.json, { login: "Anna-Lena O'Neill_2.0", name: 'Nele Neumann', email: 'anna@example.org' });
    const job = service.mails.at(-1);
    assert.deepEqual(Object.keys(job ?? {}).sort(), ['kind', 'nutzerId', 'origin', 'portal']);
    assert.equal(job?.kind, 'registrierung');
  });

  it('in XML has the root element result', async () => {
    const answer = await service.request(`/register?format=xml&${query({ loginname: 'Xaver', email: 'x@example.org' })}`);
    assert.match(
      answer.text,
      /^<\?xml[^>]*\?><result><login>Xaver<\/login><name>Nele Neumann<\/name><email>x@example.org<\/email><\/result>$/,
    );
  });

  it('S2.4 links lead to the tenant’s own address, never to a host that a request names', async () => {
    const form = { loginname: 'Host', email: 'host@example.org', vorname: 'H', nachname: 'H' };
    const answer = await service.request('/register', { form, host: 's2.test:4711' });
    assert.equal(answer.status, 200);
    assert.equal(service.mails.at(-1)?.origin, 'http://s.test:8080');
  });

  it('S2.4 refuses what is missing or faulty, with the field named', async () => {
    const [before] = await sql`select count(*)::integer as n from portal.nutzer`;
    for (const [name, value] of [
      ['loginname', ''],
      ['loginname', 'a/b'],
      ['loginname', 'semi;kolon'],
      ['loginname', 'null\u200bbreit'],
      ['loginname', 'um\u202ebruch'],
      ['loginname', 'bin\u034fde'],
      ['loginname', 'zwei\nzeilen'],
      ['loginname', '...'],
      ['loginname', 'x'.repeat(61)],
      ['loginname', 'Melder'],
      ['loginname', ' MELDER '],
      ['loginname', 'ｍｅｌｄｅｒ'],
      ['loginname', 'käfer\u00a0anna'],
      ['email', ''],
      ['email', 'nirgends'],
      ['email', 'a@b.de\r\nBcc: c@d.de'],
      ['vorname', ''],
      ['vorname', 'A\r\nSubject: x'],
      ['nachname', ' '],
      ['nachname', 'A\nBcc: c@d.de'],
      ['anonymisiert', '1\r\nBcc: c@d.de'],
      ['anonymisiert', 'ja'],
      ['portal-name', 'x'.repeat(201)],
      ['portal-name', 'a\nb'],
      ['portal-name', 'a\r\nBcc: c@d.de'],
      ['portal-url', 'https://example.org/\r\nBcc: c@d.de'],
      ['portal-url', 'javascript:alert(1)'],
      ['portal-url', 'https://'],
      ['portal-url', `https://example.org/${'x'.repeat(200)}`],
    ] as const) {
      const answer = await register({ [name]: value });
      assert.equal(answer.status, 400, `${name}=${JSON.stringify(value)}: ${answer.text}`);
      assert.ok(answer.json.error.fields[name], `${name}=${JSON.stringify(value)}: ${answer.text}`);
    }
    const missing = await service.request('/register');
    assert.deepEqual(Object.keys(missing.json.error.fields).sort(), ['email', 'loginname', 'nachname', 'vorname']);
    const [after] = await sql`select count(*)::integer as n from portal.nutzer`;
    assert.equal(after?.n, before?.n);
  });

  it('takes what mail servers take; both spellings of a domain with umlauts are one mailbox', async () => {
    for (const [loginname, email, stored] of [
      ['Adresse 1', "o'neill@example.org", "o'neill@example.org"],
      ['Adresse 2', 'info@xn--mller-kva.example', 'info@xn--mller-kva.example'],
      ['Adresse 3', 'anna@müller.example', 'anna@xn--mller-kva.example'],
    ] as const) {
      const answer = await register({ loginname, email });
      assert.deepEqual([answer.status, answer.json.email], [200, stored], answer.text);
      assert.equal(service.mails.at(-1)?.kind, 'registrierung');
    }
    for (const email of ['ANNA@xn--mller-kva.example', 'anna@MÜLLER.example']) {
      assert.equal((await register({ loginname: `Zweite ${email.slice(5, 7)}`, email })).status, 200);
      assert.equal(service.mails.at(-1)?.kind, 'adresse vergeben', email);
    }
    const [anna] = await sql`select id from portal.nutzer where loginname = 'Adresse 3'`;
    assert.equal((await service.request('/passwort', { form: { email: 'anna@müller.example' } })).status, 200);
    assert.equal((await post('/konto', { konto: ' Anna@MÜLLER.example ' })).status, 200);
    assert.deepEqual(pluck(service.mails.slice(-2), 'nutzerId', 'kind'), [
      [anna?.id, 'passwort'],
      [anna?.id, 'daten'],
    ]);
    const said = (await register({ email: 'jörg@example.org' })).json.error.fields.email;
    assert.equal(
      said,
      'email ist „jörg@example.org“, erlaubt ist eine E-Mail-Adresse ohne „ö“ vor dem @, das viele Mailserver nicht annehmen.',
    );
  });

  it('the database refuses what is none, and leaves what was stored before', async () => {
    const set = (email: string) => sql`update portal.nutzer set email = ${email} where loginname = 'Adresse 2'`;
    for (const email of ['a@b', 'nirgends', 'a@müller.example', 'jörg@example.org', 'a@x.de, b@x.de', `${'a'.repeat(250)}@x.de`])
      await assert.rejects(set(email), { code: '23514' }, email);
    // As databases have them whose accounts were made before.
    await sql`alter table portal.nutzer disable trigger _100_key`;
    await sql`update portal.nutzer set email = 'alt@b', email_key = 'alt@b' where loginname = 'Adresse 2'`;
    await sql`
      update portal.nutzer set email = 'Alt@Größe.example', email_key = 'alt@größe.example' where loginname = 'Adresse 1'`;
    await sql`alter table portal.nutzer enable trigger _100_key`;
    await sql`update portal.nutzer set vorname = 'Nora' where loginname = 'Adresse 2'`;
    await completeEmails(sql);
    const rows = await sql`select email, email_key from portal.nutzer where loginname like 'Adresse _' order by loginname`;
    assert.deepEqual(pluck([...rows], 'email', 'email_key').slice(0, 2), [
      ['Alt@xn--gre-6ka8i.example', 'alt@xn--gre-6ka8i.example'],
      ['alt@b', 'alt@b'],
    ]);
    await service.request('/passwort', { form: { email: 'alt@b' } });
    const [old] = await sql`select id from portal.nutzer where loginname = 'Adresse 2'`;
    assert.equal(service.mails.at(-1)?.nutzerId, old?.id);
  });

  it('stores names in one form, however a document wrote them', async () => {
    const answer = await register({
      loginname: 'Falten',
      email: 'falten@example.org',
      vorname: 'Anna\u00a0 Ma\u00adria',
      nachname: ' von\u202fN\u200b',
    });
    assert.equal(answer.json.name, 'Anna Maria von N');
  });

  it('S2.4 a Cyrillic twin is another name', async () => {
    assert.equal((await register({ loginname: 'mеlder', email: 'twin@example.org' })).status, 200);
  });

  it('answers a taken address like a new one, tells its owner, and keeps the login name for a week in either case', async () => {
    const taken = await register({ loginname: 'Erste', email: '3@EXAMPLE.org' });
    const fresh = await register({ loginname: 'Zweite', email: 'zweite@example.org' });
    assert.deepEqual([taken.status, Object.keys(taken.json)], [fresh.status, Object.keys(fresh.json)]);
    const found = service.mails.slice(-2).map((job) => job.kind);
    assert.deepEqual(found, ['adresse vergeben', 'registrierung']);
    for (const loginname of ['erste', 'zweite'])
      assert.equal((await register({ loginname, email: 'y@example.org' })).status, 400, loginname);

    await sql`update portal.nutzer_reservierung set angelegt = now() - interval '8 days'`;
    await sql`update portal.nutzer set angelegt = now() - interval '8 days' where loginname = 'Zweite'`;
    // Asked for again meanwhile: only the one without an owner of its address gets a link, and must not live longer by it.
    await makeLink('Zweite');
    for (const loginname of ['erste', 'zweite']) {
      assert.equal((await register({ loginname, email: `${loginname}@example.com` })).status, 200, loginname);
    }
  });

  it('S2.5 sends at most five mails an hour to one mailbox, and answers the same', async () => {
    const before = service.mails.length;
    for (let n = 0; n < 8; n++) {
      assert.equal((await register({ loginname: `Flut ${n}`, email: 'flut@example.org' })).status, 200);
    }
    assert.equal(service.mails.length - before, 5);
  });
});

describe('the page behind the link', () => {
  it('sets a password once; the account can log in then', async () => {
    await register({ loginname: 'Paula', email: 'paula@example.org' });
    assert.equal(await canLogIn('Paula', 'sehr geheim'), false);
    const link = await makeLink('Paula');
    const page = await service.request(link);
    assert.equal(page.status, 200);
    assert.match(page.text, /<html lang="de">/);
    // For people who have several portals, and for password managers.
    assert.match(page.text, /<header>Nordland<\/header>/);
    assert.match(page.text, /<input id="loginname" name="loginname" type="text" autocomplete="username" value="Paula" readonly>/);
    assert.ok(!page.text.includes('<script'));
    assert.match(page.headers.get('content-security-policy') ?? '', /^default-src 'none'; style-src 'sha256-/);
    assert.equal(page.headers.get('cache-control'), 'private, no-store');
    assert.equal(page.headers.get('referrer-policy'), 'no-referrer');

    for (const [first, second, problem] of [
      ['kurz', 'kurz', /8 bis 200 Zeichen/],
      ['lang genug', 'aber anders', /nicht gleich/],
    ] as const) {
      const again = await setPassword(link, first, second);
      assert.equal(again.status, 400);
      assert.match(again.text, problem);
      assert.match(again.text, /role="alert"/);
    }
    const done = await setPassword(link, 'sehr geheim');
    assert.equal(done.status, 200);
    assert.match(done.text, /<a href="http:\/\/n\.test[^"]*\/">Zurück zu Nordland<\/a>/);
    assert.equal(await canLogIn('Paula', 'sehr geheim'), true);
    assert.equal((await setPassword(link, 'noch einmal')).status, 404);
    assert.equal((await service.request(link)).status, 404);
    assert.equal(await canLogIn('Paula', 'noch einmal'), false);
  });

  it('a login name with markup is text', async () => {
    await sql`
      select api.create_nutzer(loginname => '<b>&"', email => 'b@example.org', vorname => 'B', nachname => 'B', anonymisiert => 0,
        rolle => null, artengruppen => '{}', mandanten => '{}', password_hash => null)`;
    const page = await service.request(await makeLink('<b>&"'));
    assert.ok(page.text.includes('&lt;b&gt;&amp;&quot;') && !page.text.includes('<b>'));
  });

  it('a link that is old, unknown, replaced, or of a blocked account does nothing', async () => {
    const old = await makeLink('melder');
    await sql`update portal.nutzer_link set angelegt = now() - interval '7 days 1 second'`;
    const blocked = await makeLink('gesperrt');
    const first = await makeLink('nachbarin');
    const second = await makeLink('nachbarin');
    for (const link of [old, blocked, first, '/konto/x', `/konto/${'A'.repeat(43)}`]) {
      assert.equal((await service.request(link)).status, 404, link);
      assert.equal((await setPassword(link, 'sehr geheim')).status, 404, link);
    }
    assert.equal((await service.request(second)).status, 200);
  });

  it('a new password ends the tokens of before', async () => {
    const headers = { 'X-Auth-User': 'expertin', 'X-Auth-Token': await service.tokenOf('expertin') };
    assert.equal((await setPassword(await makeLink('expertin'), 'sehr geheim')).status, 200);
    assert.equal((await service.request('/nutzer', { headers })).status, 401);
  });
});

it('POST /passwort always answers the same, and mails accounts that can have one', async () => {
  const ask = (form: Record<string, string>) => service.request('/passwort', { form });
  const before = service.mails.length;
  const answers = [];
  for (const form of [
    { loginname: 'MELDER' },
    { email: '4@example.org' },
    { loginname: 'niemand' },
    { loginname: 'gesperrt' },
    { email: 'a@b.c' },
  ]) {
    answers.push(await ask(form as Record<string, string>));
  }
  for (const answer of answers) assert.deepEqual([answer.status, answer.json], [200, { result: [] }]);
  // A job in every case, so that time tells nothing; those for nobody go to account 0.
  const found = service.mails.slice(before).map((job) => job.kind === 'passwort' && job.nutzerId > 0);
  assert.deepEqual(found, [true, true, false, false, false]);
  const empty = await ask({});
  assert.equal(empty.status, 400);
  assert.ok(empty.json.error.fields.loginname);
});

it('S2.5 50 failed logins of one account end in 429 with Retry-After; a valid token still works', async () => {
  const token = await service.tokenOf('vogelexperte');
  const fail = () => service.request(`/login?loginname=vogelexperte&password=${sha1OfPlain('falsch')}`);
  for (let n = 0; n < 50; n += 10) {
    for (const answer of await Promise.all(Array.from({ length: 10 }, fail))) assert.equal(answer.status, 200);
  }
  const refused = await fail();
  assert.equal(refused.status, 429);
  assert.equal(refused.json.error.code, 'zu_oft');
  const wait = Number(refused.headers.get('retry-after'));
  assert.ok(wait > 0 && wait <= 900, String(wait));
  // However the name is written, it is the same account.
  for (const twin of ['VOGELEXPERTE', ' vogelexperte ', 'vogelexperte\t', 'ｖogelexperte']) {
    const query = new URLSearchParams({ loginname: twin, password: sha1OfPlain('falsch') });
    assert.equal((await service.request(`/login?${query}`)).status, 429, JSON.stringify(twin));
  }
  const headers = { 'X-Auth-User': 'vogelexperte', 'X-Auth-Token': token };
  assert.equal((await service.request('/nutzer', { headers })).status, 200);
  assert.equal(await canLogIn('melder', 'melder'), true);
  await sql`update portal.versuch set seit = seit - interval '16 minutes'`;
  assert.equal(await canLogIn('vogelexperte', 'vogelexperte'), true);
});

describe('asking for a link to the own data', () => {
  before(async () => {
    service.mails.length = 0;
    await sql`delete from portal.versuch`;
  });

  it('answers with the same bytes whether there is such an account or not, and puts a mail into the queue in every case', async () => {
    const form = await service.request('/konto');
    assert.equal(form.status, 200);
    assert.match(form.text, /<form method="post">/);
    assert.match(form.headers.get('content-security-policy') ?? '', /default-src 'none'/);
    const answers = [];
    for (const konto of ['melder', '3@example.org', 'MELDER', 'niemand', 'niemand@example.org', 'gesperrt'])
      answers.push(await post('/konto', { konto }));
    const [first] = answers;
    assert.equal(first?.status, 200, first?.text);
    for (const { status, text } of answers) assert.deepEqual([status, text], [first?.status, first?.text]);
    const [melder] = await sql`select id from portal.nutzer where loginname = 'melder'`;
    assert.deepEqual(pluck(service.mails, 'nutzerId'), [melder?.id, melder?.id, melder?.id, 0, 0, 0]);
    assert.deepEqual([...new Set(service.mails.map(({ kind, origin }) => `${kind} ${origin}`))], ['daten http://n.test:8080']);
  });

  it('refuses what can be no name, in a sentence', async () => {
    for (const konto of ['', '  ', 'x'.repeat(255), 'a\0b']) {
      const answer = await post('/konto', { konto });
      assert.equal(answer.status, 400);
      assert.match(answer.text, /Nötig ist ein Anmeldename oder eine E-Mail-Adresse, höchstens 254 Zeichen/);
    }
  });

  it('S2.5 is counted with all other links of a network; a mailbox gets no more mails than by a lost password', async () => {
    await sql`delete from portal.versuch`;
    service.mails.length = 0;
    for (let n = 0; n < limits.mailbox.limit + 1; n++) assert.equal((await post('/konto', { konto: 'nachbarin' })).status, 200);
    assert.equal(service.mails.filter(({ nutzerId }) => nutzerId !== 0).length, limits.mailbox.limit);
    await sql`update portal.versuch set anzahl = ${limits.link.limit} where zweck = ${limits.link.zweck}`;
    assert.equal((await post('/konto', { konto: 'nachbarin' })).status, 429);
    assert.equal((await service.request('/konto/daten/x')).status, 429);
    await sql`delete from portal.versuch`;
  });
});

describe('the link to the own data', () => {
  it('O5.5 shows the licence of photos and sounds, changes it, and stays good for the data', async () => {
    const link = await service.makeDatenLink('melder');
    assert.match((await service.request(link)).text, /<option value="">Alle Rechte vorbehalten/);
    const changed = await post(link, { aktion: 'lizenz', medien_lizenz: 'CC-BY-4.0' });
    assert.equal(changed.status, 200);
    assert.match(changed.text, /Wer eine Datei schon unter einer Lizenz hat, behält sie/);
    assert.match(changed.text, /<option value="CC-BY-4.0" selected>/);
    const read = () =>
      sql`select medien_lizenz from portal.nutzer where loginname = 'melder'`.then(([row]) => row?.medien_lizenz);
    assert.equal(await read(), 'CC-BY-4.0');
    await post(link, { aktion: 'lizenz', medien_lizenz: 'meine' });
    assert.equal(await read(), 'CC-BY-4.0');
    assert.match((await post(link, { aktion: 'lizenz', medien_lizenz: '' })).text, /value="herunterladen"/);
    assert.equal(await read(), null);
    assert.equal((await post(`${link}x`, { aktion: 'lizenz', medien_lizenz: 'CC0-1.0' })).status, 404);
  });

  it('fetches the data once, and shows the page until it ends', async () => {
    await service.makeSichtbeobachtung();
    const link = await service.makeDatenLink('melder');
    const page = await service.request(link);
    assert.equal(page.status, 200);
    assert.match(page.text, /Konto: <strong>melder<\/strong>/);
    assert.match(page.text, /value="herunterladen"/);
    assert.equal(page.headers.get('cache-control'), 'private, no-store');

    const response = await service.app.request(`http://n.test/api/v2${link}`, {
      method: 'POST',
      headers: { host: 'n.test', ...urlencoded },
      body: 'aktion=herunterladen',
    });
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('content-type'), 'application/zip');
    assert.match(response.headers.get('content-disposition') ?? '', /^attachment; filename="[\w-]+\.zip"$/);
    assert.equal(response.headers.get('cache-control'), 'private, no-store');
    const files = await readZip(new Uint8Array(await response.arrayBuffer()));
    assert.equal(JSON.parse(files.get('konto.json')?.toString() ?? '').loginname, 'melder');
    assert.equal(JSON.parse(files.get('sichtbeobachtungen.json')?.toString() ?? '').length, 1);

    assert.equal((await post(link, { aktion: 'herunterladen' })).status, 404, 'a second time');
    const again = await service.request(link);
    assert.equal(again.status, 200);
    assert.doesNotMatch(again.text, /value="herunterladen"/);
    assert.match(again.text, /schon heruntergeladen/);
  });

  it('is good for a day, for nobody who is blocked, until there is a newer one; not for passwords, nor those for it', async () => {
    const old = await service.makeDatenLink('nachbarin');
    const link = await service.makeDatenLink('nachbarin');
    assert.equal((await service.request(old)).status, 404, 'a newer one was made');
    const token = link.slice('/konto/daten/'.length);
    assert.equal((await service.request(`/konto/${token}`)).status, 404, 'as a link for passwords');
    const other = (await makeLink('nachbarin')).slice('/konto/'.length);
    assert.equal((await service.request(`/konto/daten/${other}`)).status, 404, 'a link for passwords');
    assert.equal((await service.request(link)).status, 200);
    await sql`update portal.nutzer_daten_link set angelegt = now() - interval '1 day 1 minute'`;
    for (const answer of [await service.request(link), await post(link, { aktion: 'herunterladen' })]) {
      assert.equal(answer.status, 404);
      assert.match(answer.text, /Dieser Link gilt nicht mehr/);
    }
    await sql`update portal.nutzer_daten_link set angelegt = now()`;
    await sql`update portal.nutzer set status = 0 where loginname = 'nachbarin'`;
    assert.equal((await service.request(link)).status, 404);
    await sql`update portal.nutzer set status = 1 where loginname = 'nachbarin'`;
    assert.equal((await service.request(link)).status, 404, 'a block ends it for good');
  });

  it('erases the account after a second question, and everything ends at once', async () => {
    const link = await service.makeDatenLink('melder');
    const token = await service.tokenOf('melder');
    const id = await service.makeReleased({ lat: '5530700', bemerkung: 'von Max Muster' });
    const confirm = await post(link, { aktion: 'loeschen', saetze: 'behalten' });
    assert.equal(confirm.status, 200);
    assert.match(confirm.text, /Konto wirklich löschen\?/);
    assert.match(confirm.text, /name="saetze" value="behalten"/);
    const wrong = await post(link, { aktion: 'bestaetigen', saetze: 'behalten', loginname: 'nachbarin' });
    assert.equal(wrong.status, 400);
    assert.match(wrong.text, /Das ist nicht der Anmeldename dieses Kontos/);
    // Not without saying what is to become of the records, nor by what is no word of the form.
    for (const fields of [{ aktion: 'bestaetigen', loginname: 'melder' }, { aktion: 'x', saetze: 'behalten' }, {}])
      assert.match((await post(link, fields as Record<string, string>)).text, /Was wird aus Ihren Beobachtungen/);
    const headers = { 'X-Auth-User': 'melder', 'X-Auth-Token': token };
    assert.equal((await service.request('/nutzer', { headers })).status, 200);

    const done = await post(link, { aktion: 'bestaetigen', saetze: 'behalten', loginname: ' Melder ' });
    assert.equal(done.status, 200, done.text);
    assert.match(done.text, /Ihr Konto ist gelöscht/);
    assert.equal((await service.request('/nutzer', { headers })).status, 401);
    assert.equal((await service.request(link)).status, 404);
    assert.equal((await post(link, { aktion: 'bestaetigen', saetze: 'loeschen', loginname: 'melder' })).status, 404);
    await eraseBegun({ deleteMails: async () => {} }, sql);
    assert.equal((await service.request(`/sichtbeobachtungen/${id}`)).json.result[0].bemerkung, 'von […]');
  });

  it('takes the name of the account in every spelling that logs in, and in no other', async () => {
    const spelling = '\u00a0ＮＡＣＨＢＡＲＩＮ ';
    const login = new URLSearchParams({ loginname: spelling, password: sha1OfPlain('nachbarin') });
    assert.equal((await service.request(`/login?${login}`)).json.loginname, 'nachbarin');
    const link = await service.makeDatenLink('nachbarin');
    for (const loginname of ['', 'nach barin', 'nachbarin\0', `nachbarin${'\u0301'.repeat(1000)}`, 'x'.repeat(3000)]) {
      const wrong = await post(link, { aktion: 'bestaetigen', saetze: 'behalten', loginname });
      assert.equal(wrong.status, 400, loginname);
      assert.match(wrong.text, /Das ist nicht der Anmeldename dieses Kontos/);
    }
    const done = await post(link, { aktion: 'bestaetigen', saetze: 'behalten', loginname: spelling });
    assert.equal(done.status, 200, done.text);
    assert.match(done.text, /Ihr Konto ist gelöscht/);
  });

  it('says in a sentence that the last administrator stays, and nothing was changed', async () => {
    const link = await service.makeDatenLink('admin');
    const refused = await post(link, { aktion: 'bestaetigen', saetze: 'loeschen', loginname: 'admin' });
    assert.equal(refused.status, 409);
    assert.match(refused.text, /das letzte, das dieses Portal verwalten kann/);
    assert.equal((await service.request(link)).status, 200);
  });
});

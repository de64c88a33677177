// The own data by a link in a mail (D7.3): asked for without telling who has an account, fetched once, and the way to erase it.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { sha1OfPlain } from '../../src/guard/password.ts';
import { makeToken } from '../../src/guard/token.ts';
import { limits } from '../../src/http/too-often.ts';
import { eraseBegun } from '../../src/jobs/loeschung.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { readZip } from '../support/zip.ts';

let service: TestService;
before(async () => {
  service = await startTestService();
});

const urlencoded = { 'content-type': 'application/x-www-form-urlencoded' };
const post = (path: string, fields: Record<string, string>) =>
  service.request(path, { method: 'POST', headers: urlencoded, body: new URLSearchParams(fields).toString() });

describe('asking for a link', () => {
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
    const [melder] = await service.database.sql`select id from portal.nutzer where loginname = 'melder'`;
    const found = service.mails.map(({ nutzerId }) => nutzerId);
    assert.deepEqual(found, [melder?.id, melder?.id, melder?.id, 0, 0, 0]);
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
    const { sql } = service.database;
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

describe('the link', () => {
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
    const { sql } = service.database;
    const old = await service.makeDatenLink('nachbarin');
    const link = await service.makeDatenLink('nachbarin');
    assert.equal((await service.request(old)).status, 404, 'a newer one was made');
    const token = link.slice('/konto/daten/'.length);
    assert.equal((await service.request(`/konto/${token}`)).status, 404, 'as a link for passwords');
    const password = makeToken();
    await sql`
      select api.set_nutzer_link(nutzer_id => u.id, hash => ${password.hash}::bytea, email => u.email)
      from portal.nutzer u where u.loginname = 'nachbarin'`;
    assert.equal((await service.request(`/konto/daten/${password.token}`)).status, 404, 'a link for passwords');
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
    await eraseBegun({ deleteMails: async () => {} }, service.database.sql);
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

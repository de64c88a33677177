// GET /pruefung in a real browser: a reviewer's work by keyboard, also while the network is away (O6).
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, afterEach, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser, Page, Request } from 'playwright-core';
import { countPruefung } from '../../src/db/pruefung.ts';
import { sha1OfPlain } from '../../src/guard/password.ts';
import { makeAudio } from '../support/audio.ts';
import { launchBrowser, withoutBrowser } from '../support/browser.ts';
import { type Account, arten } from '../support/catalogue.ts';
import { serveApp } from '../support/listen.ts';
import { makeJpeg } from '../support/photo.ts';
import { makeRecord } from '../support/records.ts';
import { type Json, startTestService, type TestService, testConfig } from '../support/service.ts';
import { waitFor } from '../support/wait.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

let service: TestService;
let browser: Browser;
let origin: string;
before(async () => {
  if (withoutBrowser) return;
  // 127.0.0.1 is no tenant's domain.
  service = await startTestService({ config: { ...testConfig, defaultTenant: 'N' } });
  origin = `http://127.0.0.1:${await serveApp(service.app.fetch)}`;
  browser = await launchBrowser();
});
afterEach(async () => {
  if (withoutBrowser) return;
  await Promise.all(browser.contexts().map((context) => context.close()));
  // What one test left is not the next one's.
  await service.database.sql`delete from portal.sichtbeobachtung where status in ('pruefung', 'hinweis')`;
});
after(() => browser?.close());

/** Records that wait, and why they are odd. */
async function makeWaiting(count: number, fields: Parameters<typeof makeRecord>[1] = {}): Promise<number[]> {
  const ids: number[] = [];
  for (let made = 0; made < count; made++)
    ids.push(await makeRecord(service.database.sql, { bereich: 'oeffentlich', nutzer: 'melder', ...fields }));
  await countPruefung(service.database.sql);
  return ids;
}
const statusesOf = async (ids: number[]) => {
  const rows = await service.database.sql`
    select s.status::text, s.bemerkung_experte as text from portal.sichtbeobachtung s
    where s.id in (select value::bigint from json_array_elements_text(${JSON.stringify(ids)}::text::json)) order by s.id`;
  return rows.map(({ status, text }) => (text === null ? status : `${status}: ${text}`));
};
/** What was decided of records, beside that they were reported. */
const countDecisions = async (ids: number[]) => {
  const [row] = await service.database.sql`
    select count(*)::integer as n from portal.qs
    where status <> 'pruefung'
      and sichtbeobachtung_id in (select value::bigint from json_array_elements_text(${JSON.stringify(ids)}::text::json))`;
  return row?.n;
};
const decided = (ids: number[], expected: string[]) =>
  waitFor('the decisions', async () => String(await statusesOf(ids)) === String(expected));

interface Opened {
  page: Page;
  complaints: string[];
  foreign: string[];
}

async function open({ width = 1280, height = 800 } = {}): Promise<Opened> {
  const page = await browser.newPage({ viewport: { width, height } });
  page.setDefaultTimeout(30_000);
  const complaints: string[] = [];
  const foreign: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => {
    if (!request.url().startsWith(`${origin}/`) && !request.url().startsWith('data:')) foreign.push(request.url());
  });
  await page.goto(`${origin}/pruefung`);
  return { page, complaints, foreign };
}

async function logIn(page: Page, account: Account = 'expertin', password: string = account): Promise<void> {
  await page.getByLabel('Anmeldename').fill(account);
  await page.getByLabel('Passwort').fill(password);
  await page.keyboard.press('Enter');
}

/** Logged in, with so many records in the list. */
async function openQueue(count: number, size = {}): Promise<Opened> {
  const opened = await open(size);
  await logIn(opened.page);
  await tellCount(opened.page, count);
  return opened;
}
const tellCount = (page: Page, count: number) =>
  page
    .locator('#anzahl')
    .getByText(count === 0 ? 'Nichts wartet.' : `${count} warten.`, { exact: true })
    .waitFor();
const tell = (page: Page, text: string | RegExp) => page.locator('#ergebnis').getByText(text).waitFor();
const isPost = (request: Request) => request.method() === 'POST' && request.url().endsWith('/pruefung/v1/entscheidungen');

describe('GET /pruefung', { skip: withoutBrowser }, () => {
  it('may load nothing from elsewhere, and run nothing that stands in it', async () => {
    const { status, headers, text } = await service.request('/pruefung', { below: '' });
    assert.equal(status, 200);
    assert.equal(
      headers.get('content-security-policy'),
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; media-src 'self'",
    );
    assert.doesNotMatch(text, /<script>|<style|style=|onclick/);
    assert.equal((await service.request('/pruefung?x=1', { below: '' })).status, 400);
    assert.equal((await service.request('/pruefung/', { below: '' })).headers.get('location'), '/pruefung');
    const other = await startTestService({
      config: { ...testConfig, karteHintergrund: { url: 'https://k.test/{z}', quelle: 'K' } },
    });
    const policy = (await other.request('/pruefung', { below: '' })).headers.get('content-security-policy');
    assert.match(policy ?? '', /img-src 'self' data: https:\/\/k\.test;/);
  });

  it('logs in with the SHA-1 of the password alone, says what is wrong, and who may not review; logs out', async () => {
    const { page, complaints, foreign } = await open();
    const [request] = await Promise.all([
      page.waitForRequest(`${origin}/api/v2/login`),
      logIn(page, 'expertin', 'Käse'.normalize('NFD').repeat(30)),
    ]);
    assert.equal(request.postData(), `loginname=expertin&password=${sha1OfPlain('Käse'.repeat(30))}`);
    const hashes = await page.evaluate<string[]>(`
      import(document.querySelector('script[type=module]').src.replace('pruefung.js', 'sha1.js'))
        .then(({ sha1 }) => Array.from({ length: 130 }, (_, length) => sha1('x'.repeat(length))))`);
    assert.deepEqual(
      hashes,
      Array.from({ length: 130 }, (_, length) => sha1OfPlain('x'.repeat(length))),
    );
    const alert = page.getByRole('alert');
    await alert.getByText('Name oder Passwort ist falsch').waitFor();
    await logIn(page, 'melder');
    await alert.getByText('Dieses Konto darf nicht prüfen.').waitFor();
    // A name that is no Latin-1 in a header.
    await logIn(page, 'südexpertin');
    await tellCount(page, 0);
    await page.reload();
    await tellCount(page, 0);
    await page.getByRole('button', { name: 'Abmelden' }).click();
    await page.getByLabel('Anmeldename').waitFor();
    assert.equal(await page.evaluate('sessionStorage.length'), 0);
    assert.deepEqual(foreign, []);
    // Chromium itself notes the 403.
    assert.deepEqual(
      complaints.filter((text) => !text.includes('403')),
      [],
    );
  });

  it('shows of a record what there is: reasons, fields, photo, sound, place and season', async () => {
    await service.makeReleased({ datum: '3.5.2024', lat: '5531000', lon: '421000' });
    const id = await service.makeSichtbeobachtung({
      ...{ bereich: 'oeffentlich', bemerkung: 'singt', anzahl: '3', datum: '4.5.2026', stadium_id: '1' },
      foto: new Blob([new Uint8Array(await makeJpeg({ width: 400, height: 300 }))]),
      audio: new Blob([new Uint8Array(makeAudio('mp3'))]),
    });
    await service.database.sql`
      insert into portal.nachricht (sichtbeobachtung_id, nutzer_id, text)
      select ${id}, u.id, case u.loginname when 'melder' then 'Ja.' else 'Sicher?' end from portal.nutzer u
      where u.loginname in ('melder', 'expertin') order by u.loginname`;
    await countPruefung(service.database.sql);
    const { page, complaints, foreign } = await openQueue(1);
    const record = page.getByRole('region', { name: 'Amsel' });
    await record.getByText('Zu wenige Vergleiche').waitFor();
    assert.deepEqual(await record.locator('dd').allInnerTexts(), [
      'Turdus merula',
      '04.05.2026',
      '3',
      'Imago',
      'singt',
      'Max Muster',
      '1 freigegebene Meldungen der Artengruppe',
      'Nordland',
      String(id),
    ]);
    const [question, answer, ...others] = await record.locator('.nachrichten li').allInnerTexts();
    assert.match(question ?? '', /^Prüfung, .*: Sicher\?$/);
    assert.match(answer ?? '', /^Erfasser, .*: Ja\.$/);
    assert.deepEqual(others, []);
    await record
      .getByRole('img', { name: /1 Meldungen der Art, davon 1 im selben Monatsdrittel; dieser Datensatz ist vom 4\. Mai/ })
      .waitFor();
    const photo = record.getByAltText('Foto: Amsel');
    await waitFor('the photo', () => photo.evaluate((image) => (image as Json).naturalWidth > 0));
    await record.getByRole('button', { name: 'Foto: Amsel' }).click();
    await page.getByRole('dialog', { name: 'Foto' }).waitFor();
    // Nothing is decided behind it.
    await page.keyboard.press('a');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog', { name: 'Foto' }).waitFor({ state: 'hidden' });
    const audio = record.locator('audio');
    assert.ok(
      await audio.evaluate((element) => {
        (element as Json).load();
        return true;
      }),
    );
    await waitFor('red on the map', () =>
      page.evaluate(`(() => {
        const canvas = document.querySelector('#ort canvas');
        if (!canvas) return false;
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        for (let at = 0; at < data.length; at += 4) if (data[at] === 0xb0 && data[at + 1] === 0 && data[at + 2] === 0x20) return true;
        return false;
      })()`),
    );
    assert.deepEqual(await statusesOf([id]), ['pruefung']);
    assert.deepEqual(complaints, []);
    assert.deepEqual(foreign, []);
  });

  it('60 decisions by keyboard, the network away for a while: none is lost, none is made twice', async () => {
    const ids = await makeWaiting(60);
    const { page } = await open();
    await logIn(page);
    await page.locator('#anzahl').getByText('50 warten, und weitere.').waitFor();
    const keys = ['f', 'a', 'f', 'h', 'f'];
    const keysSent = new Set<string | undefined>();
    page.on('request', (request) => isPost(request) && keysSent.add(request.headers()['idempotency-key']));
    const expected: string[] = [];
    for (let at = 0; at < ids.length; at++) {
      // With enough loaded: a queue that nobody answers for has no next page.
      if (at === 45) await page.context().setOffline(true);
      const key = keys[at % keys.length] ?? 'f';
      await page.keyboard.press(key);
      if (key === 'h') {
        await page.keyboard.type(`Frage ${at} fah?`);
        await page.keyboard.press('Control+Enter');
      }
      expected.push({ f: 'freigegeben', a: 'abgelehnt', h: `hinweis: Frage ${at} fah?` }[key] ?? '');
      await sleep(200);
    }
    await tellCount(page, 0);
    await page.getByText(/^\d+ Entscheidungen warten auf das Netz/).waitFor();
    assert.ok((await countDecisions(ids)) < 60);
    await page.context().setOffline(false);
    await decided(ids, expected);
    assert.equal(await countDecisions(ids), 60);
    await waitFor('nothing left', () => page.evaluate('localStorage.length === 0'));
    await page.locator('#netz').getByText('warten').waitFor({ state: 'hidden' });
    assert.ok(keysSent.size > 1);
  });

  it('sends with the same key what was answered to nobody', async () => {
    const ids = await makeWaiting(2);
    const { page } = await openQueue(2);
    const sent: string[] = [];
    await page.route('**/pruefung/v1/entscheidungen', async (route) => {
      sent.push(`${route.request().headers()['idempotency-key']} ${route.request().postData()}`);
      if (sent.length > 1) return route.continue();
      await route.fetch();
      await route.abort();
    });
    await page.keyboard.press('f');
    await page.keyboard.press('a');
    await waitFor('the second try', () => sent.length >= 2);
    await waitFor('nothing left', () => page.evaluate('localStorage.length === 0'));
    assert.equal(sent[1], sent[0]);
    assert.deepEqual(await statusesOf(ids), ['freigegeben', 'abgelehnt']);
    assert.equal(await countDecisions(ids), 2);
    await page.getByText('Nicht übernommen').waitFor({ state: 'hidden' });
  });

  it('takes back with U what is not sent yet, the last one first', async () => {
    const ids = await makeWaiting(3);
    const { page } = await openQueue(3);
    // Held down, it decides once.
    for (let time = 0; time < 3; time++) await page.keyboard.down('f');
    await page.keyboard.up('f');
    await tellCount(page, 2);
    for (const key of ['a', 'f']) await page.keyboard.press(key);
    await tellCount(page, 0);
    await page
      .locator('#frist')
      .getByText(/^U: Amsel, \d\d\.\d\d\.\d{4} rückgängig \(\d+ s\)$/)
      .waitFor();
    await page.keyboard.press('u');
    await tell(page, /^Zurückgenommen: Amsel/);
    await page.keyboard.press('u');
    await tellCount(page, 2);
    assert.deepEqual(await shownNumbers(page), [ids[1], ids[2]]);
    await page.keyboard.press('f');
    await decided(ids, ['freigegeben', 'pruefung', 'freigegeben']);
    await page.keyboard.press('u');
    await tell(page, /^Es gibt nichts mehr zurückzunehmen/);
    assert.equal(await countDecisions(ids), 2);
  });

  it('asks a question with a text only; keys do nothing while one types, chooses, or has switched them off', async () => {
    const ids = await makeWaiting(2);
    const { page } = await openQueue(2);
    await page.keyboard.press('h');
    await tell(page, /^Eine Frage braucht einen Text/);
    assert.equal(await page.evaluate('document.activeElement.id'), 'bemerkung');
    await page.keyboard.type('Haben Sie ein Foto? fahu');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Escape');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowUp');
    // Kept with its record.
    assert.equal(await page.getByLabel('Bemerkung oder Frage').inputValue(), 'Haben Sie ein Foto? fahu');
    await page.locator('summary').click();
    await page.getByLabel('Reihenfolge').focus();
    await page.keyboard.press('f');
    await page.getByLabel('Tasten', { exact: true }).uncheck();
    await page.keyboard.press('a');
    await page.getByLabel('Tasten', { exact: true }).check();
    await page.keyboard.press('Control+a');
    await tellCount(page, 2);
    await page.keyboard.press('h');
    await tellCount(page, 1);
    await decided(ids, ['hinweis: Haben Sie ein Foto? fahu', 'pruefung']);
  });

  it('tells at the record what was not taken, and what to do', async () => {
    const [stale = 0, gone = 0] = await makeWaiting(2);
    const { page } = await openQueue(2);
    await service.database.sql`update portal.sichtbeobachtung set anzahl = 7 where id = ${stale}`;
    await service.database.sql`update portal.sichtbeobachtung set bereich = 'privat' where id = ${gone}`;
    await page.keyboard.press('f');
    await page.keyboard.press('f');
    await tellCount(page, 0);
    await tellCount(page, 2);
    await page.getByRole('alert').getByText('Der Datensatz wurde inzwischen geändert. Laden Sie die Liste neu').waitFor();
    await page.keyboard.press('ArrowDown');
    await page.getByRole('alert').getByText('nicht mehr öffentlich').waitFor();
    await page.getByRole('button', { name: 'Neu laden' }).click();
    await tellCount(page, 1);
    assert.equal(await page.locator('dd').getByText('7', { exact: true }).count(), 1);
    await page.keyboard.press('f');
    await decided([stale], ['freigegeben']);
  });

  it('leaving the page sends what is held back; what could not leave goes out after the next login', async () => {
    const ids = await makeWaiting(2);
    const { page } = await openQueue(2);
    await page.keyboard.press('f');
    await page.goto(`${origin}/favicon.ico`);
    await decided(ids, ['freigegeben', 'pruefung']);
    await page.goto(`${origin}/pruefung`);
    await tellCount(page, 1);
    await page.route('**/pruefung/v1/entscheidungen', (route) => route.abort());
    await page.keyboard.press('a');
    await page.getByRole('button', { name: 'Abmelden' }).click();
    await page
      .getByRole('alert')
      .getByText(/^1 Entscheidung wartet auf das Netz/)
      .waitFor();
    await page.unroute('**/pruefung/v1/entscheidungen');
    // Not with another account's login.
    await logIn(page, 'admin');
    await tellCount(page, 1);
    await page.getByRole('button', { name: 'Abmelden' }).click();
    await logIn(page);
    await tellCount(page, 0);
    await decided(ids, ['freigegeben', 'abgelehnt']);
    assert.equal(await countDecisions(ids), 2);
  });

  it('asks for the login again when the key has ended, and loses nothing', async () => {
    const ids = await makeWaiting(1);
    const { page } = await openQueue(1);
    let posts = 0;
    page.on('request', (request) => {
      if (isPost(request)) posts++;
    });
    await service.database.sql`delete from portal.token`;
    service.forgetTokens();
    await page.keyboard.press('f');
    await page.getByRole('alert').getByText('Die Anmeldung ist abgelaufen.').waitFor();
    assert.equal(await page.locator('#angaben').innerText(), '');
    await page.getByLabel('Anmeldename').fill('wer langsam tippt');
    // Longer than the first pause: nothing is tried with a key that is none.
    await sleep(2000);
    assert.equal(await page.getByLabel('Anmeldename').inputValue(), 'wer langsam tippt');
    assert.equal(posts, 1);
    await logIn(page);
    await decided(ids, ['freigegeben']);
  });

  it('chooses by reason, tenant, group and photo, in either order', async () => {
    await makeWaiting(2);
    const [butterfly] = await makeWaiting(1, { art: arten.tagpfauenauge });
    const [south] = await makeWaiting(1, { art: arten.rotmilan, x: 480_000 });
    await service.database.sql`
      update portal.pruefgrund set auffaelligkeit = case sichtbeobachtung_id when ${butterfly ?? 0} then 9 else 1 end`;
    const { page } = await openQueue(4);
    await page.locator('summary').click();
    await page.getByLabel('Reihenfolge').selectOption('auffälligste zuerst');
    await page.getByRole('region', { name: 'Pfauenauge' }).waitFor();
    await page.getByLabel('Artengruppe').selectOption('Tagfalter');
    await tellCount(page, 1);
    await page.getByLabel('Artengruppe').selectOption('alle');
    await page.getByLabel('Mandant').selectOption('Südland');
    await tellCount(page, 1);
    assert.deepEqual(await shownNumbers(page), [south]);
    await page.getByRole('combobox', { name: 'Foto' }).selectOption('mit Foto');
    await tellCount(page, 0);
    await page.getByRole('combobox', { name: 'Foto' }).selectOption('alle');
    await page.getByLabel('Grund').selectOption('zu wenige Vergleiche');
    await tellCount(page, 1);
    const offered = await page.getByLabel('Grund').locator('option').count();
    assert.equal(offered, 10);
  });

  it('fits a phone, and axe finds nothing: at the login, with a record, on either', async () => {
    await service.makeSichtbeobachtung({
      ...{ bereich: 'oeffentlich', bemerkung: `Donaudampfschifffahrt${'s'.repeat(80)}` },
      foto: new Blob([new Uint8Array(await makeJpeg({ width: 400, height: 300 }))]),
    });
    await makeWaiting(15);
    for (const width of [1280, 360]) {
      const { page } = await open({ width, height: 740 });
      await page.getByLabel('Anmeldename').waitFor();
      assert.deepEqual(await listFindings(page), []);
      await logIn(page);
      await tellCount(page, 16);
      await page.locator('#jahreslauf svg').waitFor();
      await page.locator('summary').click();
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('f');
      await page.locator('#frist').getByText('rückgängig').waitFor();
      assert.deepEqual(await listFindings(page), []);
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), width);
      const release = await page.getByRole('button', { name: 'Freigeben' }).boundingBox();
      assert.ok(release && release.y + release.height <= 740, 'the buttons are in sight');
      await page.keyboard.press('u');
      await tellCount(page, 16);
    }
  });
});

async function listFindings(page: Page): Promise<string[]> {
  // Not as a script of the page, which its policy forbids.
  const findings = await page.evaluate<Json>(`(() => { ${axe}; return axe.run(); })()`);
  return findings.violations.map(({ id, nodes }: Json) => `${id}: ${nodes.map(({ html }: Json) => html).join(' ')}`);
}

/** Numbers of the records in the list, each looked at. */
async function shownNumbers(page: Page): Promise<number[]> {
  const numbers: number[] = [];
  for (const button of await page.locator('#liste button').all()) {
    await button.click();
    numbers.push(Number(await page.locator('dd').last().innerText()));
  }
  return numbers;
}

// One recorder's story, from registration to a sighting that everyone can read: the service as a process, the mail as a file,
// the page behind its link in a real browser without JavaScript.
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import type { Browser } from 'playwright-core';
import { sha1OfPlain } from '../src/guard/password.ts';
import { launchBrowser, withoutBrowser } from './support/browser.ts';
import { fillSite, logIn, makeSite, type RunningService, type Site, startProcess } from './support/process.ts';
import { type Json, toFormData } from './support/service.ts';
import { waitFor } from './support/wait.ts';
import { readZip } from './support/zip.ts';

let site: Site;
let service: RunningService;
let browser: Browser | undefined;

before(async () => {
  if (withoutBrowser) return;
  site = await makeSite({ isMigrated: true });
  await fillSite(site, { loginname: 'expertin', password: 'prüft genau', rolle: 'expert' });
  service = await startProcess(site, { PUBLIC_URL: 'http://127.0.0.1:1' });
  browser = await launchBrowser();
});
after(async () => {
  await browser?.close();
  await service?.stop('SIGKILL');
  await site?.remove();
});

async function call(path: string, init: RequestInit = {}): Promise<Json> {
  const response = await fetch(`${service.url}/api/v2${path}`, init);
  const body = await response.text();
  assert.ok(response.ok, `${path}: ${response.status} ${body}`);
  return body === '' ? null : JSON.parse(body);
}

function readMail(subject: RegExp): Promise<string> {
  const directory = join(site.env.DATA_DIR ?? '', 'mail');
  return waitFor('the mail', async () => {
    for (const name of await readdir(directory).catch(() => [])) {
      const text = name.endsWith('.eml') ? await readFile(join(directory, name), 'utf8') : '';
      if (subject.test(text)) return text;
    }
  });
}

it('register, set the password, log in, report, publish; an expert releases; everyone reads', {
  skip: withoutBrowser,
}, async () => {
  const loginname = "Jörg O'Niel";
  const form = { loginname, email: 'joerg@example.org', vorname: 'Jörg', nachname: "O'Niel", anonymisiert: '1' };
  const registered = await call(`/register?${new URLSearchParams(form)}`);
  assert.deepEqual(registered, { login: loginname, name: "Jörg O'Niel", email: 'joerg@example.org' });

  const link = /http:\/\/127\.0\.0\.1:1(\/api\/v2\/konto\/\S+)/.exec(await readMail(/: Ihr Konto/))?.[1];
  assert.ok(link, 'the mail has no link on PUBLIC_URL');
  const context = await browser?.newContext({ javaScriptEnabled: false, locale: 'de-DE' });
  const page = await context?.newPage();
  assert.ok(page);
  const foreign: string[] = [];
  page.on('request', (request) => {
    if (!request.url().startsWith(service.url)) foreign.push(request.url());
  });
  await page.goto(`${service.url}${link}`);
  assert.equal(await page.textContent('h1'), 'Passwort festlegen');
  await page.getByLabel('Neues Passwort').fill('Käfer & Co');
  await page.getByLabel('Noch einmal').fill('Käfer & Ko');
  await page.getByRole('button', { name: 'Passwort festlegen' }).click();
  assert.equal(await page.getByRole('alert').textContent(), 'Die beiden Eingaben sind nicht gleich.');
  await page.getByLabel('Neues Passwort').fill('Käfer & Co');
  await page.getByLabel('Noch einmal').fill('Käfer & Co');
  await page.getByRole('button', { name: 'Passwort festlegen' }).click();
  assert.equal(await page.textContent('h1'), 'Das Passwort ist gesetzt');
  assert.deepEqual(foreign, []);

  const headers = await logIn(service, loginname, 'Käfer & Co');
  const body = toFormData({
    art: '100',
    lat: '49.3',
    lon: '7.6',
    srid: 'EPSG:4326',
    datum: '1.9.2026',
    bemerkung: 'auf der Wiese',
  });
  const created = await call('/sichtbeobachtungen', { method: 'POST', headers, body });
  const { id } = created.result[0];
  const expertin = await logIn(service, 'expertin', 'prüft genau');
  assert.equal((await fetch(`${service.url}/api/v2/sichtbeobachtungen/${id}`, { headers: expertin })).status, 404);

  await call(`/sichtbeobachtungen/${id}`, { method: 'PUT', headers, body: toFormData({ bereich: 'oeffentlich' }) });
  assert.equal((await fetch(`${service.url}/api/v2/sichtbeobachtungen/${id}`)).status, 404);
  await call(`/sichtbeobachtungen/${id}`, {
    method: 'PUT',
    headers: expertin,
    body: toFormData({ status: 'freigegeben', bemerkung: 'schön' }),
  });

  const [shown] = (await call(`/sichtbeobachtungen/${id}`)).result;
  assert.deepEqual(
    [shown.status, shown.titel_deutsch, shown.bemerkung, 'erfasser' in shown, 'bemerkung_experte' in shown],
    ['Freigegeben', 'Heupferd', 'auf der Wiese', false, false],
  );
  const [forExpert] = (await call(`/sichtbeobachtungen/${id}`, { headers: expertin })).result;
  assert.deepEqual([forExpert.erfasser, forExpert.experte, forExpert.bemerkung_experte], ["Jörg O'Niel", 'Anna A', 'schön']);
  const [forAuthor] = (await call(`/sichtbeobachtungen/${id}`, { headers })).result;
  assert.equal(forAuthor.erfasser, 'J… O…');
});

it('fetches all that is stored, and leaves; the sighting stays, without the name', { skip: withoutBrowser }, async () => {
  const loginname = "Jörg O'Niel";
  const headers = await logIn(service, loginname, 'Käfer & Co');
  const [own] = (await call('/sichtbeobachtungen?bereich=persoenlich', { headers })).result;
  const context = await browser?.newContext({ javaScriptEnabled: false, locale: 'de-DE', acceptDownloads: true });
  const page = await context?.newPage();
  assert.ok(page);
  await page.goto(`${service.url}/api/v2/konto`);
  await page.getByLabel('Anmeldename oder E-Mail-Adresse').fill(loginname);
  await page.getByRole('button', { name: 'Link anfordern' }).click();
  assert.equal(await page.textContent('h1'), 'Der Link ist unterwegs');
  const link = /http:\/\/127\.0\.0\.1:1(\/api\/v2\/konto\/daten\/\S+)/.exec(await readMail(/: Ihre Daten/))?.[1];
  assert.ok(link);
  await page.goto(`${service.url}${link}`);
  const downloading = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Herunterladen' }).click();
  const download = await downloading;
  assert.equal(download.suggestedFilename(), 'meine-daten.zip');
  const files = await readZip(await readFile(await download.path()));
  assert.deepEqual(
    JSON.parse(files.get('sichtbeobachtungen.json')?.toString() ?? '').map((row: Json) => row.id),
    [own.id],
  );

  await page.getByLabel('Veröffentlichte bleiben').check();
  await page.getByRole('button', { name: 'Weiter' }).click();
  assert.equal(await page.textContent('h1'), 'Konto wirklich löschen?');
  await page.getByLabel('Zur Bestätigung').fill(loginname);
  await page.getByRole('button', { name: 'Konto für immer löschen' }).click();
  assert.equal(await page.textContent('h1'), 'Ihr Konto ist gelöscht');
  assert.equal((await fetch(`${service.url}/api/v2/nutzer`, { headers })).status, 401);
  const expertin = await logIn(service, 'expertin', 'prüft genau');
  const [kept] = (await call(`/sichtbeobachtungen/${own.id}`, { headers: expertin })).result;
  assert.deepEqual([kept.status, kept.bemerkung], ['Freigegeben', 'auf der Wiese']);
});

it('S2.2 no password, token or link reached the log', { skip: withoutBrowser }, async () => {
  const headers = await logIn(service, 'expertin', 'prüft genau');
  await fetch(`${service.url}/api/v2/arten?name_regexp_ci=(`, { headers });
  const output = service.output();
  const link = /konto\/([\w-]+)/.exec(await readMail(/: Ihr Konto/))?.[1] ?? '';
  const dataLink = /konto\/daten\/([\w-]+)/.exec(await readMail(/: Ihre Daten/))?.[1] ?? '';
  for (const secret of [
    'prüft genau',
    sha1OfPlain('prüft genau'),
    'Käfer & Co',
    sha1OfPlain('Käfer & Co'),
    headers['X-Auth-Token'],
    link,
    dataLink,
  ]) {
    assert.ok(secret !== '' && !output.includes(secret), 'a secret reached the log');
  }
});

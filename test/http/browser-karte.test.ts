// The map in a real browser: what it shows, what it says, what it loads, and that it can be used without a mouse.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import { launchBrowser, withoutBrowser } from '../support/browser.ts';
import { arten } from '../support/catalogue.ts';
import { onPostgres } from '../support/database.ts';
import { serveApp } from '../support/listen.ts';
import { type Json, startTestService, type TestService, testConfig } from '../support/service.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const reason = 'Der Fundort ist geschützt; gezeigt wird die Fläche von 5 × 5 km, in der er liegt.';
// The middle of N, where the records are.
const here = 'lat=49.92&lon=7.9';

interface Opened {
  page: Page;
  complaints: string[];
  foreign: string[];
}

// What the page shows comes by answers that other tests compare on both databases.
const skip = (!onPostgres && 'the same as with DATABASE_URL') || withoutBrowser;

describe('GET /karte in a browser', { skip }, () => {
  let service: TestService;
  let browser: Browser;
  let origin: string;

  const start = async (fetch: TestService['app']['fetch']) => `http://127.0.0.1:${await serveApp(fetch)}`;

  before(async () => {
    if (skip) return;
    service = await startTestService({ config: { ...testConfig, defaultTenant: 'N' } });
    await service.makeReleased({ lat: '5530000', lon: '421000' });
    await service.makeReleased({ lat: '5531000', lon: '422000', datum: '1.6.2019', bemerkung: 'singt' });
    await service.makeReleased({ lat: '5537500', lon: '427500', art: String(arten.uhu) });
    origin = await start(service.app.fetch);
    browser = await launchBrowser();
  });
  after(() => browser?.close());

  async function openMap(hash = '', { at = origin, width = 1280, height = 800, waits = true } = {}): Promise<Opened> {
    const page = await browser.newPage({ viewport: { width, height } });
    page.setDefaultTimeout(40_000);
    const complaints: string[] = [];
    const foreign: string[] = [];
    page.on('console', (message) => {
      // A service that is busy says so, and is asked again: only who never gets an answer is refused.
      const isBusy = message.text().includes('the server responded with a status of 503');
      if (['error', 'warning'].includes(message.type()) && !isBusy) complaints.push(message.text());
    });
    page.on('response', (response) => {
      const refusal = `503 ${response.url()}`;
      const before = complaints.indexOf(refusal);
      if (response.status() === 503 && before < 0) complaints.push(refusal);
      else if (response.ok() && before >= 0) complaints.splice(before, 1);
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('request', (request) => {
      if (!request.url().startsWith(`${at}/`) && !request.url().startsWith('data:')) foreign.push(request.url());
    });
    await page.goto(`${at}/karte${hash}`);
    if (waits) await page.getByText(/^Im Ausschnitt/).waitFor();
    return { page, complaints, foreign };
  }

  const tell = (page: Page, text: string | RegExp) => page.locator('#stand').getByText(text).waitFor();

  it('is what the address of the service leads to; it draws all that there is, complains about nothing and asks no other host', async () => {
    const { page, complaints, foreign } = await openMap();
    assert.match(page.url(), /#z=[\d.]+&lat=[\d.]+&lon=[\d.]+$/);
    // What is loaded next takes the sentence away for a while.
    await tell(page, /Quadrat/);
    assert.match(await page.locator('#legende').innerText(), /Meldungen je Quadrat von \d+ × \d+ km/);
    assert.deepEqual(complaints, []);
    assert.deepEqual(foreign, []);
    const links = await page.locator('header a').evaluateAll((all) => all.map((a) => a.getAttribute('href')));
    assert.deepEqual(links, ['/api/v2', '/ogc']);
    await page.goto(origin);
    assert.equal(new URL(page.url()).pathname, '/karte');
    await page.close();
  });

  it('draws something: the picture has the colours of counts', async () => {
    const { page } = await openMap();
    const countColours = () =>
      page.evaluate<number>(`(() => {
        const canvas = document.querySelector('#karte canvas');
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        const found = new Set();
        for (let at = 0; at < data.length; at += 4) if (data[at + 3] === 255) found.add((data[at] << 16) + (data[at + 1] << 8) + data[at + 2]);
        return found.size;
      })()`);
    // The classes of the first counts draw the map anew: between clearing and drawing it shows nothing.
    const until = Date.now() + 20_000;
    let colours = await countColours();
    while (colours <= 3 && Date.now() < until) {
      await sleep(50);
      colours = await countColours();
    }
    assert.ok(colours > 3, `${colours} colours`);
    await page.close();
  });

  it('lets one choose a species by typing and arrows, shows its curve of the year, and keeps it in the address', async () => {
    const { page, complaints } = await openMap(`#z=11&${here}`);
    await tell(page, '2 Meldungen und 1 Quadrat');
    await page.getByRole('combobox', { name: 'Art' }).focus();
    await page.keyboard.type('bubo');
    await page.getByRole('option', { name: /Uhu/ }).waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await tell(page, 'Im Ausschnitt: 1 Quadrat.');
    assert.match(page.url(), /&art=1(&|$)/);
    const chart = page.getByAltText('Meldungen im Jahreslauf: Uhu');
    await chart.waitFor();
    const image = "document.querySelector('#jahreslauf img')";
    assert.equal(await page.evaluate(`${image}.decode().then(() => ${image}.naturalWidth)`), 320);
    await page.getByRole('button', { name: 'Alle Arten zeigen' }).click();
    await tell(page, '2 Meldungen und 1 Quadrat');
    await page.getByLabel('Jahr von').fill('2020');
    await page.keyboard.press('Tab');
    await tell(page, '1 Meldung und 1 Quadrat');
    assert.match(page.url(), /&von=2020(&|$)/);
    await page.getByLabel('bis').fill('2019');
    await page.keyboard.press('Tab');
    await page.getByText('Das erste Jahr liegt nach dem letzten.').waitFor();
    assert.deepEqual(complaints, []);
    await page.close();
  });

  it('says of a masked square why it is one, on a click', async () => {
    // The middle of the cell is the middle of the map: the place itself is nowhere.
    const { sql } = service.database;
    const [center] = await sql<{ lat: number; lon: number }[]>`
      select st_y(p) as lat, st_x(p) as lon from st_transform(st_setsrid(st_makepoint(427500, 5537500), 25832), 4326) p`;
    const { page } = await openMap(`#z=12&lat=${center?.lat}&lon=${center?.lon}`);
    const box = await page.locator('#karte').boundingBox();
    assert.ok(box);
    await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
    const told = page.getByRole('region', { name: 'Auskunft' });
    await told.getByText('1 geschützte Meldung').waitFor();
    assert.match(await told.innerText(), new RegExp(reason));
    assert.doesNotMatch(await told.innerText(), /Uhu/);
    assert.match(await page.locator('#legende').innerText(), new RegExp(reason));
    await page.close();
  });

  it('restores a view from its link', async () => {
    const { page } = await openMap(`#z=11&${here}&art=2&von=2018&bis=2019`);
    await tell(page, 'Im Ausschnitt: 1 Meldung.');
    assert.equal(await page.getByRole('combobox', { name: 'Art' }).inputValue(), 'Amsel');
    assert.equal(await page.getByLabel('Jahr von').inputValue(), '2018');
    assert.equal(await page.title(), 'Amsel – Karte der Beobachtungen');
    assert.match(page.url(), /#z=11.00&lat=49.92000&lon=7.90000&art=2&von=2018&bis=2019$/);
    await page.evaluate(`location.hash = 'z=11&${here}&art=1'`);
    await tell(page, 'Im Ausschnitt: 1 Quadrat.');
    await page.close();
  });

  it('can be used by the keyboard alone: from control to control, the map by its keys, its content as a list', async () => {
    const { page } = await openMap(`#z=11&${here}`);
    await page.locator('h1').click();
    const reached: (string | null)[] = [];
    for (let step = 0; step < 12; step++) {
      await page.keyboard.press('Tab');
      reached.push(
        await page.evaluate<string | null>(
          'document.activeElement.id || document.activeElement.className || document.activeElement.tagName',
        ),
      );
      if (reached.at(-1) === 'karte') break;
    }
    assert.ok(
      ['art', 'von', 'bis', 'karte'].every((id) => reached.includes(id)),
      reached.join(', '),
    );
    const before = page.url();
    await page.keyboard.press('ArrowRight');
    await page.waitForURL((url) => url.href !== before);
    const moved = page.url();
    await page.keyboard.press('-');
    await page.waitForURL((url) => url.href !== moved);
    await page.locator('summary').focus();
    await page.keyboard.press('Enter');
    const entry = page.getByRole('button', { name: 'Amsel, 1. Juni 2019' });
    await entry.waitFor();
    await page.getByRole('button', { name: '1 geschützte Meldung in einem Quadrat von 5 km' }).waitFor();
    await entry.focus();
    // The list follows the view; who has one of its entries keeps it.
    await page.evaluate("document.querySelector('#liste li:has(button:not(:focus))').remove()");
    await page.evaluate("document.querySelector('#liste').dispatchEvent(new Event('toggle'))");
    await page.getByRole('button', { name: '1 geschützte Meldung in einem Quadrat von 5 km' }).waitFor();
    assert.equal(await page.evaluate('document.activeElement.textContent'), 'Amsel, 1. Juni 2019');
    await page.keyboard.press('Enter');
    await page.getByRole('region', { name: 'Auskunft' }).getByText('singt').waitFor();
    assert.equal(await page.evaluate('document.activeElement.id'), 'auskunft');
    await page.getByRole('button', { name: 'Auskunft schließen' }).press('Enter');
    assert.equal(await page.evaluate('document.activeElement.id'), 'karte');
    await page.close();
  });

  it('fits a phone, with everything in it', async () => {
    const { page } = await openMap(`#z=11&${here}&art=2`, { width: 375, height: 740 });
    await page.locator('summary').click();
    await page
      .getByRole('button', { name: /^Amsel/ })
      .first()
      .click();
    await page.getByRole('region', { name: 'Auskunft' }).waitFor();
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 375);
    const map = await page.locator('#karte').boundingBox();
    assert.ok(map && map.width === 375 && map.height > 300);
    await page.close();
  });

  it('says what failed while the service is away, and goes on when it is back', async () => {
    const { page } = await openMap(`#z=11&${here}`);
    await page.context().setOffline(true);
    await page.getByLabel('Jahr von').fill('2019');
    await page.keyboard.press('Tab');
    const alert = page.getByRole('alert').filter({ hasText: 'Der Dienst ist nicht erreichbar.' });
    await alert.waitFor();
    await page.context().setOffline(false);
    await alert.getByRole('button', { name: 'Noch einmal versuchen' }).click();
    await tell(page, '2 Meldungen und 1 Quadrat');
    assert.equal(await alert.isVisible(), false);
    await page.close();
  });

  it('works with a background that does not load, and asks that host alone', async () => {
    const other = 'http://127.0.0.1:9';
    const { app } = await startTestService({
      config: { ...testConfig, karteHintergrund: { url: `${other}/{z}/{x}/{y}.png`, quelle: '© Niemand' } },
    });
    const at = await start(app.fetch);
    const { page, foreign } = await openMap(`#z=8&${here}`, { at });
    await page.getByText('© Niemand').waitFor();
    assert.ok(foreign.length > 0 && foreign.every((url) => url.startsWith(`${other}/`)), foreign.join('\n'));
    assert.equal(await page.locator('#fehler').isVisible(), false);
    await page.close();
  });

  it('has no serious finding of axe, on a desktop and on a phone', async () => {
    for (const width of [1280, 375]) {
      const { page } = await openMap(`#z=11&${here}&art=2`, { width });
      await page.locator('summary').click();
      await page
        .getByRole('button', { name: /^Amsel/ })
        .first()
        .click();
      await page.getByRole('region', { name: 'Auskunft' }).waitFor();
      await page.getByRole('combobox', { name: 'Art' }).fill('a');
      await page.getByRole('option').first().waitFor();
      // Not as a script of the page, which its policy forbids.
      const findings = await page.evaluate<Json>(`(() => { ${axe}; return axe.run(); })()`);
      const serious = findings.violations.filter(({ impact }: Json) => impact === 'serious' || impact === 'critical');
      const listed = serious.map(({ id, nodes }: Json) => `${id}: ${nodes.map(({ html }: Json) => html).join(' ')}`);
      assert.deepEqual(listed, []);
      await page.close();
    }
  });
});

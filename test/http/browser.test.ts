// The documentation and the map in a real browser: what they show and say, that they load from this service alone, that their requests work,
// and that the map can be used without a mouse.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, afterEach, before, describe, it } from 'node:test';
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

let service: TestService;
let browser: Browser;
let origin: string;
before(async () => {
  if (withoutBrowser) return;
  // 127.0.0.1 is no tenant's domain.
  service = await startTestService({ config: { ...testConfig, defaultTenant: 'N' } });
  origin = await start(service.app.fetch);
  browser = await launchBrowser();
});
afterEach(() => Promise.all(browser?.contexts().map((context) => context.close()) ?? []));
after(() => browser?.close());

const start = async (fetch: TestService['app']['fetch']) => `http://127.0.0.1:${await serveApp(fetch)}`;

interface Opened {
  page: Page;
  complaints: string[];
  foreign: string[];
}

/** Opens a page, and collects what it complains about and what it asks others for. */
async function openPage(
  url: string,
  { width = 1280, height = 800 }: { width?: number | undefined; height?: number },
): Promise<Opened> {
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
    if (!request.url().startsWith(`${new URL(url).origin}/`) && !request.url().startsWith('data:')) foreign.push(request.url());
  });
  await page.goto(url);
  return { page, complaints, foreign };
}

// What the page shows comes by answers that other tests compare on both databases.
const skipMap = (!onPostgres && 'the same as with DATABASE_URL') || withoutBrowser;

describe('GET /karte in a browser', { skip: skipMap }, () => {
  before(async () => {
    if (skipMap) return;
    await service.makeReleased({ lat: '5530000', lon: '421000' });
    await service.makeReleased({ lat: '5531000', lon: '422000', datum: '1.6.2019', bemerkung: 'singt' });
    await service.makeReleased({ lat: '5537500', lon: '427500', art: String(arten.uhu) });
  });

  async function openMap(hash = '', { at = origin, ...size }: { at?: string; width?: number; height?: number } = {}) {
    const opened = await openPage(`${at}/karte${hash}`, size);
    await opened.page.getByText(/^Im Ausschnitt/).waitFor();
    return opened;
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
  });

  it('draws the lines of a square across the edges of tiles, and lists a point there once', async () => {
    const { sql } = service.database;
    const [center] = await sql<{ lat: number; lon: number }[]>`
      select st_y(p) as lat, st_x(p) as lon from st_transform(st_setsrid(st_makepoint(427500, 5537500), 25832), 4326) p`;
    for (const z of [14, 14.4]) {
      const { page } = await openMap(`#z=${z}&lat=${center?.lat}&lon=${center?.lon}`);
      await tell(page, 'Im Ausschnitt: 1 Quadrat.');
      // Lines that rise at half a right angle: a step along them changes nothing, but where they break; one across them often does.
      const look = () =>
        page.evaluate<{ along: number; across: number }>(`(() => {
          const canvas = document.querySelector('#karte canvas');
          const side = 320;
          const [x, y] = [canvas.width / 2 - side / 2, canvas.height / 2 - side / 2];
          const { data } = canvas.getContext('2d').getImageData(x, y, side, side);
          const differ = (i, j, k, l) => Math.abs(data[4 * (j * side + i) + 1] - data[4 * (l * side + k) + 1]) > 90;
          const seen = { along: 0, across: 0 };
          for (let j = 1; j < side; j++)
            for (let i = 0; i < side - 1; i++) {
              if (differ(i, j, i + 1, j - 1)) seen.along++;
              if (differ(i, j - 1, i + 1, j)) seen.across++;
            }
          return seen;
        })()`);
      // Between clearing and drawing it shows nothing.
      const until = Date.now() + 20_000;
      let seen = await look();
      while ((seen.across < 5000 || seen.along > 0) && Date.now() < until) {
        await sleep(50);
        seen = await look();
      }
      assert.ok(seen.across >= 5000, JSON.stringify(seen));
      assert.equal(seen.along, 0, `zoom ${z}`);
    }
    // Half a pixel beside the edge of two tiles, away from all others.
    const [edge] = await sql<{ x: number; y: number; lat: number; lon: number }[]>`
      select st_x(u) as x, st_y(u) as y, st_y(g) as lat, st_x(g) as lon
      from (select st_transform(p, 25832), st_transform(p, 4326)
        from (select st_setsrid(st_makepoint(st_xmin(t) + (st_xmax(t) - st_xmin(t)) / 512, st_ymin(t) + (st_ymax(t) - st_ymin(t)) / 2), 3857)
          from st_tileenvelope(14, 8560, 5550) t) e (p)) q (u, g)`;
    assert.ok(edge && edge.x > 402000 && edge.x < 450000 && edge.y > 5500000 && edge.y < 5558000, JSON.stringify(edge));
    const id = await service.makeReleased({ lat: String(edge.y), lon: String(edge.x) });
    const { page } = await openMap(`#z=14&lat=${edge.lat}&lon=${edge.lon}`);
    await tell(page, 'Im Ausschnitt: 1 Meldung.');
    await page.locator('summary').click();
    await page.getByRole('button', { name: /^Amsel/ }).waitFor();
    assert.equal(await page.locator('#liste li').count(), 1);
    await sql`delete from portal.sichtbeobachtung where id = ${id}`;
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
    }
  });
});

// The documents know no database.
const skipDocs = (onPostgres && 'the same as without DATABASE_URL') || withoutBrowser;

describe('GET /api/v2 in a browser', { skip: skipDocs }, () => {
  /** The page with its list of operations. */
  async function openDocs(path: string, width?: number): Promise<Opened> {
    const opened = await openPage(`${origin}${path}`, { width });
    await opened.page.locator('.opblock-summary').first().waitFor();
    return opened;
  }

  it('lists every operation, complains about nothing and asks no other host', async () => {
    const { page, complaints, foreign } = await openDocs('/api/v2/');
    const json = (await (await fetch(`${origin}/api/v2/openapi.json`)).json()) as Json;
    // An absolute address would be that of the tenant, where the page may not send anything.
    assert.equal(json.servers[0].url, '/api/v2');
    const operations = Object.entries<object>(json.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const shown = await page.locator('.opblock-summary').evaluateAll((rows) =>
      rows.map((row) => {
        const method = row.querySelector('.opblock-summary-method')?.textContent;
        return `${method} ${row.querySelector('.opblock-summary-path')?.getAttribute('data-path')}`;
      }),
    );
    assert.deepEqual(shown.sort(), operations.sort());
    assert.deepEqual(complaints, []);
    assert.deepEqual(foreign, []);
  });

  it('locks what needs a login, not what may be read without', async () => {
    const { page } = await openDocs('/api/v2');
    const lockOf = (id: string) => page.locator(`${id} .authorization__btn`).getAttribute('aria-label');
    assert.match((await lockOf('#operations-Beobachtungen-listSichtbeobachtungen')) ?? '', /unlocked/);
    assert.match((await lockOf('#operations-Beobachtungen-createSichtbeobachtung')) ?? '', /unlocked/);
    await page.evaluate('ui.preauthorizeApiKey("XAuthUser", "x"); ui.preauthorizeApiKey("XAuthToken", "x")');
    await page.locator('#operations-Beobachtungen-createSichtbeobachtung .authorization__btn svg.locked').waitFor();
  });

  it('fits a phone: no scrolling sideways, titles whole, also with operations open', async () => {
    const { page } = await openDocs('/api/v2', 375);
    for (const id of ['listSichtbeobachtungen', 'createSichtbeobachtung', 'updateSichtbeobachtung'])
      await page.locator(`#operations-Beobachtungen-${id} .opblock-summary-control`).click();
    await page.locator('#operations-Beobachtungen-updateSichtbeobachtung .responses-table').first().waitFor();
    const { wide, beyond } = await page.evaluate<{ wide: number; beyond: string[] }>(`({
      wide: document.documentElement.scrollWidth,
      beyond: [...document.querySelectorAll('.title, .opblock-tag, .opblock-summary-description, .opblock-summary-path')]
        .filter((element) => element.getBoundingClientRect().right > innerWidth || element.scrollWidth > element.clientWidth + 1)
        .filter((element) => getComputedStyle(element).display !== 'inline')
        .map((element) => element.textContent),
    })`);
    assert.equal(wide, 375);
    assert.deepEqual(beyond, []);
  });

  it('sends a request by "Try it out" and shows the species of its answer', async () => {
    const { page, complaints, foreign } = await openDocs('/api/v2');
    const operation = page.locator('#operations-Arten-listArten');
    await operation.locator('.opblock-summary-control').click();
    await operation.getByRole('button', { name: 'Try it out' }).click();
    await operation.getByRole('button', { name: 'Execute' }).click();
    const answer = operation.locator('.live-responses-table .response').first();
    await answer.waitFor();
    assert.equal((await answer.locator('.response-col_status').innerText()).trim().slice(0, 3), '200');
    assert.match(await answer.locator('.response-col_description').innerText(), /Amsel/);
    assert.deepEqual(complaints, []);
    assert.deepEqual(foreign, []);
  });

  it('sends of a form what was filled in, and nothing else', async () => {
    const { page, complaints } = await openDocs('/api/v2');
    const operation = page.locator('#operations-Beobachtungen-updateSichtbeobachtung');
    await operation.locator('.opblock-summary-control').click();
    await operation.getByRole('button', { name: 'Try it out' }).click();
    await operation.locator('tr[data-param-name="id"] input').fill('1');
    await operation.locator('tr[data-property-name="anzahl"] input').first().fill('3');
    const [request] = await Promise.all([
      page.waitForRequest((sent) => sent.method() === 'PUT'),
      operation.getByRole('button', { name: 'Execute' }).click(),
    ]);
    const names = [...(request.postData() ?? '').matchAll(/name="([^"]+)"/g)].map(([, name]) => name);
    assert.deepEqual(names, ['anzahl']);
    await operation.locator('.live-responses-table .response').first().waitFor();
    // Chromium itself notes that the answer was 401.
    const found = complaints.filter((text) => !/401 \(Unauthorized\)/.test(text));
    assert.deepEqual(found, []);
  });
});

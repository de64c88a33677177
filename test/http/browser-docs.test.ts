// The documentation page in a real browser: it loads from this service alone, and its requests work.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { launchBrowser, withoutBrowser } from '../support/browser.ts';
import { onPostgres } from '../support/database.ts';
import { serveApp } from '../support/listen.ts';
import { type Json, startTestService, type TestService, testConfig } from '../support/service.ts';

// The documents know no database.
const skip = (onPostgres && 'the same as without DATABASE_URL') || withoutBrowser;

describe('GET /api/v2 in a browser', { skip }, () => {
  let service: TestService;
  let origin: string;
  let browser: Browser;
  before(async () => {
    // 127.0.0.1 is no tenant's domain.
    service = await startTestService({ config: { ...testConfig, defaultTenant: 'N' } });
    origin = `http://127.0.0.1:${await serveApp(service.app.fetch)}`;
    browser = await launchBrowser();
  });
  after(() => browser?.close());

  /** Opens the page, and collects what it complains about and what it asks others for. */
  async function openPage(path: string, width = 1280): Promise<{ page: Page; complaints: string[]; foreign: string[] }> {
    const page = await browser.newPage({ viewport: { width, height: 800 } });
    page.setDefaultTimeout(15_000);
    const complaints: string[] = [];
    const foreign: string[] = [];
    page.on('console', (message) => ['error', 'warning'].includes(message.type()) && complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('request', (request) => {
      if (!request.url().startsWith(`${origin}/`) && !request.url().startsWith('data:')) foreign.push(request.url());
    });
    await page.goto(`${origin}${path}`);
    await page.locator('.opblock-summary').first().waitFor();
    return { page, complaints, foreign };
  }

  it('lists every operation, complains about nothing and asks no other host', async () => {
    const { page, complaints, foreign } = await openPage('/api/v2/');
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
    await page.close();
  });

  it('is not what a client gets that asks the address of the service for no page; an icon is there', async () => {
    assert.equal((await fetch(origin, { headers: { accept: 'application/json' } })).status, 404);
    const icon = await fetch(`${origin}/favicon.ico`);
    assert.deepEqual([icon.status, icon.headers.get('content-type')], [200, 'image/png']);
  });

  it('locks what needs a login, not what may be read without', async () => {
    const { page } = await openPage('/api/v2');
    const lockOf = (id: string) => page.locator(`${id} .authorization__btn`).getAttribute('aria-label');
    assert.match((await lockOf('#operations-Beobachtungen-listSichtbeobachtungen')) ?? '', /unlocked/);
    assert.match((await lockOf('#operations-Beobachtungen-createSichtbeobachtung')) ?? '', /unlocked/);
    await page.evaluate('ui.preauthorizeApiKey("XAuthUser", "x"); ui.preauthorizeApiKey("XAuthToken", "x")');
    await page.locator('#operations-Beobachtungen-createSichtbeobachtung .authorization__btn svg.locked').waitFor();
    await page.close();
  });

  it('fits a phone: no scrolling sideways, titles whole, also with operations open', async () => {
    const { page } = await openPage('/api/v2', 375);
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
    await page.close();
  });

  it('sends a request by "Try it out" and shows the species of its answer', async () => {
    const { page, complaints, foreign } = await openPage('/api/v2');
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
    await page.close();
  });

  it('sends of a form what was filled in, and nothing else', async () => {
    const { page, complaints } = await openPage('/api/v2');
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
    await page.close();
  });
});

// Files to publish over HTTP (O5): what is served, what is refused and why, and what catalogues are told.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { before, describe, it } from 'node:test';
import { create } from 'xmlbuilder2';
import { publishExport } from '../../src/jobs/export.ts';
import { createLog } from '../../src/observe/log.ts';
import { makeDirectory } from '../support/end.ts';
import { setLizenz } from '../support/export.ts';
import { startTestService } from '../support/service.ts';

const service = await startTestService();
const { database } = service;
const { sql } = database;
const dataDir = await makeDirectory();
const publish = async () => {
  const work = { storage: service.media.storage, dataDir, publicUrl: 'https://{domain}', log: createLog('silent') };
  assert.equal(await publishExport(database.served, 'N', work), null);
};
const fetchFile = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  service.app.request(`http://n.example.org/export/v1${path}`, { method, headers: { host: 'n.example.org', ...headers } });
const problemOf = async (response: Response) => {
  const { detail, code } = (await response.json()) as { detail: string; code: string };
  return [response.status, code, detail];
};

let id: number;
before(async () => {
  await setLizenz(sql, 'N');
  id = await service.makeReleased();
  await publish();
});

describe('a file', () => {
  it('is served whole, with its length, its hash as ETag and its time; HEAD without it', async () => {
    const response = await fetchFile('/n/sichtbeobachtung.csv');
    const body = Buffer.from(await response.arrayBuffer());
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('content-length'), String(body.length));
    assert.equal(response.headers.get('etag'), `"${createHash('sha256').update(body).digest('hex')}"`);
    assert.match(body.toString(), new RegExp(`^id,guid,.*\n${id},`));
    const head = await fetchFile('/N/sichtbeobachtung.csv', {}, 'HEAD');
    assert.deepEqual(
      [head.status, head.headers.get('content-length'), (await head.arrayBuffer()).byteLength],
      [200, String(body.length), 0],
    );
  });

  it('costs nothing for who has it, by its tag or by its time', async () => {
    const first = await fetchFile('/N/dwca.zip');
    await first.arrayBuffer();
    const [tag = '', time = ''] = [first.headers.get('etag') ?? '', first.headers.get('last-modified') ?? ''];
    for (const [headers, status] of [
      [{ 'if-none-match': tag }, 304],
      [{ 'if-none-match': '"other"' }, 200],
      [{ 'if-modified-since': time }, 304],
      [{ 'if-modified-since': 'Mon, 01 Jan 2024 00:00:00 GMT' }, 200],
      [{ 'if-none-match': '"other"', 'if-modified-since': time }, 200],
    ] as const) {
      const response = await fetchFile('/N/dwca.zip', headers);
      await response.arrayBuffer();
      assert.equal(response.status, status, JSON.stringify(headers));
    }
  });

  it('is served in parts', async () => {
    const whole = Buffer.from(await (await fetchFile('/N/cube.csv')).arrayBuffer());
    for (const [range, status, start, end] of [
      ['bytes=0-9', 206, 0, 10],
      ['bytes=5-', 206, 5, whole.length],
      ['bytes=-7', 206, whole.length - 7, whole.length],
      [`bytes=${whole.length}-`, 416, 0, 0],
    ] as const) {
      const response = await fetchFile('/N/cube.csv', { range });
      assert.equal(response.status, status, range);
      assert.deepEqual(Buffer.from(await response.arrayBuffer()), whole.subarray(start, end), range);
    }
    const stale = await fetchFile('/N/cube.csv', { range: 'bytes=0-9', 'if-range': '"other"' });
    assert.deepEqual([stale.status, (await stale.arrayBuffer()).byteLength], [200, whole.length]);
  });

  it('is refused with the reason', async () => {
    for (const [path, expected] of [
      ['/N/other.csv', [404, 'keine_datei', 'Diese Datei gibt es nicht; was es gibt, steht unter /export/v1/.']],
      ['/XX/cube.csv', [404, 'keine_datei', 'Diese Datei gibt es nicht; was es gibt, steht unter /export/v1/.']],
      [
        '/S/cube.csv',
        [404, 'keine_lizenz', 'Dieser Mandant veröffentlicht keine Dateien: Für ihn ist keine Lizenz eingestellt.'],
      ],
    ] as const)
      assert.deepEqual(await problemOf(await fetchFile(path)), expected, path);
    assert.equal((await fetchFile('/N/cube.csv?x=1')).status, 400);
  });

  it('O5.2 is not served from the commit on of what hides something in it', async () => {
    await sql`update portal.sichtbeobachtung set status = 'hinweis' where id = ${id}`;
    const response = await fetchFile('/N/sichtbeobachtung.csv');
    assert.equal(response.headers.get('retry-after'), '120');
    assert.deepEqual((await problemOf(response)).slice(0, 2), [503, 'datei_unterwegs']);
    await publish();
    const text = await (await fetchFile('/N/sichtbeobachtung.csv')).text();
    assert.equal(text.trimEnd().split('\n').length, 1, 'without the record');
    await sql`update portal.sichtbeobachtung set status = 'freigegeben' where id = ${id}`;
    await publish();
  });

  it('O5.1 is no archive where GBIF does not take the licence', async () => {
    await setLizenz(sql, 'N', 'ODbL-1.0');
    await publish();
    assert.deepEqual((await problemOf(await fetchFile('/N/dwca.zip'))).slice(0, 2), [404, 'kein_archiv']);
    assert.equal((await fetchFile('/N/cube.csv', {}, 'HEAD')).status, 200);
    await setLizenz(sql, 'N');
    await publish();
  });
});

describe('the catalogue', () => {
  it('lists each file with size, hash, time and licence', async () => {
    const { dateien } = (await (await fetchFile('/')).json()) as { dateien: Record<string, unknown>[] };
    assert.equal(dateien.length, 5);
    for (const { mandant, datei, url, bytes, anzahl, stand, lizenz, sha256, gueltig } of dateien) {
      const response = await fetchFile(new URL(String(url)).pathname.replace('/export/v1', ''));
      const body = Buffer.from(await response.arrayBuffer());
      assert.deepEqual(
        [mandant, lizenz, gueltig, bytes, sha256, anzahl],
        ['N', 'CC-BY-4.0', true, body.length, createHash('sha256').update(body).digest('hex'), 1],
        String(datei),
      );
      assert.match(String(stand), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    }
  });

  it('is a page for people, with what search engines read', async () => {
    const response = await fetchFile('/', { accept: 'text/html' });
    const page = await response.text();
    assert.match(page, /Funde &lt;im&gt; Land/);
    const [, json = ''] = /<script type="application\/ld\+json">(.*?)<\/script>/.exec(page) ?? [];
    const dataset = JSON.parse(json) as Record<string, unknown>;
    assert.deepEqual(
      [dataset['@type'], dataset.name, dataset.license],
      ['Dataset', 'Funde <im> Land', 'http://creativecommons.org/licenses/by/4.0/legalcode'],
    );
  });

  // What DCAT-AP.de 3.0 and its rules for high-value datasets require.
  const required = {
    dataset: [
      'dct:title',
      'dct:description',
      'dct:publisher',
      'dcat:contactPoint',
      'dcat:distribution',
      'dcatap:applicableLegislation',
      'dcatap:hvdCategory',
      'dct:identifier',
    ],
    distribution: ['dcat:accessURL', 'dct:license', 'dcatap:applicableLegislation', 'spdx:checksum', 'dcat:byteSize'],
  };

  it('has what DCAT-AP.de requires, as JSON-LD', async () => {
    type Node = Record<string, unknown>;
    const catalogue = (await (await fetchFile('/?f=jsonld')).json()) as Node;
    const [dataset] = catalogue['dcat:dataset'] as Node[];
    for (const name of required.dataset) assert.ok(dataset?.[name], name);
    const distributions = dataset?.['dcat:distribution'] as Node[];
    assert.equal(distributions.length, 5);
    for (const distribution of distributions) for (const name of required.distribution) assert.ok(distribution[name], name);
  });

  it('says the same as RDF/XML', async () => {
    const xml = await (await fetchFile('/?f=rdf')).text();
    for (const name of [...required.dataset, ...required.distribution]) assert.match(xml, new RegExp(`<${name}[ >]`), name);
    assert.match(xml, /Landesamt &amp; Söhne/);
    assert.ok(create(xml).root());
    const lint = spawnSync('xmllint', ['--noout', '-'], { input: xml });
    if (!lint.error) assert.equal(lint.status, 0, String(lint.stderr));
  });
});

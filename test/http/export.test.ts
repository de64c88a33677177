// Files to publish over HTTP (O5): who has which, ranges, conditions, never one that a change made wrong; and what is told of them.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, it } from 'node:test';
import { type ExportDatei, exportDateien, type StoredExport, setExportLauf } from '../../src/db/export.ts';
import { contentTypes, type Lizenz, licences } from '../../src/export/licences.ts';
import { makeExportName } from '../../src/media/name.ts';
import { onPostgres } from '../support/database.ts';
import { makeDirectory } from '../support/end.ts';
import { type Answer, assertProblem, type Json, type RequestOptions, startTestService } from '../support/service.ts';

const service = await startTestService();
const { sql } = service.database;
const { storage } = service.media;
const directory = await makeDirectory();
const id = await service.makeReleased();

const ask = (path: string, options: RequestOptions = {}): Promise<Answer> =>
  service.request(`/export/v1${path}`, { below: '', ...options });
const contentOf = (datei: ExportDatei) => Buffer.from(`"${datei} äöü ${'0123456789'.repeat(20)}"`);
const titel = 'Arten <&lt; "Co"> </script> \u{1F98B}';

const license = (kuerzel: string, lizenz: Lizenz | null) => sql`
  update portal.mandant set lizenz = ${lizenz}::text, herausgeber = 'Land & Leute', kontakt = 'arten@example.org', titel = ${titel},
    beschreibung = 'Alle <Arten>' where kuerzel = ${kuerzel}`;

/** As a run does it. */
async function store(kuerzel: string, dateien: readonly ExportDatei[] = exportDateien): Promise<StoredExport[]> {
  const stored: StoredExport[] = [];
  for (const datei of dateien) {
    const content = contentOf(datei);
    const [path, objekt] = [join(directory, datei), makeExportName(kuerzel, datei)];
    await writeFile(path, content);
    await storage.putFile(objekt, path, contentTypes[datei]);
    const sha256 = createHash('sha256').update(content).digest('hex');
    stored.push({ datei, objekt, bytes: content.length, anzahl: 1234, sha256 });
  }
  // Or one that is as it was would keep its name in the storage.
  await sql`delete from portal.export_datei d using portal.mandant m where m.id = d.mandant_id and m.kuerzel = ${kuerzel}`;
  await sql`select api.set_export_datei(kuerzel => ${kuerzel}::text, dateien => ${JSON.stringify(stored)}::text)`;
  await setExportLauf(sql, kuerzel, null);
  return stored;
}

let stored: StoredExport[] = [];
beforeEach(async () => {
  await license('N', 'CC-BY-4.0');
  await license('S', 'ODbL-1.0');
  await license('W', null);
  stored = await store('N');
  await store('S');
});

describe('a file', () => {
  it('O5 is served whole, by the abbreviation in any case, with what names and dates it', async () => {
    for (const datei of exportDateien) {
      const answer = await service.app.request(`http://n.test/export/v1/n/${datei}`, { headers: { host: 'n.test' } });
      const bytes = Buffer.from(await answer.arrayBuffer());
      assert.equal(answer.status, 200);
      assert.deepEqual(bytes, contentOf(datei));
      const { sha256 = '' } = stored.find((each) => each.datei === datei) ?? {};
      const headers = {
        'content-type': contentTypes[datei],
        'content-length': String(bytes.length),
        'content-disposition': `attachment; filename="${datei}"; filename*=UTF-8''N-${datei}`,
        'accept-ranges': 'bytes',
        'cache-control': 'no-cache',
        'access-control-allow-origin': '*',
        etag: `"${sha256}"`,
      };
      for (const [name, value] of Object.entries(headers)) assert.equal(answer.headers.get(name), value, name);
      assert.match(answer.headers.get('last-modified') ?? '', /^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/);
      const head = await ask(`/N/${datei}`, { method: 'HEAD' });
      assert.deepEqual([head.status, head.text, head.headers.get('content-length')], [200, '', String(bytes.length)]);
    }
  });

  it('O5.1 is not there, and the answer says why', async () => {
    for (const [path, parameter, reason] of [
      ['/X/cube.csv', 'kuerzel', /„X“ gibt es nicht/],
      [`/${'X'.repeat(3000)}/cube.csv`, 'kuerzel', /gibt es nicht/],
      ['/%00/cube.csv', 'kuerzel', /gibt es nicht/],
      ['/w/cube.csv', 'kuerzel', /keine Lizenz/],
      ['/w/metadaten.xml', 'kuerzel', /keine Lizenz/],
      ['/S/dwca.zip', 'datei', /ODbL-1\.0.*GBIF nimmt nur CC0-1\.0, CC-BY-4\.0, CC-BY-NC-4\.0/],
      ['/N/x.csv', 'datei', /„x\.csv“ gibt es nicht; es gibt dwca\.zip, .*cube\.csv, metadaten\.xml/],
      ['/S/x.csv', 'datei', /es gibt sichtbeobachtung\.csv/],
    ] as [string, string, RegExp][]) {
      const answer = await ask(path);
      assertProblem(answer, 404, parameter);
      assert.match(answer.json.detail, reason);
    }
    for (const path of ['/N', '/N/', '/N/dwca.zip/x', '/N/..%2F..%2Fx']) assert.equal((await ask(path)).status, 404, path);
    assertProblem(await ask('/N/cube.csv?x=1'), 400, 'x');
    assertProblem(await ask('/N/cube.csv?f=json'), 400, 'f');
    assertProblem(await ask('/N/cube.csv', { method: 'POST' }), 405);
  });

  it('O5.1 of each licence that GBIF takes has an archive, of the others all but that', async () => {
    for (const lizenz of Object.keys(licences) as Lizenz[]) {
      await license('N', lizenz);
      await store('N');
      const answers = await Promise.all(exportDateien.map(async (datei) => (await ask(`/N/${datei}`)).status));
      assert.deepEqual(answers, [/^CC/.test(lizenz) ? 200 : 404, 200, 200, 200, 200], lizenz);
    }
  });

  const whole = contentOf('cube.csv');
  const ranges: [range: string, status: number, from?: number, to?: number | undefined][] = [
    ['bytes=0-9', 206, 0, 10],
    ['bytes=10-', 206, 10],
    ['bytes=-5', 206, -5],
    ['bytes=0-999999', 206, 0],
    [`bytes=${whole.length - 1}-`, 206, -1],
    [`bytes=${whole.length}-`, 416],
    ['bytes=-0', 416],
    ['bytes=5-2', 200],
    ['bytes=0-1,4-5', 200],
    ['lines=0-1', 200],
    ['bytes=x', 200],
  ];
  for (const [range, status, from = 0, to] of ranges)
    it(`Range: ${range} → ${status}`, async () => {
      const answer = await service.app.request('http://n.test/export/v1/N/cube.csv', { headers: { host: 'n.test', range } });
      assert.equal(answer.status, status);
      if (status === 416) return assert.equal(answer.headers.get('content-range'), `bytes */${whole.length}`);
      const bytes = Buffer.from(await answer.arrayBuffer());
      assert.deepEqual(bytes, whole.subarray(from, to));
      assert.equal(answer.headers.get('content-length'), String(bytes.length));
      const start = from < 0 ? whole.length + from : from;
      const expected = status === 200 ? null : `bytes ${start}-${start + bytes.length - 1}/${whole.length}`;
      assert.equal(answer.headers.get('content-range'), expected);
    });

  it('is sent anew, in part or not at all as conditions say', async () => {
    const { headers } = await ask('/N/cube.csv');
    const [etag = '', modified = ''] = [headers.get('etag') ?? '', headers.get('last-modified') ?? ''];
    const later = new Date(Date.parse(modified) + 60_000).toUTCString();
    const earlier = new Date(Date.parse(modified) - 60_000).toUTCString();
    for (const [sent, status] of [
      [{ 'if-none-match': etag }, 304],
      [{ 'if-none-match': `"x", W/${etag}` }, 304],
      [{ 'if-none-match': '*' }, 304],
      [{ 'if-none-match': '"x"' }, 200],
      [{ 'if-none-match': '"x"', 'if-modified-since': later }, 200],
      [{ 'if-modified-since': modified }, 304],
      [{ 'if-modified-since': later }, 304],
      [{ 'if-modified-since': earlier }, 200],
      [{ 'if-modified-since': 'yesterday' }, 200],
      [{ range: 'bytes=0-1', 'if-range': etag }, 206],
      [{ range: 'bytes=0-1', 'if-range': modified }, 206],
      [{ range: 'bytes=0-1', 'if-range': later }, 200],
      [{ range: 'bytes=0-1', 'if-range': '"x"' }, 200],
      [{ range: 'bytes=0-1', 'if-range': `W/${etag}` }, 200],
      [{ range: 'bytes=0-1', 'if-none-match': etag }, 304],
    ] as [Record<string, string>, number][]) {
      const answer = await ask('/N/cube.csv', { headers: sent });
      assert.equal(answer.status, status, JSON.stringify(sent));
      if (status === 304) assert.deepEqual([answer.text, answer.headers.get('etag')], ['', etag]);
    }
  });

  const refused = async (path: string, options?: RequestOptions) => {
    const answer = await ask(path, options);
    assertProblem(answer, 503);
    assert.equal(answer.headers.get('retry-after'), '120');
    assert.match(answer.json.detail, /wird gerade neu gemacht/);
    for (const name of ['etag', 'last-modified', 'content-disposition', 'accept-ranges'])
      assert.equal(answer.headers.get(name), null, name);
  };

  it('O5.2 answers 503 from the commit of a change that hides, whatever the client has, until a new one is whole', async () => {
    const { headers } = await ask('/N/sichtbeobachtung.csv');
    await sql.begin(async (tx) => {
      await tx`update portal.sichtbeobachtung set sensibel = true where id = ${id}`;
      // The embedded database runs one transaction at a time.
      if (onPostgres) assert.equal((await ask('/N/sichtbeobachtung.csv')).status, 200, 'before the commit');
    });
    for (const sent of [{}, { range: 'bytes=0-1' }, { 'if-none-match': headers.get('etag') ?? '' }, { 'if-none-match': '*' }])
      await refused('/N/sichtbeobachtung.csv', { headers: sent });
    assert.equal((await ask('/N/sichtbeobachtung.csv', { method: 'HEAD' })).status, 503);
    assert.equal((await ask('/S/sichtbeobachtung.csv')).status, 200, 'of another tenant');
    await store('N');
    assert.equal((await ask('/N/sichtbeobachtung.csv')).status, 200);
  });

  it('answers 503 before there is one, and while it is lost or another length than it is known by', async () => {
    await store('N', ['cube.csv']);
    await refused('/N/dwca.zip');
    await sql`update portal.export_datei set bytes = bytes + 1 where datei = 'cube.csv'`;
    await refused('/N/cube.csv');
    const [file] = await store('N', ['cube.csv']);
    await storage.remove([file?.objekt ?? '']);
    await refused('/N/cube.csv');
    assert.equal((await ask('/N/cube.csv', { method: 'HEAD' })).status, 503);
  });
});

describe('the list', () => {
  const rowsOf = async () => (await ask('/')).json.result as Json[];

  it('O5.6 names each file of each tenant that publishes, with and without the slash', async () => {
    const { json, headers } = await ask('/');
    assert.equal(headers.get('content-type'), 'application/json');
    assert.deepEqual((await ask('')).json, json);
    assert.deepEqual(
      json.result.map(({ mandant, datei }: Json) => `${mandant}/${datei}`),
      ['N', 'S']
        .flatMap((mandant) => [...exportDateien].sort().map((datei) => `${mandant}/${datei}`))
        .filter((each) => each !== 'S/dwca.zip'),
    );
    for (const { mandant, datei, url, bytes, anzahl, stand, lizenz, sha256, ...others } of json.result) {
      assert.deepEqual(others, {});
      assert.equal(url, `http://n.test/export/v1/${mandant}/${datei}`);
      assert.deepEqual([anzahl, lizenz], [1234, mandant === 'N' ? 'CC-BY-4.0' : 'ODbL-1.0']);
      assert.equal(new Date(stand).toISOString(), stand);
      const file = await ask(url.slice(url.indexOf('/export/v1') + 10));
      assert.deepEqual([bytes, `"${sha256}"`], [Number(file.headers.get('content-length')), file.headers.get('etag')], file.text);
    }
  });

  it('O5.6 says which files are wrong at present, and why the last run failed', async () => {
    await sql`update portal.sichtbeobachtung set anzahl = anzahl + 1 where id = ${id}`;
    await setExportLauf(sql, 'N', 'Die Ablage der Dateien geht nicht.');
    const { json } = await ask('/');
    const [n, s] = json.mandanten;
    assert.deepEqual([n.mandant, n.gueltig, n.fehler], ['N', false, 'Die Ablage der Dateien geht nicht.']);
    assert.deepEqual([s.mandant, s.gueltig, s.fehler], ['S', true, null]);
    assert.equal(new Date(n.beendet).toISOString(), n.beendet);
    const { text } = await ask('/?f=html');
    assert.match(text, /gescheitert: Die Ablage der Dateien geht nicht\./);
    assert.match(text, /werden gerade neu gemacht/);
  });

  it('O5.6 is JSON, a page or DCAT as f or Accept says, and is read conditionally', async () => {
    const types = {
      json: 'application/json',
      html: 'text/html; charset=UTF-8',
      jsonld: 'application/ld+json',
      rdf: 'application/rdf+xml',
    };
    for (const [f, type] of Object.entries(types)) {
      for (const [path, accept] of [
        [`/?f=${f}`, '*/*'],
        ['/', type.split(';')[0] ?? ''],
      ] as const) {
        const answer = await ask(path, { headers: { accept } });
        assert.deepEqual([answer.status, answer.headers.get('content-type')], [200, type], path);
        const headers = { accept, 'if-none-match': answer.headers.get('etag') ?? '' };
        assert.equal((await ask(path, { headers })).status, 304);
        await sql`update portal.export_datei set anzahl = anzahl + 1 where datei = 'cube.csv'`;
        assert.equal((await ask(path, { headers })).status, 200, 'after a change');
      }
    }
    assertProblem(await ask('/?f=csv'), 400, 'f');
    assertProblem(await ask('/?x=1'), 400, 'x');
    assertProblem(await ask('/', { headers: { accept: 'image/png' } }), 406);
  });

  it('of no tenant is empty in every form', async () => {
    for (const kuerzel of ['N', 'S']) await license(kuerzel, null);
    assert.deepEqual((await ask('/')).json, { result: [], mandanten: [] });
    assert.match((await ask('/?f=html')).text, /veröffentlicht kein Mandant/);
    assert.deepEqual((await ask('/?f=jsonld')).json['dcat:dataset'], []);
    checkXml((await ask('/?f=rdf')).text);
  });

  it('O5.6 as a page says what there is, in which licence, how to cite it, and tells it to search engines', async () => {
    const { text, headers } = await ask('/?f=html');
    const policy = headers.get('content-security-policy') ?? '';
    assert.match(policy, /default-src 'none'/);
    assert.match(text, /<h2>Arten &lt;&amp;lt; &quot;Co&quot;&gt; &lt;\/script&gt;/);
    for (const { url } of await rowsOf()) assert.ok(text.includes(`href="${url}"`), url);
    assert.ok(text.includes(`href="${licences['CC-BY-4.0'].url}"`));
    assert.match(
      text,
      /Land &amp; Leute: Arten .*, Stand \d\d?\.\d\d?\.\d{4}\. Creative Commons Namensnennung 4\.0\. http:\/\/n\.test:8080\/export\/v1\/#N/,
    );
    const [, script = ''] = /<script type="application\/ld\+json">(.*?)<\/script>/s.exec(text) ?? [];
    const [first] = JSON.parse(script).dataset;
    assert.deepEqual([first.name, first['@type'], first.license], [titel, 'Dataset', licences['CC-BY-4.0'].url]);
    assert.equal(first.distribution.length, 5);
    assert.match(first.spatialCoverage.geo.box, /^\d\d\.\d+ \d\.\d+ \d\d\.\d+ \d\.\d+$/);
  });
});

const xmllint = spawnSync('xmllint', ['--version']);
const withoutXmllint = xmllint.error ? 'xmllint is missing (Debian: apt-get install libxml2-utils)' : false;
/** What an XPath finds. */
function checkXml(xml: string, xpath = '1'): string {
  const { status, stderr, stdout } = spawnSync('xmllint', ['--xpath', xpath, '-'], { input: xml, encoding: 'utf8' });
  assert.equal(status, 0, `${xpath}: ${stderr}`);
  return stdout.trim();
}

/** As in an XPath that knows no prefixes. */
const named = (name: string) => `*[name()="${name}"]`;

describe('DCAT-AP.de', { skip: withoutXmllint }, () => {
  // What the profile and that of high-value datasets demand, and what portals show.
  const required = {
    'dcat:Catalog': ['dct:title', 'dct:description', 'dct:publisher', 'dcat:dataset'],
    'dcat:Dataset': [
      ...[
        'dct:title',
        'dct:description',
        'dct:publisher',
        'dct:identifier',
        'dct:spatial',
        'dct:accrualPeriodicity',
        'dct:modified',
      ],
      ...['dcat:contactPoint', 'dcat:theme', 'dcat:keyword', 'dcat:landingPage', 'dcat:distribution'],
    ],
    'dcat:Distribution': [
      ...['dct:title', 'dcat:accessURL', 'dcat:downloadURL', 'dcat:mediaType', 'dcat:byteSize', 'dct:format', 'dct:license'],
      ...['dct:modified', 'spdx:checksum', 'dcatde:licenseAttributionByText'],
    ],
    'foaf:Agent': ['foaf:name'],
    'vcard:Organization': ['vcard:fn', 'vcard:hasEmail'],
    'dct:Location': ['skos:prefLabel', 'dcat:bbox'],
    'spdx:Checksum': ['spdx:algorithm', 'spdx:checksumValue'],
  };
  const ofType = (value: Json, type: string): Json[] =>
    typeof value === 'object' && value !== null
      ? [...(value['@type'] === type ? [value] : []), ...Object.values(value).flatMap((each) => ofType(each, type))]
      : [];
  const counts = { 'dcat:Dataset': 2, 'dcat:Distribution': 9, 'spdx:Checksum': 9 };

  it('names a dataset alike at every host', async () => {
    const identifiers = await Promise.all(
      ['n.test', 's.test', 'n2.test'].map(async (host) =>
        ofType((await ask('/?f=jsonld', { host })).json, 'dcat:Dataset').map((each) => [each['@id'], each['dct:identifier']]),
      ),
    );
    assert.deepEqual(identifiers[1], identifiers[0]);
    assert.deepEqual(identifiers[2], identifiers[0]);
  });

  it('O5.6 has what is required, alike as JSON-LD and as RDF/XML', async () => {
    const { json } = await ask('/?f=jsonld');
    const { text } = await ask('/?f=rdf');
    for (const [type, count] of Object.entries(counts)) assert.equal(ofType(json, type).length, count, type);
    for (const [type, properties] of Object.entries(required)) {
      const found = ofType(json, type);
      assert.equal(checkXml(text, `count(//${named(type)})`), String(found.length), type);
      for (const property of properties) {
        for (const each of found) assert.ok(each[property], `${type} ${property}`);
        assert.equal(checkXml(text, `count(//${named(type)}[not(${named(property)})])`), '0', `${type} ${property}`);
      }
    }
    const prefixes = new Set([...text.matchAll(/<(\w+):/g)].map(([, prefix]) => prefix));
    for (const prefix of prefixes) assert.match(json['@context'][prefix ?? ''], /^https?:.*[#/]$/, prefix);
  });

  it('O5.6 names licence, publisher, place, law and category', async () => {
    const { json } = await ask('/?f=jsonld');
    const [n, s] = json['dcat:dataset'];
    assert.deepEqual(n['dct:title'], { '@value': titel, '@language': 'de' });
    assert.deepEqual(n['dcat:contactPoint']['vcard:hasEmail'], { '@id': 'mailto:arten@example.org' });
    assert.match(n['dct:spatial']['dcat:bbox']['@value'], /^POLYGON\(\(\d\.\d+ \d\d\.\d+,/);
    assert.deepEqual(n['dcatap:applicableLegislation'], { '@id': 'http://data.europa.eu/eli/reg_impl/2023/138/oj' });
    assert.deepEqual(n['dcatap:hvdCategory'], { '@id': 'http://data.europa.eu/bna/c_dd313021' });
    assert.equal(s['dcatap:hvdCategory'], undefined, 'ODbL asks for more than CC BY does');
    const [file] = n['dcat:distribution'];
    assert.deepEqual(file['dct:license'], { '@id': 'http://dcat-ap.de/def/licenses/cc-by/4.0' });
    assert.deepEqual(file['dcatap:applicableLegislation'], n['dcatap:applicableLegislation']);
    await license('N', 'CC0-1.0');
    const open = (await ask('/?f=jsonld')).json['dcat:dataset'][0]['dcat:distribution'][0];
    assert.equal(open['dcatde:licenseAttributionByText'], undefined, 'nobody has to be named');
    const { text } = await ask('/?f=rdf');
    assert.equal(checkXml(text, `string(//${named('dcat:Dataset')}[1]/${named('dct:title')})`), titel);
    assert.equal(
      checkXml(text, `string(//${named('dcat:Distribution')}[1]/${named('dct:license')}/@*)`),
      'http://dcat-ap.de/def/licenses/cc-zero',
    );
  });
});

describe('the ISO 19139 record', { skip: withoutXmllint }, () => {
  it('O5.7 has what INSPIRE asks for', async () => {
    const { text, headers, status } = await ask('/n/metadaten.xml');
    assert.deepEqual([status, headers.get('content-type')], [200, 'application/xml']);
    for (const [path, expected] of [
      ['gmd:fileIdentifier', 'http://n.test:8080/export/v1/N/metadaten.xml'],
      ['gmd:language', 'ger'],
      ['gmd:contact//gmd:electronicMailAddress', 'arten@example.org'],
      ['gmd:dateStamp', /^\d{4}-\d\d-\d\d$/],
      ['gmd:identificationInfo//gmd:title', titel],
      ['gmd:abstract', 'Alle <Arten>'],
      ['gmd:westBoundLongitude', /^\d\.\d{4}$/],
      ['gmd:northBoundLatitude', /^\d\d\.\d{4}$/],
      ['gmd:otherConstraints', 'Creative Commons Namensnennung 4.0'],
      ['gmd:topicCategory', 'biota'],
      ['gmd:onLine//gmd:URL', /^http:\/\/n\.test\/export\/v1\/N\//],
      ['gmd:lineage', /Meldungen/],
      ['gmd:DQ_ConformanceResult//gmd:title', 'Verordnung (EU) Nr. 1089/2010'],
    ] as [string, string | RegExp][]) {
      const steps = path.split('//').map(named).join('//');
      const value = checkXml(text, `normalize-space(//${steps})`);
      if (expected instanceof RegExp) assert.match(value, expected, path);
      else assert.equal(value, expected, path);
    }
    assert.equal(checkXml(text, `count(//${named('gmd:onLine')})`), '5');
    const again = await ask('/N/metadaten.xml', { headers: { 'if-none-match': headers.get('etag') ?? '' } });
    assert.equal(again.status, 304);
  });
});

describe('other outputs', () => {
  const linksOf = ({ links }: Json, rel: string): Json[] => links.filter((link: Json) => link.rel === rel);
  const askOf = (path: string, options: RequestOptions = {}) => service.request(path, { below: '', ...options });

  it('O5.7 the collection of sightings names licences, records and GeoPackages, and is another one when they change', async () => {
    const path = '/ogc/collections/sichtbeobachtung';
    const { json, headers } = await askOf(path);
    const { json: all } = await askOf('/ogc/collections');
    const lizenzen = [licences['CC-BY-4.0'], licences['ODbL-1.0']].map(({ url }) => url);
    assert.deepEqual(
      linksOf(json, 'license').map(({ href }) => href),
      lizenzen,
    );
    assert.deepEqual(linksOf(all, 'license'), linksOf(json, 'license'));
    assert.deepEqual(linksOf(all.collections[0], 'enclosure'), linksOf(json, 'enclosure'));
    assert.deepEqual(linksOf(all.collections.at(-1), 'license'), [], 'of what is no sighting');
    assert.match(linksOf(json, 'license')[0].title, /^Creative Commons Namensnennung 4\.0 \(.+\)$/);
    for (const [rel, type] of [
      ['describedby', 'application/xml'],
      ['enclosure', 'application/geopackage+sqlite3'],
    ] as const) {
      const links = linksOf(json, rel);
      assert.equal(links.length, 2, rel);
      for (const { href, type: named, length } of links) {
        const answer = await askOf(href.replace('http://n.test', ''), { method: 'HEAD' });
        assert.deepEqual([answer.status, answer.headers.get('content-type'), named], [200, type, type], href);
        if (rel === 'enclosure') assert.equal(answer.headers.get('content-length'), String(length));
      }
    }
    const sent = { 'if-none-match': headers.get('etag') ?? '' };
    assert.equal((await askOf(path, { headers: sent })).status, 304);
    await sql`update portal.export_datei set bytes = bytes + 1`;
    assert.equal((await askOf(path, { headers: sent })).status, 200, 'another length');
    await license('N', 'CC0-1.0');
    const changed = await askOf(path, { headers: sent });
    assert.deepEqual([changed.status, linksOf(changed.json, 'license')[0]?.href], [200, licences['CC0-1.0'].url]);
    assert.ok((await askOf(`${path}?f=html`)).text.includes(`rel="license" href="${licences['CC0-1.0'].url}"`));
  });

  it('the map names title, publisher and licence of each tenant that publishes', async () => {
    const { text, headers } = await askOf('/karte');
    assert.match(text, /Arten &lt;&amp;lt; &quot;Co&quot;&gt; &lt;\/script&gt; \u{1F98B}: Land &amp; Leute, <a rel="license"/u);
    assert.equal(text.match(/rel="license"/g)?.length, 2);
    await license('S', null);
    const changed = await askOf('/karte', { headers: { 'if-none-match': headers.get('etag') ?? '' } });
    assert.deepEqual([changed.status, changed.text.match(/rel="license"/g)?.length], [200, 1]);
  });
});

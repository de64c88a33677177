// What the boundary job fetches and takes from it, and what it refuses to (S5.6).
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { readFeatures } from '../../src/jobs/boundary-features.ts';
import {
  BoundaryError,
  type BoundaryFault,
  describeSource,
  isPrivateAddress,
  readBoundarySource,
} from '../../src/jobs/boundary-source.ts';
import { frame, makeCollection, makeFeature, type Source, startSource, utm32 } from '../support/boundaries.ts';
import { makeDirectory } from '../support/end.ts';
import { freePort } from '../support/port.ts';

const limits = { bytes: 1000, totalMs: 5000, connectMs: 5000 };

let source: Source;
let port: number;
let dir: string;
before(async () => {
  source = await startSource();
  port = Number(new URL(source.url).port);
  dir = await makeDirectory();
});

async function faultOf(read: Promise<unknown>): Promise<{ fault: BoundaryFault; message: string }> {
  const error = await read.then(
    () => assert.fail('it was read'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof BoundaryError, String(error));
  return error;
}

type Answer = (request: IncomingMessage, response: ServerResponse) => void;
const redirect =
  (location: string): Answer =>
  (_request, response) =>
    response.writeHead(302, { location }).end();

describe('a source that is read', () => {
  const table: [what: string, answer: Answer][] = [
    ['plain', (_request, response) => response.end('{"a":1}')],
    ['in chunks', (_request, response) => response.write('{"a"', () => response.end(':1}'))],
    ['gzip', (_request, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('{"a":1}'))],
    [
      'after a redirect on the same server',
      (request, response) =>
        request.url === '/neu?x=1' ? response.end('{"a":1}') : response.writeHead(302, { location: '/neu?x=1' }).end(),
    ],
    ['of exactly the size allowed', (_request, response) => response.end(`{"a":1}${' '.repeat(limits.bytes - 7)}`)],
  ];
  for (const [what, answer] of table) {
    it(what, async () => {
      source.serve(answer);
      assert.deepEqual(JSON.parse((await readBoundarySource(source.url, true, limits)).toString()), { a: 1 });
    });
  }

  it('with the account that stands in its address, also after a redirect', async () => {
    source.serve((request, response) =>
      request.url === '/neu' ? response.end('ok') : response.writeHead(301, { location: '/neu' }).end(),
    );
    await readBoundarySource(source.url.replace('//', '//anna:geheim@'), true, limits);
    const sent = source.requests.slice(-2).map((request) => request.headers.authorization);
    const expected = `Basic ${Buffer.from('anna:geheim').toString('base64')}`;
    assert.deepEqual(sent, [expected, expected]);
  });

  it('as a file, whatever is said about private addresses', async () => {
    const path = join(dir, 'länder 1.geojson');
    await writeFile(path, 'ok');
    assert.equal((await readBoundarySource(pathToFileURL(path).href, false, limits)).toString(), 'ok');
  });
});

describe('a source that is refused', () => {
  const table: [what: string, answer: Answer, fault: BoundaryFault, message: RegExp][] = [
    ['an error', (_request, response) => response.writeHead(500).end('{}'), 'status', /Status 500/],
    ['not found', (_request, response) => response.writeHead(404).end('{}'), 'status', /Status 404/],
    ['no content', (_request, response) => response.writeHead(204).end(), 'status', /Status 204/],
    ['a redirect without a target', (_request, response) => response.writeHead(302).end(), 'status', /Status 302/],
    ['a redirect to another host', redirect(`http://localhost:${port}/`), 'umleitung', /anderen Server/],
    ['a redirect to another port', redirect(`http://127.0.0.1:${port === 80 ? 81 : 80}/`), 'umleitung', /anderen Server/],
    ['a redirect to a file', redirect('file:///etc/hostname'), 'umleitung', /anderen Server/],
    ['redirects without end', redirect('/'), 'umleitung', /mehr als 5-mal/],
    ['a byte too much', (_request, response) => response.end(' '.repeat(limits.bytes + 1)), 'groesse', /größer als/],
    [
      'a small answer that unpacks to a large one',
      (_request, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(' '.repeat(500_000))),
      'groesse',
      /größer als/,
    ],
    [
      'an end before the announced one',
      (_request, response) => {
        response.writeHead(200, { 'content-length': '100' });
        response.write('{"a":', () => response.destroy());
      },
      'unvollstaendig',
      /abgebrochen/,
    ],
    [
      'half of a gzip stream',
      (_request, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('{"a":1}').subarray(0, 15)),
      'unvollstaendig',
      /beschädigt/,
    ],
    [
      'an encoding nobody asked for',
      (_request, response) => response.writeHead(200, { 'content-encoding': 'zstd' }).end('x'),
      'inhalt',
      /Kompression/,
    ],
    [
      'a page that names the next one in its head',
      (_request, response) => response.writeHead(200, { link: '</a>; rel="self", </b>; title="x"; rel="next"' }).end('{}'),
      'unvollstaendig',
      /nur einen Teil/,
    ],
    ['a connection that is cut', (_request, response) => void response.destroy(), 'unerreichbar', /Verbindung abgebrochen/],
  ];
  for (const [what, answer, fault, message] of table) {
    it(`S5.6 ${what}: ${fault}`, async () => {
      source.serve(answer);
      const error = await faultOf(readBoundarySource(source.url, true, limits));
      assert.equal(error.fault, fault);
      assert.match(error.message, message);
    });
  }

  it('S5.6 that never answers, or a byte at a time, is given up in the end: zeit', async () => {
    const short = { ...limits, totalMs: 300 };
    source.serve(() => {});
    assert.equal((await faultOf(readBoundarySource(source.url, true, short))).fault, 'zeit');
    let timer: NodeJS.Timeout | undefined;
    source.serve((_request, response) => {
      timer = setInterval(() => response.write(' '), 20);
    });
    assert.equal((await faultOf(readBoundarySource(source.url, true, short))).fault, 'zeit');
    clearInterval(timer);
  });

  it('S5.6 where nobody listens: unerreichbar', async () => {
    const error = await faultOf(readBoundarySource(`http://127.0.0.1:${await freePort()}/`, true, limits));
    assert.equal(error.message, 'Die Quelle ist nicht erreichbar (Verbindung abgelehnt).');
  });

  it('S5.6 that is no file, a directory, too large, or of another kind', async () => {
    const large = join(dir, 'large');
    await writeFile(large, ' '.repeat(limits.bytes + 1));
    const table: [string, BoundaryFault][] = [
      [pathToFileURL(join(dir, 'nirgends')).href, 'unerreichbar'],
      [pathToFileURL(dir).href, 'unerreichbar'],
      [pathToFileURL(large).href, 'groesse'],
      ['file://server/share/x.geojson', 'unerreichbar'],
      ['ftp://127.0.0.1/x', 'adresse'],
      ['data:application/json,{}', 'adresse'],
      ['keine adresse', 'adresse'],
    ];
    for (const [url, fault] of table) assert.equal((await faultOf(readBoundarySource(url, true, limits))).fault, fault, url);
  });

  it('is described without account, key and path', async () => {
    source.serve((_request, response) => response.writeHead(403).end('geheim'));
    const url = `${source.url.replace('//', '//anna:geheim@')}?token=geheim`;
    const error = await faultOf(readBoundarySource(url, true, limits));
    assert.doesNotMatch(error.message, /geheim|anna/);
    const missing = await faultOf(readBoundarySource(pathToFileURL(join(dir, 'nirgends')).href, true, limits));
    assert.ok(!missing.message.includes(dir), missing.message);
  });
});

describe('private addresses', () => {
  it('S5.6 are refused before anything is sent, however they are written', async () => {
    source.serve({});
    const before = source.requests.length;
    for (const host of ['127.0.0.1', 'localhost', '[::1]', '2130706433', '0x7f.1', '[::ffff:127.0.0.1]', '0.0.0.0']) {
      const error = await faultOf(readBoundarySource(`http://${host}:${port}/`, false, limits));
      assert.equal(error.fault, 'adresse', host);
      assert.match(error.message, /private Adresse .*BOUNDARY_ALLOW_PRIVATE=true/);
    }
    assert.equal(source.requests.length, before);
  });

  const table: [address: string, isPrivate: boolean][] = [
    ['10.1.2.3', true],
    ['100.64.0.1', true],
    ['127.255.255.254', true],
    ['169.254.169.254', true],
    ['172.16.0.1', true],
    ['172.31.255.255', true],
    ['172.32.0.1', false],
    ['192.168.178.1', true],
    ['198.18.0.1', true],
    ['224.0.0.1', true],
    ['255.255.255.255', true],
    ['8.8.8.8', false],
    ['193.99.144.80', false],
    ['::', true],
    ['::1', true],
    ['::ffff:10.0.0.1', true],
    ['::ffff:8.8.8.8', true],
    ['64:ff9b::a00:1', true],
    ['fc00::1', true],
    ['fd12:3456::1', true],
    ['fe80::1', true],
    ['fec0::1', true],
    ['ff02::1', true],
    ['2001:db8::1', true],
    ['2002:a00:1::', true],
    ['2a00:1450:4001:80b::200e', false],
    ['2001:4860:4860::8888', false],
  ];
  for (const [address, isPrivate] of table) {
    it(`S5.6 ${address} is ${isPrivate ? '' : 'not '}one`, () => assert.equal(isPrivateAddress(address), isPrivate));
  }
});

describe('a source in reports', () => {
  const table: [url: string, shown: string][] = [
    ['https://example.org/a/b.geojson', 'https://example.org/a/b.geojson'],
    ['https://anna:geheim@example.org:8443/wfs', 'https://example.org:8443/wfs'],
    ['https://example.org/wfs?service=WFS&token=geheim&token=2#teil', 'https://example.org/wfs?service=…&token=…'],
    ['file:///srv/geheim/l%C3%A4nder.geojson', 'file: l%C3%A4nder.geojson'],
    ['unlesbar geheim', 'unlesbare Adresse'],
  ];
  for (const [url, shown] of table) it(url, () => assert.equal(describeSource(url), shown));
});

const toBytes = (document: unknown) => Buffer.from(typeof document === 'string' ? document : JSON.stringify(document));
const one = makeFeature({ kuerzel: 'N', GF: 4 }, frame(0, 1));
const crs = (name: string) => makeCollection([one], { type: 'name', properties: { name } });

describe('a document that is no usable source', () => {
  const table: [what: string, document: unknown, message: RegExp][] = [
    ['empty', '', /leer/],
    ['only spaces', ' \n ', /leer/],
    ['HTML', '<!DOCTYPE html><title>Wartung</title>', /HTML oder XML/],
    ['an exception of a WFS', '\ufeff<?xml version="1.0"?><ows:ExceptionReport/>', /HTML oder XML/],
    ['truncated', JSON.stringify(makeCollection([one])).slice(0, -20), /kein vollständiges JSON/],
    ['text', 'Guten Tag', /kein vollständiges JSON/],
    ['another JSON', [one], /keine FeatureCollection/],
    ['a single feature', one, /keine FeatureCollection/],
    ['an error as JSON', { error: 'no such layer' }, /keine FeatureCollection/],
    ['a feature that is none', makeCollection([one, 7 as unknown as object]), /Feature 2 der Quelle/],
    ['a collection without features', makeCollection([]), /kein Feature mit der Eigenschaft kuerzel/],
    ['a page of a WFS', { ...makeCollection([one]), numberMatched: 16, numberReturned: 1 }, /nur 1 von 16/],
    ['a page of a WFS that counts in words', { ...makeCollection([one]), numberMatched: '16' }, /nur 1 von 16 Features\.$/],
    [
      'a page of GeoServer',
      { ...makeCollection([one]), totalFeatures: 43, numberMatched: 'unknown' },
      /nur 1 von 43 Features\.$/,
    ],
    ['fewer than the source says to return', { ...makeCollection([one]), numberReturned: 2 }, /nur 1 von 2/],
    ['a page of a portal', { ...makeCollection([one]), properties: { total_count: 17 } }, /nur 1 von 17/],
    [
      'a page of ArcGIS',
      { ...makeCollection([one]), exceededTransferLimit: true },
      /nur 1 Features: .* \(exceededTransferLimit\)\.$/,
    ],
    [
      'a page of ArcGIS that says so elsewhere',
      { ...makeCollection([one]), properties: { exceededTransferLimit: true } },
      /nur 1 Features: .* \(exceededTransferLimit\)\.$/,
    ],
    [
      'a page of an OGC API',
      {
        ...makeCollection([one]),
        numberReturned: 1,
        links: [
          { rel: 'self', href: 'x' },
          { rel: 'next', href: 'y' },
        ],
      },
      /nur 1 Features: .* \(next\)\.$/,
    ],
    ['a page of a REST service', { ...makeCollection([one]), next: 'https://example.org/?page=2' }, /nur 1 Features/],
    ['a page of a REST service with links', { ...makeCollection([one]), links: { self: 'x', next: 'y' } }, /nur 1 Features/],
    ['a page of a REST service with _links', { ...makeCollection([one]), _links: { next: { href: 'y' } } }, /nur 1 Features/],
    ['UTM zone 33', crs('urn:ogc:def:crs:EPSG::25833'), /„urn:ogc:def:crs:EPSG::25833“, erlaubt sind EPSG:4326/],
    ['web Mercator', crs('EPSG:3857'), /„EPSG:3857“/],
    ['a link to a system', makeCollection([one], { type: 'link', properties: { href: 'x' } }), /unlesbar/],
  ];
  for (const [what, document, message] of table) {
    it(what, () => {
      assert.throws(
        () => readFeatures(toBytes(document), 'kuerzel', null),
        (error) => error instanceof BoundaryError && message.test(error.message),
      );
    });
  }

  it('no part: what says that it is all of it', () => {
    for (const more of [
      { numberMatched: 1, numberReturned: 1, totalFeatures: 1, count: 1 },
      { numberMatched: 'unknown', totalFeatures: null, count: {}, properties: null },
      { exceededTransferLimit: false, properties: { exceededTransferLimit: false, total: 'viele' } },
      { links: [{ rel: 'self', href: 'x' }, { rel: 'prev', href: 'x' }, null, 7], next: null, _links: { next: null } },
      { links: { self: 'x', next: null }, next: '' },
    ])
      assert.equal(readFeatures(toBytes({ ...makeCollection([one]), ...more }), 'kuerzel', null).length, 1, JSON.stringify(more));
  });

  it('not UTF-8', () => {
    assert.throws(() => readFeatures(Buffer.from([0x7b, 0xe4, 0x7d]), 'kuerzel', null), /nicht UTF-8/);
  });
});

describe('the coordinate system of a source', () => {
  const table: [document: object, srid: number][] = [
    [makeCollection([one], null), 4326],
    [{ ...makeCollection([one], null), crs: null }, 4326],
    [crs('urn:ogc:def:crs:OGC:1.3:CRS84'), 4326],
    [crs('urn:ogc:def:crs:OGC::CRS84'), 4326],
    [crs('http://www.opengis.net/def/crs/OGC/1.3/CRS84'), 4326],
    [crs('EPSG:4326'), 4326],
    [crs('urn:ogc:def:crs:EPSG::4326'), 4326],
    [makeCollection([one], utm32), 25832],
    [crs('EPSG:25832'), 25832],
    [crs('urn:ogc:def:crs:EPSG:9.9:25832'), 25832],
    [crs('http://www.opengis.net/def/crs/EPSG/0/25832'), 25832],
  ];
  for (const [document, srid] of table) {
    it(`${JSON.stringify((document as { crs?: unknown }).crs)} is EPSG:${srid}`, () => {
      assert.equal(readFeatures(toBytes(document), 'kuerzel', null)[0]?.srid, srid);
    });
  }
});

describe('the features that are taken', () => {
  const collection = makeCollection([
    makeFeature({ key: '07', GF: 4 }, frame(0, 1)),
    makeFeature({ key: '07', GF: 2 }, frame(1, 2)),
    makeFeature({ key: 8, GF: '4' }, frame(2, 3)),
    makeFeature({ key: ' 09 ', GF: 4 }, frame(3, 4)),
    makeFeature({ key: '', GF: 4 }, frame(4, 5)),
    makeFeature({ GF: 4 }, frame(5, 6)),
    { type: 'Feature', properties: null, geometry: null },
    { type: 'Feature', properties: { key: '10', GF: 4 }, geometry: null },
  ]);
  const keysOf = (filter: { property: string; value: string } | null) =>
    readFeatures(toBytes(collection), 'key', filter).map((feature) => feature.wert);

  it('have a key and a place; numbers are keys too', () => assert.deepEqual(keysOf(null), ['07', '07', '8', '09']));
  it('pass the filter, as number or text', () => assert.deepEqual(keysOf({ property: 'GF', value: '4' }), ['07', '8', '09']));
  it('carry their geometry as it is', () => {
    const [feature] = readFeatures(toBytes(makeCollection([one])), 'kuerzel', null);
    assert.deepEqual(JSON.parse(feature?.geojson ?? ''), (one as { geometry: object }).geometry);
  });
  it('are not none: a wrong key or filter is told', () => {
    assert.throws(() => readFeatures(toBytes(collection), 'SN_L', null), /kein Feature mit der Eigenschaft SN_L\./);
    assert.throws(() => keysOf({ property: 'GF', value: '9' }), /kein Feature mit der Eigenschaft key und GF=9\./);
  });
});

// OGC API – Features, requirement by requirement: Part 1 (17-069r4) and Part 2 (18-058r1). Each test is named as its requirement.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv } from 'ajv';
import { arten } from '../support/catalogue.ts';
import { askOgc, idsOf, walkOgc } from '../support/ogc.ts';
import { type Answer, type Json, type RequestOptions, startTestService } from '../support/service.ts';

const service = await startTestService();
const ask = (path: string, options?: RequestOptions): Promise<Answer> => askOgc(service, path, options);
for (let i = 0; i < 12; i++) {
  const art = i % 4 === 0 ? arten.uhu : arten.amsel;
  await service.makeReleased({ art: String(art), lat: String(5530000 + 1000 * i), lon: String(420000 + 1000 * i) });
}
await service.makeReleased({ lat: '5531000', lon: '471000', datum: '30.6.2021' });
const collections = (await ask('/collections')).json.collections;
const document = (await ask('/api')).json;

const itemsOf = ({ id }: Json) => `/collections/${id}/items`;
const sightings = '/collections/sichtbeobachtung/items';
/** One of each kind. */
const pages = ['', '/api', '/conformance', '/collections', '/collections/mandant', sightings, '/collections/mandant/items/N'];
const relsOf = (json: Json) => json.links.map(({ rel }: Json) => rel);

/** A requirement that every collection meets. */
const itOfEach = (name: string, check: (each: Json) => unknown) =>
  it(name, async () => {
    for (const each of collections) await check(each);
  });

// What the standard requires, in own words.
const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false });
const string = { type: 'string' };
const list = (items: object, more: object = {}) => ({ type: 'array', items, ...more });
const object = (properties: Record<string, object>, optional: Record<string, object> = {}) => ({
  type: 'object',
  required: Object.keys(properties),
  properties: { ...properties, ...optional },
});
const link = object({ href: { type: 'string', pattern: '^https?://' }, rel: string, type: string }, { title: string });
const links = list(link, { minItems: 1 });
const bbox = list(list({ type: 'number' }, { minItems: 4, maxItems: 6 }), { minItems: 1 });
const interval = list(list({ type: ['string', 'null'] }, { minItems: 2, maxItems: 2 }), { minItems: 1 });
const extent = object({}, { spatial: object({ bbox }, { crs: string }), temporal: object({ interval }) });
const collection = object(
  { id: string, links, extent, crs: list(string, { minItems: 1 }), storageCrs: string },
  { title: string, itemType: { const: 'feature' } },
);
const position = list({ type: 'number' }, { minItems: 2, maxItems: 2 });
const ring = list(position, { minItems: 4 });
const geometry = {
  oneOf: [
    object({ type: { const: 'Point' }, coordinates: position }),
    object({ type: { const: 'Polygon' }, coordinates: list(ring) }),
    object({ type: { const: 'MultiPolygon' }, coordinates: list(list(ring)) }),
  ],
};
const feature = object(
  { type: { const: 'Feature' }, id: { type: ['string', 'integer'] }, geometry, properties: { type: 'object' } },
  { links },
);
const count = { type: 'integer', minimum: 0 };
const instant = { type: 'string', pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?Z$' };
const schemas = {
  landing: object({ title: string, description: string, links }),
  conformance: object({ conformsTo: list(string, { minItems: 1 }) }),
  collections: object({ links, collections: list(collection) }),
  collection,
  features: object(
    { type: { const: 'FeatureCollection' }, features: list(feature), links, timeStamp: instant, numberReturned: count },
    { numberMatched: count },
  ),
  feature,
  problem: object({ type: string, title: string, status: { type: 'integer' }, detail: string }, { parameter: string }),
};
function check(kind: keyof typeof schemas, json: Json): void {
  const validate = ajv.compile(schemas[kind]);
  assert.ok(validate(json), ajv.errorsText(validate.errors));
}

const parameterOf = (path: string, name: string): Json => {
  const all = document.paths[path].get.parameters.map((each: Json) =>
    each.$ref ? document.components.parameters[each.$ref.split('/').at(-1)] : each,
  );
  return all.find((each: Json) => each.name === name);
};

const part1 = 'http://www.opengis.net/spec/ogcapi-features-1/1.0';
const epsg = 'http://www.opengis.net/def/crs/EPSG/0';
const crs84 = 'http://www.opengis.net/def/crs/OGC/1.3/CRS84';
const allCrs = [crs84, `${epsg}/4326`, `${epsg}/25832`, `${epsg}/3857`, `${epsg}/3035`];

describe('Part 1, core', () => {
  it('/req/core/root-op', async () => {
    assert.equal((await ask('')).status, 200);
    const slash = await ask('/');
    assert.deepEqual([slash.status, slash.headers.get('location')], [301, '/ogc']);
  });
  it('/req/core/root-success', async () => {
    const { json, headers } = await ask('');
    assert.equal(headers.get('content-type'), 'application/json');
    check('landing', json);
    for (const rel of ['self', 'alternate', 'service-desc', 'service-doc', 'conformance', 'data'])
      assert.ok(relsOf(json).includes(rel), rel);
    for (const { href, type } of json.links) {
      const answer = await service.request(href.replace('http://n.test', ''), { below: '' });
      assert.equal(answer.status, 200, href);
      assert.equal(answer.headers.get('content-type')?.split(';')[0]?.toLowerCase(), type.split(';')[0], href);
    }
  });
  it('/req/core/api-definition-op', async () => {
    const { href } = (await ask('')).json.links.find(({ rel }: Json) => rel === 'service-desc');
    assert.equal(href, 'http://n.test/ogc/api');
  });
  it('/req/core/api-definition-success', async () => {
    const { status, headers } = await ask('/api');
    assert.deepEqual([status, headers.get('content-type')], [200, 'application/vnd.oai.openapi+json;version=3.0']);
  });
  it('/req/core/conformance-op', async () => assert.equal((await ask('/conformance')).status, 200));
  it('/req/core/conformance-success', async () => {
    const { json } = await ask('/conformance');
    check('conformance', json);
    assert.deepEqual(json.conformsTo, [
      ...['core', 'oas30', 'html', 'geojson'].map((name) => `${part1}/conf/${name}`),
      'http://www.opengis.net/spec/ogcapi-features-2/1.0/conf/crs',
    ]);
  });
  it('/req/core/http', async () => {
    for (const [path, options, status] of [
      ['', {}, 200],
      ['', { method: 'HEAD' }, 200],
      ['/x', {}, 404],
      ['', { method: 'POST' }, 405],
      ['', { headers: { accept: 'image/png' } }, 406],
      ['?f=x', {}, 400],
    ] as [string, RequestOptions, number][])
      assert.equal((await ask(path, options)).status, status);
  });
  it('/req/core/query-param-unknown', async () => {
    for (const path of pages) {
      const { status, json } = await ask(`${path}?xyz=1`);
      assert.deepEqual([status, json.parameter], [400, 'xyz']);
      check('problem', json);
    }
  });
  it('/req/core/query-param-invalid', async () => {
    for (const query of ['limit=x', 'bbox=1,2', 'datetime=x', 'f=x', 'art=x', 'crs=x', 'bbox-crs=x'])
      assert.equal((await ask(`${sightings}?${query}`)).status, 400, query);
  });
  itOfEach('/req/core/crs84', async (each) => {
    const { headers, json } = await ask(`${itemsOf(each)}?limit=1`);
    assert.equal(headers.get('content-crs'), `<${crs84}>`);
    const [longitude, latitude] = json.features[0].geometry.coordinates.flat(9);
    assert.ok(longitude > 4 && longitude < 12 && latitude > 48 && latitude < 52);
  });
  it('/req/core/fc-md-op', async () => assert.equal((await ask('/collections')).status, 200));
  it('/req/core/fc-md-success', async () => check('collections', (await ask('/collections')).json));
  it('/req/core/fc-md-links', async () => {
    const rels = relsOf((await ask('/collections')).json);
    assert.ok(rels.includes('self') && rels.includes('alternate'));
  });
  it('/req/core/fc-md-items', async () => {
    assert.deepEqual(idsOf(collections), [
      ...['sichtbeobachtung', 'sichtbeobachtung_punkt', 'sichtbeobachtung_quadrat'],
      ...['raster_5km', 'raster_eea10', 'raster_mtb', 'raster_mtbq', 'verbreitung_eea10', 'mandant'],
    ]);
  });
  itOfEach('/req/core/fc-md-items-links', (each) => {
    const items = each.links.filter(({ rel }: Json) => rel === 'items');
    const listed = items.map(({ type }: Json) => type);
    assert.deepEqual(listed, ['application/geo+json', 'text/html', 'text/csv']);
  });
  itOfEach('/req/core/fc-md-extent', async (each) => {
    const [west, south, east, north] = each.extent.spatial.bbox[0];
    for (const { geometry: shape } of await walkOgc(service, itemsOf(each))) {
      const numbers = shape.coordinates.flat(9) as number[];
      for (let at = 0; at < numbers.length; at += 2) {
        const [longitude = 0, latitude = 0] = numbers.slice(at, at + 2);
        assert.ok(longitude >= west && longitude <= east && latitude >= south && latitude <= north, each.id);
      }
    }
  });
  it('/req/core/sfc-md-op', async () => {
    for (const each of collections) assert.equal((await ask(`/collections/${each.id}`)).status, 200);
    assert.equal((await ask('/collections/x')).status, 404);
  });
  itOfEach('/req/core/sfc-md-success', async (each) => {
    const { json } = await ask(`/collections/${each.id}`);
    check('collection', json);
    const { links: _, ...same } = json;
    const { links: __, ...expected } = each;
    assert.deepEqual(same, expected);
  });
  itOfEach('/req/core/fc-op', async (each) => assert.equal((await ask(itemsOf(each))).status, 200));
  it('/req/core/fc-limit-definition', () => {
    const { schema, required } = parameterOf(sightings, 'limit');
    assert.deepEqual([required, schema], [false, { type: 'integer', minimum: 1, maximum: 10000, default: 100 }]);
  });
  it('/req/core/fc-limit-response-1', async () => {
    for (const each of collections)
      for (const limit of [1, 2, 5]) assert.ok((await ask(`${itemsOf(each)}?limit=${limit}`)).json.features.length <= limit);
    assert.equal((await ask(`${sightings}?limit=2`)).json.features.length, 2);
  });
  it('/req/core/fc-limit-response-2', async () => {
    for (const limit of ['10001', '1000000', '999999999999999999999', '+7', '007'])
      assert.equal((await ask(`${sightings}?limit=${encodeURIComponent(limit)}`)).status, 200, limit);
    assert.equal((await ask(`${sightings}?limit=0`)).status, 400);
  });
  itOfEach('/req/core/fc-bbox-definition', (each) => {
    const { schema, style, explode } = parameterOf(itemsOf(each), 'bbox');
    assert.deepEqual([schema.type, schema.minItems, schema.maxItems, style, explode], ['array', 4, 6, 'form', false]);
  });
  itOfEach('/req/core/fc-bbox-response', async (each) => {
    const all = idsOf(await walkOgc(service, itemsOf(each)));
    assert.deepEqual(idsOf(await walkOgc(service, `${itemsOf(each)}?bbox=-180,-90,180,90`)).sort(), [...all].sort());
    assert.deepEqual(idsOf(await walkOgc(service, `${itemsOf(each)}?bbox=-180,-90,-100,180,90,100`)).sort(), [...all].sort());
    assert.deepEqual(await walkOgc(service, `${itemsOf(each)}?bbox=20,10,21,11`), []);
  });
  itOfEach('/req/core/fc-time-definition', (each) => assert.equal(parameterOf(itemsOf(each), 'datetime').schema.type, 'string'));
  it('/req/core/fc-time-response', async () => {
    const found = async (datetime: string) => (await ask(`${sightings}?datetime=${datetime}`)).json.numberReturned;
    for (const [datetime, expected] of [
      ['2021-06-30T12:00:00Z', 1],
      ['2021-06-30', 1],
      ['2021-07-01', 0],
      ['../2022-01-01T00:00:00Z', 1],
      ['2022-01-01/..', 12],
      ['../..', 13],
      ['/2022-01-01', 1],
      ['2022-01-01/', 12],
    ] as [string, number][])
      assert.equal(await found(datetime), expected, datetime);
    const { json } = await ask('/collections/mandant/items?datetime=1900-01-01');
    assert.deepEqual([json.numberMatched, json.numberReturned], [3, 3]);
  });
  itOfEach('/req/core/fc-response', async (each) => check('features', (await ask(itemsOf(each))).json));
  it('/req/core/fc-links', async () => {
    for (const each of collections) {
      const rels = relsOf((await ask(`${itemsOf(each)}?limit=1`)).json);
      for (const rel of ['self', 'alternate', 'next']) assert.ok(rels.includes(rel), `${each.id} ${rel}`);
    }
    for (const [path, all] of [
      [sightings, 13],
      [`/collections/sichtbeobachtung_punkt/items`, 10],
      [`/collections/sichtbeobachtung_quadrat/items`, 3],
    ] as const)
      assert.ok(!relsOf((await ask(`${path}?limit=${all}`)).json).includes('next'), path);
  });
  it('/req/core/fc-rel-type', async () => {
    for (const { type } of (await ask(`${sightings}?limit=1`)).json.links) assert.match(type, /^[a-z]+\/[a-z+.-]+$/);
  });
  it('/req/core/fc-timeStamp', async () => {
    const { timeStamp } = (await ask(sightings)).json;
    assert.ok(Math.abs(Date.parse(timeStamp) - Date.now()) < 60_000);
  });
  it('/req/core/fc-numberMatched', async () => {
    assert.equal((await ask(sightings)).json.numberMatched, 13);
    assert.equal((await ask(`${sightings}?limit=2`)).json.numberMatched, undefined);
  });
  it('/req/core/fc-numberReturned', async () => {
    const { json } = await ask(`${sightings}?limit=7`);
    assert.deepEqual([json.numberReturned, json.features.length], [7, 7]);
  });
  itOfEach('/req/core/f-op', async (each) => {
    const [first] = (await ask(itemsOf(each))).json.features;
    assert.equal((await ask(`${itemsOf(each)}/${encodeURIComponent(first.id)}`)).status, 200);
    assert.equal((await ask(`${itemsOf(each)}/nichts`)).status, 404);
  });
  itOfEach('/req/core/f-success', async (each) => {
    const [first] = (await ask(itemsOf(each))).json.features;
    const { json, headers } = await ask(`${itemsOf(each)}/${encodeURIComponent(first.id)}`);
    assert.equal(headers.get('content-type'), 'application/geo+json');
    check('feature', json);
  });
  itOfEach('/req/core/f-links', async (each) => {
    const [first] = (await ask(itemsOf(each))).json.features;
    const rels = relsOf((await ask(`${itemsOf(each)}/${encodeURIComponent(first.id)}`)).json);
    for (const rel of ['self', 'alternate', 'collection']) assert.ok(rels.includes(rel), rel);
  });
});

describe('Part 1, html and geojson', () => {
  it('/req/html/definition', () => {
    for (const { get } of Object.values<Json>(document.paths)) assert.ok('text/html' in get.responses[200].content);
  });
  it('/req/html/content', async () => {
    for (const path of pages) {
      const { headers, text } = await ask(path, { headers: { accept: 'text/html' } });
      assert.match(headers.get('content-type') ?? '', /^text\/html/);
      assert.match(text, /^<!doctype html>.*<h1>.*<\/html>$/s);
    }
    const [first] = (await ask(sightings)).json.features;
    const { text } = await ask(`${sightings}/${first.id}?f=html`);
    for (const [name, value] of Object.entries<Json>(first.properties)) {
      assert.ok(text.includes(name));
      if (typeof value === 'string') assert.ok(text.includes(value), name);
    }
  });
  it('/req/geojson/definition', () => {
    for (const each of collections)
      for (const path of [itemsOf(each), `${itemsOf(each)}/{fid}`])
        assert.ok('application/geo+json' in document.paths[path].get.responses[200].content);
  });
  itOfEach('/req/geojson/content', async (each) => {
    const { json, headers } = await ask(itemsOf(each), { headers: { accept: 'application/geo+json' } });
    assert.equal(headers.get('content-type'), 'application/geo+json');
    for (const { geometry: shape } of json.features) {
      const rings = shape.type === 'Point' ? [] : shape.coordinates.flat(shape.type === 'MultiPolygon' ? 1 : 0);
      for (const corners of rings) {
        assert.deepEqual(corners[0], corners.at(-1));
        assert.ok(areaOf(corners) > 0, 'rings turn left');
      }
    }
  });
});

const areaOf = (corners: number[][]) =>
  corners.reduce((sum, [x = 0, y = 0], index) => {
    const [nextX = 0, nextY = 0] = corners[(index + 1) % corners.length] ?? [];
    return sum + (x * nextY - nextX * y) / 2;
  }, 0);

describe('Part 1, OpenAPI 3.0', () => {
  it('/req/oas30/oas-definition-1', async () => {
    const rels = (await ask('')).json.links.filter(({ rel }: Json) => /^service-/.test(rel));
    const listed = rels.map(({ type }: Json) => type);
    assert.deepEqual(listed, ['application/vnd.oai.openapi+json;version=3.0', 'text/html']);
  });
  it('/req/oas30/oas-definition-2', async () => {
    assert.match(document.openapi, /^3\.0\./);
    const result = await new Validator().validate(structuredClone(document));
    assert.deepEqual(result.errors ?? [], []);
  });
  it('/req/oas30/oas-impl', async () => {
    for (const path of Object.keys(document.paths)) {
      const id = path.includes('mandant')
        ? 'N'
        : ((await ask(path.replace('/{fid}', '')).catch(() => null))?.json?.features?.[0].id ?? '');
      const { status } = await ask(path === '/' ? '' : path.replace('{fid}', encodeURIComponent(id)));
      assert.equal(status, 200, path);
    }
  });
  itOfEach('/req/oas30/completeness', async (each) => {
    const { properties } = (await ask(`${itemsOf(each)}?limit=1`)).json.features[0];
    assert.deepEqual(Object.keys(document.components.schemas[each.id].properties.properties.properties), Object.keys(properties));
    const { json } = await ask(`${itemsOf(each)}?xyz=1`);
    const known = document.paths[itemsOf(each)].get.parameters.map(({ $ref, name }: Json) => name ?? $ref.split('/').at(-1));
    for (const name of known) assert.match(json.detail, new RegExp(`\\b${name}\\b`));
  });
  it('/req/oas30/exceptions-codes', () => {
    for (const { get } of Object.values<Json>(document.paths))
      for (const status of ['400', '404', '406', '500', '503']) assert.ok(get.responses[status], status);
  });
  it('/req/oas30/security', () => assert.equal(document.security, undefined));
});

describe('Part 2', () => {
  itOfEach('/req/crs/crs-uri', (each) => {
    for (const crs of each.crs) assert.match(crs, /^http:\/\/www\.opengis\.net\/def\/crs\//);
  });
  itOfEach('/req/crs/fc-md-crs-list', (each) => assert.deepEqual(each.crs, allCrs));
  itOfEach('/req/crs/fc-md-storageCrs', (each) => assert.equal(each.storageCrs, `${epsg}/25832`));
  itOfEach('/req/crs/fc-md-storageCrs-valid-value', (each) => assert.ok(each.crs.includes(each.storageCrs)));
  for (const name of ['bbox-crs', 'crs'])
    it(`/req/crs/fc-${name}-definition`, () => {
      for (const each of collections) {
        const { schema, style, explode, required } = parameterOf(itemsOf(each), name);
        assert.deepEqual([schema.type, schema.format, style, explode, required], ['string', 'uri', 'form', false, false]);
        assert.deepEqual(schema.enum, allCrs);
      }
    });
  for (const name of ['bbox-crs', 'crs'])
    it(`/req/crs/fc-${name}-valid-value`, async () => {
      for (const crs of allCrs) assert.equal((await ask(`${sightings}?${name}=${crs}`)).status, 200, crs);
      for (const crs of ['', 'x', `${epsg}/31467`]) assert.equal((await ask(`${sightings}?${name}=${crs}`)).status, 400, crs);
    });
  it('/req/crs/fc-bbox-crs-valid-defaultValue', async () => {
    const box = '7.5,49.9,8,50';
    const listed = idsOf((await ask(`${sightings}?bbox=${box}`)).json.features);
    assert.deepEqual(listed, idsOf((await ask(`${sightings}?bbox=${box}&bbox-crs=${crs84}`)).json.features));
  });
  it('/req/crs/fc-bbox-crs-action', async () => {
    const degrees = idsOf((await ask(`${sightings}?bbox=7.5,49.9,8,49.95`)).json.features);
    assert.ok(degrees.length > 0 && degrees.length < 13);
    const flipped = await ask(`${sightings}?bbox=49.9,7.5,49.95,8&bbox-crs=${epsg}/4326`);
    assert.deepEqual(idsOf(flipped.json.features), degrees);
  });
  it('/req/crs/fc-crs-default-value', async () => {
    const [first] = (await ask(`${sightings}?limit=1`)).json.features;
    assert.deepEqual((await ask(`${sightings}?limit=1&crs=${crs84}`)).json.features[0], first);
  });
  it('/req/crs/fc-crs-action', async () => {
    const query = `${sightings}?datetime=2021-06-30&crs=`;
    const shown = async (crs: string) => (await ask(`${query}${crs}`)).json.features[0].geometry.coordinates as number[];
    assert.deepEqual(await shown(`${epsg}/25832`), [471000, 5531000]);
    assert.deepEqual(await shown(`${epsg}/4326`), (await shown(crs84)).reverse());
    const [northing = 0, easting = 0] = await shown(`${epsg}/3035`);
    assert.ok(northing > 2_900_000 && northing < 3_100_000 && easting > 4_100_000 && easting < 4_300_000);
  });
  it('/req/crs/geojson', async () => {
    for (const crs of allCrs) check('features', (await ask(`${sightings}?crs=${crs}`)).json);
  });
  it('/req/crs/ogc-crs-header', async () => {
    const [first] = (await ask(`${sightings}?limit=1`)).json.features;
    for (const path of [sightings, `${sightings}?f=csv`, `${sightings}/${first.id}`])
      assert.ok((await ask(path)).headers.get('content-crs'), path);
  });
  it('/req/crs/ogc-crs-header-value', async () => {
    const [first] = (await ask(`${sightings}?limit=1`)).json.features;
    for (const crs of allCrs)
      for (const path of [sightings, `${sightings}/${first.id}`])
        assert.equal((await ask(`${path}?crs=${crs}`)).headers.get('content-crs'), `<${crs}>`);
  });
});

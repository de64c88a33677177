// What the boundary job takes from the GeoJSON of its source.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readFeatures } from '../../src/jobs/boundary-features.ts';
import { BoundaryError } from '../../src/jobs/boundary-source.ts';
import { frame, makeCollection, makeFeature, utm32 } from '../support/boundaries.ts';

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

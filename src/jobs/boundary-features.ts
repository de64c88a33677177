// What the boundary job takes from the GeoJSON of its source. The geometries themselves are the database's to judge.
import * as v from 'valibot';
import type { NewGebiet } from '../db/grenzlauf.ts';
import { describePart } from '../guard/collection.ts';
import { countCrossings, maxCrossings } from '../guard/geometry.ts';
import { toName } from '../guard/text.ts';
import { BoundaryError } from './boundary-source.ts';

/** A property that a feature must have, and its value as text. */
export interface FeatureFilter {
  property: string;
  value: string;
}

const crsMember = v.object({ properties: v.object({ name: v.string() }) });
const collectionSchema = v.looseObject({ type: v.literal('FeatureCollection'), features: v.array(v.unknown()) });
const featureSchema = v.object({
  properties: v.nullable(v.record(v.string(), v.unknown())),
  geometry: v.nullable(v.looseObject({ type: v.string() })),
});

/**
 * Reads a FeatureCollection.
 * @param key property that names the tenant
 * @returns the features that pass the filter, in the order of the source
 * @throws BoundaryError that says what was wrong
 */
export function readFeatures(bytes: Buffer, key: string, filter: FeatureFilter | null): NewGebiet[] {
  const collection = readCollection(bytes);
  const { features } = collection;
  const srid = readSrid(collection.crs);
  const part = describePart(collection, features.length);
  if (part !== null) throw new BoundaryError('unvollstaendig', `Die Quelle liefert ${part}.`);
  const gebiete: NewGebiet[] = [];
  let keyed = 0;
  for (const [index, feature] of features.entries()) {
    const result = v.safeParse(featureSchema, feature);
    if (!result.success) throw new BoundaryError('inhalt', `Feature ${index + 1} der Quelle ist kein Feature in GeoJSON.`);
    const { properties, geometry } = result.output;
    if (filter && toText(properties?.[filter.property]) !== filter.value) continue;
    const wert = toText(properties?.[key]);
    if (wert === null) continue;
    keyed++;
    // A feature without a place adds nothing; whether a tenant is left without any is found out later.
    if (geometry !== null)
      gebiete.push({
        wert,
        geojson: JSON.stringify(geometry),
        srid,
        repairable: countCrossings(geometry.coordinates) <= maxCrossings,
      });
  }
  if (keyed === 0) {
    const condition = filter ? ` und ${filter.property}=${filter.value}` : '';
    throw new BoundaryError('inhalt', `Die Quelle enthält kein Feature mit der Eigenschaft ${key}${condition}.`);
  }
  return gebiete;
}

function readCollection(bytes: Buffer): v.InferOutput<typeof collectionSchema> {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes).trim();
  } catch {
    throw new BoundaryError('inhalt', 'Die Quelle ist nicht UTF-8.');
  }
  if (text === '') throw new BoundaryError('inhalt', 'Die Quelle ist leer.');
  if (text.startsWith('<')) throw new BoundaryError('inhalt', 'Die Quelle liefert HTML oder XML statt GeoJSON.');
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new BoundaryError('inhalt', 'Die Quelle ist kein vollständiges JSON.');
  }
  const result = v.safeParse(collectionSchema, json);
  if (!result.success) throw new BoundaryError('inhalt', 'Die Quelle ist keine FeatureCollection in GeoJSON.');
  return result.output;
}

// The names by which servers call the two systems, among them urn:ogc:def:crs:EPSG::25832 and
// http://www.opengis.net/def/crs/OGC/1.3/CRS84; without any it is longitude and latitude (RFC 7946).
function readSrid(crs: unknown): number {
  if (crs === undefined || crs === null) return 4326;
  const name = v.is(crsMember, crs) ? crs.properties.name : '';
  const [, code] =
    /^(?:urn:ogc:def:crs:|https?:\/\/www\.opengis\.net\/def\/crs\/)?(?:EPSG|OGC)[:/][\d.]*[:/]?(CRS84|4326|25832)$/i.exec(name) ??
    [];
  if (code === undefined) {
    const shown = name === '' ? 'unlesbar' : `„${name.slice(0, 80)}“`;
    throw new BoundaryError('bezugssystem', `Das Bezugssystem der Quelle ist ${shown}, erlaubt sind EPSG:4326 und EPSG:25832.`);
  }
  return code === '25832' ? 25832 : 4326;
}

// Numbers too: many sources keep keys as numbers.
function toText(value: unknown): string | null {
  return typeof value === 'string' ? toName(value) || null : typeof value === 'number' ? String(value) : null;
}

// Features as they come from the database, where they are not passed on as they are.
import type { FeaturePage } from '../../../db/ausgabe-ogc.ts';
import { toCsvCell } from '../../../guard/csv.ts';
import type { Collection } from './collections.ts';

type Position = readonly number[];

export interface Feature {
  id: number | string;
  geometry:
    | { type: 'Point'; coordinates: Position }
    | { type: 'Polygon'; coordinates: Position[][] }
    | { type: 'MultiPolygon'; coordinates: Position[][][] };
  properties: Record<string, string | number | boolean | null>;
}

/** The features of a page. */
export const featuresOf = (page: FeaturePage): Feature[] => JSON.parse(`[${Buffer.concat(page.features).toString()}]`);

/** The polygons of an area, each a list of rings. */
export function polygonsOf({ type, coordinates }: Feature['geometry']): Position[][][] {
  if (type === 'MultiPolygon') return coordinates;
  return type === 'Polygon' ? [coordinates] : [];
}

/** As well-known text. */
function toWkt(geometry: Feature['geometry']): string {
  if (geometry.type === 'Point') return `POINT (${geometry.coordinates.join(' ')})`;
  const toRing = (ring: readonly Position[]) => `(${ring.map((position) => position.join(' ')).join(', ')})`;
  const polygons = polygonsOf(geometry).map((rings) => `(${rings.map(toRing).join(', ')})`);
  return geometry.type === 'Polygon' ? `POLYGON ${polygons[0]}` : `MULTIPOLYGON (${polygons.join(', ')})`;
}

/** A page as CSV (RFC 4180): a column for each property, the geometry as well-known text. */
export function makeCsv(collection: Collection, page: FeaturePage): Buffer<ArrayBuffer> {
  const names = Object.keys(collection.properties);
  const lines = featuresOf(page).map(({ properties, geometry }) => [
    ...names.map((name) => toCsvCell(properties[name] ?? null)),
    toCsvCell(toWkt(geometry)),
  ]);
  return Buffer.from([[...names, 'geometrie'], ...lines].map((cells) => `${cells.join(',')}\r\n`).join(''));
}

// Features as they come from the database, where they are not passed on as they are.
import type { FeaturePage } from '../../../db/ausgabe-ogc.ts';
import { makePace, type Pace, waitForTurn } from '../../../guard/turns.ts';

type Position = readonly number[];

export interface Feature {
  id: number | string;
  geometry:
    | { type: 'Point'; coordinates: Position }
    | { type: 'Polygon'; coordinates: Position[][] }
    | { type: 'MultiPolygon'; coordinates: Position[][][] };
  properties: Record<string, string | number | boolean | null>;
}

const featuresAtOnce = 200;
// Boundaries may be some hundred kilobytes each: parsing so much takes a millisecond.
const bytesAtOnce = 128 * 1024;
// Two milliseconds as text.
const positionsAtOnce = 4000;

/** Hands the features of a page over in small lots, as everybody else is to be answered in between. */
export async function eachLot(page: FeaturePage, use: (lot: Feature[]) => unknown): Promise<void> {
  if (page.returned === 0) return;
  for (let at = 0; at < page.features.length; ) {
    await waitForTurn();
    const end = endOfLot(page.features, at);
    await use(JSON.parse(`[${page.features.toString('utf8', at, end)}]`) as Feature[]);
    at = end + separator.length;
  }
}

// Line breaks inside of texts are escaped: these stand between features only.
const separator = ',\n';

/** One feature at least: it is parsed as a whole, however long it is. */
function endOfLot(features: Buffer, begin: number): number {
  let end = begin;
  for (let count = 0; count < featuresAtOnce; count++) {
    const found = features.indexOf(separator, count === 0 ? begin : end + separator.length);
    const next = found === -1 ? features.length : found;
    if (count > 0 && next - begin > bytesAtOnce) break;
    end = next;
    if (found === -1) break;
  }
  return end;
}

/** For what is made of positions one by one. */
export const makePositionPace = (): Pace => makePace(positionsAtOnce);

/** A ring in pieces that may be computed with at once. */
export function piecesOf(ring: readonly Position[]): (readonly Position[])[] {
  if (ring.length <= positionsAtOnce) return [ring];
  const count = Math.ceil(ring.length / positionsAtOnce);
  return Array.from({ length: count }, (_, n) => ring.slice(n * positionsAtOnce, (n + 1) * positionsAtOnce));
}

/** The polygons of an area, each a list of rings. */
export function polygonsOf({ type, coordinates }: Feature['geometry']): Position[][][] {
  if (type === 'MultiPolygon') return coordinates;
  return type === 'Polygon' ? [coordinates] : [];
}

/** As well-known text. */
export async function toWkt(geometry: Feature['geometry'], pace: Pace): Promise<string> {
  if (geometry.type === 'Point') return `POINT (${geometry.coordinates.join(' ')})`;
  const polygons: string[] = [];
  for (const rings of polygonsOf(geometry)) {
    const texts: string[] = [];
    for (const ring of rings) {
      const pieces: string[] = [];
      for (const piece of piecesOf(ring)) {
        await pace(piece.length);
        pieces.push(piece.map((each) => each.join(' ')).join(', '));
      }
      texts.push(`(${pieces.join(', ')})`);
    }
    polygons.push(`(${texts.join(', ')})`);
  }
  return geometry.type === 'Polygon' ? `POLYGON ${polygons[0]}` : `MULTIPOLYGON (${polygons.join(', ')})`;
}

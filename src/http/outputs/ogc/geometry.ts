// Features as they come from the database, where they are not passed on as they are.
import type { FeaturePage } from '../../../db/ausgabe-ogc.ts';
import { limitRuns } from '../../../guard/admission.ts';
import { waitForTurn } from '../../../guard/turns.ts';
import { longPages } from '../../wire/reply.ts';

type Position = readonly number[];

export interface Feature {
  id: number | string;
  geometry:
    | { type: 'Point'; coordinates: Position }
    | { type: 'Polygon'; coordinates: Position[][] }
    | { type: 'MultiPolygon'; coordinates: Position[][][] };
  properties: Record<string, string | number | boolean | null>;
}

const atOnce = 200;
const inTurn = limitRuns({ name: 'features', ...longPages });

/** Hands the features of a page over in small lots, as everybody else is to be answered in between. */
export function eachLot(page: FeaturePage, use: (lot: Feature[]) => void): Promise<void> {
  return inTurn(async () => {
    if (page.returned === 0) return;
    // Line breaks inside of texts are escaped: these stand between features only.
    const lines = page.features.toString().split(',\n');
    for (let at = 0; at < lines.length; at += atOnce) {
      await waitForTurn();
      use(JSON.parse(`[${lines.slice(at, at + atOnce).join(',')}]`) as Feature[]);
    }
  });
}

/** The polygons of an area, each a list of rings. */
export function polygonsOf({ type, coordinates }: Feature['geometry']): Position[][][] {
  if (type === 'MultiPolygon') return coordinates;
  return type === 'Polygon' ? [coordinates] : [];
}

/** As well-known text. */
export function toWkt(geometry: Feature['geometry']): string {
  if (geometry.type === 'Point') return `POINT (${geometry.coordinates.join(' ')})`;
  const polygons = polygonsOf(geometry).map(
    (rings) => `(${rings.map((ring) => `(${ring.map((each) => each.join(' ')).join(', ')})`).join(', ')})`,
  );
  return geometry.type === 'Polygon' ? `POLYGON ${polygons[0]}` : `MULTIPOLYGON (${polygons.join(', ')})`;
}

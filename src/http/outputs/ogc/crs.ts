// The coordinate reference systems of /ogc: names, axes, and the boxes that are asked for in them (O2).
import * as v from 'valibot';
import type { OutputBox, OutputSystem } from '../../../db/ausgabe-ogc.ts';
import * as field from '../../wire/fields.ts';
import { PortalError } from '../../wire/portal-error.ts';

const base = 'http://www.opengis.net/def/crs';
export const crs84 = `${base}/OGC/1.3/CRS84`;
/** What is stored. */
export const storageCrs = `${base}/EPSG/0/25832`;

/** Axes as each system defines them: CRS84 is EPSG:4326 with longitude first. */
const systems: Record<string, OutputSystem> = {
  [crs84]: { srid: 4326, isNorthFirst: false },
  [`${base}/EPSG/0/4326`]: { srid: 4326, isNorthFirst: true },
  [storageCrs]: { srid: 25832, isNorthFirst: false },
  [`${base}/EPSG/0/3857`]: { srid: 3857, isNorthFirst: false },
  [`${base}/EPSG/0/3035`]: { srid: 3035, isNorthFirst: true },
};

export const crsNames: readonly string[] = Object.keys(systems);

export function systemOf(crs: string): OutputSystem {
  const system = systems[crs];
  if (!system) throw new Error(`no system ${crs}`);
  return system;
}

export const crsField = v.optional(field.oneOf(crsNames), crs84);

/** Once around the earth: maps that are dragged on go further, and pass on where they have come to (O2.13). */
const turns: Partial<Record<OutputSystem['srid'], number>> = { 4326: 360, 3857: 40_075_016.685578488 };

const allowedBox =
  'minx,miny,maxx,maxy oder mit Höhe minx,miny,minz,maxx,maxy,maxz: vier oder sechs Zahlen in der Achsenfolge von bbox-crs, die kleineren zuerst';

export const bboxField = v.optional(
  v.pipe(
    v.string(),
    v.metadata({ examples: ['8.0,49.0,9.0,50.0'] }),
    v.transform((value) => value.split(',', 7)),
    v.check((parts) => parts.length === 4 || parts.length === 6, allowedBox),
    v.array(field.double(allowedBox)),
    // Heights are of no interest: nothing here has one.
    v.transform((parts) => (parts.length === 6 ? [0, 1, 3, 4].map((index) => parts[index] ?? 0) : parts)),
    // Across the antimeridian too: nothing here lies there.
    v.check(([x1 = 0, y1 = 0, x2 = 0, y2 = 0]) => x1 <= x2 && y1 <= y2, allowedBox),
  ),
);

/** @param corners as bboxField gives them, in the order of axes of that system */
export function toBox(corners: readonly number[], crs: string): OutputBox {
  const { srid, isNorthFirst } = systemOf(crs);
  const [first1 = 0, second1 = 0, first2 = 0, second2 = 0] = corners;
  const sides = isNorthFirst ? [second1, first1, second2, first2] : [first1, second1, first2, second2];
  const [west = 0, south = 0, east = 0, north = 0] = sides;
  if (srid === 4326 && (south > 90 || north < -90))
    throw new PortalError('ungueltiger_parameter', {
      bbox: `bbox liegt jenseits der Pole: erlaubt sind Breiten von -90 bis 90, ${isNorthFirst ? 'hier die Breite zuerst' : 'hier die Länge zuerst'}.`,
    });
  const turn = turns[srid];
  if (turn === undefined) return { sides, srid };
  // The copy of the box whose middle lies on the first turn around the earth.
  const shift = east - west >= turn ? 0 : Math.round((west / 2 + east / 2) / turn) * turn;
  const within = (value: number) => Math.max(-turn / 2, Math.min(value, turn / 2));
  return { sides: [within(west - shift), south, within(east - shift), north], srid };
}

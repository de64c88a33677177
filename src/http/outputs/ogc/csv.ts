// A page of features as CSV (RFC 4180): a column for each property, the geometry as well-known text.
import type { FeaturePage } from '../../../db/ausgabe-ogc.ts';
import type { Collection } from './collections.ts';
import { eachLot, toWkt } from './geometry.ts';

export async function makeCsv(collection: Collection, page: FeaturePage): Promise<string> {
  const names = Object.keys(collection.properties);
  const lines = [[...names, 'geometrie'].join(',')];
  await eachLot(page, (lot) => {
    for (const { properties, geometry } of lot)
      lines.push([...names.map((name) => toCell(properties[name] ?? '')), toCell(toWkt(geometry))].join(','));
  });
  return `${lines.join('\r\n')}\r\n`;
}

function toCell(value: string | number | boolean): string {
  const text = String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

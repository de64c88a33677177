// A page of features as CSV (RFC 4180): a column for each property, the geometry as well-known text.
import type { FeaturePage } from '../../../db/ausgabe-ogc.ts';
import type { Collection } from './collections.ts';
import { eachLot, makePositionPace, toWkt } from './geometry.ts';

export async function makeCsv(collection: Collection, page: FeaturePage): Promise<Buffer<ArrayBuffer>> {
  const names = Object.keys(collection.properties);
  const toLine = (cells: string[]) => `${cells.join(',')}\r\n`;
  // As bytes from the beginning: a text of all would be put together and turned into bytes at a stretch.
  const parts = [Buffer.from(toLine([...names, 'geometrie']))];
  const pace = makePositionPace();
  await eachLot(page, async (lot) => {
    const lines: string[] = [];
    for (const { properties, geometry } of lot)
      lines.push(toLine([...names.map((name) => toCell(properties[name] ?? '')), toCell(await toWkt(geometry, pace))]));
    parts.push(Buffer.from(lines.join('')));
  });
  return Buffer.concat(parts);
}

function toCell(value: string | number | boolean): string {
  const text = String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

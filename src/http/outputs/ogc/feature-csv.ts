// A page of features as CSV (RFC 4180): a column for each property, the geometry as well-known text.
import type { FeaturePage } from '../../../db/ausgabe-ogc.ts';
import type { Collection } from './collections.ts';
import { featuresOf, toWkt } from './geometry.ts';

export function makeCsv(collection: Collection, page: FeaturePage): Buffer<ArrayBuffer> {
  const names = Object.keys(collection.properties);
  const lines = featuresOf(page).map(({ properties, geometry }) => [
    ...names.map((name) => toCell(properties[name] ?? '')),
    toCell(toWkt(geometry)),
  ]);
  return Buffer.from([[...names, 'geometrie'], ...lines].map((cells) => `${cells.join(',')}\r\n`).join(''));
}

function toCell(value: string | number | boolean): string {
  const text = String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

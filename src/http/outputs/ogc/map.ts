// A small map of the features of a page: their outlines, drawn from their degrees. No background and no script.
import { html, raw } from 'hono/html';
import { type Feature, polygonsOf } from './geometry.ts';

const width = 640;
const maxHeight = 640;
const edge = 12;
// Corners nearer to the last one than that are left out.
const pixel = 0.5;

/** @param features in degrees, longitude first */
export function drawMap(features: readonly Feature[]) {
  const box = boxOf(features);
  if (!box) return '';
  const { west, south, east, north } = box;
  const shrink = Math.cos((((south + north) / 2) * Math.PI) / 180);
  // A single point has no width.
  const spanX = Math.max((east - west) * shrink, 0.002);
  const spanY = Math.max(north - south, 0.002);
  const scale = Math.min((width - 2 * edge) / spanX, (maxHeight - 2 * edge) / spanY);
  const height = Math.ceil(spanY * scale + 2 * edge);
  const x = (longitude: number) => edge + (longitude - west) * shrink * scale;
  const y = (latitude: number) => height - edge - (latitude - south) * scale;
  const shapes = features.map((feature) => drawFeature(feature, x, y));
  return html`<svg class="karte" viewBox="0 0 ${width} ${height}" role="img" aria-label="Lage der ${features.length} Objekte dieser Seite">${raw(shapes.join(''))}</svg>`;
}

type Scale = (value: number) => number;

function drawFeature({ geometry }: Feature, x: Scale, y: Scale): string {
  if (geometry.type === 'Point') {
    const [longitude = 0, latitude = 0] = geometry.coordinates;
    return `<circle cx="${x(longitude).toFixed(1)}" cy="${y(latitude).toFixed(1)}" r="3"/>`;
  }
  const path: string[] = [];
  for (const ring of polygonsOf(geometry).flat()) {
    const corners: string[] = [];
    let [lastX, lastY] = [Number.NaN, Number.NaN];
    for (const [longitude = 0, latitude = 0] of ring) {
      const [atX, atY] = [x(longitude), y(latitude)];
      if (Math.abs(atX - lastX) < pixel && Math.abs(atY - lastY) < pixel) continue;
      corners.push(`${atX.toFixed(1)} ${atY.toFixed(1)}`);
      [lastX, lastY] = [atX, atY];
    }
    path.push(`M${corners.join('L')}Z`);
  }
  return `<path d="${path.join('')}"/>`;
}

function boxOf(features: readonly Feature[]) {
  const box = { west: Infinity, south: Infinity, east: -Infinity, north: -Infinity };
  const add = ([longitude = 0, latitude = 0]: readonly number[]) => {
    box.west = Math.min(box.west, longitude);
    box.east = Math.max(box.east, longitude);
    box.south = Math.min(box.south, latitude);
    box.north = Math.max(box.north, latitude);
  };
  for (const { geometry } of features) {
    if (geometry.type === 'Point') add(geometry.coordinates);
    else for (const position of polygonsOf(geometry).flat(2)) add(position);
  }
  return box.west <= box.east ? box : null;
}

// Packs vector tiles where the database can't (O3.2).
import { fromGeojsonVt } from '@maplibre/vt-pbf';
import type { TileFeature, TileGeometry } from '../../db/ausgabe-tiles.ts';

const extent = 4096;

/** A tile of version 2, as PostGIS packs it: layers without features are left out. */
export function packTile(features: readonly TileFeature[]): Buffer<ArrayBuffer> {
  const layers: Record<string, { features: ReturnType<typeof toPacked>[] }> = {};
  for (const feature of features) {
    layers[feature.layer] ??= { features: [] };
    layers[feature.layer]?.features.push(toPacked(feature));
  }
  return Buffer.from(fromGeojsonVt(layers, { version: 2, extent }));
}

function toPacked({ id, properties, geometry }: TileFeature) {
  return { ...(id !== null && { id }), type: geometry.type === 'Point' ? 1 : 3, tags: properties, geometry: toRings(geometry) };
}

function toRings(geometry: TileGeometry) {
  if (geometry.type === 'Point') return [geometry.coordinates];
  return geometry.type === 'Polygon' ? geometry.coordinates : geometry.coordinates.flat();
}

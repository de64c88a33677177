// What is in a vector tile.
import assert from 'node:assert/strict';
import { VectorTile } from '@mapbox/vector-tile';
import { PbfReader } from 'pbf';

interface Feature {
  id: number | undefined;
  properties: Record<string, string | number | boolean>;
  type: number;
  /** In coordinates of the tile, of which there are 4096. */
  rings: { x: number; y: number }[][];
}

export type Layers = Record<string, Feature[]>;

export function decodeTile(bytes: Uint8Array): Layers {
  const { layers } = new VectorTile(new PbfReader(bytes));
  return Object.fromEntries(
    Object.entries(layers).map(([name, layer]) => {
      assert.equal(layer.extent, 4096);
      const features = Array.from({ length: layer.length }, (_, index) => {
        const feature = layer.feature(index);
        return { id: feature.id, properties: { ...feature.properties }, type: feature.type, rings: feature.loadGeometry() };
      });
      return [name, features];
    }),
  );
}

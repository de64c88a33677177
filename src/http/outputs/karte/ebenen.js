// The layer of the service's tiles: counts by square, points, squares of protected places, boundaries.
import { filterQuery } from './ansicht.js';
import { LadeFehler, load } from './laden.js';

export const farben = ['#e5f0c9', '#b3d9a0', '#6cb98b', '#2b8a83', '#0d5470'];
const dark = '#12303b';
const schutz = '#a8480b';

/** Upper ends of all classes but the last, for counts up to this one. @param {number} most */
export function makeKlassen(most) {
  /** @type {number[]} */
  const ends = [];
  for (let step = 1; step < farben.length; step++) {
    const end = toRound(most ** (step / farben.length));
    if (end < most && end > (ends.at(-1) ?? 0)) ends.push(end);
  }
  return ends;
}

// 1, 2 or 5 times a power of ten.
/** @param {number} value */
function toRound(value) {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, value)));
  return power * ([1, 2, 5, 10].findLast((factor) => factor * power <= value) ?? 1);
}

/** The colour of a count: few classes are spread over all colours. @param {number} count @param {number[]} klassen */
export function farbeOf(count, klassen) {
  const index = klassen.findIndex((end) => count <= end);
  const klasse = index < 0 ? klassen.length : index;
  return klassen.length === 0 ? 2 : Math.round((klasse * (farben.length - 1)) / klassen.length);
}

/** Diagonal lines: an area, and no place in it. Of 8 pixels, which tiles are whole numbers of: so they go on from one to the next. */
function makeSchraffur() {
  const side = 8;
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = side;
  const context = canvas.getContext('2d');
  if (!context) return schutz;
  context.strokeStyle = schutz;
  context.lineWidth = 1.4;
  for (const at of [-side, 0, side]) {
    context.beginPath();
    context.moveTo(at, side);
    context.lineTo(at + side, 0);
    context.stroke();
  }
  return context.createPattern(canvas, 'repeat') ?? schutz;
}

/**
 * @param {any} ol
 * @param {{ onStart(): void, onEnd(): void, onError(message: string): void, isPlain: boolean }} options
 */
export function makeEbene(ol, { onStart, onEnd, onError, isPlain }) {
  const { Style, Fill, Stroke, Circle } = ol.style;
  /** @type {number[]} */
  let klassen = [];
  /** @param {string | CanvasPattern} color @param {string} edge @param {number} width @param {number} zIndex */
  const makeArea = (color, edge, width, zIndex) =>
    new Style({ fill: new Fill({ color }), stroke: new Stroke({ color: edge, width }), zIndex });
  const squares = farben.map((color) => makeArea(isPlain ? color : `${color}c8`, '#ffffff', 0.7, 2));
  const styles = {
    sichtbeobachtung: new Style({
      image: new Circle({
        radius: 5.5,
        fill: new Fill({ color: farben[3] }),
        stroke: new Stroke({ color: '#ffffff', width: 1.5 }),
      }),
      zIndex: 5,
    }),
    zelle: makeArea(makeSchraffur(), schutz, 1.8, 3),
    // Boundaries once as ground and once as line above the counts.
    mandant: [
      new Style({ ...(isPlain && { fill: new Fill({ color: '#ffffff' }) }), zIndex: 0 }),
      new Style({ stroke: new Stroke({ color: dark, width: 1.1 }), zIndex: 4 }),
    ],
  };
  let address = '/tiles/v1/{z}/{x}/{y}.mvt';
  const source = new ol.source.VectorTile({
    format: new ol.format.MVT(),
    maxZoom: 16,
    tileSize: 256,
    url: address,
  });
  source.setTileLoadFunction((/** @type {any} */ tile, /** @type {string} */ url) => {
    const template = address;
    tile.setLoader(async (/** @type {any} */ extent, /** @type {number} */ _resolution, /** @type {any} */ projection) => {
      onStart();
      try {
        const bytes = await (await load(url)).arrayBuffer();
        const features = tile.getFormat().readFeatures(bytes, { extent, featureProjection: projection });
        for (const feature of features) feature.getProperties().adresse = template;
        tile.setFeatures(features);
      } catch (error) {
        tile.onError();
        onError(error instanceof LadeFehler ? error.message : 'Eine Kachel ist nicht lesbar.');
      } finally {
        onEnd();
      }
    });
  });
  const layer = new ol.layer.VectorTile({
    source,
    renderBuffer: 64,
    style: (/** @type {any} */ feature) => {
      const name = feature.get('layer');
      return name === 'raster'
        ? squares[farbeOf(feature.get('meldungen'), klassen)]
        : styles[/** @type {keyof typeof styles} */ (name)];
    },
  });
  return {
    layer,
    /** The side of a square at this resolution in km; null where points are shown. @param {number} resolution */
    sideAt(resolution) {
      const z = source.getTileGrid().getZForResolution(resolution, 1);
      return z <= 9 ? 5 * 2 ** (9 - z) : null;
    },
    /** @param {import('./ansicht.js').Ansicht} filter */
    setFilter(filter) {
      const query = filterQuery(filter);
      address = `/tiles/v1/{z}/{x}/{y}.mvt${query === '' ? '' : `?${query}`}`;
      source.setUrl(address);
    },
    /** Features of a box; the layer itself also has those of tiles with another filter, as long as it keeps them. @param {number[]} extent */
    list(extent) {
      return layer.getFeaturesInExtent(extent).filter((/** @type {any} */ feature) => feature.get('adresse') === address);
    },
    reload: () => source.refresh(),
    /** @param {number[]} next */
    setKlassen(next) {
      if (String(next) === String(klassen)) return;
      klassen = next;
      layer.changed();
    },
  };
}

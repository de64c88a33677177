// What of the tiles lies in the view, and what at a place.

/**
 * @typedef {{ layer: 'raster' | 'zelle', meldungen: number, arten: number, box: number[], center: number[] }} Quadrat
 * @typedef {{ ids: number[], centers: Map<number, number[]>, squares: Quadrat[] }} Inhalt
 */

/**
 * Records and squares of a box, each once: tiles cut squares, and each has its part.
 * @param {any} ol @param {{ list(extent: number[]): any[] }} ebene @param {number[]} extent
 * @returns {Inhalt}
 */
export function listInhalt(ol, ebene, extent) {
  /** @type {Map<number, number[]>} */
  const centers = new Map();
  /** @type {Map<string, Quadrat>} */
  const squares = new Map();
  for (const feature of ebene.list(extent)) {
    const { layer: name, id, meldungen, arten = 0 } = feature.getProperties();
    const box = [...feature.getExtent()];
    if (name === 'sichtbeobachtung') {
      const center = ol.extent.getCenter(box);
      if (ol.extent.containsCoordinate(extent, center)) centers.set(id, center);
    } else if (name === 'raster' || name === 'zelle') {
      const key = `${name} ${feature.getId()}`;
      const whole = ol.extent.extend(squares.get(key)?.box ?? box, box);
      squares.set(key, { layer: name, meldungen, arten, box: whole, center: ol.extent.getCenter(whole) });
    }
  }
  return { ids: [...centers.keys()].sort((a, b) => b - a), centers, squares: [...squares.values()] };
}

/**
 * What is at a place. Looked for in the tiles themselves: asking the picture costs a copy of it.
 * @param {any} ol @param {{ list(extent: number[]): any[] }} ebene @param {number[]} coordinate @param {number} tolerance
 */
export function findAt(ol, ebene, coordinate, tolerance) {
  const found = {
    /** @type {number[]} */ ids: [],
    /** @type {number | null} */ zelle: null,
    /** @type {{ meldungen: number, arten: number } | null} */ raster: null,
    /** @type {string[]} */ mandanten: [],
  };
  const [x = 0, y = 0] = coordinate;
  for (const feature of ebene.list([x - tolerance, y - tolerance, x + tolerance, y + tolerance])) {
    const { layer: name, id, meldungen, arten, name: mandant } = feature.getProperties();
    if (name === 'sichtbeobachtung') {
      if (!found.ids.includes(id)) found.ids.push(id);
      continue;
    }
    if (!ol.render.Feature.toFeature(feature).getGeometry().intersectsCoordinate(coordinate)) continue;
    if (name === 'zelle') found.zelle = meldungen;
    else if (name === 'raster') found.raster = { meldungen, arten };
    else if (!found.mandanten.includes(mandant)) found.mandanten.push(mandant);
  }
  found.ids.sort((a, b) => b - a);
  return found;
}

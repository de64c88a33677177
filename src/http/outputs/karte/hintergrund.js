// What lies below: tiles of another host, if the operator names one, else plain paper. The map works without.

/** A layer below all others, or null. @param {any} ol @param {{ hintergrund?: string, quelle?: string }} dataset */
export function makeHintergrund(ol, { hintergrund, quelle }) {
  if (!hintergrund) return null;
  const source = { url: hintergrund, attributions: quelle || undefined, maxZoom: 19 };
  if (!/\.(mvt|pbf)(\?|$)/.test(hintergrund))
    return new ol.layer.Tile({ className: 'hintergrund', source: new ol.source.XYZ({ ...source, crossOrigin: 'anonymous' }) });
  const line = new ol.style.Style({ stroke: new ol.style.Stroke({ color: '#c3c9cf', width: 0.8 }) });
  const water = new ol.style.Style({ fill: new ol.style.Fill({ color: '#d4e4ee' }) });
  const area = new ol.style.Style({ fill: new ol.style.Fill({ color: '#f0f2ee' }) });
  return new ol.layer.VectorTile({
    className: 'hintergrund',
    source: new ol.source.VectorTile({ ...source, maxZoom: 14, format: new ol.format.MVT() }),
    // Any schema: water is called water in all of them.
    style: (/** @type {any} */ feature) => {
      if (/water|ocean|wasser|gewaesser/i.test(feature.get('layer') ?? ''))
        return feature.getType().endsWith('Polygon') ? water : line;
      if (feature.getType().endsWith('Polygon')) return area;
      return feature.getType().endsWith('LineString') ? line : undefined;
    },
  });
}

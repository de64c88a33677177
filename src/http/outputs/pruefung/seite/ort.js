// Where a record is, and what is released of its species nearby.
import { makeEbene, makeKlassen } from '../../karte/ebenen.js';
import { makeHintergrund } from '../../karte/hintergrund.js';
import { listInhalt } from '../../karte/treffer.js';

const hier = '#b00020';
const cell = 5000;

/** @param {HTMLElement} target @param {(message: string) => void} onError */
export function makeOrt(target, onError) {
  const ol = /** @type {any} */ (window).ol;
  const { Style, Fill, Stroke, RegularShape } = ol.style;
  const hintergrund = makeHintergrund(ol, target.dataset);
  const ebene = makeEbene(ol, { onStart() {}, onEnd() {}, onError, isPlain: hintergrund === null });
  const stroke = new Stroke({ color: hier, width: 3 });
  const stelle = new ol.source.Vector();
  const view = new ol.View({ center: [0, 0], zoom: 11, minZoom: 3, maxZoom: 18, enableRotation: false });
  const map = new ol.Map({
    target,
    view,
    maxTilesLoading: 3,
    layers: [
      ...(hintergrund ? [hintergrund] : []),
      ebene.layer,
      new ol.layer.Vector({
        source: stelle,
        style: new Style({
          stroke,
          image: new RegularShape({ points: 4, radius: 11, stroke, fill: new Fill({ color: '#ffffff80' }) }),
        }),
      }),
    ],
    controls: [
      new ol.control.Zoom({ zoomInTipLabel: 'Vergrößern', zoomOutTipLabel: 'Verkleinern' }),
      new ol.control.ScaleLine(),
      ...(hintergrund ? [new ol.control.Attribution({ collapsible: false })] : []),
    ],
  });
  map.on('rendercomplete', () => {
    const { squares } = listInhalt(ol, ebene, view.calculateExtent(map.getSize()));
    const counts = squares.filter(({ layer }) => layer === 'raster').map(({ meldungen }) => meldungen);
    ebene.setKlassen(makeKlassen(Math.max(0, ...counts)));
  });

  /**
   * @param {{ lat: number, lon: number, is_rasterized: boolean }} record metres, EPSG:25832; the middle of its cell where the place is kept back
   * @param {number | null} art null: of no known species
   */
  return function show({ lat, lon, is_rasterized }, art) {
    // EPSG:32632 is the same zone, less than a metre beside it.
    const toMap = (/** @type {number[]} */ place) => ol.proj.transform(place, 'EPSG:32632', 'EPSG:3857');
    const corners = [
      [-1, -1],
      [1, -1],
      [1, 1],
      [-1, 1],
      [-1, -1],
    ].map(([x = 0, y = 0]) => toMap([lon + (x * cell) / 2, lat + (y * cell) / 2]));
    const geometry = is_rasterized ? new ol.geom.Polygon([corners]) : new ol.geom.Point(toMap([lon, lat]));
    stelle.clear();
    stelle.addFeature(new ol.Feature(geometry));
    ebene.layer.setVisible(art !== null);
    if (art !== null) ebene.setFilter({ z: null, lat: null, lon: null, art, von: null, bis: null });
    view.setCenter(toMap([lon, lat]));
    view.setZoom(11);
  };
}

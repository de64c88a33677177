// The page: what was chosen, what is seen, and what is said of it.
import { filterQuery, readAnsicht, writeAnsicht } from './ansicht.js';
import { artName, makeArtwahl } from './artwahl.js';
import { describe, zahl } from './auskunft.js';
import { makeEbene, makeKlassen } from './ebenen.js';
import { make } from './element.js';
import { makeHintergrund } from './hintergrund.js';
import { LadeFehler, loadJson } from './laden.js';
import { showLegende } from './legende.js';
import { showListe } from './liste.js';
import { findAt, listInhalt } from './treffer.js';

/** @type {any} */
const ol = /** @type {any} */ (window).ol;
/** @param {string} id @returns {any} */
const get = (id) => document.getElementById(id);
const [target, stand, fehler, auskunft, von, bis] = ['karte', 'stand', 'fehler', 'auskunft', 'von', 'bis'].map(get);
const germany = [5.8, 47.2, 15.1, 55.1];

const ansicht = readAnsicht();
let underWay = 0;
let hasFailed = false;

/** @param {string} message */
function showError(message) {
  hasFailed = true;
  fehler.firstElementChild.textContent = `Die Karte ist nicht vollständig: ${message}`;
  fehler.hidden = false;
}

const ebene = makeEbene(ol, {
  isPlain: !target.dataset.hintergrund,
  onStart() {
    underWay++;
    get('fortschritt').hidden = false;
    stand.textContent = 'Die Karte wird geladen …';
  },
  onEnd() {
    underWay--;
    if (underWay > 0) return;
    get('fortschritt').hidden = true;
    // Once more: it may have been drawn for the last time while a tile that nobody sees was under way.
    map.once('postrender', showView);
    map.render();
  },
  onError: showError,
});
const hintergrund = makeHintergrund(ol, target.dataset);
const view = new ol.View({ center: [0, 0], zoom: 6, minZoom: 3, maxZoom: 18, enableRotation: false });
const map = new ol.Map({
  target,
  view,
  // The service makes one of a network at a time; a few may wait there, more would be refused after a while.
  maxTilesLoading: 3,
  layers: [...(hintergrund ? [hintergrund] : []), ebene.layer],
  controls: [
    new ol.control.Zoom({ zoomInTipLabel: 'Vergrößern', zoomOutTipLabel: 'Verkleinern' }),
    new ol.control.ScaleLine(),
    ...(hintergrund ? [new ol.control.Attribution({ collapsible: false })] : []),
  ],
});

function showView() {
  const inhalt = listInhalt(ol, ebene, view.calculateExtent(map.getSize()));
  const counts = inhalt.squares.filter(({ layer }) => layer === 'raster').map(({ meldungen }) => meldungen);
  const most = Math.max(0, ...counts);
  const klassen = makeKlassen(most);
  const side = ebene.sideAt(view.getResolution());
  ebene.setKlassen(klassen);
  showLegende(get('legende'), { side, klassen, most });
  if (underWay > 0) return;
  const squares = inhalt.squares.length;
  const parts = [
    ...(inhalt.ids.length > 0 ? [zahl(inhalt.ids.length, 'Meldung', 'Meldungen')] : []),
    ...(squares > 0 ? [zahl(squares, 'Quadrat', 'Quadrate')] : []),
  ];
  if (!hasFailed) stand.textContent = parts.length > 0 ? `Im Ausschnitt: ${parts.join(' und ')}.` : 'Im Ausschnitt liegt nichts.';
  else stand.textContent = '';
  if (get('liste').open)
    showListe(get('liste').querySelector('ul'), get('liste-stand'), inhalt, goTo).catch((error) => showError(error.message));
}

/** @param {number[]} center @param {number | null} id */
function goTo(center, id) {
  if (center.length === 2) view.animate({ center, duration: 200 });
  if (id !== null) showAuskunft({ ids: [id], zelle: null, raster: null, mandanten: [] });
  else showAuskunft(findHere(center));
}

/** @param {{ ids: number[], zelle: number | null, raster: { meldungen: number, arten: number } | null, mandanten: string[] }} found */
async function showAuskunft(found) {
  try {
    const parts = await describe({ ...found, side: ebene.sideAt(view.getResolution()) });
    const close = make('button', { type: 'button', className: 'schliessen', ariaLabel: 'Auskunft schließen' }, '×');
    close.addEventListener('click', () => {
      auskunft.hidden = true;
      target.focus();
    });
    auskunft.replaceChildren(close, ...parts);
    auskunft.hidden = parts.length === 0;
    if (parts.length > 0) auskunft.focus({ preventScroll: true });
  } catch (error) {
    showError(error instanceof LadeFehler ? error.message : 'Die Auskunft ist nicht lesbar.');
  }
}

// In pixels: what a finger hits.
const reach = 8;

/** @param {number[]} coordinate */
const findHere = (coordinate) => findAt(ol, ebene, coordinate, reach * view.getResolution());

function showFilter() {
  ebene.setFilter(ansicht);
  const jahreslauf = get('jahreslauf');
  jahreslauf.hidden = ansicht.art === null;
  if (ansicht.art === null) return;
  const query = filterQuery(ansicht);
  const image = jahreslauf.querySelector('img');
  image.src = `/atlas/v1/phaenologie?${query}&format=svg`;
  image.alt = `Meldungen im Jahreslauf: ${get('art').value}`;
  jahreslauf.querySelector('a').href = `/atlas/v1/phaenologie?${query}&format=csv`;
}

function writeView() {
  const [lon, lat] = ol.proj.toLonLat(view.getCenter());
  Object.assign(ansicht, { z: view.getZoom(), lat, lon });
  writeAnsicht(ansicht);
}

const artwahl = makeArtwahl(
  { input: get('art'), list: get('artliste'), clear: get('art-leeren') },
  {
    onChoose(art) {
      ansicht.art = art?.id ?? null;
      auskunft.hidden = true;
      showFilter();
      writeView();
    },
    onError: showError,
  },
);

for (const input of [von, bis]) {
  input.addEventListener('change', () => {
    const [first, last] = [von, bis].map(({ value }) => (/^\d{4}$/.test(value) ? Number(value) : null));
    const isWrong =
      (von.value !== '' && first === null) || (bis.value !== '' && last === null) || !von.validity.valid || !bis.validity.valid;
    const isReversed = first != null && last != null && first > last;
    const reversed = isReversed ? 'Das erste Jahr liegt nach dem letzten.' : '';
    const problem = isWrong ? 'Ein Jahr hat vier Ziffern, etwa 2019.' : reversed;
    get('wahl-fehler').textContent = problem;
    get('wahl-fehler').hidden = problem === '';
    if (problem !== '') return;
    Object.assign(ansicht, { von: first ?? null, bis: last ?? null });
    showFilter();
    writeView();
  });
}
get('wahl').addEventListener('submit', (/** @type {Event} */ event) => event.preventDefault());
fehler.querySelector('button').addEventListener('click', () => {
  hasFailed = false;
  fehler.hidden = true;
  if (view.isDef()) ebene.reload();
  else restore();
});
get('liste').addEventListener('toggle', showView);
map.on('singleclick', (/** @type {any} */ { coordinate }) => showAuskunft(findHere(coordinate)));
map.on('moveend', () => {
  if (isRestored) writeView();
});
// What is loaded is drawn then.
map.on('rendercomplete', showView);
map.on('pointermove', (/** @type {any} */ { dragging, coordinate }) => {
  const { ids, zelle, raster } = dragging ? { ids: [], zelle: null, raster: null } : findHere(coordinate);
  target.classList.toggle('treffer', ids.length > 0 || zelle !== null || raster !== null);
});

let isRestored = false;

/** What the address says; without a place, all that there is. */
async function restore() {
  Object.assign(ansicht, readAnsicht());
  const { z, lat, lon, art } = ansicht;
  von.value = ansicht.von ?? '';
  bis.value = ansicht.bis ?? '';
  ebene.setFilter(ansicht);
  try {
    if (z !== null && lat !== null && lon !== null) {
      view.setCenter(ol.proj.fromLonLat([lon, lat]));
      view.setZoom(z);
    } else {
      const { bounds = germany } = await loadJson('/tiles/v1/tiles.json');
      view.fit(ol.proj.transformExtent(bounds, 'EPSG:4326', 'EPSG:3857'), { padding: [16, 16, 16, 16] });
    }
    const [species] = art === null ? [] : (await loadJson(`/atlas/v1/arten?art=${art}`)).arten;
    ansicht.art = species?.id ?? null;
    artwahl.show(species ?? null);
    document.title = species ? `${artName(species)} – Karte der Beobachtungen` : 'Karte der Beobachtungen';
  } catch (error) {
    view.fit(ol.proj.transformExtent(germany, 'EPSG:4326', 'EPSG:3857'));
    showError(error instanceof LadeFehler ? error.message : 'Die Antwort des Dienstes ist nicht lesbar.');
  }
  isRestored = true;
  showFilter();
  writeView();
}

window.addEventListener('hashchange', restore);
restore();

// What a reviewer sees of a record.
import { make } from '../../karte/element.js';
import { Abgewiesen, ask } from './dienst.js';
import { drawJahreslauf } from './jahreslauf.js';
import { makeOrt } from './ort.js';

/**
 * @typedef {{ von: 'erfasser' | 'experte', text: string, zeitpunkt: string }} Nachricht
 * @typedef {{
 *   id: number, stand: string, gruende: { text: string }[], sichtbeobachtung: any, bestaetigungen: number, erfahrung: number,
 *   nachrichten: Nachricht[], isRenewed?: boolean
 * }} Zeile
 * @typedef {{ art: number, drittel: { meldungen: number }[] }} Jahreslauf
 */

/** @param {string} id @returns {any} */
const get = (id) => document.getElementById(id);
/** @param {unknown} error A sentence for the user. */
export const sentenceOf = (error) => (error instanceof Abgewiesen ? error.message : 'Die Antwort des Dienstes ist nicht lesbar.');

/** @param {Zeile} zeile */
export const nameOf = ({ sichtbeobachtung: { titel_deutsch, titel_wissenschaftlich } }) =>
  titel_deutsch ?? titel_wissenschaftlich;

/** @param {Zeile} zeile */
function describe({ id, gruende, sichtbeobachtung: record, bestaetigungen, erfahrung, nachrichten }) {
  const reasons = make('ul', { className: 'gruende' }, ...gruende.map(({ text }) => make('li', {}, text)));
  const facts = make('dl', {});
  const rows = {
    Art: record.titel_wissenschaftlich,
    Datum: record.datum,
    Anzahl: record.anzahl,
    Stadium: record.stadium,
    Aktivität: record.aktivitaet,
    Bemerkung: record.bemerkung,
    Erfasser: record.erfasser,
    Erfahrung: `${erfahrung === 20 ? '20 oder mehr' : erfahrung} freigegebene Meldungen der Artengruppe`,
    'Bisher geschrieben': record.bemerkung_experte,
    Mandant: record.mandanten.map((/** @type {{ name: string }} */ { name }) => name).join(', '),
    Freigaben: bestaetigungen > 0 && `${bestaetigungen} von 2`,
    Nummer: String(id),
  };
  for (const [name, value] of Object.entries(rows)) if (value) facts.append(make('dt', {}, name), make('dd', {}, value));
  const thread = nachrichten.map(({ von, text, zeitpunkt }) =>
    make('li', {}, `${von === 'erfasser' ? 'Erfasser' : 'Prüfung'}, ${new Date(zeitpunkt).toLocaleDateString('de-DE')}: ${text}`),
  );
  return [
    gruende.length > 0 ? reasons : make('p', { className: 'leise' }, 'Nichts ist auffällig.'),
    facts,
    ...(thread.length > 0 ? [make('h3', {}, 'Fragen und Antworten'), make('ol', { className: 'nachrichten' }, ...thread)] : []),
  ];
}

/** Their address without the host: the page may load nothing from another. @param {string} address */
function pathOf(address) {
  const { pathname, search } = new URL(address);
  return pathname + search;
}

/** Photos and sound. @param {Zeile} zeile @param {() => void} onError @returns {HTMLElement[]} */
function listMedien(zeile, onError) {
  const record = zeile.sichtbeobachtung;
  const names = { foto: 'Foto', foto_2: 'Foto 2', foto_3: 'Foto 3', biotopfoto: 'Foto des Biotops' };
  const photos = Object.entries(names).flatMap(([field, name]) => {
    if (!record[field]) return [];
    const [src, alt] = [pathOf(record[field]), `${name}: ${nameOf(zeile)}`];
    const image = make('img', { src, alt });
    image.addEventListener('error', onError);
    const button = make('button', { type: 'button', className: 'foto', title: 'Vergrößern' }, image);
    button.addEventListener('click', () => {
      Object.assign(get('gross').querySelector('img'), { src, alt });
      get('gross').showModal();
    });
    return [button];
  });
  if (!record.audio) return photos;
  const audio = make('audio', { controls: true, preload: 'none', src: pathOf(record.audio), ariaLabel: `Ton: ${nameOf(zeile)}` });
  audio.addEventListener('error', onError);
  return [...photos, audio];
}

/** @param {any} sichtbeobachtung @returns {Promise<Jahreslauf | null>} null: it is not among the public species */
async function findArt({ titel_wissenschaftlich, titel_deutsch }) {
  // A tenant may have a name of its own, in one of the languages.
  for (const name of [titel_wissenschaftlich, titel_deutsch]) {
    if (!name) continue;
    const found = (await ask(`/atlas/v1/arten?suche=${encodeURIComponent(name)}`)).arten.find(
      (/** @type {any} */ { name_deutsch, name_wissenschaftlich }) => [name_deutsch, name_wissenschaftlich].includes(name),
    );
    if (found) return { art: found.id, ...(await ask(`/atlas/v1/phaenologie?art=${found.id}&format=json`)) };
  }
  return null;
}

/** @param {(path: string) => Promise<any>} askAsReader */
export function makeDatensatz(askAsReader) {
  const showOrt = makeOrt(get('ort'), (message) => {
    get('ort-text').textContent = `Die Karte ist nicht vollständig: ${message}`;
  });
  /** @type {Map<string, Promise<Jahreslauf | null>>} By name. */
  const arten = new Map();
  /** @type {Zeile | null} */
  let shown = null;
  let timer = 0;

  /** @param {Zeile} zeile */
  const showMedien = (zeile) => {
    // Their addresses are good for a quarter of an hour.
    const renew = async () => {
      if (zeile.isRenewed) return;
      zeile.isRenewed = true;
      const { result } = await askAsReader(`/api/v2/sichtbeobachtungen/${zeile.id}`).catch(() => ({ result: [] }));
      if (result[0]) zeile.sichtbeobachtung = result[0];
      if (result[0] && zeile === shown) showMedien(zeile);
    };
    get('bilder').replaceChildren(...listMedien(zeile, renew));
  };
  /** Neighbours and season. @param {Zeile} zeile */
  const showArt = async (zeile) => {
    const { sichtbeobachtung } = zeile;
    const name = sichtbeobachtung.titel_wissenschaftlich;
    if (!arten.has(name)) arten.set(name, findArt(sichtbeobachtung));
    /** @type {Jahreslauf | null} */
    let art = null;
    let text = 'Zu dieser Art gibt es keine Zahlen.';
    try {
      art = (await arten.get(name)) ?? null;
    } catch (error) {
      arten.delete(name);
      text = `Der Jahreslauf fehlt: ${sentenceOf(error)}`;
    }
    if (zeile !== shown) return;
    showOrt(sichtbeobachtung, art?.art ?? null);
    if (art === null) return get('jahreslauf').replaceChildren(make('p', { className: 'leise' }, text));
    const { svg, label } = drawJahreslauf(art.drittel, sichtbeobachtung.datum);
    get('jahreslauf').replaceChildren(svg, make('p', { className: 'leise' }, label));
  };

  /** @param {Zeile & { fehler?: string | undefined } | null} zeile */
  return function show(zeile) {
    shown = zeile;
    window.clearTimeout(timer);
    get('datensatz-titel').textContent = zeile ? nameOf(zeile) : 'Kein Datensatz';
    get('inhalt').hidden = zeile === null;
    for (const id of ['angaben', 'bilder', 'jahreslauf']) get(id).replaceChildren();
    if (zeile === null) return;
    get('datensatz-titel').scrollIntoView({ block: 'nearest' });
    get('fehler-am-datensatz').textContent = zeile.fehler ?? '';
    get('fehler-am-datensatz').hidden = !zeile.fehler;
    get('angaben').replaceChildren(...describe(zeile));
    const { is_rasterized } = zeile.sichtbeobachtung;
    const here = is_rasterized ? 'die Rasterzelle von 5 × 5 km, in der dieser Datensatz liegt' : 'dieser Datensatz';
    get('ort-text').textContent = `Rot: ${here}. Sonst: freigegebene Meldungen der Art, wie alle sie sehen.`;
    showMedien(zeile);
    // Who goes on at once has not looked at it.
    timer = window.setTimeout(showArt, 150, zeile);
  };
}

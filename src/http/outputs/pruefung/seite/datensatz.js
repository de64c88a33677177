// What a reviewer reads of a record.
import { make } from '../../karte/element.js';

/**
 * @typedef {{
 *   id: number, stand: string, gruende: { code: string, text: string }[], sichtbeobachtung: any
 * }} Zeile
 */

/** @param {Zeile} zeile */
export const nameOf = ({ sichtbeobachtung: { titel_deutsch, titel_wissenschaftlich } }) =>
  titel_deutsch ?? titel_wissenschaftlich;

/** @param {Zeile} zeile */
export function describe({ id, gruende, sichtbeobachtung: record }) {
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
    'Bisher geschrieben': record.bemerkung_experte,
    Mandant: record.mandanten.map((/** @type {{ name: string }} */ { name }) => name).join(', '),
    Nummer: String(id),
  };
  for (const [name, value] of Object.entries(rows)) if (value) facts.append(make('dt', {}, name), make('dd', {}, value));
  return [gruende.length > 0 ? reasons : make('p', { className: 'leise' }, 'Nichts ist auffällig.'), facts];
}

/** Their address without the host: the page may load nothing from another. @param {string} address */
function pathOf(address) {
  const { pathname, search } = new URL(address);
  return pathname + search;
}

/** @param {Zeile} zeile @param {(src: string, alt: string) => void} onEnlarge @param {() => void} onError */
export function showMedien(zeile, onEnlarge, onError) {
  const record = zeile.sichtbeobachtung;
  const names = { foto: 'Foto', foto_2: 'Foto 2', foto_3: 'Foto 3', biotopfoto: 'Foto des Biotops' };
  /** @type {HTMLElement[]} */
  const elements = [];
  for (const [field, name] of Object.entries(names)) {
    if (!record[field]) continue;
    const [src, alt] = [pathOf(record[field]), `${name}: ${nameOf(zeile)}`];
    const image = make('img', { src, alt });
    image.addEventListener('error', onError);
    const button = make('button', { type: 'button', className: 'foto', title: 'Vergrößern' }, image);
    button.addEventListener('click', () => onEnlarge(src, alt));
    elements.push(button);
  }
  if (record.audio) {
    const audio = make('audio', {
      controls: true,
      preload: 'none',
      src: pathOf(record.audio),
      ariaLabel: `Ton: ${nameOf(zeile)}`,
    });
    audio.addEventListener('error', onError);
    elements.push(audio);
  }
  return elements;
}

// What is told of a record, a square or a tenant that was chosen.
import { loadJson } from './laden.js';
import { schutzgrund } from './legende.js';

const numbers = new Intl.NumberFormat('de-DE');
const days = new Intl.DateTimeFormat('de-DE', { day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' });

/**
 * @typedef {{ id: number, art: number, name_deutsch: string | null, name_wissenschaftlich: string, datum: string, anzahl: number,
 *   stadium: string | null, aktivitaet: string | null, bemerkung: string | null }} Meldung
 */

/** @param {number[]} ids @returns {Promise<Meldung[]>} */
export async function loadMeldungen(ids) {
  if (ids.length === 0) return [];
  return (await loadJson(`/atlas/v1/sichtbeobachtungen?id=${ids.join(',')}`)).sichtbeobachtungen;
}

/** @param {Meldung} meldung */
export const nameOf = ({ name_deutsch, name_wissenschaftlich }) => name_deutsch ?? name_wissenschaftlich;
/** @param {Meldung} meldung */
export const tagOf = ({ datum }) => days.format(new Date(`${datum}T00:00:00Z`));
/** @param {number} count @param {string} one @param {string} many */
export const zahl = (count, one, many) => `${numbers.format(count)} ${count === 1 ? one : many}`;

/** @param {string} name @param {string} text */
function make(name, text) {
  const element = document.createElement(name);
  element.textContent = text;
  return element;
}

/** @param {Meldung} meldung */
function describeMeldung(meldung) {
  const article = document.createElement('article');
  const heading = make('h3', nameOf(meldung));
  if (meldung.name_deutsch !== null) heading.append(' ', make('i', meldung.name_wissenschaftlich));
  const facts = document.createElement('dl');
  const rows = {
    Datum: tagOf(meldung),
    Anzahl: numbers.format(meldung.anzahl),
    Stadium: meldung.stadium,
    Aktivität: meldung.aktivitaet,
  };
  for (const [name, value] of Object.entries({ ...rows, Bemerkung: meldung.bemerkung }))
    if (value) facts.append(make('dt', name), make('dd', value));
  const link = /** @type {HTMLAnchorElement} */ (make('a', `Datensatz ${meldung.id}`));
  link.href = `/ogc/collections/sichtbeobachtung/items/${meldung.id}`;
  article.append(heading, facts, link);
  return article;
}

/**
 * What was found at a place.
 * @param {{ ids: number[], zelle: number | null, raster: { meldungen: number, arten: number } | null, mandanten: string[], side: number | null }} found
 * @returns {Promise<Node[]>} nothing where there is nothing
 */
export async function describe({ ids, zelle, raster, mandanten, side }) {
  /** @type {Node[]} */
  const parts = [];
  const meldungen = await loadMeldungen(ids.slice(0, 20));
  parts.push(...meldungen.map(describeMeldung));
  if (ids.length > meldungen.length && meldungen.length > 0)
    parts.push(make('p', `… und ${ids.length - meldungen.length} weitere.`));
  if (zelle !== null) {
    const article = document.createElement('article');
    article.append(make('h3', zahl(zelle, 'geschützte Meldung', 'geschützte Meldungen')), make('p', schutzgrund));
    parts.push(article);
  }
  if (raster !== null) {
    const article = document.createElement('article');
    const size = side === null ? '' : `Im Quadrat von ${numbers.format(side)} × ${numbers.format(side)} km`;
    article.append(
      make('h3', zahl(raster.meldungen, 'Meldung', 'Meldungen')),
      make('p', `${size}: ${zahl(raster.arten, 'Art', 'Arten')}. Näher heran erscheinen einzelne Meldungen.`),
    );
    parts.push(article);
  }
  if (mandanten.length > 0) parts.push(make('p', mandanten.join(', ')));
  return parts;
}

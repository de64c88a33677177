// What is told of a record, a square or a tenant that was chosen.
import { artName } from './artwahl.js';
import { make } from './element.js';
import { loadJson } from './laden.js';
import { numbers, schutzgrund } from './legende.js';

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
export const tagOf = ({ datum }) => days.format(new Date(`${datum}T00:00:00Z`));
/** @param {number} count @param {string} one @param {string} many */
export const zahl = (count, one, many) => `${numbers.format(count)} ${count === 1 ? one : many}`;

/** @param {Meldung} meldung */
function describeMeldung(meldung) {
  const heading = make('h3', {}, artName(meldung));
  if (meldung.name_deutsch !== null) heading.append(' ', make('i', {}, meldung.name_wissenschaftlich));
  const facts = make('dl', {});
  const rows = {
    Datum: tagOf(meldung),
    Anzahl: numbers.format(meldung.anzahl),
    Stadium: meldung.stadium,
    Aktivität: meldung.aktivitaet,
  };
  for (const [name, value] of Object.entries({ ...rows, Bemerkung: meldung.bemerkung }))
    if (value) facts.append(make('dt', {}, name), make('dd', {}, value));
  const link = make('a', { href: `/ogc/collections/sichtbeobachtung/items/${meldung.id}` }, `Datensatz ${meldung.id}`);
  return make('article', {}, heading, facts, link);
}

/**
 * What was found at a place.
 * @param {{ ids: number[], zelle: number | null, raster: { meldungen: number, arten: number } | null, mandanten: string[], side: number | null }} found
 * @returns {Promise<Node[]>} nothing where there is nothing
 */
export async function describe({ ids, zelle, raster, mandanten, side }) {
  const meldungen = await loadMeldungen(ids.slice(0, 20));
  /** @type {Node[]} */
  const parts = meldungen.map(describeMeldung);
  if (ids.length > meldungen.length && meldungen.length > 0)
    parts.push(make('p', {}, `… und ${ids.length - meldungen.length} weitere.`));
  if (zelle !== null) {
    const heading = make('h3', {}, zahl(zelle, 'geschützte Meldung', 'geschützte Meldungen'));
    parts.push(make('article', {}, heading, make('p', {}, schutzgrund)));
  }
  if (raster !== null) {
    const size = side === null ? '' : `Im Quadrat von ${numbers.format(side)} × ${numbers.format(side)} km`;
    const heading = make('h3', {}, zahl(raster.meldungen, 'Meldung', 'Meldungen'));
    const more = `${size}: ${zahl(raster.arten, 'Art', 'Arten')}. Näher heran erscheinen einzelne Meldungen.`;
    parts.push(make('article', {}, heading, make('p', {}, more)));
  }
  if (mandanten.length > 0) parts.push(make('p', {}, mandanten.join(', ')));
  return parts;
}

// What lies in the view, as a list: for whoever has no mouse, or no eyes for the map.
import { artName } from './artwahl.js';
import { loadMeldungen, tagOf, zahl } from './auskunft.js';
import { make } from './element.js';

const most = 40;

/** @type {WeakMap<HTMLElement, number>} How often a list was asked for. */
const asked = new WeakMap();

/**
 * The list is left as it is while it says the same, and who has an entry under the keys keeps it: the view is drawn again and again.
 * @param {HTMLElement} element
 * @param {HTMLElement} stand
 * @param {import('./treffer.js').Inhalt} inhalt
 * @param {(center: number[], id: number | null) => void} onChoose
 */
export async function showListe(element, stand, { ids, centers, squares }, onChoose) {
  const turn = (asked.get(element) ?? 0) + 1;
  asked.set(element, turn);
  /** @type {{ text: string, center: number[], id: number | null }[]} */
  const entries = squares
    .toSorted((a, b) => b.meldungen - a.meldungen)
    .slice(0, most)
    .map(({ layer, meldungen, arten, center }) => ({
      text:
        layer === 'zelle'
          ? `${zahl(meldungen, 'geschützte Meldung', 'geschützte Meldungen')} in einem Quadrat von 5 km`
          : `${zahl(meldungen, 'Meldung', 'Meldungen')}, ${zahl(arten, 'Art', 'Arten')} in einem Quadrat`,
      center,
      id: null,
    }));
  for (const meldung of await loadMeldungen(ids.slice(0, most)))
    entries.push({ text: `${artName(meldung)}, ${tagOf(meldung)}`, center: centers.get(meldung.id) ?? [], id: meldung.id });
  // Another view's list may have come before this one's.
  if (asked.get(element) !== turn) return;
  const all = ids.length + squares.length;
  stand.textContent = all === 0 ? 'Hier liegt nichts.' : entries.length < all ? `${entries.length} von ${all}:` : '';
  const keyOf = (/** @type {typeof entries[number]} */ { text, center, id }) => `${id ?? center} ${text}`;
  const buttons = [...element.querySelectorAll('button')];
  const keys = entries.map(keyOf);
  if (keys.join('\n') === buttons.map(({ value }) => value).join('\n')) return;
  const chosen = buttons.find((button) => button === document.activeElement);
  element.replaceChildren(
    ...entries.map((entry) => {
      const button = make('button', { type: 'button', value: keyOf(entry) }, entry.text);
      button.addEventListener('click', () => onChoose(entry.center, entry.id));
      return make('li', {}, button);
    }),
  );
  if (chosen) {
    const again = [...element.querySelectorAll('button')].find(({ value }) => value === chosen.value);
    (again ?? element.closest('details')?.querySelector('summary'))?.focus();
  }
}

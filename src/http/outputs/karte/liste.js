// What lies in the view, as a list: for whoever has no mouse, or no eyes for the map.
import { loadMeldungen, nameOf, tagOf, zahl } from './auskunft.js';

const most = 40;

/**
 * @param {HTMLElement} element
 * @param {HTMLElement} stand
 * @param {import('./treffer.js').Inhalt} inhalt
 * @param {(center: number[], id: number | null) => void} onChoose
 */
export async function showListe(element, stand, { ids, centers, squares }, onChoose) {
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
    entries.push({ text: `${nameOf(meldung)}, ${tagOf(meldung)}`, center: centers.get(meldung.id) ?? [], id: meldung.id });
  const all = ids.length + squares.length;
  stand.textContent = all === 0 ? 'Hier liegt nichts.' : entries.length < all ? `${entries.length} von ${all}:` : '';
  element.replaceChildren(
    ...entries.map(({ text, center, id }) => {
      const item = document.createElement('li');
      const button = document.createElement('button');
      button.type = 'button';
      button.textContent = text;
      button.addEventListener('click', () => onChoose(center, id));
      item.append(button);
      return item;
    }),
  );
}

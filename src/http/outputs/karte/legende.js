// What the colours mean, for what is to be seen right now.
import { farben, farbeOf } from './ebenen.js';
import { make } from './element.js';

export const numbers = new Intl.NumberFormat('de-DE');
export const schutzgrund = 'Der Fundort ist geschützt; gezeigt wird die Fläche von 5 × 5 km, in der er liegt.';

/**
 * @param {HTMLElement} element
 * @param {{ side: number | null, klassen: number[], most: number }} view
 */
export function showLegende(element, { side, klassen, most }) {
  const list = make('ul', {});
  /** @param {string} symbol @param {...(string | Node)} words */
  const add = (symbol, ...words) => {
    const sign = make('span', { className: `zeichen ${symbol}` });
    list.append(make('li', {}, sign, make('span', {}, ...words)));
    return sign;
  };
  if (side === null) {
    add('punkt', 'Meldung an ihrem Fundort');
    add('schraffur', 'Geschützte Meldungen', make('small', {}, schutzgrund));
  } else {
    const ends = most > 0 ? [...klassen, most] : [];
    for (const [index, end] of ends.entries()) {
      const first = (ends[index - 1] ?? 0) + 1;
      const text = first === end ? numbers.format(end) : `${numbers.format(first)} bis ${numbers.format(end)}`;
      add('farbe', text).style.background = farben[farbeOf(end, klassen)] ?? '';
    }
  }
  add('grenze', 'Grenze eines Mandanten');
  if (side === null) return element.replaceChildren(make('p', {}, 'Einzelne Meldungen'), list);
  const heading = make('p', {}, `Meldungen je Quadrat von ${numbers.format(side)} × ${numbers.format(side)} km`);
  element.replaceChildren(heading, list, make('small', {}, 'Näher heran erscheinen einzelne Meldungen.'));
}

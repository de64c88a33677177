// What the colours mean, for what is to be seen right now.
import { farbeOf } from './ebenen.js';

const numbers = new Intl.NumberFormat('de-DE');
export const schutzgrund = 'Der Fundort ist geschützt; gezeigt wird die Fläche von 5 × 5 km, in der er liegt.';

/**
 * @param {HTMLElement} element
 * @param {{ side: number | null, klassen: number[], most: number }} view
 */
export function showLegende(element, { side, klassen, most }) {
  const list = document.createElement('ul');
  /** @param {string} symbol @param {string} text @param {string} [more] */
  const add = (symbol, text, more) => {
    const item = document.createElement('li');
    const sign = document.createElement('span');
    sign.className = `zeichen ${symbol}`;
    const words = document.createElement('span');
    words.textContent = text;
    item.append(sign, words);
    if (more) {
      const reason = document.createElement('small');
      reason.textContent = more;
      words.append(reason);
    }
    list.append(item);
  };
  if (side === null) {
    add('punkt', 'Meldung an ihrem Fundort');
    add('schraffur', 'Geschützte Meldungen', schutzgrund);
  } else {
    const ends = most > 0 ? [...klassen, most] : [];
    for (const [index, end] of ends.entries()) {
      const first = (ends[index - 1] ?? 0) + 1;
      const text = first === end ? numbers.format(end) : `${numbers.format(first)} bis ${numbers.format(end)}`;
      add(`farbe-${farbeOf(end, klassen)}`, text);
    }
  }
  add('grenze', 'Grenze eines Mandanten');
  const heading = document.createElement('p');
  heading.textContent =
    side === null ? 'Einzelne Meldungen' : `Meldungen je Quadrat von ${numbers.format(side)} × ${numbers.format(side)} km`;
  const hint = document.createElement('small');
  hint.textContent = 'Näher heran erscheinen einzelne Meldungen.';
  element.replaceChildren(heading, list, ...(side === null ? [] : [hint]));
}

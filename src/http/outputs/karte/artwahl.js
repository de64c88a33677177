// Choosing a species by typing: a combobox with a list, by mouse and by keyboard.
import { make } from './element.js';
import { LadeFehler, loadJson } from './laden.js';

const pauseMs = 200;

/** @typedef {{ id: number, name_deutsch: string | null, name_wissenschaftlich: string, artengruppe: string }} Art */

/** @param {Pick<Art, 'name_deutsch' | 'name_wissenschaftlich'>} art */
export const artName = ({ name_deutsch, name_wissenschaftlich }) => name_deutsch ?? name_wissenschaftlich;

/**
 * @param {{ input: HTMLInputElement, list: HTMLElement, clear: HTMLButtonElement }} elements
 * @param {{ onChoose(art: Art | null): void, onError(message: string): void }} options
 */
export function makeArtwahl({ input, list, clear }, { onChoose, onError }) {
  /** @type {Art | null} */
  let chosen = null;
  /** @type {Art[]} */
  let offered = [];
  let active = -1;
  let asked = 0;
  let timer = 0;

  const close = () => {
    list.hidden = true;
    input.setAttribute('aria-expanded', 'false');
    input.removeAttribute('aria-activedescendant');
    active = -1;
  };
  /** @param {Art | null} art */
  const show = (art) => {
    chosen = art;
    input.value = art === null ? '' : artName(art);
    clear.hidden = art === null;
  };
  /** @param {Art | null} art */
  const choose = (art) => {
    window.clearTimeout(timer);
    asked++;
    show(art);
    close();
    onChoose(art);
  };
  /** @param {number} index */
  const setActive = (index) => {
    active = index;
    for (const [at, option] of [...list.children].entries()) option.setAttribute('aria-selected', String(at === index));
    const option = list.children[index];
    if (!option) return input.removeAttribute('aria-activedescendant');
    input.setAttribute('aria-activedescendant', option.id);
    option.scrollIntoView({ block: 'nearest' });
  };
  /** @param {number} index @param {...(string | Node)} children */
  const makeOption = (index, ...children) =>
    make('li', { id: `art-${index}`, role: 'option', ariaSelected: 'false' }, ...children);
  const offer = () => {
    const options = offered.map((art, index) => {
      const more = art.name_deutsch === null ? art.artengruppe : `${art.name_wissenschaftlich} · ${art.artengruppe}`;
      const option = makeOption(index, artName(art), ' ', make('small', {}, more));
      // Before the field loses the focus.
      option.addEventListener('pointerdown', (event) => {
        event.preventDefault();
        choose(art);
      });
      return option;
    });
    const none = makeOption(0, 'keine Art mit diesem Namen');
    none.ariaDisabled = 'true';
    list.replaceChildren(...(options.length > 0 ? options : [none]));
    list.hidden = false;
    input.setAttribute('aria-expanded', 'true');
  };
  const search = async () => {
    const text = input.value.trim();
    const mine = ++asked;
    if (text === '') return close();
    try {
      const { arten } = await loadJson(`/atlas/v1/arten?suche=${encodeURIComponent(text)}`);
      if (mine !== asked) return;
      offered = arten;
      active = -1;
      offer();
    } catch (error) {
      if (mine === asked && error instanceof LadeFehler) onError(`Arten lassen sich nicht suchen: ${error.message}`);
    }
  };

  input.addEventListener('input', () => {
    window.clearTimeout(timer);
    clear.hidden = input.value === '';
    timer = window.setTimeout(search, pauseMs);
  });
  input.addEventListener('keydown', (event) => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      if (list.hidden) return void search();
      const step = event.key === 'ArrowDown' ? 1 : -1;
      if (offered.length > 0) setActive((active + step + offered.length) % offered.length);
    } else if (event.key === 'Enter') {
      event.preventDefault();
      const art = offered[Math.max(active, 0)];
      if (!list.hidden && art) choose(art);
      else if (input.value.trim() === '' && chosen !== null) choose(null);
    } else if (event.key === 'Escape') {
      if (list.hidden) show(chosen);
      close();
    }
  });
  input.addEventListener('blur', () => {
    close();
    if (input.value.trim() === '' && chosen !== null) choose(null);
    else show(chosen);
  });
  clear.addEventListener('click', () => {
    choose(null);
    input.focus();
  });
  return { show };
}

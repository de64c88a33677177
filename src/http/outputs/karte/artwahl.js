// Choosing a species by typing: a combobox with a list, by mouse and by keyboard.
import { LadeFehler, loadJson } from './laden.js';

const pauseMs = 200;

/** @typedef {{ id: number, name_deutsch: string | null, name_wissenschaftlich: string, artengruppe: string }} Art */

/** @param {Art} art */
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
  const offer = () => {
    list.replaceChildren(
      ...offered.map((art, index) => {
        const option = document.createElement('li');
        option.id = `art-${index}`;
        option.role = 'option';
        option.setAttribute('aria-selected', 'false');
        option.textContent = artName(art);
        const more = document.createElement('small');
        more.textContent = art.name_deutsch === null ? art.artengruppe : `${art.name_wissenschaftlich} · ${art.artengruppe}`;
        option.append(' ', more);
        // Before the field loses the focus.
        option.addEventListener('pointerdown', (event) => {
          event.preventDefault();
          choose(art);
        });
        return option;
      }),
    );
    if (offered.length === 0) {
      const none = document.createElement('li');
      none.id = 'art-0';
      none.role = 'option';
      none.setAttribute('aria-disabled', 'true');
      none.setAttribute('aria-selected', 'false');
      none.textContent = 'keine Art mit diesem Namen';
      list.append(none);
    }
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

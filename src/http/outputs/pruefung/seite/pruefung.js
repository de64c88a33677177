// The page: who is logged in, what waits, which record is looked at, and what is decided.
import { make } from '../../karte/element.js';
import { makeAblage } from './ablage.js';
import { makeDatensatz, nameOf, sentenceOf } from './datensatz.js';
import { Abgewiesen, ask, keepKonto, login, readKonto } from './dienst.js';

/** @param {string} id @returns {any} */
const get = (id) => document.getElementById(id);
const [liste, bemerkung, filter] = ['liste', 'bemerkung', 'filter'].map(get);
const worte = { freigegeben: 'Freigegeben', hinweis: 'Frage gestellt', abgelehnt: 'Abgelehnt' };
/** So many are left when more are loaded. */
const few = 10;

/**
 * @typedef {import('./datensatz.js').Zeile & { rang: number, entwurf?: string, fehler?: string | undefined }} Eintrag
 * @typedef {ReturnType<typeof makeAblage>} Ablage
 */

/** @type {import('./dienst.js').Konto | null} */
let konto = null;
/** @type {Ablage | null} */
let ablage = null;
/** @type {Eintrag[]} */
let eintraege = [];
/** @type {string | null} */
let cursor = null;
/** @type {Eintrag | null} */
let gewaehlt = null;
/** @type {Map<number, Eintrag>} What was decided and may come back. */
const entschieden = new Map();
let rang = 0;
let asked = 0;
let isLoading = false;

/** @param {string} path @param {RequestInit} [init] */
const askAsReader = (path, init) => ask(path, init, konto ?? undefined);
/** @param {string} text */
const say = (text) => {
  get('ergebnis').textContent = text;
};
const showDatensatz = makeDatensatz(askAsReader);

/** @param {string} text why one has to log in */
function showLogin(text) {
  ablage?.stop();
  ablage = null;
  konto = null;
  keepKonto(null);
  asked++;
  // Whoever sits here next sees nothing of it.
  eintraege = [];
  cursor = null;
  entschieden.clear();
  choose(null);
  say('');
  get('arbeit').hidden = get('konto').hidden = true;
  get('anmeldung').hidden = false;
  get('anmeldung-fehler').textContent = text;
  get('loginname').focus();
}

/** @param {import('./dienst.js').Konto} neu */
async function begin(neu) {
  konto = neu;
  get('anmeldung').hidden = true;
  get('arbeit').hidden = get('konto').hidden = false;
  get('konto').firstElementChild.textContent = neu.name;
  ablage = makeAblage(neu.loginname, {
    post: (entscheidungen, schluessel, keepalive) =>
      ask(
        '/pruefung/v1/entscheidungen',
        {
          method: 'POST',
          keepalive,
          headers: { 'Content-Type': 'application/json', 'Idempotency-Key': schluessel },
          body: JSON.stringify({ entscheidungen }),
        },
        neu,
      ),
    onAnswer: takeAnswer,
    onChange: showAblage,
    onLogin: () => showLogin('Die Anmeldung ist abgelaufen. Was noch nicht gesendet ist, geht nach dem Anmelden hinaus.'),
  });
  showAblage();
  await load();
  if (get('gid').length > 1) return;
  const { result } = await ask('/api/v2/artengruppen').catch(() => ({ result: [] }));
  for (const { id, name_deutsch } of result) get('gid').append(make('option', { value: String(id) }, name_deutsch));
}

get('anmeldung').addEventListener('submit', async (/** @type {Event} */ event) => {
  event.preventDefault();
  const passwort = get('passwort').value;
  get('passwort').value = '';
  get('anmeldung-fehler').textContent = '';
  try {
    const neu = await login(get('loginname').value, passwort);
    if (neu === null) return showLogin('Name oder Passwort ist falsch, oder das Konto ist gesperrt.');
    keepKonto(neu);
    await begin(neu);
  } catch (error) {
    get('anmeldung-fehler').textContent = sentenceOf(error);
  }
});
get('abmelden').addEventListener('click', async () => {
  await ablage?.sendAll();
  const rest = ablage?.list().length ?? 0;
  await askAsReader('/api/v2/logout', { method: 'POST' }).catch(() => {});
  showLogin(rest === 0 ? '' : `${zahl(rest)} auf das Netz und gehen hinaus, wenn Sie sich wieder anmelden.`);
});

/** @param {boolean} [isMore] the next page, behind what is there */
async function load(isMore = false) {
  const mine = ++asked;
  isLoading = true;
  const query = new URLSearchParams(
    [...new FormData(filter)].flatMap(([name, value]) => (value === '' ? [] : [[name, String(value)]])),
  );
  if (isMore && cursor !== null) query.set('cursor', cursor);
  const listWaiting = () => (ablage?.list() ?? []).map(({ entscheidung }) => entscheidung.id);
  const waiting = listWaiting();
  try {
    const answer = await askAsReader(`/pruefung/v1/warteschlange?${query}`);
    if (mine !== asked) return;
    cursor = answer.cursor ?? null;
    const before = isMore ? eintraege : [];
    // What is decided here was not decided there when the list was made.
    const known = new Set([...before.map(({ id }) => id), ...waiting, ...listWaiting()]);
    const drafts = new Map(eintraege.map(({ id, entwurf }) => [id, entwurf]));
    for (const eintrag of answer.result) Object.assign(eintrag, { rang: rang++, entwurf: drafts.get(eintrag.id) });
    eintraege = [...before, ...answer.result.filter((/** @type {Eintrag} */ { id }) => !known.has(id))];
    isLoading = false;
    if (isMore && gewaehlt !== null) showListe();
    else choose(eintraege.find(({ id }) => id === gewaehlt?.id) ?? eintraege[0] ?? null);
  } catch (error) {
    if (mine !== asked) return;
    isLoading = false;
    if (error instanceof Abgewiesen && error.status === 401) showLogin('Die Anmeldung ist abgelaufen.');
    else if (error instanceof Abgewiesen && error.status === 403)
      showLogin(
        'Dieses Konto darf nicht prüfen. Das dürfen Experten und Administratoren; die Rolle gibt ein Administrator des Portals.',
      );
    else get('anzahl').textContent = `Die Warteschlange ist nicht zu laden: ${sentenceOf(error)}`;
  }
}

function showListe() {
  const hadFocus = liste.contains(document.activeElement);
  liste.replaceChildren(
    ...eintraege.map((eintrag) => {
      const { gruende, sichtbeobachtung } = eintrag;
      const reasons = gruende.length === 0 ? '' : ` · ${gruende.map(({ text }) => text).join(' · ')}`;
      const button = make(
        'button',
        { type: 'button' },
        nameOf(eintrag),
        make('small', {}, `${sichtbeobachtung.datum}${reasons}`),
      );
      if (eintrag === gewaehlt) button.ariaCurrent = 'true';
      if (eintrag.fehler) button.append(make('small', { className: 'fehler' }, 'nicht übernommen'));
      button.addEventListener('click', () => choose(eintrag));
      return make('li', {}, button);
    }),
  );
  const chosen = liste.querySelector('[aria-current]');
  if (hadFocus) chosen?.focus({ preventScroll: true });
  // Within the list: the page itself stays where it is.
  if (chosen) liste.scrollTop = chosen.offsetTop - liste.offsetTop - liste.clientHeight / 3;
  const more = cursor === null ? '' : ', und weitere';
  get('anzahl').textContent = eintraege.length === 0 && cursor === null ? 'Nichts wartet.' : `${eintraege.length} warten${more}.`;
  if (eintraege.length < few && cursor !== null && !isLoading) load(true);
}

/** @param {number} step */
function move(step) {
  const next = gewaehlt && eintraege[eintraege.indexOf(gewaehlt) + step];
  if (next) choose(next);
}

/** @param {Eintrag | null} eintrag */
function choose(eintrag) {
  gewaehlt = eintrag;
  showListe();
  get('bemerkung-feld').hidden = eintrag === null;
  bemerkung.value = eintrag?.entwurf ?? '';
  showDatensatz(eintrag);
}

/** @param {keyof typeof worte} status */
function decide(status) {
  if (gewaehlt === null || ablage === null) return;
  const eintrag = gewaehlt;
  const text = (eintrag.entwurf ?? '').trim();
  if (status === 'hinweis' && text === '') {
    say('Eine Frage braucht einen Text. Strg + Eingabe stellt sie.');
    return bemerkung.focus();
  }
  const at = eintraege.indexOf(eintrag);
  eintraege.splice(at, 1);
  entschieden.set(eintrag.id, eintrag);
  const { id, stand, sichtbeobachtung } = eintrag;
  ablage.add({ id, status, stand, ...(text !== '' && { bemerkung: text }) }, `${nameOf(eintrag)}, ${sichtbeobachtung.datum}`);
  say(`${worte[status]}: ${nameOf(eintrag)}, ${sichtbeobachtung.datum}`);
  choose(eintraege[at] ?? eintraege[at - 1] ?? null);
  showAblage();
}

/** Puts a record back where it was. @param {number} id @param {string} [fehler] */
function putBack(id, fehler) {
  const eintrag = entschieden.get(id);
  if (!entschieden.delete(id) || !eintrag) return null;
  eintrag.fehler = fehler;
  eintraege = [...eintraege, eintrag].sort((one, other) => one.rang - other.rang);
  return eintrag;
}

function takeBack() {
  const wartend = ablage?.last();
  if (!wartend) return say('Es gibt nichts mehr zurückzunehmen: Entscheidungen gehen nach 10 Sekunden hinaus.');
  ablage?.takeBack(wartend);
  const eintrag = putBack(wartend.entscheidung.id);
  say(`Zurückgenommen: ${wartend.titel}`);
  showAblage();
  if (eintrag) choose(eintrag);
  else load();
}

/** @param {import('./ablage.js').Wartend} wartend @param {string | null} fehler */
function takeAnswer({ entscheidung, titel }, fehler) {
  if (fehler === null) return entschieden.delete(entscheidung.id);
  say(`Nicht übernommen: ${titel}. ${fehler}`);
  const eintrag = putBack(entscheidung.id, fehler);
  if (!eintrag) load();
  else if (gewaehlt === null) choose(eintrag);
  else showListe();
}

/** @param {number} count */
const zahl = (count) => (count === 1 ? '1 Entscheidung wartet' : `${count} Entscheidungen warten`);

/** What is still to be taken back, and what waits for the network. */
function showAblage() {
  const last = ablage?.last();
  get('frist').textContent = last ? `U: ${last.titel} rückgängig (${Math.ceil((last.ab - Date.now()) / 1000)} s)` : '';
  const hanging = ablage?.countHanging() ?? 0;
  const text = hanging === 0 ? '' : `${zahl(hanging)} auf das Netz; sie sind hier aufgehoben.`;
  if (get('netz').textContent !== text) get('netz').textContent = text;
}
window.setInterval(showAblage, 500);

/** @type {Record<string, () => void>} */
const taten = {
  freigegeben: () => decide('freigegeben'),
  hinweis: () => decide('hinweis'),
  abgelehnt: () => decide('abgelehnt'),
  zurueck: () => move(-1),
  weiter: () => move(1),
  rueckgaengig: takeBack,
};
/** @type {Record<string, string>} */
const tasten = { f: 'freigegeben', h: 'hinweis', a: 'abgelehnt', u: 'rueckgaengig', arrowup: 'zurueck', arrowdown: 'weiter' };

document.addEventListener('keydown', (event) => {
  const { target, key } = event;
  // Who types, chooses or moves the map means that.
  const isBusy = target instanceof Element && target.closest('input:not([type=checkbox]), textarea, select, audio, #ort');
  const tat = tasten[key.toLowerCase()];
  if (
    !tat ||
    ablage === null ||
    isBusy ||
    get('gross').open ||
    event.ctrlKey ||
    event.metaKey ||
    event.altKey ||
    !get('tasten').checked
  )
    return;
  event.preventDefault();
  // Held down, a key would decide on what nobody has seen.
  if (event.repeat && !['zurueck', 'weiter'].includes(tat)) return;
  taten[tat]?.();
});
for (const button of document.querySelectorAll('[data-tun]'))
  if (button instanceof HTMLElement) button.addEventListener('click', () => taten[button.dataset.tun ?? '']?.());
bemerkung.addEventListener('input', () => {
  if (gewaehlt) gewaehlt.entwurf = bemerkung.value;
});
bemerkung.addEventListener('keydown', (/** @type {KeyboardEvent} */ event) => {
  const isSent = event.key === 'Enter' && (event.ctrlKey || event.metaKey);
  if (!isSent && event.key !== 'Escape') return;
  event.preventDefault();
  if (isSent) decide('hinweis');
  if (!isSent || bemerkung.value === '') get('datensatz').focus({ preventScroll: true });
});
filter.addEventListener('change', () => {
  gewaehlt = null;
  load();
});
get('neu-laden').addEventListener('click', () => load());

window.addEventListener('online', showListe);

konto = readKonto();
if (konto === null) showLogin('');
else begin(konto);

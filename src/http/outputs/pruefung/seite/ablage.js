// Decisions on their way: held back for some seconds, then sent, and sent again until the service has answered. They are kept in the browser,
// so that none is lost with the network, the login or the page.
import { Abgewiesen } from './dienst.js';

const bedenkzeitMs = 10_000;
const pauses = { first: 1000, most: 60_000 };

/**
 * @typedef {{ id: number, status: string, bemerkung?: string, stand: string }} Entscheidung
 * @typedef {{ entscheidung: Entscheidung, titel: string, ab: number, schluessel: string | null }} Wartend
 *   ab: when it may be sent; schluessel: of the batch that it is sent with
 */

/**
 * @param {string} loginname decisions of another account wait for its own login
 * @param {{
 *   post(entscheidungen: Entscheidung[], schluessel: string, keepalive: boolean): Promise<{ result: { ok: boolean, code?: string }[] }>,
 *   onAnswer(wartend: Wartend, fehler: string | null): void,
 *   onChange(): void,
 *   onLogin(): void,
 * }} options
 */
export function makeAblage(loginname, { post, onAnswer, onChange, onLogin }) {
  const speicher = `pruefung-ablage ${loginname}`;
  let timer = 0;
  let failures = 0;
  let isOver = false;
  /** @type {Promise<void> | null} */
  let running = null;

  // Read anew each time: another window may have sent some.
  /** @returns {Wartend[]} */
  const list = () => JSON.parse(localStorage.getItem(speicher) ?? '[]');
  /** @param {Wartend[]} wartende */
  const write = (wartende) => {
    if (wartende.length === 0) localStorage.removeItem(speicher);
    else localStorage.setItem(speicher, JSON.stringify(wartende));
  };
  /** Batches by their keys, the oldest first; what is due becomes one. @param {number} now */
  const makeStapel = (now) => {
    const wartende = list();
    const schluessel = makeSchluessel();
    for (const wartend of wartende) if (wartend.ab <= now) wartend.schluessel ??= schluessel;
    write(wartende);
    return Map.groupBy(
      wartende.filter((wartend) => wartend.schluessel !== null),
      (wartend) => String(wartend.schluessel),
    );
  };
  /** @param {string} schluessel @param {Wartend[]} stapel */
  const postStapel = (schluessel, stapel, keepalive = false) =>
    post(
      stapel.map(({ entscheidung }) => entscheidung),
      schluessel,
      keepalive,
    );
  const schedule = () => {
    window.clearTimeout(timer);
    const wartende = list();
    if (isOver || wartende.length === 0) return;
    const due = Math.min(...wartende.map(({ ab, schluessel }) => (schluessel === null ? ab : 0)));
    const pause = failures === 0 ? 0 : Math.min(pauses.first * 2 ** (failures - 1), pauses.most);
    timer = window.setTimeout(send, Math.max(due - Date.now(), pause));
  };
  /** Sends the oldest batch. @param {number} now */
  const sendOne = async (now) => {
    const [[schluessel, stapel] = ['', []]] = makeStapel(now);
    if (stapel.length === 0) return;
    /** @param {(at: number) => string | null} fehlerOf */
    const settle = (fehlerOf) => {
      failures = 0;
      write(list().filter((wartend) => wartend.schluessel !== schluessel));
      for (const [at, wartend] of stapel.entries()) onAnswer(wartend, fehlerOf(at));
    };
    try {
      const { result } = await postStapel(schluessel, stapel);
      settle((at) => (result[at]?.ok ? null : (sentences[result[at]?.code ?? ''] ?? `Nicht übernommen (${result[at]?.code}).`)));
    } catch (error) {
      failures++;
      if (!(error instanceof Abgewiesen)) throw error;
      if (error.status === 401) onLogin();
      // As it is it will never be taken.
      else if (error.status >= 400 && error.status < 500 && ![408, 429].includes(error.status)) settle(() => error.message);
    }
  };
  const send = (now = Date.now()) => {
    running ??= sendOne(now).finally(() => {
      running = null;
      onChange();
      schedule();
    });
    return running;
  };
  const sendNow = () => {
    failures = 0;
    send();
  };
  // Nobody waits for the answer: the page that comes next asks for it, with the same key.
  const sendLast = () => {
    for (const [schluessel, stapel] of makeStapel(Number.POSITIVE_INFINITY)) postStapel(schluessel, stapel, true).catch(() => {});
  };
  const events = /** @type {const} */ ([
    ['online', sendNow],
    ['pagehide', sendLast],
    ['pageshow', schedule],
  ]);
  for (const [name, listener] of events) window.addEventListener(name, listener);
  schedule();

  return {
    list,
    /** How many wait for the network. */
    countHanging: () => (failures === 0 && navigator.onLine ? 0 : list().filter(({ ab }) => ab <= Date.now()).length),
    /** @param {Entscheidung} entscheidung @param {string} titel */
    add(entscheidung, titel) {
      write([...list(), { entscheidung, titel, ab: Date.now() + bedenkzeitMs, schluessel: null }]);
      schedule();
    },
    /** The last decision that is held back still. */
    last: () => list().findLast(({ ab, schluessel }) => schluessel === null && ab > Date.now()) ?? null,
    /** @param {Wartend} wartend */
    takeBack(wartend) {
      write(list().filter(({ entscheidung, schluessel }) => schluessel !== null || entscheidung.id !== wartend.entscheidung.id));
    },
    /** Sends all, as far as the network carries. */
    async sendAll() {
      for (let before = Number.POSITIVE_INFINITY; list().length > 0 && list().length < before; ) {
        before = list().length;
        await send(Number.POSITIVE_INFINITY);
      }
    },
    stop() {
      isOver = true;
      window.clearTimeout(timer);
      for (const [name, listener] of events) window.removeEventListener(name, listener);
    },
  };
}

// Not crypto.randomUUID, which there is by https only.
const makeSchluessel = () =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');

/** @type {Record<string, string>} Why a decision was not taken, and what to do. */
const sentences = {
  veraltet: 'Der Datensatz wurde inzwischen geändert. Laden Sie die Liste neu und entscheiden Sie noch einmal.',
  nicht_erlaubt:
    'Darüber dürfen Sie nicht entscheiden: Der Datensatz ist Ihr eigener, oder Sie sind nicht zuständig. Laden Sie die Liste neu.',
  nicht_gefunden: 'Den Datensatz gibt es nicht mehr, oder er ist nicht mehr öffentlich. Laden Sie die Liste neu.',
  ungueltig: 'Die Entscheidung war nicht lesbar, vielleicht ist die Bemerkung zu lang. Entscheiden Sie noch einmal.',
  zweite_person:
    'Für diese Art entscheiden zwei Personen, und Ihre Freigabe ist schon gezählt. Jetzt muss eine zweite Person freigeben.',
};

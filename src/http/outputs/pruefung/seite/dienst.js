// Who is logged in, and what is asked of the service with that.
import { sha1 } from './sha1.js';

const speicher = 'pruefung-konto';

/** @typedef {{ loginname: string, name: string, token: string }} Konto */

/** The service said no; the message is a sentence for the user. */
export class Abgewiesen extends Error {
  /** @param {number} status @param {string} message */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** @returns {Konto | null} */
export const readKonto = () => JSON.parse(sessionStorage.getItem(speicher) ?? 'null');

/** @param {Konto | null} konto */
export function keepKonto(konto) {
  if (konto === null) sessionStorage.removeItem(speicher);
  else sessionStorage.setItem(speicher, JSON.stringify(konto));
}

/**
 * @param {string} path @param {RequestInit} [init] @param {Konto} [konto]
 * @returns {Promise<any>} nothing, where the answer has no content
 * @throws {Abgewiesen} with status 0 when there was no answer
 */
export async function ask(path, init = {}, konto) {
  const headers = { ...init.headers, ...(konto && { 'X-Auth-User': toBytes(konto.loginname), 'X-Auth-Token': konto.token }) };
  const response = await fetch(path, { ...init, headers }).catch(() => {
    throw new Abgewiesen(0, 'Der Dienst ist nicht erreichbar.');
  });
  const text = await response.text().catch(() => {
    throw new Abgewiesen(0, 'Die Verbindung ist abgebrochen.');
  });
  const json = readJson(text);
  if (response.ok && json !== undefined) return json;
  throw new Abgewiesen(response.status, json?.detail ?? json?.error?.message ?? `Der Dienst antwortet mit ${response.status}.`);
}

/** @param {string} text */
function readJson(text) {
  try {
    return text === '' ? null : JSON.parse(text);
  } catch {
    return undefined;
  }
}

// A header holds bytes, and those of a name are UTF-8.
/** @param {string} text */
const toBytes = (text) => String.fromCharCode(...new TextEncoder().encode(text));

/** @param {string} loginname @param {string} passwort @returns {Promise<Konto | null>} null: the name or the password is wrong */
export function login(loginname, passwort) {
  return ask('/api/v2/login', { method: 'POST', body: new URLSearchParams({ loginname, password: sha1(passwort) }) });
}

// What the map asks the service for, and what is said when it doesn't answer.

/** The service does not answer; the message is a sentence for the user. */
export class LadeFehler extends Error {}

const attempts = 5;

/** @param {number} ms */
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Asks, and once more when the service is busy.
 * @param {string} path
 * @returns {Promise<Response>}
 */
export async function load(path) {
  for (let attempt = 1; ; attempt++) {
    let response;
    try {
      response = await fetch(path);
    } catch {
      throw new LadeFehler('Der Dienst ist nicht erreichbar.');
    }
    if (response.ok) return response;
    if (response.status === 503 && attempt < attempts) {
      // Not all at the same time.
      await sleep(500 * attempt * (1 + Math.random()));
      continue;
    }
    const problem = await response.json().catch(() => null);
    throw new LadeFehler(problem?.detail ?? `Der Dienst antwortet mit ${response.status}.`);
  }
}

/** @param {string} path */
export async function loadJson(path) {
  return (await load(path)).json();
}

// Query strings and urlencoded forms as clients of this interface send them (D1.1); and the number in a path.
import { PortalError } from './portal-error.ts';

/** Parameters in order of appearance; a name may occur several times. */
export type Parameters = Map<string, string[]>;

/** What a form may hold beside its files, of which there may be as many. */
export const maxFields = 200;

/**
 * Splits and decodes a query string. Broken escapes stay text: working clients send `vespa%velutina` with a bare % as
 * wildcard. So does an escape that is valid but not UTF-8; valid ones around it are decoded.
 */
export function parseQuery(query: string): Parameters {
  const parameters: Parameters = new Map();
  for (const pair of query.split('&')) {
    const [name = ''] = pair.split('=', 1);
    if (pair !== '') addValue(parameters, decodeText(name), decodeText(pair.slice(name.length + 1)));
  }
  return parameters;
}

/** The part behind the `?` of a URL, as it was sent. */
export function queryOf(url: string): string {
  const at = url.indexOf('?');
  if (at < 0) return '';
  const end = url.indexOf('#', at);
  return url.slice(at + 1, end < 0 ? undefined : end);
}

export function addValue(parameters: Parameters, name: string, value: string): void {
  const values = parameters.get(name);
  if (values) values.push(value);
  else parameters.set(name, [value]);
}

// Escapes of well-formed UTF-8 (Unicode, table 3-7): nothing that decodeURIComponent throws at.
const escapes =
  /(?:%[0-7][\da-f]|(?!%(c[01]|e0%[89]|ed%[ab]|f0%8|f4%[9ab]))%([cd]|e[\da-f]%[89ab]|f[0-4]%[89ab][\da-f]%[89ab])[\da-f]%[89ab][\da-f])+/gi;

export function decodeText(text: string): string {
  return text.replaceAll('+', ' ').replace(escapes, (run) => decodeURIComponent(run));
}

/** The number in the path; whatever is no number is no record: unknown, not malformed. */
export function readPathId(value = '', max = Number.MAX_SAFE_INTEGER): number {
  if (!/^\d{1,16}$/.test(value) || Number(value) > max) throw new PortalError('nicht_gefunden');
  return Number(value);
}

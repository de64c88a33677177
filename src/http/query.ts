// Query strings and urlencoded forms as clients of this interface send them (D1.1).

/** Parameters in order of appearance; a name may occur several times. */
export type Parameters = Map<string, string[]>;

/**
 * Splits and decodes a query string. Broken escapes stay text: working clients send `vespa%velutina` with a bare % as
 * wildcard. So does an escape that is valid but not UTF-8; valid ones around it are decoded.
 */
export function parseQuery(query: string): Parameters {
  const parameters: Parameters = new Map();
  if (query === '') return parameters;
  for (const pair of query.split('&')) {
    if (pair === '') continue;
    const at = pair.indexOf('=');
    addValue(parameters, decodeText(at < 0 ? pair : pair.slice(0, at)), at < 0 ? '' : decodeText(pair.slice(at + 1)));
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

export function decodeText(text: string): string {
  return text.replaceAll('+', ' ').replace(/(?:%[0-9a-f]{2})+/gi, decodeRun);
}

// A run of escapes: every well-formed UTF-8 sequence in it is decoded, every other byte stays as it was written.
function decodeRun(run: string): string {
  let result = '';
  for (let at = 0; at < run.length; ) {
    const first = Number.parseInt(run.slice(at + 1, at + 3), 16);
    const length =
      first < 0x80
        ? 1
        : first >= 0xc2 && first < 0xe0
          ? 2
          : first >= 0xe0 && first < 0xf0
            ? 3
            : first >= 0xf0 && first < 0xf5
              ? 4
              : 0;
    const sequence = run.slice(at, at + 3 * length);
    const decoded = length > 0 && sequence.length === 3 * length ? tryDecode(sequence) : null;
    result += decoded ?? run.slice(at, at + 3);
    at += decoded === null ? 3 : 3 * length;
  }
  return result;
}

function tryDecode(sequence: string): string | null {
  try {
    return decodeURIComponent(sequence);
  } catch {
    return null;
  }
}

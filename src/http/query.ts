// Query strings and urlencoded forms as clients of this interface send them (D1.1).

/** Parameters in order of appearance; a name may occur several times. */
export type Parameters = Map<string, string[]>;

/**
 * Splits and decodes a query string. Broken escapes stay text: working clients send `vespa%velutina` with a bare % as
 * wildcard. So does an escape that is valid but not UTF-8; valid ones around it are decoded.
 * @param maxPairs what comes after them, but one, is not read
 */
export function parseQuery(query: string, maxPairs = Number.POSITIVE_INFINITY): Parameters {
  const parameters: Parameters = new Map();
  if (query === '') return parameters;
  let pairs = 0;
  for (const pair of query.split('&')) {
    if (pair === '') continue;
    // One more tells whoever counts them.
    if (++pairs > maxPairs + 1) break;
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

/** How many values there are, of all names together. */
export function countParameters(parameters: Parameters): number {
  let count = 0;
  for (const values of parameters.values()) count += values.length;
  return count;
}

export function addValue(parameters: Parameters, name: string, value: string): void {
  const values = parameters.get(name);
  if (values) values.push(value);
  else parameters.set(name, [value]);
}

export function decodeText(text: string): string {
  return text.replaceAll('+', ' ').replace(/(?:%[0-9a-f]{2})+/gi, decodeRun);
}

// A run of escapes: every well-formed UTF-8 sequence in it is decoded, every other byte stays as it was written. Looked at
// byte by byte: letting decodeURIComponent throw for each bad one took seconds for the megabyte that a form may hold.
function decodeRun(run: string): string {
  const bytes = Buffer.from(run.replaceAll('%', ''), 'hex');
  let result = '';
  let at = 0;
  while (at < bytes.length) {
    const start = at;
    for (let length = sequenceLength(bytes, at); length > 0; length = sequenceLength(bytes, at)) at += length;
    result += bytes.toString('utf8', start, at);
    if (at < bytes.length) {
      result += run.slice(3 * at, 3 * at + 3);
      at++;
    }
  }
  return result;
}

// Length of the well-formed UTF-8 sequence that begins here (Unicode, table 3-7), 0 when there is none.
function sequenceLength(bytes: Buffer, at: number): number {
  const first = bytes[at] ?? 0x80;
  if (first < 0x80) return 1;
  const length = first >= 0xc2 && first < 0xe0 ? 2 : first >= 0xe0 && first < 0xf0 ? 3 : first >= 0xf0 && first < 0xf5 ? 4 : 0;
  if (length === 0) return 0;
  const second = bytes[at + 1] ?? 0;
  const lowest = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80;
  const highest = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
  if (second < lowest || second > highest) return 0;
  for (let more = 2; more < length; more++) if (((bytes[at + more] ?? 0) & 0xc0) !== 0x80) return 0;
  return length;
}

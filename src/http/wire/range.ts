// Range requests (RFC 9110, section 14): players of sound files ask for parts.

/** A part of a body: `end` is the byte after the last one. */
export interface Range {
  start: number;
  end: number;
}

/**
 * The part that a request asks for.
 * @param range, ifRange headers of the request
 * @param tag ETag of the body, `size` its length in bytes
 * @returns null when the whole is to be sent: no range, several, or one of another version
 */
export function readRange(
  range: string | undefined,
  ifRange: string | undefined,
  tag: string,
  size: number,
): Range | 'unsatisfiable' | null {
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(range?.trim() ?? '') ?? [];
  if (first === '' && last === '') return null;
  if (ifRange !== undefined && ifRange !== tag) return null;
  if (first === '') {
    const length = Math.min(Number(last), size);
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size };
  }
  const start = Number(first);
  const end = last === '' ? size : Math.min(Number(last) + 1, size);
  if (last !== '' && Number(last) < start) return null;
  return start >= size ? 'unsatisfiable' : { start, end };
}

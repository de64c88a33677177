// A stored photo or sound file as an answer, or a part of it.
import type { Context } from 'hono';
import { currentScope } from '../../guard/request.ts';
import { mediumTypes } from '../../media/medium.ts';
import type { Deps, Env } from '../context.ts';
import { matches, namesAny } from '../wire/etag.ts';
import { PortalError } from '../wire/portal-error.ts';

/** @param isReleased everybody may see it */
export async function serveMedium(c: Context<Env>, { media, log }: Deps, name: string, isReleased: boolean): Promise<Response> {
  // Asked again each time: a photo that was withdrawn is gone at once. Under its name the content never changes.
  const tag = `"${name}"`;
  c.header('Cache-Control', isReleased ? 'no-cache' : 'private, no-store');
  c.header('ETag', tag);
  c.header('Accept-Ranges', 'bytes');
  c.header('Content-Security-Policy', "default-src 'none'; sandbox");
  const known = c.req.header('if-none-match');
  if (matches(known, tag)) return c.body(null, 304);
  const bytes = await media.storage.get(name);
  if (!bytes) {
    // So much of its name finds the record; all of it would be an address.
    log.error({ file: name.slice(0, 8) }, 'a stored file is missing');
    throw new PortalError('nicht_gefunden');
  }
  if (namesAny(known)) return c.body(null, 304);
  c.header('Content-Type', mediumTypes[name.slice(name.lastIndexOf('.') + 1)] ?? 'application/octet-stream');
  const range = readRange(c, [tag], bytes.length);
  if (range === 'unsatisfiable') return c.body(null, 416, { 'Content-Range': `bytes */${bytes.length}` });
  // The buffer behind them is never a shared one.
  const part = (range === null ? bytes : bytes.subarray(range.start, range.end)) as Uint8Array<ArrayBuffer>;
  const scope = currentScope();
  if (scope) scope.bytes = part.length;
  const length = { 'Content-Length': String(part.length) };
  if (range === null) return c.body(part, 200, length);
  return c.body(part, 206, { 'Content-Range': `bytes ${range.start}-${range.end - 1}/${bytes.length}`, ...length });
}

/**
 * The part that a request asks for (RFC 9110, section 14): players of sound files do, and who goes on with a download. `end` is the byte
 * after the last one.
 * @param validators what If-Range may name this version by
 * @returns null when the whole is to be sent: no range, several, or one of another version
 */
export function readRange(
  { req }: Context<Env>,
  validators: readonly string[],
  size: number,
): { start: number; end: number } | 'unsatisfiable' | null {
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(req.header('range')?.trim() ?? '') ?? [];
  const condition = req.header('if-range');
  if ((first === '' && last === '') || (condition !== undefined && !validators.includes(condition))) return null;
  if (first === '') {
    const length = Math.min(Number(last), size);
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size };
  }
  const start = Number(first);
  const end = last === '' ? size : Math.min(Number(last) + 1, size);
  if (last !== '' && Number(last) < start) return null;
  return start >= size ? 'unsatisfiable' : { start, end };
}

// The addresses of stored photos and sound files (D3.20): signed where not everybody may see what is there.
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';
import type { Context } from 'hono';
import type { Deps, Env } from '../context.ts';
import { textFilter } from '../wire/input.ts';

/** A signed address: for which reader, until when (seconds since 1970), and the signature over both. */
export const mediumQuery = { leser: textFilter, bis: textFilter, signatur: textFilter };

const signatureSeconds = 15 * 60;

/**
 * Puts addresses in place of the marks that the database left: plain ones of files that everyone may see, signed ones of
 * all others, for the reader of this answer.
 */
export function addressMedia(c: Context<Env>, { secretKey }: Deps, rows: Buffer): Buffer[] {
  let at = rows.indexOf(mark);
  if (at < 0) return [rows];
  const base = Buffer.from(JSON.stringify(`${c.get('origin')}/api/v2/medien/`).slice(1, -1));
  const reader = c.get('reader');
  const until = Math.floor(Date.now() / 1000) + signatureSeconds;
  const parts: Buffer[] = [];
  let from = 0;
  for (; at >= 0; at = rows.indexOf(mark, from)) {
    parts.push(rows.subarray(from, at), base);
    from = at + 2;
    if (rows[at + 1] === plusSign || reader === null) continue;
    const end = rows.indexOf('"', from);
    const name = rows.toString('latin1', from, end);
    parts.push(Buffer.from(`${name}?leser=${reader}&bis=${until}&signatur=${sign(secretKey, name, reader, until)}`));
    from = end;
  }
  parts.push(rows.subarray(from));
  return parts;
}

// A control character, which JSON text can't hold otherwise; then + or -, then the name, up to the quote.
const mark = 1;
const plusSign = 43;

/**
 * The reader for whom an address was signed; null for a plain, altered or expired one. The reader's rights are looked up again: a
 * signature outlives them otherwise.
 */
export function readSignature(
  { leser = '', bis = '', signatur = '' }: { [part in keyof typeof mediumQuery]?: string | undefined },
  key: KeyObject,
  name: string,
): number | null {
  if (!/^\d{1,15}$/.test(leser) || !/^\d{1,12}$/.test(bis) || Number(bis) * 1000 < Date.now()) return null;
  const expected = Buffer.from(sign(key, name, Number(leser), Number(bis)));
  const given = Buffer.from(signatur);
  return given.length === expected.length && timingSafeEqual(given, expected) ? Number(leser) : null;
}

function sign(key: KeyObject, name: string, reader: number, until: number): string {
  return createHmac('sha256', key).update(`medien ${name} ${reader} ${until}`).digest().subarray(0, 16).toString('base64url');
}

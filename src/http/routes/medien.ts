// GET /medien/{name}: stored photos and sound files (D3.20).
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';
import { type Context, Hono } from 'hono';
import { getMedium } from '../../db/medium.ts';
import { currentScope } from '../../guard/request.ts';
import { mediumTypes } from '../../media/medium.ts';
import { isMediumName } from '../../media/name.ts';
import type { Deps, Env } from '../context.ts';
import { PortalError } from '../wire/errors.ts';
import { textFilter } from '../wire/input.ts';
import { readRange } from '../wire/range.ts';
import { readQuery } from '../wire/reply.ts';

/** A signed address: for which reader, until when (seconds since 1970), and the signature over both. */
export const mediumQuery = { leser: textFilter, bis: textFilter, signatur: textFilter };

const signatureSeconds = 15 * 60;
// What is stored: photos are smaller, sound files no larger.
const maxMediumBytes = 1024 * 1024;

export function medienRoutes({ sql, media, secretKey, log }: Deps): Hono<Env> {
  return new Hono<Env>().get('/medien/:name', async (c) => {
    const signature = readQuery(c, mediumQuery);
    const name = c.req.param('name');
    if (!isMediumName(name)) throw new PortalError('nicht_gefunden');
    const released = await getMedium(sql, c.get('tenant').id, readSignature(signature, secretKey, name), name);
    // Asked again each time: a photo that was withdrawn is gone at once. Under its name the content never changes.
    const tag = `"${name}"`;
    c.header('Cache-Control', released ? 'no-cache' : 'private, no-store');
    c.header('ETag', tag);
    c.header('Accept-Ranges', 'bytes');
    c.header('Content-Security-Policy', "default-src 'none'; sandbox");
    if (c.req.header('if-none-match') === tag) return c.body(null, 304);
    // Before it is read: hundreds at once would be there together. What it really takes is known then.
    const scope = currentScope();
    scope?.hold(maxMediumBytes);
    const bytes = await media.storage.get(name);
    scope?.hold((bytes?.length ?? 0) - maxMediumBytes);
    if (!bytes) {
      log.error('a stored file is missing');
      throw new PortalError('nicht_gefunden');
    }
    c.header('Content-Type', mediumTypes[name.slice(name.lastIndexOf('.') + 1)] ?? 'application/octet-stream');
    const range = readRange(c.req.header('range'), c.req.header('if-range'), tag, bytes.length);
    if (range === 'unsatisfiable') return c.body(null, 416, { 'Content-Range': `bytes */${bytes.length}` });
    if (range === null) return c.body(toBody(bytes), 200, { 'Content-Length': String(bytes.length) });
    return c.body(toBody(bytes.subarray(range.start, range.end)), 206, {
      'Content-Range': `bytes ${range.start}-${range.end - 1}/${bytes.length}`,
      'Content-Length': String(range.end - range.start),
    });
  });
}

/**
 * Puts addresses in place of the marks that the database left: plain ones of files that everyone may see, signed ones of
 * all others, for the reader of this answer.
 */
export function showMedia(c: Context<Env>, { secretKey }: Deps, rows: Buffer): Buffer {
  let at = rows.indexOf(mark);
  if (at < 0) return rows;
  const base = JSON.stringify(`${c.get('origin')}/api/v2/medien/`).slice(1, -1);
  const reader = c.get('reader');
  const until = Math.floor(Date.now() / 1000) + signatureSeconds;
  const parts: Buffer[] = [];
  let from = 0;
  for (; at >= 0; at = rows.indexOf(mark, from)) {
    const end = rows.indexOf('"', at);
    const name = rows.toString('latin1', at + 2, end);
    const isPlain = rows[at + 1] === plusSign || reader === null;
    const signature = isPlain ? '' : `?leser=${reader}&bis=${until}&signatur=${sign(secretKey, name, reader, until)}`;
    parts.push(rows.subarray(from, at), Buffer.from(`${base}${name}${signature}`));
    from = end;
  }
  parts.push(rows.subarray(from));
  return Buffer.concat(parts);
}

// A control character, which JSON text can't hold otherwise; then + or -, then the name, up to the quote.
const mark = 1;
const plusSign = 43;

// The reader for whom an address was signed; null for a plain, altered or expired one. The reader's rights are looked up
// again: a signature outlives them otherwise.
function readSignature(
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

// A view of the bytes instead of a copy; the buffer behind them is never a shared one.
function toBody(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return bytes as Uint8Array<ArrayBuffer>;
}

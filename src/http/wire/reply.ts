// Writes answers in the format that the request asks for: JSON, JSONP or XML.
import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { Json } from '../../db/page.ts';
import { limitRuns } from '../../guard/admission.ts';
import { currentScope } from '../../guard/request.ts';
import { waitForTurn } from '../../guard/turns.ts';
import type { Env } from '../context.ts';
import { answerError, PortalError, sentences } from './errors.ts';
import { checkInput, type Entries, formatFields } from './input.ts';

import { type Parameters, parseQuery, queryOf } from './query.ts';
import { toXml, type Value } from './xml.ts';

export interface Format {
  format: 'json' | 'xml';
  callback: string | null;
}

/**
 * The format that a request asks for.
 * @throws PortalError for an unknown format, a bad callback, or both together (D1.6 to D1.8)
 */
export function readFormat(c: Context<Env>): Format {
  const { format, callback } = checkInput(c, queryParameters(c), formatFields);
  if (format === 'xml' && callback !== undefined) {
    throw new PortalError('ungueltiger_parameter', { callback: sentences.formatWithCallback });
  }
  return { format: format as Format['format'], callback: callback ?? null };
}

/** The parameters in a request's URL. */
export function queryParameters(c: Context<Env>): Parameters {
  const known = c.get('query');
  if (known) return known;
  const parameters = parseQuery(queryOf(c.req.url));
  c.set('query', parameters);
  return parameters;
}

/** The checked parameters of a request's URL, its format included. */
export function readQuery<E extends Entries>(c: Context<Env>, entries: E) {
  readFormat(c);
  return checkInput(c, queryParameters(c), entries);
}

/** The number in the path; whatever is no number is no record: unknown, not malformed. */
export function readPathId(c: Context<Env>, max = Number.MAX_SAFE_INTEGER): number {
  const value = c.req.param('id') ?? '';
  if (!/^\d{1,16}$/.test(value) || Number(value) > max) throw new PortalError('nicht_gefunden');
  return Number(value);
}

export interface Rows {
  /** JSON array, as the database made it. */
  rows: Json;
  /** URL of the next page. */
  next?: string | null;
  /** Names to keep, as sent. */
  restrict?: string | undefined;
}

// A page of a thousand rows takes 40 ms as XML, and ten times its size in memory. What must be parsed and is long is made one after
// the other, for each network: who makes it waits for its network's turns meanwhile, and nobody else must wait for those. 503 within
// two seconds when too many ask for it (S5.3).
const longRows = 128 * 1024;
export const longPages = { slots: 4, share: 1, queue: 40, waitMs: 1500 };
const inTurn = limitRuns(longPages);
const xmlType = 'text/xml; charset=utf-8';
const resultHead = Buffer.from('{"result":');

/** A list, or a single record as a list of one. */
export async function replyRows(
  c: Context<Env>,
  { rows, next, restrict }: Rows,
  status: ContentfulStatusCode = 200,
): Promise<Response> {
  const { format, callback } = readFormat(c);
  const names = restrictNames(restrict);
  // The usual case passes the database's text on unread: twice the requests per second.
  if (format === 'json' && names === null) {
    const tail = Buffer.from(next ? `,"next":${JSON.stringify(next)}}` : '}');
    const make = () => replyJson(c, Buffer.concat([resultHead, toBytes(rows), tail]), callback, status);
    return callback !== null && rows.length > longRows ? inTurn(make) : make();
  }
  const replyParsed = async () => {
    await waitForTurn();
    let records = JSON.parse(rows.toString()) as { [name: string]: Value }[];
    if (names) {
      await waitForTurn();
      records = records.map((record) => Object.fromEntries(Object.entries(record).filter(([name]) => names.has(name))));
    }
    await waitForTurn();
    return replyValue(c, 'xml', { result: records, ...(next && { next }) }, status);
  };
  return rows.length > longRows ? inTurn(replyParsed) : replyParsed();
}

/** Anything else; `root` is the root element of the XML. */
export async function replyValue(
  c: Context<Env>,
  root: string,
  members: { [name: string]: Value },
  status: ContentfulStatusCode = 200,
): Promise<Response> {
  const { format, callback } = readFormat(c);
  if (format === 'xml') {
    return reply(c, await toXml(root, members), xmlType, status);
  }
  return replyJson(c, JSON.stringify(members), callback, status);
}

/** An empty body in the requested format. */
export function replyEmpty(c: Context<Env>): Response {
  const { format, callback } = readFormat(c);
  return reply(c, '', format === 'xml' ? xmlType : contentType(callback), 200);
}

/** An error, in the requested format as far as that can be read. */
export async function replyError(c: Context<Env>, error: PortalError): Promise<Response> {
  const answer = answerError(error);
  // Of the answer that was expected.
  c.header('ETag', undefined);
  // So that whoever asks about it can be told what the log says.
  const id = currentScope()?.id;
  if (id) c.header('X-Request-Id', id);
  for (const [name, value] of Object.entries(answer.headers)) c.header(name, value);
  let format: Format = { format: 'json', callback: null };
  try {
    format = readFormat(c);
  } catch {
    // The format is what is wrong: plain JSON.
  }
  if (format.format === 'xml') {
    return reply(c, await toXml('xml', answer.body), xmlType, answer.status);
  }
  return replyJson(c, JSON.stringify(answer.body), format.callback, answer.status);
}

async function replyJson(
  c: Context<Env>,
  json: string | Buffer<ArrayBuffer>,
  callback: string | null,
  status: ContentfulStatusCode,
): Promise<Response> {
  if (callback === null) return reply(c, json, contentType(null), status);
  const body = Buffer.concat([Buffer.from(`${callback}(`), ...(await escapeForScript(toBytes(json))), Buffer.from(');')]);
  return reply(c, body, contentType(callback), status);
}

const toBytes = (json: Json) => (typeof json === 'string' ? Buffer.from(json) : json);

// Of 64 KiB, half a millisecond.
const escapedAtOnce = 64 * 1024;
const longestEscape = 6;

// In a script, < could begin an end tag, and the two separators (E2 80 A8 and A9) were line ends before ES2019. By bytes, and others
// come in between: replacing two million of them in the text of one page kept everybody waiting for a quarter of a second.
async function escapeForScript(json: Buffer): Promise<Buffer[]> {
  const pieces: Buffer[] = [];
  for (let at = 0; at < json.length; ) {
    if (at > 0) await waitForTurn();
    const end = Math.min(at + escapedAtOnce, json.length);
    const escaped = Buffer.allocUnsafe((end - at) * longestEscape);
    let length = 0;
    while (at < end) {
      const byte = json[at++] as number;
      const last = byte === 0xe2 && json[at] === 0x80 ? json[at + 1] : null;
      if (byte === 0x3c) length += escaped.write('\\u003c', length, 'latin1');
      else if (last === 0xa8 || last === 0xa9) {
        length += escaped.write(last === 0xa8 ? '\\u2028' : '\\u2029', length, 'latin1');
        at += 2;
      } else escaped[length++] = byte;
    }
    // A copy: the rest of the room would be held with it.
    pieces.push(Buffer.from(escaped.subarray(0, length)));
  }
  return pieces;
}

// The one place from which bodies leave.
function reply(c: Context<Env>, body: string | Buffer<ArrayBuffer>, type: string, status: ContentfulStatusCode): Response {
  // Errors are short, and have to be told.
  if (status < 400) currentScope()?.hold(body.length);
  const conditional = c.get('conditional');
  if (conditional === undefined || status !== 200) return c.body(body, status, { 'Content-Type': type });
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  conditional.keep(bytes, type);
  return c.body(bytes, status, { 'Content-Type': type });
}

function contentType(callback: string | null): string {
  return callback === null ? 'application/json; charset=utf-8' : 'application/javascript; charset=utf-8';
}

// D1.5: empty means all fields; unknown names are ignored.
function restrictNames(restrict: string | undefined): Set<string> | null {
  const names = (restrict ?? '').split(',').flatMap((name) => name.trim() || []);
  return names.length > 0 ? new Set(names) : null;
}

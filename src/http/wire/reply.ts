// Writes answers in the format that the request asks for: JSON, JSONP or XML.
import { availableParallelism } from 'node:os';
import type { Context, Handler } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { Json } from '../../db/page.ts';
import { limitRuns } from '../../guard/admission.ts';
import { currentScope } from '../../guard/request.ts';
import { waitForTurn } from '../../guard/turns.ts';
import { type Env, queryOfRequest } from '../context.ts';
import { answerError, type PortalError } from './errors.ts';
import { type Format, plainJson } from './format.ts';
import { toXml, type Value } from './xml.ts';

/** What is sent back, ready to leave. */
export interface Answer {
  body: string | Buffer<ArrayBuffer>;
  type: string;
  status: ContentfulStatusCode;
  /** The version of what it is made from, where it is answered conditionally. */
  stand?: string;
}

// A page of a thousand rows takes 40 ms as XML, and ten times its size in memory. What must be parsed and is long is made one after
// the other, for each network: who makes it waits for its network's turns meanwhile, and nobody else must wait for those. 503 within
// two seconds when too many ask for it (S5.3).
const longRows = 128 * 1024;
export const longPages = { slots: 4, share: 1, queue: 40, waitMs: 1500 };
// Shorter ones are not made one by one, so that none stands behind a long one. They are bounded too: pages that hundreds of connections ask
// for at once, and are gone from, held a gigabyte.
const shortRows = 16 * 1024;
export const shortPages = { slots: 16, share: 2, queue: 400, waitMs: 1500 };
/**
 * Lists of more records than that, those of the feed too, are made one after the other for each network and account, from the first question
 * to the database on: computed for four connections of one account at once, and refused when their turn to be made came too late, they left
 * others a fifth of two cores, and for two, with photos beside, a third. No more of them at once than cores: what is asked of the database in
 * between would wait behind them. Where it has one connection, each statement of others does.
 */
export const longLists = {
  records: 100,
  slots: Math.min(8, Math.max(2, availableParallelism())),
  share: 1,
  queue: 500,
  waitMs: 1500,
};
const limits = {
  lists: limitRuns({ name: 'lists', ...longLists }),
  long: limitRuns({ name: 'pages', ...longPages }),
  short: limitRuns({ name: 'short_pages', ...shortPages }),
};
const xmlType = 'text/xml; charset=utf-8';
const resultHead = Buffer.from('{"result":');

/**
 * A list, or a single record as a list of one.
 * @param rows JSON array, as the database made it
 * @param next URL of the next page
 * @param restrict names to keep, as sent
 */
export function makeRows(
  format: Format,
  rows: Json,
  next: string | null,
  restrict: string | undefined,
  status: ContentfulStatusCode,
): Promise<Answer> {
  const names = restrictNames(restrict);
  // The usual case passes the database's text on unread: twice the requests per second.
  if (format.format === 'json' && names === null) {
    const make = () => passRows(format, rows, next, status);
    return format.callback === null ? make() : inTurn(lengthOf(rows), make);
  }
  return inTurn(lengthOf(rows), () => parseRows(format, rows, next, names, status));
}

/** Asks for a list of so many records and makes it an answer, when it is its turn. */
export function makeList<T>(limit: number, make: () => Promise<T>): Promise<T> {
  return limit > longLists.records ? limits.lists(make) : make();
}

/** What takes one turn, a single record for example, waits for nothing else. */
function inTurn<T>(bytes: number, make: () => Promise<T>): Promise<T> {
  if (bytes > longRows) return limits.long(make);
  return bytes > shortRows ? limits.short(make) : make();
}

function passRows(format: Format, rows: Json, next: string | null, status: ContentfulStatusCode): Promise<Answer> {
  const tail = Buffer.from(next ? `,"next":${JSON.stringify(next)}}` : '}');
  return makeJson(format, Buffer.concat([resultHead, ...toPieces(rows), tail]), status);
}

async function parseRows(
  format: Format,
  rows: Json,
  next: string | null,
  names: Set<string> | null,
  status: ContentfulStatusCode,
): Promise<Answer> {
  await waitForTurn();
  let records = JSON.parse(typeof rows === 'string' ? rows : Buffer.concat(toPieces(rows)).toString()) as {
    [name: string]: Value;
  }[];
  if (names) {
    await waitForTurn();
    records = records.map((record) => Object.fromEntries(Object.entries(record).filter(([name]) => names.has(name))));
  }
  await waitForTurn();
  return makeValue(format, 'xml', { result: records, ...(next && { next }) }, status);
}

/** Anything else; `root` is the root element of the XML. */
export async function makeValue(
  format: Format,
  root: string,
  members: { [name: string]: Value },
  status: ContentfulStatusCode,
): Promise<Answer> {
  if (format.format === 'xml') return { body: await toXml(root, members), type: xmlType, status };
  return makeJson(format, JSON.stringify(members), status);
}

/** An empty body. */
export function makeEmpty({ format, callback }: Format): Answer {
  return { body: '', type: format === 'xml' ? xmlType : contentType(callback), status: 200 };
}

async function makeJson({ callback }: Format, json: string | Buffer<ArrayBuffer>, status: ContentfulStatusCode): Promise<Answer> {
  if (callback === null) return { body: json, type: contentType(null), status };
  const body = Buffer.concat([
    Buffer.from(`${callback}(`),
    ...(await escapeForScript(typeof json === 'string' ? Buffer.from(json) : json)),
    Buffer.from(');'),
  ]);
  return { body, type: contentType(callback), status };
}

/** Answers what needs no look at the version of the data. */
export function respond(answer: (c: Context<Env>) => Promise<Answer | Response>): Handler<Env> {
  return async (c) => {
    const made = await answer(c);
    return made instanceof Response ? made : send(c, made);
  };
}

/** An error, in the requested format as far as that can be read. */
export async function replyError(c: Context<Env>, error: PortalError): Promise<Response> {
  const answer = answerError(error);
  setErrorHeaders(c, answer.headers);
  let format = plainJson;
  try {
    format = queryOfRequest(c).format;
  } catch {
    // The format is what is wrong: plain JSON.
  }
  return send(c, await makeValue(format, 'xml', answer.body, answer.status));
}

/** What every error has beside its body. */
export function setErrorHeaders(c: Context<Env>, headers: Record<string, string>): void {
  // Of the answer that was expected.
  c.header('ETag', undefined);
  for (const [name, value] of Object.entries(headers)) c.header(name, value);
}

function toPieces(json: Json): readonly Buffer[] {
  if (typeof json === 'string') return [Buffer.from(json)];
  return Buffer.isBuffer(json) ? [json] : json;
}

/** About so many bytes. */
const lengthOf = (json: Json): number =>
  typeof json === 'string' || Buffer.isBuffer(json) ? json.length : json.reduce((sum, { length }) => sum + length, 0);

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

/** The one place from which bodies leave. */
export function send(
  c: Context<Env>,
  { body, type, status }: Omit<Answer, 'body'> & { body: string | Uint8Array<ArrayBuffer> },
): Response {
  const scope = currentScope();
  const bytes = typeof body === 'string' ? Buffer.byteLength(body) : body.length;
  // Errors are short, and have to be told.
  if (status < 400) scope?.hold(bytes);
  if (scope) scope.bytes = bytes;
  return c.body(body, status, { 'Content-Type': type });
}

/** A page for people. */
export async function sendPage(
  c: Context<Env>,
  page: string | Promise<string>,
  status: ContentfulStatusCode = 200,
): Promise<Response> {
  return send(c, { body: String(await page), type: 'text/html; charset=UTF-8', status });
}

function contentType(callback: string | null): string {
  return callback === null ? 'application/json; charset=utf-8' : 'application/javascript; charset=utf-8';
}

// D1.5: empty means all fields; unknown names are ignored.
function restrictNames(restrict: string | undefined): Set<string> | null {
  const names = (restrict ?? '').split(',').flatMap((name) => name.trim() || []);
  return names.length > 0 ? new Set(names) : null;
}

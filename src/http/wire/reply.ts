// Writes answers in the format that the request asks for: JSON, JSONP or XML.
import type { Context, Handler } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { Json, Teil } from '../../db/page.ts';
import { currentScope } from '../../guard/request.ts';
import type { Env } from '../context.ts';
import { type Format, plainJson, readFormat } from './answer-format.ts';
import { answerError, type PortalError } from './portal-error.ts';
import { parseQuery, queryOf } from './query.ts';
import { toXml, type Value } from './xml.ts';

/** What is sent back, ready to leave. */
export interface Answer {
  body: string | Buffer<ArrayBuffer>;
  type: string;
  status: ContentfulStatusCode;
  /** The version of what it is made from, where it is answered conditionally. */
  stand?: string;
  /** The same of where all lies that it shows. */
  teil?: Teil | undefined;
}

const xmlType = 'text/xml; charset=utf-8';
const resultHead = Buffer.from('{"result":');

/**
 * A list, or a single record as a list of one.
 * @param rows JSON array, as the database made it
 * @param next URL of the next page
 * @param restrict names to keep, as sent
 */
export async function makeRows(
  format: Format,
  rows: Json,
  next: string | null,
  restrict: string | undefined,
  status: ContentfulStatusCode,
): Promise<Answer> {
  const names = restrictNames(restrict);
  // The usual case passes the database's text on unread: twice the requests per second.
  if (format.format === 'json' && names === null) {
    const tail = Buffer.from(next ? `,"next":${JSON.stringify(next)}}` : '}');
    return makeJson(format, Buffer.concat([resultHead, ...toPieces(rows), tail]), status);
  }
  let records: { [name: string]: Value }[] = JSON.parse(Buffer.concat(toPieces(rows)).toString());
  if (names) records = records.map((record) => Object.fromEntries(Object.entries(record).filter(([name]) => names.has(name))));
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

function makeJson({ callback }: Format, json: string | Buffer<ArrayBuffer>, status: ContentfulStatusCode): Answer {
  if (callback === null) return { body: json, type: contentType(null), status };
  const body = Buffer.concat([
    Buffer.from(`${callback}(`),
    escapeForScript(typeof json === 'string' ? Buffer.from(json) : json),
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
    format = readFormat(parseQuery(queryOf(c.req.url)));
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

const longestEscape = 6;

// In a script, < could begin an end tag, and the two separators (E2 80 A8 and A9) were line ends before ES2019. By bytes: replacing them in
// the text of a long page took a quarter of a second.
function escapeForScript(json: Buffer): Buffer {
  const escaped = Buffer.allocUnsafe(json.length * longestEscape);
  let length = 0;
  for (let at = 0; at < json.length; ) {
    const byte = json[at++] as number;
    const last = byte === 0xe2 && json[at] === 0x80 ? json[at + 1] : null;
    if (byte === 0x3c) length += escaped.write('\\u003c', length, 'latin1');
    else if (last === 0xa8 || last === 0xa9) {
      length += escaped.write(last === 0xa8 ? '\\u2028' : '\\u2029', length, 'latin1');
      at += 2;
    } else escaped[length++] = byte;
  }
  return escaped.subarray(0, length);
}

/** The one place from which bodies leave. */
export function send(
  c: Context<Env>,
  { body, type, status }: Omit<Answer, 'body'> & { body: string | Uint8Array<ArrayBuffer> },
): Response {
  const scope = currentScope();
  if (scope) scope.bytes = typeof body === 'string' ? Buffer.byteLength(body) : body.length;
  return c.body(body, status, { 'Content-Type': type });
}

export const pageType = 'text/html; charset=UTF-8';

/** A page for people, which may load and do no more than its policy says. */
export async function sendPage(
  c: Context<Env>,
  page: string | Promise<string>,
  policy: string,
  status: ContentfulStatusCode = 200,
): Promise<Response> {
  c.header('Content-Security-Policy', policy);
  return send(c, { body: String(await page), type: pageType, status });
}

/** A file whose address changes with it. */
export function sendForGood(c: Context<Env>, body: string | Uint8Array<ArrayBuffer>, type: string): Response {
  c.header('Cache-Control', 'public, max-age=31536000, immutable');
  return send(c, { body, type, status: 200 });
}

function contentType(callback: string | null): string {
  return callback === null ? 'application/json; charset=utf-8' : 'application/javascript; charset=utf-8';
}

// D1.5: empty means all fields; unknown names are ignored.
function restrictNames(restrict: string | undefined): Set<string> | null {
  const names = (restrict ?? '').split(',').flatMap((name) => name.trim() || []);
  return names.length > 0 ? new Set(names) : null;
}

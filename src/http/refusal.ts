// Refusals that are written before the app is asked, in the form that all errors have.
import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { answerError, type ErrorCode, PortalError } from './wire/errors.ts';

type Refusal = ErrorCode | 'geschlossen';
// From the beginning: a counter that comes with its first refusal hides it.
const refusals = new Map<Refusal, number>(
  (['ueberlastet', 'ungueltige_anfrage', 'kopf_zu_gross', 'zu_langsam', 'methode_nicht_erlaubt', 'geschlossen'] as const).map(
    (code) => [code, 0],
  ),
);

/** What was refused since the process began, by code; `geschlossen` are connections that were closed without a word. */
export function listRefusals(): ReadonlyMap<Refusal, number> {
  return refusals;
}

/** Counts what was refused. */
export function noteRefusal(code: Refusal): void {
  refusals.set(code, (refusals.get(code) ?? 0) + 1);
}

const made = new Map<ErrorCode, { status: number; headers: Record<string, string>; text: string }>();

// Made once of each: an error with its stack, and its text, would be made for each of the many that are refused at once.
function refusalOf(code: ErrorCode, more: Record<string, string> = {}) {
  noteRefusal(code);
  let refusal = made.get(code);
  if (!refusal) {
    const { status, headers, body } = answerError(new PortalError(code));
    const text = JSON.stringify(body);
    const about = {
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': String(Buffer.byteLength(text)),
    };
    refusal = { status, headers: { ...headers, ...about }, text };
    made.set(code, refusal);
  }
  return { ...refusal, headers: { ...refusal.headers, ...more } };
}

const closing = { Connection: 'close' };

/**
 * Answers a request.
 * @param closes whether its connection is closed after it
 */
export function refuseRequest(response: ServerResponse, code: ErrorCode, closes = true): void {
  const { status, headers, text } = refusalOf(code);
  response.writeHead(status, closes ? { ...headers, ...closing } : headers).end(text);
}

/** The same for the adaptor between node:http and the app. */
export function refusalResponse(code: ErrorCode): Response {
  const { status, headers, text } = refusalOf(code);
  return new Response(text, { status, headers: { ...headers, ...closing } });
}

/**
 * Answers a connection on which no request was read, and closes it.
 * @param headers beside those of the code
 * @param hasBody false for the answer to HEAD
 */
export function refuseConnection(socket: Socket, code: ErrorCode, headers: Record<string, string> = {}, hasBody = true): void {
  const refusal = refusalOf(code, headers);
  const lines = Object.entries({ ...refusal.headers, ...closing }).map(([name, value]) => `${name}: ${value}`);
  socket.end(
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}\r\n${lines.join('\r\n')}\r\n\r\n${hasBody ? refusal.text : ''}`,
  );
  socket.destroySoon();
}

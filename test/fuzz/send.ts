// Sends a request over a connection of its own and keeps what comes back. What is no HTTP is a proxy's to refuse: what Node's
// client sends is well-formed, whatever stands in it, and its parser is strict about the answer.
import { request } from 'node:http';
import type { Content } from './encode.ts';

/** A request, made completely before it is sent, so that it can be shown. */
export interface Shot {
  method: string;
  target: string;
  headers: readonly (readonly [name: string, value: Content])[];
  body?: Buffer;
  /** Sizes of the chunks of the body; without it the length is told. */
  chunks?: readonly number[];
  /** How long the answer may take. */
  patienceMs?: number;
}

export interface Answer {
  status: number;
  /** Value of a header; null when it is missing. */
  header(name: string): string | null;
  /** All of them, for whoever searches them. */
  head: string;
  body: Buffer;
}

/** The answer, or why there is none: the code of an error. */
export type Outcome = Answer | { code: string; detail: string };

const patienceMs = 12_000;

/** @param localAddress the client's */
export function send(port: number, shot: Shot, localAddress = '127.0.0.1'): Promise<Outcome> {
  const { method, target, headers, body, chunks } = shot;
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  const framing = body && (chunks ? ['Transfer-Encoding', 'chunked'] : ['Content-Length', String(body.length)]);
  const sent = request({
    port,
    host: '127.0.0.1',
    localAddress,
    agent: false,
    method,
    path: toLatin(target),
    headers: [...headers, ...(framing ? [framing] : [])].flatMap(([name, value]) => [name ?? '', toLatin(value ?? '')]),
    signal: AbortSignal.timeout(shot.patienceMs ?? patienceMs),
  });
  const fail = (error: NodeJS.ErrnoException) => resolve({ code: error.code ?? error.name, detail: error.message });
  sent.on('error', fail);
  sent.on('response', (response) => {
    const parts: Buffer[] = [];
    response.on('error', fail);
    response.on('data', (part) => parts.push(part));
    response.on('end', () =>
      resolve({
        status: response.statusCode ?? 0,
        header: (name) => [response.headers[name] ?? []].flat().join(', ') || null,
        head: response.rawHeaders.join('\n'),
        body: Buffer.concat(parts),
      }),
    );
  });
  for (let at = 0, n = 0; body && chunks && at < body.length; n++) {
    const size = chunks[n % chunks.length] ?? body.length;
    sent.write(body.subarray(at, at + size));
    at += size;
  }
  sent.end(chunks ? undefined : body);
  return promise;
}

// As bytes, of which Node sends one for each letter.
function toLatin(content: Content): string {
  return (typeof content === 'string' ? Buffer.from(content) : content).toString('latin1');
}

// The port: what Node has to bound connections by. Slow senders and readers, floods and rubbish are the work of the reverse proxy in front
// of a public port (docs/operations/proxy.md).
import { createServer, type Server as HttpServer, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { getRequestListener, RequestError } from '@hono/node-server';
import type { Config } from '../config.ts';
import { networkOf } from '../guard/network.ts';
import { limitRate } from '../guard/rate.ts';
import { closesAfterAnswer, type ParserError, readRawLine } from './raw-line.ts';
import { answerError, type ErrorCode, PortalError } from './wire/portal-error.ts';

export type ServerSettings = Pick<
  Config,
  | 'maxConnections'
  | 'maxConnectionsPerNetwork'
  | 'connectionRate'
  | 'headersTimeoutSeconds'
  | 'requestTimeoutSeconds'
  | 'trustedHops'
>;

/** Bytes of a request's head. */
export const maxHeadBytes = 16 * 1024;
/** Requests on one connection, also those that are sent without waiting for the answers. */
export const maxRequests = 1000;
/** For the next request of a connection. Behind a proxy longer than that keeps it: a request must not meet its end. */
export const keepAliveMs = { direct: 5000, proxied: 150_000 };

/** Requests and connections that are refused before the app is asked; `geschlossen` without a word. */
type Refusal = ErrorCode | 'geschlossen';
const refusals = new Map<Refusal, number>(
  (['ueberlastet', 'ungueltige_anfrage', 'kopf_zu_gross', 'zu_langsam', 'methode_nicht_erlaubt', 'geschlossen'] as const).map(
    (code) => [code, 0],
  ),
);
const noteRefusal = (code: Refusal) => refusals.set(code, (refusals.get(code) ?? 0) + 1);

/** What was refused since the process began, by code. */
export const listRefusals = (): ReadonlyMap<Refusal, number> => refusals;

/** What node:http understands and this service answers. */
const allowedMethods = 'GET, HEAD, POST, PUT, DELETE, OPTIONS';
const reasons: Record<string, ErrorCode> = {
  HPE_HEADER_OVERFLOW: 'kopf_zu_gross',
  HPE_INVALID_METHOD: 'methode_nicht_erlaubt',
  ERR_HTTP_REQUEST_TIMEOUT: 'zu_langsam',
};

/** Opens the port and answers by `fetch`; fails as the port does. */
export function listen(
  fetch: Parameters<typeof getRequestListener>[0],
  hostname: string,
  port: number,
  settings: ServerSettings,
): Promise<HttpServer> {
  const answer = getRequestListener(fetch, { hostname, errorHandler: answerFault });
  const isDirect = settings.trustedHops === 0;
  const options = {
    headersTimeout: settings.headersTimeoutSeconds * 1000,
    requestTimeout: settings.requestTimeoutSeconds * 1000,
    keepAliveTimeout: isDirect ? keepAliveMs.direct : keepAliveMs.proxied,
    connectionsCheckingInterval: 1000,
    maxHeaderSize: maxHeadBytes,
    // The app refuses a missing Host in its own form.
    requireHostHeader: false,
  };
  const server = createServer(options, answer);
  server.maxConnections = settings.maxConnections;
  server.maxRequestsPerSocket = maxRequests;
  // Behind a proxy all connections are the proxy's.
  if (isDirect) boundNetworks(server, settings.maxConnectionsPerNetwork, settings.connectionRate);
  answerUnreadable(server);
  return new Promise((resolve, reject) => {
    server.on('error', reject);
    server.listen({ port, host: hostname }, () => resolve(server));
  });
}

// What makes no address together with its host, the adaptor would answer with an empty 400.
function answerFault(error: unknown): Response {
  const { status, headers, text } = refusalOf(error instanceof RequestError ? 'ungueltige_anfrage' : 'interner_fehler');
  return new Response(text, { status, headers });
}

function refusalOf(code: ErrorCode) {
  noteRefusal(code);
  const { status, headers, body } = answerError(new PortalError(code));
  const text = JSON.stringify(body);
  const about = { 'Content-Type': 'application/json; charset=utf-8', 'Content-Length': String(Buffer.byteLength(text)) };
  const allow = code === 'methode_nicht_erlaubt' ? { Allow: allowedMethods } : {};
  return { status, headers: { ...headers, ...about, ...allow, Connection: 'close' }, text };
}

/** Answers a connection on which no request was read, and closes it. */
function refuseConnection(socket: Duplex, code: ErrorCode, hasBody = true): void {
  const { status, headers, text } = refusalOf(code);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${hasBody ? text : ''}`, () => socket.destroy());
}

/** One network can't take all the connections there are, nor all the time by opening new ones. */
function boundNetworks(server: HttpServer, max: number, perSecond: number): void {
  const rate = limitRate(perSecond);
  const counts = new Map<string, number>();
  server.prependListener('connection', (socket) => {
    const network = networkOf(socket.remoteAddress ?? '');
    if (!rate.take(network)) {
      noteRefusal('geschlossen');
      socket.destroy();
      return;
    }
    const count = (counts.get(network) ?? 0) + 1;
    counts.set(network, count);
    socket.on('close', () => {
      const left = (counts.get(network) ?? 1) - 1;
      if (left > 0) counts.set(network, left);
      else counts.delete(network);
    });
    if (count > max) refuseConnection(socket, 'ueberlastet');
  });
}

/** What Node's parser refuses is answered in the interface's form; Node's own answers have no body. */
function answerUnreadable(server: HttpServer): void {
  const answering = new WeakMap<Duplex, ServerResponse>();
  server.prependListener('request', ({ socket }, response) => {
    if (closesAfterAnswer.has(socket)) response.shouldKeepAlive = false;
    answering.set(socket, response);
    response.on('close', () => answering.get(socket) === response && answering.delete(socket));
  });
  server.on('clientError', (error: ParserError, socket) => {
    const response = answering.get(socket);
    const isHead = response ? response.req.method === 'HEAD' : error.rawPacket?.indexOf('HEAD ') === 0;
    // Behind a request that is not answered yet, the reason would be taken for its answer.
    const isAnother = response && (response.headersSent || response.req.complete);
    if (!socket.writable || error.code === 'ECONNRESET' || isAnother) socket.destroy();
    else if (response || !readRawLine(server, socket, error))
      refuseConnection(socket, reasons[error.code ?? ''] ?? 'ungueltige_anfrage', !isHead);
  });
}

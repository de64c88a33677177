// The server and its connections: how many there are, how long they may take to send, and to be sent to.
import { createServer, type Server as HttpServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { getRequestListener, RequestError } from '@hono/node-server';
import type { Config } from '../config.ts';
import { networkOf, trustedEntry } from '../guard/network.ts';
import { limitRate, type Rate } from '../guard/rate.ts';
import { firstPatienceMs } from '../guard/request.ts';
import { noteArrival, runInTurn } from '../guard/turns.ts';
import { boundBody, stopReading } from './bodies.ts';
import { ReadingPace } from './reading.ts';
import { noteRefusal, refusalResponse, refuseConnection, refuseRequest } from './refusal.ts';
import { allowedMethods, breakOff, maxHeadBytes, maxHeaders, parsedHeadBytes, readUnreadable, UnderWay } from './unreadable.ts';

export type ServerSettings = Pick<
  Config,
  | 'maxConnections'
  | 'maxConnectionsPerNetwork'
  | 'connectionRate'
  | 'headersTimeoutSeconds'
  | 'requestTimeoutSeconds'
  | 'minSendRate'
  | 'trustedHops'
>;

// How often connections are looked at.
const checkMs = 1000;
// A reader that pauses is no attack.
export const graceMs = 10_000;
// For the next request of a connection.
export const keepAliveMs = 5000;
// For what Node adds to its own limits, which come first.
export const graceOfIdleMs = 2000;

/** Requests of a connection that wait, with the one that is answered; who pipelines more is told 503, and the connection closed. */
export const maxPipelined = 4;
// Connections that the system keeps until they are accepted: one that is dropped tries again after a second.
const backlog = 4096;

/** Opens the port and answers by `fetch`; fails as the port does. */
export function listen(
  fetch: Parameters<typeof getRequestListener>[0],
  hostname: string,
  port: number,
  settings: ServerSettings,
): Promise<HttpServer> {
  const rate = limitRate(settings.connectionRate);
  const underWay = new UnderWay();
  const pace = new ReadingPace();
  // What makes no address together with its host, the adaptor would answer with an empty 400.
  const answer = getRequestListener(fetch, {
    hostname,
    errorHandler: (error) => refusalResponse(error instanceof RequestError ? 'ungueltige_anfrage' : 'interner_fehler'),
  });
  const options = {
    headersTimeout: settings.headersTimeoutSeconds * 1000,
    requestTimeout: settings.requestTimeoutSeconds * 1000,
    keepAliveTimeout: keepAliveMs,
    connectionsCheckingInterval: checkMs,
    // Node's own answer to a missing Host would be written before anything here counts the request.
    requireHostHeader: false,
    maxHeaderSize: parsedHeadBytes,
  };
  const server = createServer(options, boundPipelines(takeTurns(answer, settings.trustedHops, rate), rate, underWay, pace));
  server.maxConnections = settings.maxConnections;
  // One more than is allowed, so that it is seen where node:http leaves out the rest without a word; newer ones refuse it themselves.
  server.maxHeadersCount = maxHeaders + 1;
  takeTunnelsAsRequests(server);
  readUnreadable(server, underWay, (socket) => pay(rate, socket, headTokens));
  // Behind a proxy all connections are the proxy's.
  const isDirect = settings.trustedHops === 0;
  if (isDirect) pace.watch(server);
  endIdlers(server, settings.minSendRate, underWay);
  if (isDirect) boundNetworks(server, settings.maxConnectionsPerNetwork, rate);
  // Of those too that are closed: behind them others wait to be let in.
  server.on('connection', noteArrival);
  countExpectations(server);
  return new Promise((resolve, reject) => {
    server.on('error', reject);
    server.listen({ port, host: hostname, backlog }, () => resolve(server));
  });
}

/** New connections that a flood of pipelined requests, or of tiny chunks, costs its network; and a head or trailer of more than is read. */
export const floodTokens = 250;
export const headTokens = 20;

/** Requests that had to wait for their turn → for how long, in milliseconds. */
const waits = new WeakMap<IncomingMessage, number>();

/** How long a request waited before it was begun. */
export const waitOf = (request: IncomingMessage) => waits.get(request) ?? 0;

// Nothing of a request is read before its network's turn: not even its address, which may be 16 kB long. Whoever leaves before it
// leaves the line, so that nothing of it is kept: their connection counts no more. It costs their network a new one.
function takeTurns(answer: RequestListener, trustedHops: number, rate: Rate): RequestListener {
  /** Connection → what of it waits. One listener for all: one for each would keep every request until the connection closes. */
  const waiting = new WeakMap<Socket, Set<() => boolean>>();
  const waitingOf = (socket: Socket, network: string) => {
    const known = waiting.get(socket);
    if (known) return known;
    const places = new Set<() => boolean>();
    waiting.set(socket, places);
    socket.on('close', () => {
      for (const leave of places) if (leave()) rate.owe(network, 1);
    });
    return places;
  };
  return (request, response) => {
    const { socket, headers } = request;
    // Several headers are joined to one text by the parser.
    const entry = trustedEntry(headers['x-forwarded-for'] as string | undefined, trustedHops);
    const network = networkOf(entry || socket.remoteAddress || '');
    let leave: (() => boolean) | null = null;
    const since = performance.now();
    const run = () => {
      if (leave) {
        waitingOf(socket, network).delete(leave);
        waits.set(request, performance.now() - since);
      }
      if (socket.destroyed) return;
      // One host, as HTTP/1.1 demands; of two, the app knows.
      if (headers.host === undefined && request.httpVersion === '1.1') return refuseRequest(response, 'ungueltige_anfrage');
      if (waitsToSend.has(request)) response.writeContinue();
      answer(request, response);
    };
    const giveUp = () => {
      if (leave) waitingOf(socket, network).delete(leave);
      // Connections are let in one by one: whoever had to open another one would wait for that longer than for its answer.
      refuseRequest(response, 'ueberlastet', !request.complete);
    };
    leave = runInTurn(network, run, { ms: firstPatienceMs, giveUp });
    if (leave) waitingOf(socket, network).add(leave);
  };
}

// Clients that ask before they send a body: told to go on when it is their turn. Left alone, Node answers each of them, and whoever
// expects something else, before it is counted.
const waitsToSend = new WeakSet<IncomingMessage>();
function countExpectations(server: HttpServer): void {
  server.on('checkContinue', (request, response) => {
    waitsToSend.add(request);
    server.emit('request', request, response);
  });
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
}

// Node hands over a connection on which CONNECT asks for a tunnel, and tells nobody any more when it closes: requests and answers before it, on
// which that closes, kept their places for ever. So it is a request like any other, and refused as such.
function takeTunnelsAsRequests(server: HttpServer): void {
  server.on('connection', (socket: Socket & { parser?: { onIncoming: OnIncoming } }) => {
    const { parser } = socket;
    if (!parser) return;
    const take = parser.onIncoming;
    parser.onIncoming = (request, keepsAlive) => {
      if (request.method === 'CONNECT') request.upgrade = false;
      return take(request, keepsAlive);
    };
  });
}
type OnIncoming = (request: IncomingMessage & { upgrade: boolean }, keepsAlive: boolean) => number;

// A chunk of 64 kB holds hundreds of requests. They are done one after the other; too many are refused before anything is done for them,
// far too many are not even answered, nor read to their end.
function boundPipelines(answer: RequestListener, rate: Rate, underWay: UnderWay, pace: ReadingPace): RequestListener {
  return (request, response) => {
    const { socket } = request;
    if (socket.destroyed) return;
    const before = underWay.lastOf(socket);
    const state = underWay.add(request, response);
    const payFlood = () => pay(rate, socket, floodTokens);
    if (state.requests > 2 * maxPipelined) {
      payFlood();
      stopReading(socket);
      return;
    }
    const endWell = () => {
      if (!isTooLarge(request.rawTrailers)) return true;
      pay(rate, socket, headTokens);
      breakOff(socket, state, 'kopf_zu_gross');
      return false;
    };
    boundBody(request, response, { state, pace, rate, onFlood: payFlood, endWell });
    if (isTooLarge(request.rawHeaders, request.url)) {
      pay(rate, socket, headTokens);
      // Nothing of it is kept while answers before it are waited for.
      Object.assign(request, { url: '', headers: {}, rawHeaders: [] });
      refuseRequest(response, 'kopf_zu_gross');
      return;
    }
    if (request.method === 'CONNECT') {
      response.setHeader('Allow', allowedMethods);
      refuseRequest(response, 'methode_nicht_erlaubt');
      return;
    }
    if (state.requests > maxPipelined) return refuseRequest(response, 'ueberlastet');
    // An answer may close the connection: what was done behind it would never be answered.
    const begin = () => {
      if (socket.writable) answer(request, response);
    };
    if (before) before.once('close', begin);
    else begin();
  };
}

// As the parser counts: without what stands between names and values.
function isTooLarge(fields: readonly string[], url = ''): boolean {
  let bytes = url.length;
  for (const text of fields) bytes += text.length;
  return bytes >= maxHeadBytes || fields.length > 2 * maxHeaders;
}

function pay(rate: Rate, socket: Duplex, tokens: number): void {
  rate.owe(networkOf((socket as Socket).remoteAddress ?? ''), tokens);
}

/**
 * One network can't take all the connections there are, nor all the time by opening new ones.
 * @param server whose own listeners to its connections are all there: those that are closed never get to them
 */
function boundNetworks(server: HttpServer, max: number, rate: Rate): void {
  const counts = new Map<string, number>();
  const listeners = server.listeners('connection');
  server.removeAllListeners('connection');
  server.on('connection', (socket) => {
    const network = networkOf(socket.remoteAddress ?? '');
    if (!rate.take(network)) {
      // Closing it with a word would cost what is to be spared.
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
    // Before the parser of requests sees anything of it.
    if (count > max) refuseConnection(socket, 'ueberlastet');
    for (const listener of listeners) listener.call(server, socket);
  });
}

/**
 * As much as the system takes of an answer before it is sent (Linux: tcp_wmem). It takes more only when a third of that has arrived: of an answer
 * that is made while it is read, which is never much at a time, nothing seems to arrive meanwhile.
 */
const systemBytes = 4 * 1024 * 1024;

// Whoever asks and doesn't read holds what was made for them in memory. What counts is what arrived, not what was sent once: a
// reader that takes a byte a second is as slow as one that takes none.
// Who asks for nothing more holds a connection. Node's limit of an idle one begins anew with each byte, also of the empty lines that
// may stand before a request, and its limit of a head begins behind them: with an empty line now and then it was kept for ever.
function endIdlers(server: HttpServer, minRate: number, underWay: UnderWay): void {
  /** Connection → what arrived, since when nothing more did, and when something was last left to send. */
  const sockets = new Map<Socket, { arrived: number; since: number; unsentAt: number }>();
  server.on('connection', (socket) => {
    sockets.set(socket, { arrived: 0, since: performance.now(), unsentAt: 0 });
    socket.on('close', () => sockets.delete(socket));
  });
  const timer = setInterval(() => {
    const now = performance.now();
    const idleMs = keepAliveMs + server.headersTimeout + graceOfIdleMs;
    for (const [socket, seen] of sockets) {
      const unsent = socket.writableLength;
      const arrived = socket.bytesWritten - unsent;
      if (unsent > 0) seen.unsentAt = now;
      if (unsent === 0 || arrived !== seen.arrived) Object.assign(seen, { arrived, since: now });
      else {
        const held = unsent + (underWay.isStreamed(socket) ? systemBytes : 0);
        if (now - seen.since > graceMs + (held / minRate) * 1000) socket.destroy();
      }
      if (now - Math.max(seen.unsentAt, underWay.idleSince(socket) ?? now) > idleMs) socket.destroy();
    }
  }, checkMs).unref();
  server.on('close', () => clearInterval(timer));
}

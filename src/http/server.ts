// The server and its connections: how many there are, how long they may take to send, and to be sent to.
import type { Server as HttpServer } from 'node:http';
import type { Socket } from 'node:net';
import { type ServerType, serve } from '@hono/node-server';
import type { Config } from '../config.ts';
import { networkOf } from '../guard/network.ts';
import { answerError, PortalError } from './errors.ts';

export type ServerSettings = Pick<
  Config,
  | 'maxConnections'
  | 'maxConnectionsPerNetwork'
  | 'headersTimeoutSeconds'
  | 'requestTimeoutSeconds'
  | 'minSendRate'
  | 'trustedHops'
>;

// How often connections are looked at.
const checkMs = 1000;
// A reader that pauses is no attack.
const graceMs = 10_000;

/** Opens the port and answers by `fetch`; fails as the port does. */
export function listen(
  fetch: Parameters<typeof serve>[0]['fetch'],
  hostname: string,
  port: number,
  settings: ServerSettings,
): Promise<ServerType> {
  return new Promise((resolve, reject) => {
    const serverOptions = {
      headersTimeout: settings.headersTimeoutSeconds * 1000,
      requestTimeout: settings.requestTimeoutSeconds * 1000,
      connectionsCheckingInterval: checkMs,
    };
    const server = serve({ fetch, hostname, port, serverOptions }, () => resolve(server)) as HttpServer;
    server.maxConnections = settings.maxConnections;
    // Behind a proxy all connections are the proxy's.
    if (settings.trustedHops === 0) boundNetworks(server, settings.maxConnectionsPerNetwork);
    endSlowReaders(server, settings.minSendRate);
    server.on('error', reject);
  });
}

// One network can't take all the connections there are.
function boundNetworks(server: HttpServer, max: number): void {
  const counts = new Map<string, number>();
  server.on('connection', (socket) => {
    const network = networkOf(socket.remoteAddress ?? '');
    const count = (counts.get(network) ?? 0) + 1;
    counts.set(network, count);
    socket.on('close', () => {
      const left = (counts.get(network) ?? 1) - 1;
      if (left > 0) counts.set(network, left);
      else counts.delete(network);
    });
    if (count > max) refuse(socket);
  });
}

// Before the parser of requests sees anything of it.
function refuse(socket: Socket): void {
  const { headers, body } = answerError(new PortalError('ueberlastet'));
  const text = JSON.stringify(body);
  const lines = [
    'HTTP/1.1 503 Service Unavailable',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(text)}`,
    'Connection: close',
  ];
  socket.end(`${lines.join('\r\n')}\r\n\r\n${text}`);
  socket.destroySoon();
}

// Whoever asks and doesn't read holds what was made for them in memory. What counts is what arrived, not what was sent once: a
// reader that takes a byte a second is as slow as one that takes none.
function endSlowReaders(server: HttpServer, minRate: number): void {
  const sockets = new Map<Socket, { arrived: number; since: number }>();
  server.on('connection', (socket) => {
    sockets.set(socket, { arrived: 0, since: performance.now() });
    socket.on('close', () => sockets.delete(socket));
  });
  const timer = setInterval(() => {
    const now = performance.now();
    for (const [socket, last] of sockets) {
      const unsent = socket.writableLength;
      const arrived = socket.bytesWritten - unsent;
      if (unsent === 0 || arrived !== last.arrived) sockets.set(socket, { arrived, since: now });
      else if (now - last.since > graceMs + (unsent / minRate) * 1000) socket.destroy();
    }
  }, checkMs).unref();
  server.on('close', () => clearInterval(timer));
}

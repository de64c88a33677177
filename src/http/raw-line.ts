// A request line in raw UTF-8, as curl, R and PHP send it (D6.2). Node's parser gives up at such a byte and has no setting for it: the line
// is escaped and the request read again, on a pair of streams inside the process, so that all other requests cost nothing.
import type { Server as HttpServer } from 'node:http';
import type { Socket } from 'node:net';
import { type Duplex, duplexPair } from 'node:stream';

/** What the parser says of what it can't read. */
export interface ParserError extends Error {
  code?: string;
  /** What was being read, with all that came with it. */
  rawPacket?: Buffer;
}

const start = /^(?:GET|HEAD|POST|PUT|DELETE|OPTIONS) \/[^ \n]+ HTTP\/1\.[01]\r?\n$/;
const isRaw = /[\x80-\xff]/;

/**
 * Reads a request again whose line the parser refused for bytes beyond ASCII.
 * @returns whether it does; else the connection has to be answered
 */
export function readRawLine(server: HttpServer, socket: Duplex, { code, rawPacket }: ParserError): boolean {
  if (code !== 'HPE_INVALID_URL' || !rawPacket) return false;
  // Empty lines may stand before it.
  const begin = rawPacket.findIndex((byte) => byte !== 13 && byte !== 10);
  const end = rawPacket.indexOf('\n', begin) + 1;
  const line = rawPacket.toString('latin1', begin, end);
  if (!start.test(line) || !isRaw.test(line)) return false;
  const escaped = line.replace(/[\x80-\xff]/g, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`);
  takeBack(socket);
  const inner = connectInside(server, socket as Socket);
  inner.write(Buffer.concat([Buffer.from(escaped, 'latin1'), rawPacket.subarray(end)]));
  socket.pipe(inner).pipe(socket);
  return true;
}

/** Connections inside: the first answer closes them, so that no line is read again on one of them. */
export const closesAfterAnswer = new WeakSet<Duplex>();

/** The end of a connection inside whose other end the server reads. */
function connectInside(server: HttpServer, socket: Socket): Duplex {
  const [inner, served] = duplexPair();
  // What node:http and this service ask of a connection beside its bytes.
  Object.defineProperties(served, {
    remoteAddress: { value: socket.remoteAddress },
    remotePort: { value: socket.remotePort },
    setTimeout: { value: () => served },
  });
  for (const stream of [inner, served]) stream.on('error', () => socket.destroy());
  served.on('close', () => inner.end());
  socket.on('close', () => {
    inner.destroy();
    served.destroy();
  });
  closesAfterAnswer.add(served);
  server.emit('connection', served);
  return inner;
}

// The parser must not be given what comes next, nor be asked how long it has waited. A listener for data takes the connection back from it.
function takeBack(socket: Duplex & { parser?: { remove(): void } | null }): void {
  socket.on('data', () => {});
  socket.parser?.remove();
  for (const event of ['data', 'end', 'timeout']) socket.removeAllListeners(event);
  socket.pause();
}

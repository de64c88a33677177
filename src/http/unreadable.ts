// What Node's parser can't read. A request line in raw UTF-8, as curl, R and PHP send it, is read as its percent-encoded form: on a
// connection of its own inside the process, so that all other requests cost nothing. Everything else is answered with the reason,
// in the interface's form.
import { type Server as HttpServer, type IncomingMessage, METHODS, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type Duplex, duplexPair } from 'node:stream';
import { refuseConnection } from './refusal.ts';
import type { ErrorCode } from './wire/errors.ts';

/** Fields of a request's head at most: each is made a text and compared with those before it, before anybody takes turns. */
export const maxHeaders = 100;
/** Bytes of a head, its address, names and values together, from which on it is refused; of a trailer too. */
export const maxHeadBytes = 16 * 1024;
/** Where the parser gives up: of what it refuses nobody knows the method, and who asked by HEAD must not be sent a body. */
export const parsedHeadBytes = 4 * maxHeadBytes;

/** What the parser says of what it can't read. */
interface ParserError extends Error {
  code?: string;
  /** What was being read, with all that came with it. */
  rawPacket?: Buffer;
  /** Where in it the parser gave up. */
  bytesParsed?: number;
}

/** What node:http adds to a connection. */
type Parsed = Duplex & {
  parser?: { remove(): void } | null;
  /** Whether it is not read until what was written is sent. */
  _paused?: boolean;
  _handle?: { reading: boolean; readStart(): void } | null;
};

/** What of a connection is under way: requests without the end of their answer, and what came of their bodies, in chunks or packets. */
export interface ConnectionState {
  requests: number;
  chunks: number;
  chunkBytes: number;
  /** Chunks and packets of all its bodies, those that are answered too. */
  chunksRead: number;
  /** The last of them: whose body is still coming, if any is. */
  last: { request: IncomingMessage; response: ServerResponse };
}

/** Requests of connections that are under way. */
export class UnderWay {
  readonly #states = new WeakMap<Duplex, ConnectionState>();
  readonly #waiting = new WeakMap<Duplex, () => void>();
  readonly #idle = new WeakMap<Duplex, number>();

  /** Counts a request until its answer has ended. */
  add(request: IncomingMessage, response: ServerResponse): ConnectionState {
    const { socket } = request;
    const last = { request, response };
    const state = this.#states.get(socket) ?? { requests: 0, chunks: 0, chunkBytes: 0, chunksRead: 0, last };
    this.#states.set(socket, state);
    state.last = last;
    state.requests++;
    const client = clientOf(socket);
    this.#idle.delete(client);
    response.on('close', () => {
      if (--state.requests > 0) return;
      this.#idle.set(client, performance.now());
      this.#waiting.get(socket)?.();
      this.#waiting.delete(socket);
    });
    return state;
  }

  /** Since when all that a client asked for is answered, by `performance.now()`; null before its first request and meanwhile. */
  idleSince(client: Duplex): number | null {
    return this.#idle.get(client) ?? null;
  }

  /** Whether what a connection is being answered with has no known end. */
  isStreamed(socket: Duplex): boolean {
    const { requests = 0, last } = this.#states.get(socket) ?? {};
    return requests > 0 && last !== undefined && last.response.headersSent && !last.response.hasHeader('content-length');
  }

  /** The answer that the next one of a connection has to wait for; null where all are given. */
  lastOf(socket: Duplex): ServerResponse | null {
    const { requests = 0, last } = this.#states.get(socket) ?? {};
    return requests > 0 && last ? last.response : null;
  }

  /** The state of a connection in the middle of a body; null otherwise. */
  inBody(socket: Duplex): ConnectionState | null {
    const state = this.#states.get(socket);
    return state && state.requests > 0 && !state.last.request.complete ? state : null;
  }

  /** Runs this when all that was asked before is answered. */
  whenNone(socket: Duplex, run: () => void): void {
    if ((this.#states.get(socket)?.requests ?? 0) === 0) run();
    else this.#waiting.set(socket, run);
  }
}

/** Connections inside → the client's. */
const clients = new WeakMap<Duplex, Socket>();

/** The client's connection, of one inside too. */
export const clientOf = (connection: Duplex): Duplex => clients.get(connection) ?? connection;

/**
 * Calls this when a client has what was written to a connection, or is gone: of those inside, all is written long before that.
 * @param connection of which everything is written
 */
export function whenSent(connection: Duplex, done: () => void): void {
  const client = clients.get(connection);
  if (!client?.writableNeedDrain || client.destroyed) {
    done();
    return;
  }
  const settle = () => {
    client.off('drain', settle);
    client.off('close', settle);
    done();
  };
  client.on('drain', settle);
  client.on('close', settle);
}

/**
 * Takes what the parser refuses.
 * @param server before anybody else listens to its connections: what it does with one is done again for those inside
 * @param onFlood is told of connections that sent more in a head or a trailer than is read of one
 */
export function readUnreadable(server: HttpServer, underWay: UnderWay, onFlood: (socket: Duplex) => void): void {
  const attend = server.listeners('connection');
  /** Client's connection → the pair that it is joined to now. */
  const pairs = new WeakMap<Socket, { joined: Duplex; served: Duplex }>();

  const readAgain = (client: Socket, bytes: Buffer) => {
    const [joined, served] = duplexPair();
    clients.set(served, client);
    // Every answer that is not sent yet listens to it.
    client.setMaxListeners(0);
    pairs.set(client, { joined, served });
    // What node:http and this service ask of a connection beside its bytes.
    Object.defineProperties(served, {
      remoteAddress: { value: client.remoteAddress },
      remotePort: { value: client.remotePort },
      setTimeout: { value: client.setTimeout.bind(client) },
    });
    for (const stream of [joined, served]) stream.on('error', () => {});
    served.on('close', () => {
      if (pairs.get(client)?.served === served) client.destroy();
    });
    for (const listener of attend) listener.call(server, served);
    joined.write(bytes);
    client.pipe(joined).pipe(client);
  };

  server.on('clientError', (error: ParserError, socket: Socket) => {
    if (socket.destroyed || error.code === 'ECONNRESET') {
      socket.destroy();
      return;
    }
    if (error.code === 'HPE_HEADER_OVERFLOW') onFlood(socket);
    const client = clients.get(socket) ?? socket;
    const broken = underWay.inBody(socket);
    if (broken) {
      breakOff(socket, broken, reasons[error.code ?? ''] ?? 'ungueltige_anfrage');
      return;
    }
    const line = findRawLine(error);
    // The parser has not counted what it did not read: before a line is escaped, it must be short enough.
    if (line && line.length > maxHeadBytes) error.code = 'HPE_HEADER_OVERFLOW';
    const bytes = line && line.length <= maxHeadBytes ? encodeLine(line) : null;
    // What comes until the answers before it are given must wait.
    takeBack(socket);
    const goOn = async () => {
      if (client.destroyed) return;
      if (bytes === null) {
        refuse(client, error);
        return;
      }
      client.setTimeout(0);
      const pair = pairs.get(client);
      if (!pair) {
        client.on('timeout', () => client.destroy());
        client.on('close', () => {
          const { joined, served } = pairs.get(client) ?? {};
          joined?.destroy();
          served?.destroy();
        });
        readAgain(client, bytes);
        return;
      }
      client.unpipe(pair.joined);
      pair.joined.unpipe(client);
      pairs.delete(client);
      pair.joined.end();
      // What came after it, as much as the buffers of a pair hold.
      const rest: Buffer[] = [];
      for await (const chunk of socket) rest.push(chunk as Buffer);
      // Nobody writes to it any more: left half open, it would be kept, with its parser.
      socket.destroy();
      if (!client.destroyed) readAgain(client, Buffer.concat([bytes, ...rest]));
    };
    // Not within the event that brought the bytes: of a pair, the other end is still writing them.
    // What fails on the way fails because the client has gone.
    setImmediate(() => underWay.whenNone(socket, () => void goOn().catch(() => client.destroy())));
  });
}

/** The line that the parser gave up on because of bytes beyond ASCII. */
interface RawLine {
  packet: Buffer;
  begin: number;
  /** Before the line break. */
  end: number;
  /** When they are escaped. */
  length: number;
}

// Null where there are none, or the line began in another packet.
function findRawLine({ code, rawPacket: packet, bytesParsed = 0 }: ParserError): RawLine | null {
  if (!packet || code !== 'HPE_INVALID_URL') return null;
  // Before it there may be a body, which need not end with a line.
  const before = packet.toString('latin1', packet.lastIndexOf('\n', Math.max(0, bytesParsed - 1)) + 1, bytesParsed);
  const [start] = /(?:GET|HEAD|POST|PUT|DELETE|OPTIONS|PATCH) \/[^ ]*$/.exec(before) ?? [];
  if (start === undefined) return null;
  const begin = bytesParsed - start.length;
  const end = packet.indexOf('\n', begin);
  if (end < 0) return null;
  let raw = 0;
  for (let i = begin; i < end; i++) if ((packet[i] as number) > 0x7f) raw++;
  return raw > 0 ? { packet, begin, end, length: end - begin + 2 * raw } : null;
}

// The packet from there, with the line escaped.
function encodeLine({ packet, begin, end }: RawLine): Buffer {
  const line = packet.toString('latin1', begin, end);
  const encoded = line.replace(/[\x80-\xff]/g, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`);
  return Buffer.concat([Buffer.from(encoded, 'latin1'), packet.subarray(end)]);
}

/** What node:http and this service understand. */
export const allowedMethods = 'GET, HEAD, POST, PUT, DELETE, OPTIONS';

const reasons: Record<string, ErrorCode> = {
  HPE_HEADER_OVERFLOW: 'kopf_zu_gross',
  HPE_INVALID_METHOD: 'methode_nicht_erlaubt',
  ERR_HTTP_REQUEST_TIMEOUT: 'zu_langsam',
};

// The parser must not be given what comes next, nor be asked how long it has waited; listening to this takes the connection back from it. Not
// to 'readable': a connection that nobody listens to in this way any more flows again, paused or not, and what came in the same moment
// was lost.
function takeBack(socket: Parsed): void {
  socket.on('data', () => {});
  socket.parser?.remove();
  for (const event of ['data', 'end', 'timeout']) socket.removeAllListeners(event);
  socket.pause();
  // Who sends an answer still listens to 'drain', and would have it flow.
  socket._paused = false;
  // Not read because of such an answer, or of what its network sent: nobody would begin to read again.
  if (!socket._handle || socket._handle.reading) return;
  socket._handle.reading = true;
  socket._handle.readStart();
}

/**
 * Closes a connection in the middle of a body, with an answer where none has begun.
 * @param socket that the body comes on, also one inside
 */
export function breakOff(socket: Duplex, { requests, last: { request, response } }: ConnectionState, reason: ErrorCode): void {
  const client = clientOf(socket) as Socket;
  // Whoever reads that body is told so by the end of the connection.
  if (requests === 1 && !response.headersSent) refuseConnection(client, reason, {}, request.method !== 'HEAD');
  else client.destroy();
}

function refuse(socket: Socket, { code = '', rawPacket, bytesParsed = 0 }: ParserError): void {
  // What is no HTTP at all has no method either.
  const begin = (rawPacket?.lastIndexOf('\n', Math.max(0, bytesParsed - 1)) ?? -1) + 1;
  const isHttp = /^[!-~]+ \S* HTTP\/1/.test(rawPacket?.toString('latin1', begin, begin + 1000) ?? '');
  const reason = code === 'HPE_INVALID_METHOD' && !isHttp ? undefined : reasons[code];
  const allow = reason === 'methode_nicht_erlaubt' ? { Allow: allowedMethods } : {};
  // What breaks off in a method is none of those.
  const isHead = code !== 'HPE_INVALID_METHOD' && rawPacket !== undefined && methodIn(rawPacket, bytesParsed) === 'HEAD';
  refuseConnection(socket, reason ?? 'ungueltige_anfrage', allow, !isHead);
}

// Of the last request that begins before there; null where its line came in another packet.
function methodIn(packet: Buffer, at: number): string | null {
  let end = packet.indexOf('\n', at);
  if (end < 0) end = packet.length;
  // Its own line, those fields that are made and the one that is too much.
  for (let lines = 0; end >= 0 && lines < maxHeaders + 4; lines++) {
    const begin = end === 0 ? 0 : packet.lastIndexOf('\n', end - 1) + 1;
    const word = packet.toString('latin1', begin, Math.min(end, begin + 20)).split(' ', 1)[0] as string;
    if (METHODS.includes(word)) return word;
    end = begin - 1;
  }
  return null;
}

// What the bodies of requests may cost before anybody reads them: pieces of a byte, and those that are broken off.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { networkOf } from '../guard/network.ts';
import type { Rate } from '../guard/rate.ts';
import type { ReadingPace } from './reading.ts';
import { type ConnectionState, clientOf } from './unreadable.ts';

// What of node:http stands between a connection and its requests; not part of its types.
interface Parser {
  onIncoming: (request: IncomingMessage & { upgrade: boolean }) => number;
  [event: number]: unknown;
  constructor: { kOnBody: number };
}
// What the parser takes for: this was the last request, an upgrade.
const nothingMore = 2;
/** How every parser hands over a body. */
let readBody: unknown = null;

/**
 * Closes a connection, and makes nothing of what has arrived on it. Closing alone does not end its parser, which would make objects of all
 * that is still in the chunk: 145 chunks of 64 kB kept everybody waiting for 14 s.
 */
export function stopReading(socket: Socket): void {
  const { parser } = socket as Socket & { parser?: Parser | null };
  if (parser) {
    const { kOnBody } = parser.constructor;
    readBody ??= parser[kOnBody];
    // Of a tunnel, Node would give the parser to somebody else at once.
    parser.onIncoming = (request) => {
      request.upgrade = false;
      return nothingMore;
    };
    parser[kOnBody] = null;
    // It goes back to a pool when the connection closes: that of a pair inside does so within this turn of the event loop. Left as it is, it
    // would lose the body of a stranger, and of all who get it after them.
    socket.once('close', () => {
      parser[kOnBody] = readBody;
    });
  }
  socket.destroy();
}

/**
 * Chunks or packets whatever their size, of all bodies of a connection under way, and the bytes that each further one must bring on average:
 * with 64, 140 connections that sent 80 MB a second kept others waiting for four seconds, with 256 for a quarter of one.
 */
export const freeChunks = 500;
export const minChunkBytes = 256;
/** The same of packets: each is a call of the system, of which there are never as many. */
export const minPacketBytes = 64;

/** Bytes that a chunk costs beside its own, of what is read of its network in a second: as short as they may be, 100 MB of them took all of it. */
export const chunkCost = 1024;
const chunksCounted = 64;

/**
 * New connections that a body costs its network whose sender leaves before its end and before an answer: by then its key was looked up and
 * a file begun. Five hundred a second, and thousands of connections that are closed, had a report with four photos take 5 s instead of 2.
 */
export const brokenTokens = 20;

/** Has a network pay for bodies whose senders leave before their end, where nothing was answered yet. */
function countBroken(request: IncomingMessage, response: ServerResponse, rate: Rate): void {
  // A connection that is closed has no address any more.
  const network = networkOf(request.socket.remoteAddress ?? '');
  response.on('close', () => {
    if (!request.complete && !response.writableEnded) rate.owe(network, brokenTokens);
  });
}

/** What a body is counted in. */
export interface BodyBounds {
  state: ConnectionState;
  pace: ReadingPace;
  rate: Rate;
  /** Is called before the connection is closed because of its many pieces. */
  onFlood(): void;
  /** Whether the body may end, of which everything has come; what it refuses is never read to its end. */
  endWell(): boolean;
}

/**
 * Counts what a body is made of: each chunk, and each packet of one that isn't in chunks, becomes a buffer of its own, also before anybody
 * reads it. A megabyte in pieces of a byte took a gigabyte.
 */
export function boundBody(request: IncomingMessage, response: ServerResponse, bounds: BodyBounds): void {
  const { state, pace, rate, onFlood, endWell } = bounds;
  const { socket, headers } = request;
  const isChunked = headers['transfer-encoding'] !== undefined;
  if (!isChunked && !(Number(headers['content-length']) > 0)) return;
  countBroken(request, response, rate);
  const client = clientOf(socket);
  const least = isChunked ? minChunkBytes : minPacketBytes;
  const push = request.push.bind(request);
  // Forgotten with its answer, or with its end where that comes later. Not when no request is left: whoever always has some behind each other
  // is never without any.
  const own = { chunks: 0, bytes: 0, isAnswered: false };
  const forget = () => {
    state.chunks -= own.chunks;
    state.chunkBytes -= own.bytes;
    Object.assign(own, { chunks: 0, bytes: 0 });
  };
  response.on('close', () => {
    own.isAnswered = true;
    forget();
  });
  request.push = (chunk: Buffer | null) => {
    if (socket.destroyed || (chunk === null && !endWell())) return false;
    if (chunk === null) {
      if (own.isAnswered) forget();
      return push(null);
    }
    state.chunksRead++;
    own.chunks++;
    own.bytes += chunk.length;
    state.chunkBytes += chunk.length;
    if (++state.chunks > freeChunks + state.chunkBytes / least) {
      onFlood();
      stopReading(socket);
      return false;
    }
    const goesOn = push(chunk);
    // A body that nobody takes at present is not read anyway.
    if (isChunked ? state.chunksRead % chunksCounted === 0 : goesOn) pace.look(client, isChunked ? chunksCounted * chunkCost : 0);
    return goesOn;
  };
}

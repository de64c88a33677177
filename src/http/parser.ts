// What of node:http stands between a connection and its requests, and is not part of its types: how it is told to make nothing more of what
// has arrived. Closing a connection alone does not end its parser, which would make objects of all that is still in the packet: 145 packets
// of 64 kB kept everybody waiting for 14 s.
import type { Duplex } from 'node:stream';

interface Parser {
  onIncoming: () => number;
  /** Takes it from those whose time is looked at. */
  remove(): void;
  [event: number]: unknown;
  constructor: { kOnBody: number };
}
type Parsed = Duplex & {
  parser?: Parser | null;
  /** Whether it is not read until what was written is sent. */
  _paused?: boolean;
  _handle?: { reading: boolean; readStart(): void } | null;
};

// What the parser takes for: this was the last request, an upgrade.
const nothingMore = 2;

/** Has no further request of a connection begun: behind an answer that closes it, none may be. */
export function takeNoMore({ parser }: Parsed): void {
  if (parser) parser.onIncoming = () => nothingMore;
}

/** The same, and nothing made of the body that is coming. */
export function readNoMore(socket: Parsed): void {
  takeNoMore(socket);
  const { parser } = socket;
  if (!parser) return;
  const { kOnBody } = parser.constructor;
  const onBody = parser[kOnBody];
  if (onBody === null) return;
  parser[kOnBody] = null;
  // It goes back to a pool then.
  socket.once('close', () => {
    parser[kOnBody] = onBody;
  });
}

/** Closes a connection, and makes nothing of what has arrived on it. */
export function stopReading(socket: Parsed): void {
  readNoMore(socket);
  socket.destroy();
}

/**
 * Takes a connection from its parser, which is given nothing that comes from now on, nor asked how long it has waited; what comes waits.
 * Not within what the parser calls while it reads.
 */
export function takeBack(socket: Parsed): void {
  // Listening to this takes the connection back. Not to 'readable': a connection that nobody listens to in this way any more flows again,
  // paused or not, and what came in the same moment was lost.
  socket.on('data', () => {});
  socket.parser?.remove();
  for (const event of ['data', 'end', 'timeout']) socket.removeAllListeners(event);
  socket.pause();
  // Who sends an answer still listens to 'drain', and would have it flow; and nobody would begin to read again.
  if (!socket._paused) return;
  socket._paused = false;
  if (!socket._handle) return;
  socket._handle.reading = true;
  socket._handle.readStart();
}

// How fast one network is read. Each turn of the event loop takes up to two megabytes from every connection that has them at hand, and
// lets in one new connection: 140 connections that sent as fast as they could, bodies that nobody wants or empty lines, kept new
// ones waiting for eight seconds.
import type { Server as HttpServer } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { networkOf } from '../guard/network.ts';
import { limitRate } from '../guard/rate.ts';

/** Bytes of a network that are read in a second, twice as many at first. */
export const readRate = 32 * 1024 * 1024;

// How often connections are looked at.
const tickMs = 50;
/** Bytes of a connection between two looks that are read whatever its network sends: heads of requests, small forms. */
const freeBytes = 4096;
// What a connection that is read again may bring in one turn of the event loop.
const turnBytes = 2 * 1024 * 1024;

interface Reading {
  network: string;
  bytes: number;
  /** Stops holding it; null while it is read. */
  release: (() => void) | null;
}

/** Connections and how much came on them. */
export class ReadingPace {
  readonly #rate = limitRate(readRate);
  readonly #readings = new Map<Socket, Reading>();
  /** Network → its connections that are not read, in the order in which they will be. */
  readonly #held = new Map<string, Set<Reading>>();

  /**
   * Reads connections no more whose network sent too much, until it is their turn again.
   * @param server whose own listener to its connections is there
   */
  watch(server: HttpServer): void {
    server.on('connection', (socket) => {
      const reading: Reading = { network: networkOf(socket.remoteAddress ?? ''), bytes: 0, release: null };
      this.#readings.set(socket, reading);
      socket.on('close', () => {
        this.#readings.delete(socket);
        this.#release(reading);
      });
      // Not at once: a stream that was told to flow begins to in a moment.
      if (this.#isInDebt(reading)) setImmediate(() => this.#hold(socket, reading));
    });
    const timer = setInterval(() => this.#lookAtAll(), tickMs).unref();
    server.on('close', () => clearInterval(timer));
  }

  /**
   * Counts what came on a connection, and reads it no more if that was too much: within a turn of the event loop, of which it has more
   * than its share.
   * @param extra what that costs as if so many bytes more had come
   */
  look(connection: Duplex, extra = 0): void {
    const socket = connection as Socket;
    const reading = this.#readings.get(socket);
    if (!reading) return;
    this.#rate.owe(reading.network, extra);
    if (this.#count(socket, reading) + extra > freeBytes && this.#isInDebt(reading)) this.#hold(socket, reading);
  }

  #lookAtAll(): void {
    const greedy: [Socket, Reading][] = [];
    for (const entry of this.#readings) if (this.#count(...entry) > freeBytes) greedy.push(entry);
    for (const [socket, reading] of greedy) if (this.#isInDebt(reading)) this.#hold(socket, reading);
    for (const [network, waiting] of this.#held) {
      let left = this.#rate.left(network);
      for (const reading of waiting) {
        if (left <= 0) break;
        this.#release(reading);
        left -= turnBytes;
      }
    }
  }

  #count(socket: Socket, reading: Reading): number {
    const bytes = socket.bytesRead - reading.bytes;
    if (bytes > 0) {
      reading.bytes += bytes;
      this.#rate.owe(reading.network, bytes);
    }
    return bytes;
  }

  #isInDebt({ network }: Reading): boolean {
    return this.#rate.left(network) <= 0;
  }

  #hold(socket: Socket, reading: Reading): void {
    if (reading.release || socket.destroyed) return;
    reading.release = holdReading(socket);
    const others = this.#held.get(reading.network);
    if (others) others.add(reading);
    else this.#held.set(reading.network, new Set([reading]));
  }

  #release(reading: Reading): void {
    reading.release?.();
    reading.release = null;
    const others = this.#held.get(reading.network);
    others?.delete(reading);
    if (others?.size === 0) this.#held.delete(reading.network);
  }
}

// The parser reads the system's handle by itself, but stops when the stream is paused. Whoever wants the next bytes meanwhile, the parser
// or a body, would go on with `resume`, and whoever wants them no more, with `pause`.
function holdReading(socket: Socket): () => void {
  let isWanted = !socket.isPaused();
  socket.pause();
  socket.resume = () => {
    isWanted = true;
    return socket;
  };
  socket.pause = () => {
    isWanted = false;
    return Socket.prototype.pause.call(socket);
  };
  return () => {
    Reflect.deleteProperty(socket, 'resume');
    Reflect.deleteProperty(socket, 'pause');
    if (isWanted && !socket.destroyed) socket.resume();
  };
}

// Sends a shot over a connection of its own and keeps what comes back. A socket instead of an HTTP client: a client would
// refuse to send most of what is tried here, and would mend what is wrong with the answers.
import { connect, type Socket } from 'node:net';
import { readAnswers } from './answer.ts';
import { type Giving, mustBeAnswered, type Shot } from './plan.ts';

export interface Outcome {
  shot: Shot;
  /** Begins and ends on the clock of `performance.now()`. */
  begin: number;
  end: number;
  received: Buffer;
  /** Who ended the connection and how; `answered`: everything expected had come. */
  by: 'answered' | 'closed' | 'reset' | 'refused' | 'given up' | 'too late';
}

const patienceMs = 12_000;
// Nobody knows whether more is to come: what the service has to say to broken bytes it says at once.
const brokenPatienceMs = 1000;
const silenceMs = 150;
const maxReceived = 16 * 1024 * 1024;

/** @param signal ends the exchange, at the end of the run */
export async function fire(port: number, shot: Shot, signal: AbortSignal, localAddress = '127.0.0.1'): Promise<Outcome> {
  const begin = performance.now();
  const chunks: Buffer[] = [];
  let size = 0;
  const { promise, resolve } = Promise.withResolvers<Outcome['by']>();
  const socket = connect({ port, host: '127.0.0.1', localAddress, allowHalfOpen: true });
  socket.setNoDelay(true);
  const abort = () => resolve('given up');
  signal.addEventListener('abort', abort);
  if (signal.aborted) abort();

  const patience = shot.patienceMs ?? (mustBeAnswered(shot) ? patienceMs : brokenPatienceMs);
  let timer = setTimeout(() => resolve('too late'), patience + durationOf(shot));
  let silence: NodeJS.Timeout | undefined;
  const isEnough = () => {
    if (shot.methods === null) return false;
    const { answers } = readAnswers(Buffer.concat(chunks), shot.methods, false);
    return answers.filter(({ status }) => status >= 200).length >= shot.methods.length;
  };
  socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code === 'ECONNREFUSED' ? 'refused' : 'reset'));
  socket.on('end', () => resolve('closed'));
  socket.on('close', () => resolve('closed'));
  socket.on('data', (chunk: Buffer) => {
    if (size < maxReceived) chunks.push(chunk);
    size += chunk.length;
    const { reads } = shot;
    if (reads && size >= reads.bytes) {
      socket.pause();
      timer = setTimeout(() => {
        giveUp(socket, reads.how);
        resolve('given up');
      }, reads.waitMs);
    } else if (shot.methods === null) {
      clearTimeout(silence);
      silence = setTimeout(() => resolve('given up'), silenceMs);
    } else if (!wantsClose(shot) && isEnough()) {
      resolve('answered');
    }
  });
  socket.on('connect', () => {
    send(socket, shot, () => resolve('given up')).catch(() => {});
  });

  const by = await promise;
  clearTimeout(timer);
  clearTimeout(silence);
  signal.removeEventListener('abort', abort);
  socket.destroy();
  return { shot, begin, end: performance.now(), received: Buffer.concat(chunks), by };
}

async function send(socket: Socket, shot: Shot, givenUp: () => void): Promise<void> {
  const bytes = shot.cut ? shot.bytes.subarray(0, shot.cut.at) : shot.bytes;
  const step = shot.pace?.bytes ?? 65_536;
  const closed = new Promise((resolve) => socket.once('close', resolve));
  for (let at = 0; at < bytes.length && !socket.destroyed; at += step) {
    const flushed = new Promise<void>((resolve) => socket.write(bytes.subarray(at, at + step), () => resolve()));
    // A service that stopped reading must not hold up the end of the exchange.
    await Promise.race([flushed, closed]);
    if (shot.pace) await new Promise((resolve) => setTimeout(resolve, shot.pace?.ms));
  }
  if (!shot.cut || socket.destroyed) return;
  giveUp(socket, shot.cut.how);
  if (shot.cut.how !== 'end') givenUp();
}

function giveUp(socket: Socket, how: Giving): void {
  if (how === 'end') socket.end();
  else if (how === 'destroy') socket.destroy();
  else socket.resetAndDestroy();
}

/** How long the sending alone takes. */
function durationOf({ bytes, pace }: Shot): number {
  return pace ? (bytes.length / pace.bytes) * pace.ms : 0;
}

function wantsClose({ bytes }: Shot): boolean {
  return /\r\nconnection: close\r\n/i.test(bytes.toString('latin1', 0, 20_000));
}

// Slow clients (S5.10): heads and bodies that come a byte at a time, answers that nobody reads.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { graceMs as receiveGraceMs } from '../../src/guard/pace.ts';
import { graceMs as sendGraceMs } from '../../src/http/server.ts';

export interface SlowSettings {
  /** Of each kind. */
  count: number;
  headersTimeoutSeconds: number;
  minSendRate: number;
}

export interface SlowKind {
  name: string;
  count: number;
  /** How long the last of them stayed, and may stay; Infinity: one was never closed. */
  longestSeconds: number;
  mustSeconds: number;
}

const host = 'Host: localhost\r\n';
const everyMs = 500;
// The service looks at its connections once a second; on busy cores a little later.
const slackSeconds = 3;
// What a network has not read is bounded, too.
const perNetwork = 8;

// Large enough that the system's own buffers, some megabytes, don't take all of it.
const large = '/api/v2/docs/swagger-ui-bundle.js';
// So many of a connection are answered.
const pipelined = 4;

/** Opens slow clients and waits until the service has closed them, or should have. */
export async function sufferSlowClients(port: number, settings: SlowSettings): Promise<SlowKind[]> {
  const bytes = await fetch(`http://127.0.0.1:${port}${large}`).then((answer) => answer.arrayBuffer());
  const kinds = [
    {
      name: 'heads a byte at a time',
      opening: `GET /api/v2/arten HTTP/1.1\r\n${host}X-Slow: `,
      drips: true,
      mustSeconds: settings.headersTimeoutSeconds + slackSeconds,
    },
    {
      name: 'bodies a byte at a time',
      opening: `POST /api/v2/login HTTP/1.1\r\n${host}Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 100000\r\n\r\n`,
      drips: true,
      mustSeconds: receiveGraceMs / 1000 + slackSeconds,
    },
    {
      name: 'answers that nobody reads',
      opening: `GET ${large} HTTP/1.1\r\n${host}\r\n`.repeat(pipelined),
      drips: false,
      mustSeconds: sendGraceMs / 1000 + (pipelined * bytes.byteLength) / settings.minSendRate + slackSeconds,
    },
  ];
  let opened = 0;
  return Promise.all(
    kinds.map(async ({ name, opening, drips, mustSeconds }) => {
      const durations = Array.from({ length: settings.count }, async () => {
        // Not all in the same moment: that would be a flood of connections, which is bounded elsewhere.
        await sleep(2 * opened++);
        return stay(port, opening, drips, mustSeconds);
      });
      return { name, count: settings.count, longestSeconds: Math.max(...(await Promise.all(durations))), mustSeconds };
    }),
  );
}

let connections = 0;

/** Seconds until the service closes a slow client; Infinity when it does not. */
async function stay(port: number, opening: string, drips: boolean, mustSeconds: number): Promise<number> {
  const localAddress = `127.3.${1 + Math.floor(connections / 250 / perNetwork)}.${1 + (Math.floor(connections++ / perNetwork) % 250)}`;
  const open = () => {
    const socket: Socket = connect({ port, host: '127.0.0.1', localAddress });
    socket.on('error', () => {});
    socket.write(opening);
    return socket;
  };
  const socket = drips ? open() : await openUntilAnswered(open);
  const begin = performance.now();
  const closed = once(socket, 'close').catch(() => {});
  if (drips) socket.resume();
  // Who reads nothing hears of the end when it sends: an empty line between two requests means nothing.
  const timer = setInterval(() => socket.write(drips ? 'a' : '\r\n'), everyMs);
  const late = new AbortController();
  const isClosed = await Promise.race([
    closed.then(() => true),
    sleep(2000 * mustSeconds, false, { signal: late.signal }).catch(() => false),
  ]);
  late.abort();
  clearInterval(timer);
  const seconds = (performance.now() - begin) / 1000;
  socket.destroy();
  return isClosed ? seconds : Number.POSITIVE_INFINITY;
}

/**
 * A client whose answer has begun, and who reads no more of it. As many at once are more than the service takes in a second: whoever was
 * refused has nothing left to read, and asks again.
 */
async function openUntilAnswered(open: () => Socket): Promise<Socket> {
  for (;;) {
    const socket = open();
    const first = await new Promise<Buffer | null>((resolve) => {
      socket.once('data', resolve);
      socket.once('close', () => resolve(null));
    });
    socket.pause();
    if (first?.toString('latin1', 0, 12) === 'HTTP/1.1 200') return socket;
    socket.destroy();
    await sleep(everyMs);
  }
}

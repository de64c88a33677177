// The end of the process: in order, and in any case.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from './observe/log.ts';

/** From the signal to the end, whatever hangs: supervisors lose patience after 30 seconds. */
export const longestMs = 25_000;
// Requests in flight may take this long after a signal.
const inFlightMs = 15_000;
// A signal that comes twice at once is one: a terminal gives it to every process of `npm start`, and npm hands it on.
const sameSignalMs = 500;
const signals = ['SIGTERM', 'SIGINT'] as const;
const parentMs = 500;
const parent = process.ppid;

export interface Stopping {
  log: Log;
  /** Goes on answering meanwhile, so that clients and proxies can go elsewhere. */
  drainMs: number;
  startedByNpm: boolean;
  /** Told at once that the process is about to end. */
  announce(): void;
  /** Begun at once: waits for what is under way besides requests, which are answered meanwhile. */
  finish(): Promise<void>;
  server: { close(done: () => void): unknown; closeIdleConnections?(): void };
  /** What is closed after the last request, in order. */
  closers: (() => Promise<unknown>)[];
}

/**
 * Ends the process at a signal while it starts; what is returned leaves that to others. The first process of a container hears no signal
 * that it has no handler for, and would be killed when its supervisor loses patience.
 */
export function endOnSignal(): () => void {
  const end = (_signal: NodeJS.Signals, number: number) => process.exit(128 + number);
  for (const signal of signals) process.on(signal, end);
  return () => {
    for (const signal of signals) process.off(signal, end);
  };
}

/**
 * Ends the process in order at the first SIGTERM or SIGINT, at once and with code 1 at the second, and with code 1 when it takes
 * longer than `longestMs`. Started by npm, it also ends when npm's shell does: npm 11 passes a signal to that shell alone.
 */
export function stopOnSignal({ log, drainMs, startedByNpm, announce, finish, server, closers }: Stopping): void {
  let firstAt: number | null = null;
  const stop = async (signal: string) => {
    firstAt = performance.now();
    announce();
    log.info({ signal }, 'stopping');
    setTimeout(() => {
      log.error({ seconds: longestMs / 1000 }, 'something hangs, ending without it');
      process.exit(1);
    }, longestMs).unref();
    // For a moment everything is still answered, with `Connection: close` and not ready: clients and proxies go elsewhere by
    // themselves, instead of finding a connection closed under a request.
    await Promise.all([sleep(drainMs), finish()]);
    // A kept-alive connection becomes idle when its last request is answered: only then it may be closed.
    const idle = setInterval(() => server.closeIdleConnections?.(), 50);
    await Promise.race([new Promise<void>((resolve) => server.close(resolve)), sleep(inFlightMs)]);
    clearInterval(idle);
    for (const close of closers) await close();
    process.exit(0);
  };
  for (const signal of signals) {
    process.on(signal, () => {
      if (firstAt === null) void stop(signal);
      else if (performance.now() - firstAt > sameSignalMs) {
        log.warn({ signal }, 'second signal, ending at once');
        process.exit(1);
      }
    });
  }
  if (!startedByNpm) return;
  setInterval(() => {
    if (process.ppid !== parent && firstAt === null) void stop('end of npm');
  }, parentMs).unref();
}

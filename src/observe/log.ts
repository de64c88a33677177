// The log: one JSON line per event. Never a query string, a header or a body: they hold tokens, passwords and places.
import { type Logger, pino } from 'pino';

/** What is told of a request. Nothing of it is as the client sent it, but the id, of which every character is harmless. */
export interface RequestLine {
  request: string;
  method: string;
  /** Template of the path. */
  route: string;
  status: number;
  milliseconds: number;
  /** Of the body, where there is one. */
  bytes: number | undefined;
}

export interface Log extends Logger {
  /** A line for a request, written some moments later, many at once. */
  noteRequest(level: 'error' | 'info' | 'debug', line: RequestLine): void;
}

/** Where lines go. */
export interface LogOutput {
  write(line: string): void;
  /** Takes a line that may be written some moments later, before the next one. */
  hold(line: string): void;
}

export interface LogOptions {
  /** Requests that were answered leave a line too, not only those that failed. */
  requests?: boolean;
  /** Where lines go; standard output without it. */
  output?: LogOutput;
}

/** @param currentRequest id of the request that a line is written for, if any */
export function createLog(
  level: string,
  currentRequest: () => string | undefined = () => undefined,
  { requests = true, output = openOutput() }: LogOptions = {},
): Log {
  const mixin = () => {
    const request = currentRequest();
    return request === undefined ? {} : { request };
  };
  const log = pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime, mixin }, output);
  const requestLog = pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    { write: (line) => output.hold(line) },
  );
  const noteRequest: Log['noteRequest'] = (of, { milliseconds, bytes, ...line }) => {
    if (requests || of === 'error') requestLog[of]({ ...line, ms: Math.round(milliseconds * 10) / 10, bytes }, 'request');
  };
  return Object.assign(log, { noteRequest });
}

// One write for some fifty lines: a write for each took longer than making it. Far less than the 64 kB that a pipe holds, so that nobody
// waits for whoever reads it.
const heldCharacters = 8 * 1024;
const heldMs = 500;

/**
 * Standard output, in the order in which lines came. pino's own output could hold lines too, but to write them at once it syncs a file
 * to its disk, and tries for ever where nobody reads.
 */
function openOutput(): LogOutput {
  let out: ReturnType<typeof pino.destination> | null = null;
  let held = '';
  let timer: NodeJS.Timeout | null = null;
  const flush = () => {
    if (timer) clearTimeout(timer);
    timer = null;
    const lines = held;
    held = '';
    if (lines !== '') out?.write(lines);
  };
  const take = (line: string) => {
    // Not before there is something to write: a process has many logs in tests.
    if (!out) {
      out = pino.destination({ dest: 1, sync: true });
      process.on('exit', flush);
    }
    held += line;
  };
  return {
    write(line) {
      take(line);
      flush();
    },
    hold(line) {
      take(line);
      if (held.length >= heldCharacters) flush();
      else timer ??= setTimeout(flush, heldMs).unref();
    },
  };
}

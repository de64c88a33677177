// The log: one JSON line per event. Never a query string, a header or a body: they hold tokens, passwords and places.
import { type DestinationStream, type Logger, pino } from 'pino';

export type Log = Logger;

/** What the line of a request says. These lines alone may be written some moments later, many at once. */
export const requestMessage = 'request';

// One write for some forty lines: a write for each took longer than making it.
const heldCharacters = 8 * 1024;
const heldMs = 500;

/**
 * @param currentRequest id of the request that a line is written for, if any
 * @param output where lines go; standard output without it
 */
export function createLog(
  level: string,
  currentRequest: () => string | undefined = () => undefined,
  output?: DestinationStream,
): Log {
  const mixin = () => {
    const request = currentRequest();
    return request === undefined ? {} : { request };
  };
  const options = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, mixin };
  return level === 'silent' ? pino(options) : pino(options, output ?? openOutput());
}

/**
 * Standard output, which holds lines of requests back for a moment, and never changes the order of lines. pino's own output could hold
 * them too, but to write them at once it syncs a file to its disk, and tries for ever where nobody reads.
 */
function openOutput() {
  const out = pino.destination({ dest: 1, sync: true });
  let held = '';
  let timer: NodeJS.Timeout | null = null;
  const flush = () => {
    if (timer) clearTimeout(timer);
    timer = null;
    if (held !== '') out.write(held);
    held = '';
  };
  process.on('exit', flush);
  return {
    // pino tells a stream that has this member of each line what it says.
    [pino.symbols.needsMetadataGsym]: true as const,
    lastLevel: 0,
    lastMsg: '',
    lastObj: {},
    lastTime: '',
    lastLogger: null as unknown as Logger,
    write(line: string) {
      held += line;
      if (this.lastMsg !== requestMessage || held.length >= heldCharacters) flush();
      else timer ??= setTimeout(flush, heldMs).unref();
    },
  };
}

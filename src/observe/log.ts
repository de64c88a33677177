// The log: one JSON line per event. Never a query string, a header or a body: they hold tokens, passwords and places.
import { type Logger, pino } from 'pino';

export type Log = Logger;

/** @param currentRequest id of the request that a line is written for, if any */
export function createLog(level: string, currentRequest: () => string | undefined = () => undefined): Log {
  const mixin = () => {
    const request = currentRequest();
    return request === undefined ? {} : { request };
  };
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime, mixin });
}

// The log: one JSON line per event. Never a query string, a header or a body: they hold tokens, passwords and places.
import { type Logger, pino } from 'pino';

export type Log = Logger;

export function createLog(level: string): Log {
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime });
}

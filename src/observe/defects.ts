// Errors that nobody waited for.
import { describeFault } from './fault.ts';
import type { Log } from './log.ts';

/**
 * Logs an error that was thrown where nobody waits for it, as the defect that it is, and lets the process go on: it ends the
 * request that it belongs to, not everybody's.
 * @param fail ends the request that the code which threw was running for, if there is one
 */
export function surviveDefects(log: Log, fail: (error: unknown) => void): void {
  const survive = (error: unknown) => {
    log.error(describeFault(error), 'defect: an error that nobody waited for');
    fail(error);
  };
  process.on('uncaughtException', survive);
  process.on('unhandledRejection', survive);
}

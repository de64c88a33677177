// Where those are read for who are not logged in: DATABASE_READ_URL, an address behind which the operator's engine chooses (P3.3).
import { sendCalls } from './admitted.ts';
import { codeOf, type Sql } from './connection.ts';

// A try to connect that fails takes the driver's pause: for so long nobody tries again.
const pauseMs = 1000;

// There is no connection, it broke, or the server starts or ends.
const isAway = (code: string) => /^(CONNECT|E[A-Z_]{4,}|08|57P0)/.test(code);
// A function is missing: a migration that the primary has acknowledged is not replayed yet.
const isBehind = (code: string) => code === '42883';

/**
 * The client for reading, whose calls are asked at the primary once where it is away: they change nothing, so they may be asked twice.
 * @param tell told what it failed of
 */
export function readFrom(reads: Sql, primary: Sql, tell: (error: unknown) => void): Sql {
  let awayUntil = 0;
  return sendCalls(reads, async (call) => {
    await null;
    if (performance.now() >= awayUntil)
      try {
        return await call(reads);
      } catch (error) {
        const code = codeOf(error) ?? '';
        if (isAway(code)) awayUntil = performance.now() + pauseMs;
        else if (!isBehind(code)) throw error;
        tell(error);
      }
    return call(primary);
  });
}

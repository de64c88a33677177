// A client whose calls wait for a free connection within bounds. The driver queues without limit: behind a few slow statements every
// request would hang.
import type { Limit } from '../guard/limit.ts';
import type { Sql } from './connection.ts';

/**
 * The same client, each of whose calls and transactions goes through `send`. They are plain promises that may be asked for `raw` bytes: no
 * fragments, no cursors.
 * @param send calls in the next microtask at the earliest: by then the caller has said that it wants bytes
 */
export function sendCalls(sql: Sql, send: (call: (client: Sql) => unknown) => object): Sql {
  return new Proxy(sql, {
    apply: (_target, _self, args: Parameters<Sql>) => {
      let isRaw = false;
      const answer = send((client) => (isRaw ? client(...args).raw() : client(...args)));
      return Object.assign(answer, {
        raw() {
          isRaw = true;
          return answer;
        },
      });
    },
    get: (target, name) =>
      name === 'begin'
        ? (...args: Parameters<Sql['begin']>) => send((client) => client.begin(...args))
        : Reflect.get(target, name),
  });
}

/**
 * The same client, whose calls and transactions are admitted by the limit.
 * @param runMs longest run of a call in milliseconds: the driver may wait for ever for a server that is cut off
 */
export function admitCalls(sql: Sql, limit: Limit, runMs: number): Sql {
  return sendCalls(sql, (call) => limit.run(() => withDeadline(call(sql), runMs, () => limit.refusal('no_answer'))));
}

/** The result; fails with another error after so many milliseconds, whatever becomes of it. */
function withDeadline(result: unknown, ms: number, giveUp: () => Error): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const timer = setTimeout(() => reject(giveUp()), ms);
  const end = (settle: (value: unknown) => void) => (value: unknown) => {
    clearTimeout(timer);
    settle(value);
  };
  Promise.resolve(result).then(end(resolve), end(reject));
  return promise;
}

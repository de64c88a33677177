// Calls of the database's client, before they are sent: they wait for others, or go elsewhere.

/** Of postgres.js' client, what requests use. */
export interface Client {
  // biome-ignore lint/suspicious/noExplicitAny: passed through as it is
  (...args: any[]): unknown;
  // biome-ignore lint/suspicious/noExplicitAny: passed through as it is
  begin(...args: any[]): unknown;
}

/**
 * The same client, whose calls and transactions are sent by `send`. They are plain promises that may be asked for `raw` bytes: no
 * fragments, no cursors.
 * @param send is handed what sends the call by the client that it is given. It must not do so before the next microtask: by then the
 *   caller had its turn to say that it wants bytes
 */
export function wrapCalls<C extends Client>(client: C, send: (call: (chosen: C) => unknown) => Promise<unknown>): C {
  return new Proxy(client, {
    apply: (_target, _self, args) => {
      let isRaw = false;
      const answer = send((chosen) => (isRaw ? (chosen(...args) as { raw(): unknown }).raw() : chosen(...args)));
      return Object.assign(answer, {
        raw() {
          isRaw = true;
          return answer;
        },
      });
    },
    get: (target, name) =>
      name === 'begin' ? (...args: unknown[]) => send((chosen) => chosen.begin(...args)) : Reflect.get(target, name),
  });
}

/** The result; fails with another error after so many milliseconds, whatever becomes of it. */
export function withDeadline(result: unknown, ms: number, giveUp: () => Error): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const timer = setTimeout(() => reject(giveUp()), ms);
  const end = (settle: (value: unknown) => void) => (value: unknown) => {
    clearTimeout(timer);
    settle(value);
  };
  Promise.resolve(result).then(end(resolve), end(reject));
  return promise;
}

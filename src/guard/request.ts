// Who a piece of work is done for, wherever it has got to: shares of what is scarce are counted by it, and an error that nobody
// waited for ends the request that it belongs to.
import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';

const accountPrefix = 'account ';
/** Whether one of a request's owners is the account that asks. */
export const isAccount = (owner: string) => owner.startsWith(accountPrefix);

/** What a client may call its request: it gets into the log and into a header of the answer. */
export const maxRequestIdLength = 64;
const isRequestId = (text: string) => text.length <= maxRequestIdLength && /^[A-Za-z0-9._-]+$/.test(text);

/** The request that is being answered. */
export class RequestScope {
  /** Names the request in the log and to whoever asked. */
  readonly id: string;
  /** Network of the client: one network doesn't get everything. */
  readonly network: string;
  /** Whose shares it takes from: its network's, and its account's once that is known, which may ask from many networks. */
  owners: readonly string[];
  /** The account that asks; null for nobody, or before it is known. */
  account: number | null = null;
  /** Of the body that is answered with, where there is one. */
  bytes?: number;
  readonly #reject: (reason: Error) => void;
  #incoming: IncomingMessage | null = null;
  #outgoing: ServerResponse | null = null;
  #isRead = false;

  constructor(network: string, id: string | undefined, reject: (reason: Error) => void) {
    this.id = id !== undefined && isRequestId(id) ? id : randomUUID();
    this.network = network;
    this.owners = [`network ${network}`];
    this.#reject = reject;
  }

  /** Tells which account asks. */
  identify(account: number): void {
    this.account = account;
    // A new list: what runs goes on holding what it took.
    this.owners = [`network ${this.network}`, `${accountPrefix}${account}`];
  }

  /**
   * What the request came on. As members: closures over them made V8 keep whole requests until it looked through all memory, which cost a
   * tenth to a quarter of a request, and 100 MB.
   * @param isRead nothing but the answer was asked for
   */
  connect(incoming: IncomingMessage, outgoing: ServerResponse, isRead: boolean): void {
    this.#incoming = incoming;
    this.#outgoing = outgoing;
    this.#isRead = isRead;
  }

  /** Forgets it, when the request is answered: what still streams then asks the connection itself. */
  disconnect(): void {
    this.#incoming = null;
    this.#outgoing = null;
  }

  /** Whether whoever asked has gone, whatever was asked for. */
  hasLeft(): boolean {
    return this.#incoming?.socket.destroyed === true && !this.#outgoing?.writableFinished;
  }

  /** Whether whoever asked has gone, and nothing but the answer was asked for. */
  isGone(): boolean {
    return this.#isRead && this.hasLeft();
  }

  /** Ends the request with an error that was thrown where nobody waited for it. */
  fail(error: unknown): void {
    this.#reject(error instanceof Error ? error : new Error('something was thrown that is no error'));
  }
}

const scopes = new AsyncLocalStorage<RequestScope>();

/**
 * Runs what answers a request.
 * @param id what the client calls it; what can't be used is replaced
 * @returns its result; fails as soon as an error is thrown anywhere in it
 */
export function runInScope<T>(network: string, run: (scope: RequestScope) => Promise<T>, id?: string): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const scope = new RequestScope(network, id, reject);
  scopes.run(scope, () => void run(scope).then(resolve, reject));
  return promise;
}

/** Runs what is done for everybody, whoever happened to need it first: its errors and its waiting are not that request's. */
export function runOutsideScope<T>(run: () => T): T {
  return scopes.exit(run);
}

/** The request that the code which asks is running for; undefined for work of the service itself. */
export function currentScope(): RequestScope | undefined {
  return scopes.getStore();
}

// Who a piece of work is done for, wherever it has got to: shares of what is scarce are counted by it, and an error that nobody
// waited for ends the request that it belongs to.
import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';

/** The request that is being answered. */
export interface RequestScope {
  /** Names the request in the log and to whoever asked. */
  readonly id: string;
  /** Of the body that is answered with, where there is one. */
  bytes?: number;
  /** Has it begun earlier, by milliseconds: it waited for its turn. */
  startEarlier(ms: number): void;
  /** Takes milliseconds out of its age that are not what others ask for: its client's, or a photo's. */
  leaveOut(ms: number): void;
  /** Goes on for long from now on, as an archive whose beginning is sent, or a wait for news: it waits for each thing anew. */
  goOn(): void;
  /**
   * For how long it has been under way, in milliseconds: who takes several turns is refused as soon as who takes one (S5.3). 0 once it
   * goes on, or has for long, as an upload.
   */
  age(): number;
  /** Network of the client: one network doesn't get everything. */
  readonly network: string;
  /** Whose shares it takes from: its network's, and its account's once that is known, which may ask from many networks. */
  readonly owners: readonly string[];
  /** The account that asks; null for nobody, or before it is known. */
  readonly account: number | null;
  /** Tells which account asks. */
  identify(account: number): void;
  /** Takes from this one's shares too: who is asked for, before it is known who asks. */
  countFor(owner: string): void;
  /** Counts bytes of the answer, which are held until the client has read them; fails when its network holds too many. */
  hold(bytes: number): void;
  /** Whether whoever asked has gone, and nothing but the answer was asked for. */
  isGone(): boolean;
  /** Whether whoever asked has gone, whatever was asked for. */
  hasLeft(): boolean;
  /** Ends the request with an error that was thrown where nobody waited for it. */
  fail(error: unknown): void;
}

/** Age at which a request that still has to wait for something is refused, in milliseconds. */
export const patienceMs = 1500;
/**
 * Age at which one is refused that nothing was done for yet: begun later, it would be refused at the next thing that it waits for, after
 * others have worked for it.
 */
export const firstPatienceMs = 1000;
// Of a request that is no usual one.
const longMs = 5000;

const holdNothing = () => {};
const stays = () => false;

const networkPrefix = 'network ';
/** A network, as one of a request's owners. */
export const networkOwner = (network: string) => `${networkPrefix}${network}`;
const accountPrefix = 'account ';
/** Whether one of a request's owners is the account that asks: nobody else can name it. */
export const isAccount = (owner: string) => owner.startsWith(accountPrefix);
/** Whether one of a request's owners is only asked for, which everybody can do. */
export const isNamed = (owner: string) => !isAccount(owner) && !owner.startsWith(networkPrefix);

/** What a client may call its request: it gets into the log and into a header of the answer. */
export const maxRequestIdLength = 64;
const isRequestId = (text: string) => text.length <= maxRequestIdLength && /^[A-Za-z0-9._-]+$/.test(text);

// A class: an object with a getter of its own has a shape of its own, and a shape for each request made all of them a tenth slower.
class Scope implements RequestScope {
  owners: readonly string[];
  account: number | null = null;
  hold: RequestScope['hold'] = holdNothing;
  isGone: RequestScope['isGone'] = stays;
  hasLeft: RequestScope['hasLeft'] = stays;
  bytes?: number;
  #begunAt = performance.now();
  #leftOutMs = 0;
  #goesOn = false;
  readonly id: string;
  readonly network: string;
  readonly #reject: (reason: Error) => void;

  constructor(network: string, id: string | undefined, reject: (reason: Error) => void) {
    this.id = id !== undefined && isRequestId(id) ? id : randomUUID();
    this.network = network;
    this.owners = [networkOwner(network)];
    this.#reject = reject;
  }

  identify(account: number): void {
    this.account = account;
    // A new list: what runs goes on holding what it took.
    this.owners = [networkOwner(this.network), `${accountPrefix}${account}`];
  }

  countFor(owner: string): void {
    this.owners = [...this.owners, owner];
  }

  startEarlier(ms: number): void {
    this.#begunAt -= ms;
  }

  leaveOut(ms: number): void {
    this.#leftOutMs += ms;
  }

  goOn(): void {
    this.#goesOn = true;
  }

  age(): number {
    const ms = performance.now() - this.#begunAt;
    return this.#goesOn || ms > longMs ? 0 : ms - this.#leftOutMs;
  }

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
  const scope = new Scope(network, id, reject);
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

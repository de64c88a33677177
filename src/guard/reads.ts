// Reads of everybody's: which server answers them (P3.3).
import { type Client, wrapCalls } from './calls.ts';
import { currentScope, type RequestScope } from './request.ts';

/** A server that may be read in the primary's place. */
export interface ReadServer<C> {
  readonly name: string;
  readonly client: C;
  /** Whether it may be read at present. */
  mayRead(): boolean;
  /** When it last said anything of itself, by performance.now(): it is asked all the time. */
  heardAt(): number;
}

export interface ReadServers<C> {
  readonly all: readonly ReadServer<C>[];
  /** Whether the primary does not answer. */
  isPrimaryAway(): boolean;
}

/** How many statements of requests each server answered since the process began; the primary under that name. */
export type ReadCounts = ReadonlyMap<string, number>;

class SilentError extends Error {}

export interface ReadWays<C> {
  reads: C;
  counts: ReadCounts;
  /** Whether what this request read came from several servers: the version of one says nothing of a body of another, which may be older. */
  isMixed(): boolean;
  /** Another client of the primary, whose answers count as another server's. */
  apart(client: C): C;
}

interface Place<C> {
  /** Null: the primary. */
  server: Running<C> | null;
  /** What comes next must not be older. */
  hasRead: boolean;
  /** Servers that failed it. */
  failed: Set<Running<C>>;
  /** Its answers come from several servers. */
  isMixed: boolean;
}

interface Running<C> {
  readonly of: ReadServer<C>;
  running: number;
  /** When it last answered a read. */
  answeredAt: number;
}

/** A server that was not heard of for so long hangs, in milliseconds: what waits there goes on elsewhere, with time left for it. */
export const silentMs = 800;

// The connection is lost or can't be made, or the server ends.
const isLost = (code: string) =>
  /^(CONNECTION_(CLOSED|ENDED|DESTROYED)|CONNECT_TIMEOUT|EAI_AGAIN|E[A-Z]{4,}|08...|57P0.)$/.test(code);
// Or it was in the way of what it replays, has no connection, memory or disk left, can't do that while it replays, lacks a function, or is
// broken; or it knows no such place in the feed.
const isFailure = (code: string) => isLost(code) || /^((40|53|58|XX)...|25006|55P03|42883|NEUBE|VERLF)$/.test(code);
// There is no such record or tenant: the primary may have it since a moment ago.
const isUnknown = /^(NFUND|MANUN)$/;

/**
 * The primary's client, whose calls go to other servers where they may: those of requests that nobody is logged in with. A request stays
 * with one server, so that its answer is never older than its version. It goes on at the primary as soon as that server fails it; where
 * nothing was read yet, at another while the primary is away, and when it turns out to be so.
 */
export function readFrom<C extends Client>(primary: C, { all, isPrimaryAway }: ReadServers<C>): ReadWays<C> {
  const servers = all.map((of): Running<C> => ({ of, running: 0, answeredAt: 0 }));
  const places = new WeakMap<RequestScope, Place<C>>();
  const counts = new Map([['primary', 0], ...all.map(({ name }): [string, number] => [name, 0])]);

  const isSilent = ({ of, answeredAt }: Running<C>) => performance.now() - Math.max(of.heardAt(), answeredAt) > silentMs;
  // Its answer, unless it hangs: then nobody waits for it any more.
  const ask = async (server: Running<C>, answer: unknown): Promise<unknown> => {
    const { promise: silence, reject } = Promise.withResolvers<never>();
    const look = () => {
      if (isSilent(server)) reject(new SilentError());
      else timer = setTimeout(look, silentMs / 4);
    };
    let timer = setTimeout(look, silentMs / 4);
    try {
      return await Promise.race([answer, silence]);
    } finally {
      clearTimeout(timer);
    }
  };
  const choose = (except?: ReadonlySet<Running<C>>): Running<C> | null => {
    let chosen: Running<C> | null = null;
    // Of servers that have as much to do, each in its turn.
    servers.push(...servers.splice(0, 1));
    for (const server of servers)
      if (
        !except?.has(server) &&
        server.of.mayRead() &&
        !isSilent(server) &&
        server.running < (chosen?.running ?? Number.POSITIVE_INFINITY)
      )
        chosen = server;
    return chosen;
  };
  const placeOf = (scope: RequestScope | undefined): Place<C> => {
    const at = (server: Running<C> | null, hasRead = false): Place<C> => ({ server, hasRead, failed: new Set(), isMixed: false });
    // What the service itself reads for everybody.
    if (!scope) return at(isPrimaryAway() ? choose() : null);
    if (scope.account !== null) return at(null, true);
    let place = places.get(scope);
    if (!place) {
      place = at(choose());
      places.set(scope, place);
    }
    return place;
  };
  // Chooses where a request goes on that a server failed; false where nowhere, and it has to be told of it.
  const goOn = (place: Place<C>, server: Running<C> | null, error: unknown): boolean => {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (!server) {
      if (!isLost(code) || place.hasRead) return false;
    } else if (!(isFailure(code) || error instanceof SilentError || (isUnknown.test(code) && !isPrimaryAway()))) return false;
    // Another call of the request may have gone elsewhere already.
    if (place.server !== server) return true;
    if (server) place.failed.add(server);
    if (place.hasRead) place.isMixed = true;
    const mayChoose = !place.hasRead && (server === null || isPrimaryAway());
    place.server = mayChoose ? choose(place.failed) : null;
    return server !== null || place.server !== null;
  };

  const send = async (call: (chosen: C) => unknown): Promise<unknown> => {
    const scope = currentScope();
    const place = placeOf(scope);
    const count = (name: string) => scope && counts.set(name, (counts.get(name) ?? 0) + 1);
    // Later than the next microtask: see wrapCalls.
    await null;
    for (;;) {
      const { server } = place;
      if (server) server.running++;
      try {
        if (!server) count('primary');
        const answer = await (server ? ask(server, call(server.of.client)) : call(primary));
        place.hasRead = true;
        if (!server) return answer;
        server.answeredAt = performance.now();
        if (place.server !== server) place.isMixed = true;
        count(server.of.name);
        return answer;
      } catch (error) {
        if (!goOn(place, server, error)) throw error;
      } finally {
        if (server) server.running--;
      }
    }
  };
  const isMixed = () => {
    const scope = currentScope();
    return scope !== undefined && places.get(scope)?.isMixed === true;
  };
  const apart = (client: C) =>
    wrapCalls(client, async (call) => {
      const scope = currentScope();
      const place = scope && places.get(scope);
      if (place?.server) place.isMixed = true;
      await null;
      return call(client);
    });
  return { reads: wrapCalls(primary, send), counts, isMixed, apart };
}

// The servers that may be the primary: which of them it is at present, and connections to it (P3.4).
import { Duplex } from 'node:stream';
import type { Route, Sql } from './connection.ts';
import { listServers, readServerState, readTarget, Server, type ServerState, type Watch, watchServer } from './server.ts';

/** What the primary last said of itself, and when it was asked (performance.now()). */
export interface PrimaryState extends ServerState {
  askedAt: number;
}

/** Whether an address asks for the primary, or for nothing in particular. */
export const isForPrimary = (url: string) => [null, 'primary', 'read-write'].includes(readTarget(url));

/** Is asked of the primary too, each time. Never fails. */
export type AskPrimary = (state: PrimaryState, sql: Sql) => Promise<void>;

// Longer than any statement of a request may take.
const silentMs = 30_000;

interface Host {
  server: Server;
  /** Null while it does not answer. */
  state: ServerState | null;
  /** Since when it does not; null while it does. */
  silentSince: number | null;
  /** Why it does not let this role in, where that is so. */
  refusal: Error | null;
}

// The role, its password or its right to the database (classes of PostgreSQL), or that there is no such database.
const isRefusal = (fault: unknown): fault is Error =>
  fault instanceof Error && 'code' in fault && /^(28...|3D000|42501)$/.test(String(fault.code));

/** Follows the primary among several servers. */
export class Hosts {
  /** To the primary. Of one of them come account and database, which they have in common. */
  readonly route: Route;
  readonly #hosts: readonly Host[];
  readonly #watches: readonly Watch[];
  readonly #asked: AskPrimary[] = [];
  #primary: Host | null = null;
  // A former primary that comes back as it was has a lower one: what were written there, the others would never see.
  #timeline = 0;

  /** @param isPooled whether the address is that of poolers, which know no settings */
  constructor(url: string, isPooled: boolean) {
    const urls = listServers(url);
    this.route = { url: urls[0] ?? url, socket: () => this.#open() };
    this.#hosts = urls.map((each) => ({ server: new Server(each), state: null, silentSince: null, refusal: null }));
    this.#watches = this.#hosts.map((host, index) =>
      watchServer(
        urls[index] ?? url,
        isPooled,
        (sql) => this.#ask(host, sql),
        (state, fault) => {
          host.state = state;
          host.refusal = isRefusal(fault) ? fault : null;
          host.silentSince = state ? null : (host.silentSince ?? performance.now());
          // Whoever waited there was given up long ago; what they asked must not pile up.
          if (host.silentSince !== null && performance.now() - host.silentSince > silentMs) host.server.cut();
        },
      ),
    );
  }

  /** Whether no primary answers. */
  get isAway(): boolean {
    return !this.#primary?.state;
  }

  /** The way to the primary for the programs of PostgreSQL: their environment variables. */
  get variables(): Record<string, string> {
    const servers = this.#hosts.filter((host) => !this.#primary || host === this.#primary).map(({ server }) => server);
    return {
      PGHOST: servers.map(({ host }) => host).join(),
      PGPORT: servers.map(({ port }) => port).join(),
      PGTARGETSESSIONATTRS: 'primary',
    };
  }

  askToo(ask: AskPrimary): void {
    this.#asked.push(ask);
  }

  async close(): Promise<void> {
    await Promise.all(this.#watches.map((watch) => watch.close()));
  }

  // A connection that is being made. Where there is no primary, it breaks.
  async #open(): Promise<Duplex> {
    await Promise.all(this.#watches.map(({ first }) => first));
    if (this.#primary) return this.#primary.server.open();
    // Whoever starts is told why. Later there was a primary, and it is away.
    const refused = this.#timeline === 0 ? this.#hosts.find(({ refusal }) => refusal) : undefined;
    return refuse(refused?.refusal ?? noPrimary());
  }

  async #ask(host: Host, sql: Sql): Promise<ServerState> {
    const askedAt = performance.now();
    const state = await readServerState(sql);
    this.#choose(host, state);
    if (host === this.#primary) for (const ask of this.#asked) await ask({ ...state, askedAt }, sql);
    return state;
  }

  // Whoever does not answer stays the primary until there is another: it may only be slow, and what is under way there goes on.
  #choose(host: Host, state: ServerState): void {
    const former = this.#primary;
    if (host === former && !state.isPrimary) {
      this.#primary = null;
      host.server.cut();
    }
    if (!state.isPrimary || state.timeline < this.#timeline) return;
    // Of two alike, the one that is there.
    if (former?.state && host !== former && state.timeline === this.#timeline) return;
    this.#primary = host;
    this.#timeline = state.timeline;
    if (host !== former) former?.server.cut();
  }
}

const noPrimary = () => Object.assign(new Error('there is no primary'), { code: 'ECONNREFUSED' });

// The driver waits for the socket itself to say that it is none.
function refuse(reason: Error): Duplex {
  const fail = (done: (error: Error) => void) => setImmediate(() => done(reason));
  return new Duplex({ read() {}, write: (_chunk, _encoding, done) => fail(done) });
}

// One server of several: connections to it that can be cut, and what it says of itself.
import { promises as dns, type LookupAddress } from 'node:dns';
import { isIP, type LookupFunction, Socket } from 'node:net';
import { type ConnectOptions, DatabaseError, openClient, type Sql } from './connection.ts';

/**
 * Several servers in one address, as libpq has them, are one address each; without what says which of them is meant.
 * @throws DatabaseError where one is none, or its sslmode can't be kept
 */
export function listServers(url: string): string[] {
  const { before, hosts, after } = splitAddress(url);
  return hosts.map((host) => {
    const address = `${before}${host}${after}`;
    // One server may go without its name, as with libpq.
    if ((host === '' && hosts.length > 1) || !isReadable(address))
      // Not repeated: a password stands in it.
      throw new DatabaseError(
        'Die Adresse eines Datenbankservers ist nicht lesbar; erlaubt ist postgres://Konto:Passwort@Server:Port/Datenbank, in Konto und Passwort %25 für %, %23 für #, %2F für /, %3F für ? und %40 für @.',
      );
    const one = new URL(address);
    requireTlsMode(one);
    one.searchParams.delete('target_session_attrs');
    return one.href;
  });
}

// Those of libpq. The driver takes any other word for the strictest, and checks for an IP address the name localhost.
const tlsModes = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'];

function requireTlsMode({ searchParams, hostname }: URL): void {
  const mode = searchParams.get('sslmode');
  if (mode === null) return;
  if (!tlsModes.includes(mode))
    throw new DatabaseError(`sslmode in der Adresse der Datenbank: erlaubt sind ${tlsModes.join(', ')}.`);
  if (mode.startsWith('verify-') && isIP(hostname.replace(/^\[|\]$/g, '')) !== 0)
    throw new DatabaseError(
      `sslmode=${mode} prüft, für welchen Namen das Zertifikat gilt: In die Adresse der Datenbank gehört dieser Name, nicht die IP-Adresse.`,
    );
}

function isReadable(address: string): boolean {
  try {
    // As the driver does with account and password.
    decodeURIComponent(address);
    return URL.canParse(address);
  } catch {
    return false;
  }
}

function splitAddress(url: string): { before: string; hosts: string[]; after: string } {
  const begin = url.indexOf('://') + 3;
  const path = url.slice(begin).search(/[/?#]/);
  const end = path < 0 ? url.length : begin + path;
  // Behind account and password, which may hold commas.
  const at = url.lastIndexOf('@', end - 1) + 1;
  const first = Math.max(begin, at);
  return { before: url.slice(0, first), hosts: url.slice(first, end).split(','), after: url.slice(end) };
}

/** Which of its servers an address asks for, in libpq's words; null where it doesn't say. */
export function readTarget(url: string): string | null {
  const [, query = ''] = url.split('?', 2);
  return new URLSearchParams(query).get('target_session_attrs');
}

// A look-up can't be given up: one for all that ask for the same name while a name server hangs.
const lookups = new Map<string, Promise<LookupAddress[]>>();

const lookup: LookupFunction = (name, options, done) => {
  const known = lookups.get(name) ?? dns.lookup(name, { all: true }).finally(() => lookups.delete(name));
  lookups.set(name, known);
  known.then(
    (all) => (options.all ? done(null, all) : done(null, all[0]?.address ?? '', all[0]?.family)),
    (error: NodeJS.ErrnoException) => done(error, ''),
  );
};

/** A server and the connections to it. The driver knows no way to end those of one that hangs. */
export class Server {
  readonly host: string;
  readonly port: number;
  readonly #url: string;
  readonly #sockets = new Set<Socket>();

  constructor(url: string) {
    this.#url = url;
    const { hostname, port } = new URL(url);
    this.host = hostname.replace(/^\[|\]$/g, '');
    this.port = Number(port || 5432);
  }

  /** For operators. */
  get name(): string {
    return `${isIP(this.host) === 6 ? `[${this.host}]` : this.host}:${this.port}`;
  }

  connect(options: ConnectOptions, isPooled = false): Sql {
    return openClient({ url: this.#url, socket: () => this.open() }, options, isPooled);
  }

  /** A connection that is being made. */
  open(): Socket {
    const { host, port } = this;
    const socket = new Socket();
    // By its name the driver checks the certificate.
    Object.assign(socket, { host });
    // Told by themselves: of a socket below TLS the driver removes all listeners.
    for (const earlier of this.#sockets) if (earlier.destroyed) this.#sockets.delete(earlier);
    this.#sockets.add(socket);
    socket.setNoDelay(true);
    socket.connect({ host, port, lookup, autoSelectFamily: isIP(host) === 0 });
    return socket;
  }

  /** Ends all connections; whoever waits for an answer is told that the connection is lost. */
  cut(): void {
    for (const socket of [...this.#sockets]) socket.destroy();
  }
}

/** What a server is at present. */
export interface ServerState {
  isPrimary: boolean;
  /** Counts promotions; 0 of a replica, which does not tell. */
  timeline: number;
  /** How much of the write-ahead log there is, or was replayed, in bytes. */
  position: number;
}

/** Asks a server what it is: by what every server knows, before anything was migrated. */
export async function readServerState(sql: Sql): Promise<ServerState> {
  const [row] = await sql<ServerState[]>`
    select not r.is_replica as "isPrimary",
      case when r.is_replica then 0 else ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer end as timeline,
      pg_wal_lsn_diff(case when r.is_replica then pg_last_wal_replay_lsn() else pg_current_wal_lsn() end, '0/0')::float8 as position
    from (select pg_is_in_recovery() as is_replica) r`;
  if (!row) throw new Error('a server said nothing of itself');
  return row;
}

// A server that is alive says so within milliseconds.
const askMs = 1500;
// What is given up here ends there too: a backend that waits for a lock does not notice that nobody listens any more.
const askSettings = { statement_timeout: askMs, lock_timeout: 300 };
const pauseMs = 500;

/** Something that is asked of a server again and again. */
export interface Watch {
  /** Once it was asked for the first time. */
  readonly first: Promise<void>;
  close(): Promise<void>;
}

/**
 * Asks twice a second, by one connection that is made anew whenever there is no answer.
 * @param isPooled whether the address is a pooler's
 * @param read what is asked
 * @param tell is told each answer, and null for none in time, with what the connection failed of
 */
export function watchServer<T>(
  url: string,
  isPooled: boolean,
  read: (sql: Sql) => Promise<T>,
  tell: (answer: T | null, fault: unknown) => void,
): Watch {
  // Its own: what hangs here is ended, whatever becomes of other connections.
  const server = new Server(url);
  const connect = () => server.connect({ max: 1, settings: askSettings }, isPooled);
  let sql = connect();
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;
  const ask = async () => {
    const { promise: late, reject } = Promise.withResolvers<never>();
    // What has come meanwhile counts, when this process was the one that was late.
    const deadline = setTimeout(() => setImmediate(() => reject(new Error('no answer in time'))), askMs);
    let answer: T | null = null;
    let fault: unknown;
    try {
      answer = await Promise.race([read(sql), late]);
    } catch (error) {
      fault = error;
      sql.end({ timeout: 0 }).catch(() => {});
      server.cut();
      if (!isClosed) sql = connect();
    } finally {
      clearTimeout(deadline);
    }
    if (isClosed) return;
    tell(answer, fault);
    timer = setTimeout(ask, pauseMs);
  };
  return {
    first: ask(),
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await sql.end({ timeout: 1 });
    },
  };
}

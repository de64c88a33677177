// Replicas of the primary that are read in its place: which of them may be at present (P3.3).
import { setTimeout as sleep } from 'node:timers/promises';
import { checkSettings } from './check.ts';
import { DatabaseError, requestSettings } from './client.ts';
import type { Sql } from './connection.ts';
import type { Hosts, PrimaryState } from './hosts.ts';
import { listServers, readServerState, Server, type ServerState, type Watch, watchServer } from './server.ts';

// The primary is asked twice a second.
const beginMs = 2000;

/** Why a replica is not read, for operators. */
export type LeftOut = 'no answer' | 'no replica' | 'other release' | 'other history' | 'behind' | 'settings';

export interface ReplicaOptions {
  /** A replica that is further behind is not read. */
  maxLagSeconds: number;
  /** Connections to each at most. */
  connections: number;
  /** Told when a replica is read from now on, and when it is not, and why; where it does not answer, with what a connection failed of. */
  tell(replica: string, leftOut: LeftOut | null, fault: unknown): void;
}

type IsPrimaryAway = () => boolean;

/** What has to be the same on a replica as on the primary. */
interface Facts {
  verlauf: number | null;
  code: string | null;
}

interface Sample {
  at: number;
  position: number;
}

const readFacts = async (sql: Sql) => {
  const [row] = await sql<(Facts & { isCurrent: boolean })[]>`
    select s.verlauf, s.is_current as "isCurrent", s.code from api.get_server() s`;
  if (!row) throw new Error('api.get_server returned no row');
  return row;
};

/** What the primary had at which time, and of which part of the feed: by this it is told how far a replica is behind. */
class PrimaryTrail {
  readonly #keepMs: number;
  readonly #begun = Promise.withResolvers<void>();
  #facts: Facts = { verlauf: null, code: null };
  #samples: Sample[] = [];
  #timeline: number | null = null;

  constructor(keepMs: number) {
    this.#keepMs = keepMs;
  }

  /** Once something is known. */
  get begun(): Promise<void> {
    return this.#begun.promise;
  }

  async note({ askedAt, position, timeline }: PrimaryState, sql: Sql): Promise<void> {
    // What was told of another primary says nothing of this one.
    if (timeline !== this.#timeline) {
      this.#timeline = timeline;
      this.#facts = { verlauf: null, code: null };
      this.#samples = [];
    }
    // Whatever else can be found out: without it, replicas would count as far behind as they were.
    const oldest = askedAt - this.#keepMs;
    this.#samples = [...this.#samples.filter(({ at }) => at >= oldest), { at: askedAt, position }];
    let facts = await readFacts(sql);
    // A primary that was a replica begins a part of its own, as soon as somebody tells it to.
    if (!facts.isCurrent) {
      // Not to wait for replicas: while there are none, each ask would leave one more backend behind that waits for them.
      await sql.begin(async (tx) => {
        await tx`set local synchronous_commit = local`;
        await tx`select api.set_abgleich_verlauf()`;
      });
      facts = await readFacts(sql);
    }
    if (facts.verlauf !== this.#facts.verlauf) this.#samples = this.#samples.slice(-1);
    this.#facts = facts;
    this.#begun.resolve();
  }

  /** Seconds that a server is behind which has replayed up to a position; does not grow while the primary is away. */
  lagAt(position: number): number {
    const newest = this.#samples.at(-1);
    const replayed = this.#samples.findLast((sample) => sample.position <= position);
    return newest && replayed ? (newest.at - replayed.at) / 1000 : Number.POSITIVE_INFINITY;
  }

  hasCodeOf({ code }: Facts): boolean {
    return code !== null && code === this.#facts.code;
  }

  hasVerlaufOf({ verlauf }: Facts): boolean {
    return verlauf !== null && verlauf === this.#facts.verlauf;
  }
}

/** One replica, and how it is. */
export class Replica {
  readonly name: string;
  /** Its pool. */
  readonly sql: Sql;
  /** Why it is not read. */
  leftOut: LeftOut | null = 'no answer';
  /** When it last answered, by performance.now(). */
  heardAt = Number.NEGATIVE_INFINITY;
  /** Seconds that it is behind; null where that is not known. */
  lag: number | null = null;
  readonly #server: Server;
  readonly #watch: Watch;
  readonly #trail: PrimaryTrail;
  readonly #options: ReplicaOptions;
  readonly #isPrimaryAway: IsPrimaryAway;
  #hasSettings = false;
  #told: LeftOut | null | undefined;

  constructor(url: string, trail: PrimaryTrail, options: ReplicaOptions, isPrimaryAway: IsPrimaryAway) {
    this.#server = new Server(url);
    this.name = this.#server.name;
    this.#trail = trail;
    this.#options = options;
    this.#isPrimaryAway = isPrimaryAway;
    this.sql = this.#server.connect({ max: options.connections, settings: requestSettings });
    this.#watch = watchServer(
      url,
      false,
      (sql) => this.#ask(sql),
      (answer, fault) => this.#judge(answer, fault),
    );
  }

  get first(): Promise<void> {
    return this.#watch.first;
  }

  async close(): Promise<void> {
    await Promise.all([this.#watch.close(), this.sql.end({ timeout: 5 })]);
  }

  async #ask(sql: Sql): Promise<{ state: ServerState; facts: Facts | null }> {
    const state = await readServerState(sql);
    // Of a release that has no such function, or of nothing at all.
    const facts = await readFacts(sql).catch(() => null);
    if (!this.#hasSettings && !state.isPrimary) this.#hasSettings = await hasSettings(this.sql);
    return { state, facts };
  }

  #judge(answer: { state: ServerState; facts: Facts | null } | null, fault: unknown): void {
    if (answer !== null) this.heardAt = performance.now();
    this.lag = answer && !answer.state.isPrimary ? this.#trail.lagAt(answer.state.position) : null;
    const leftOut = this.#reasonAgainst(answer);
    if (answer === null) {
      // What waits there is asked elsewhere.
      this.#server.cut();
      this.#hasSettings = false;
    }
    this.leftOut = leftOut;
    if (leftOut !== this.#told) this.#options.tell(this.name, leftOut, fault);
    this.#told = leftOut;
  }

  #reasonAgainst(answer: { state: ServerState; facts: Facts | null } | null): LeftOut | null {
    if (answer === null) return 'no answer';
    // One that was read has all that it had after its promotion: it goes on being read until the primary is found, which may be this one.
    if (answer.state.isPrimary) return this.leftOut === null && this.#isPrimaryAway() ? null : 'no replica';
    if (!answer.facts) return 'other release';
    if (!this.#trail.hasVerlaufOf(answer.facts)) return 'other history';
    if (!this.#trail.hasCodeOf(answer.facts)) return 'other release';
    const { maxLagSeconds } = this.#options;
    // One that is about as far behind as it may be does not come and go.
    const limit = this.leftOut === 'behind' ? maxLagSeconds / 2 : maxLagSeconds;
    if ((this.lag ?? Number.POSITIVE_INFINITY) > limit) return 'behind';
    return this.#hasSettings ? null : 'settings';
  }
}

async function hasSettings(sql: Sql): Promise<boolean> {
  try {
    await checkSettings(sql, false);
    return true;
  } catch (error) {
    if (error instanceof DatabaseError) return false;
    throw error;
  }
}

export interface Replicas {
  readonly all: readonly Replica[];
  /** Whether the primary does not answer. */
  readonly isPrimaryAway: boolean;
  close(): Promise<void>;
}

/**
 * The replicas of some addresses, one each.
 * @throws DatabaseError where one is none, or stands there twice
 */
export function listReplicas(urls: readonly string[]): string[] {
  const all = urls.flatMap(listServers);
  if (new Set(all.map((url) => new Server(url).name)).size < all.length)
    throw new DatabaseError('DATABASE_REPLICA_URL nennt einen Server zweimal; jeder steht dort einmal.');
  return all;
}

/**
 * Watches replicas. When it returns, each was asked once.
 * @param hosts where the primary is
 * @param urls of the replicas, past any pooler, as listReplicas has them
 */
export async function watchReplicas(hosts: Hosts, urls: readonly string[], options: ReplicaOptions): Promise<Replicas> {
  const trail = new PrimaryTrail((options.maxLagSeconds + 10) * 1000);
  hosts.askToo((state, sql) => trail.note(state, sql).catch(() => {}));
  await Promise.race([trail.begun, sleep(beginMs)]);
  const isPrimaryAway = () => hosts.isAway;
  const all = urls.map((url) => new Replica(url, trail, options, isPrimaryAway));
  await Promise.all(all.map(({ first }) => first));
  return {
    all,
    get isPrimaryAway() {
      return isPrimaryAway();
    },
    async close() {
      await Promise.all(all.map((replica) => replica.close()));
    },
  };
}

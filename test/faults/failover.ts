// A primary and two replicas, of which one after the other is killed, hangs, lags or is made the primary, while people report, records are
// released and everybody reads: no answer is older than it may be, and nothing acknowledged is lost.
import { setTimeout as sleep } from 'node:timers/promises';
import postgres from 'postgres';
import type { Cluster } from '../support/cluster.ts';
import { type Entry, report } from '../support/ledger.ts';
import { atMost, holds, none, type Row } from './table.ts';

export interface FailoverOptions {
  port: number;
  seconds: number;
  maxLagSeconds: number;
  /** The database on a server. */
  urlAt(server: Cluster): string;
  /** The primary first. */
  servers: [Cluster, Cluster, Cluster];
  headers: Record<string, string>;
}

export interface FailoverOutcome {
  rows: Row[];
  ledger: Entry[];
  primary: Cluster;
}

interface Release {
  id: number;
  /** By performance.now(), when its commit was acknowledged. */
  at: number;
}

// Beyond the lag: the pauses in which servers are asked, and two busy cores.
const slackSeconds = 2.5;
// From a promotion to the first report that is taken.
const takeoverSeconds = 5;
const page = '/api/v2/sichtbeobachtungen?limit=20&restrict=id';

/** Plays it for so long, and reads everything once more when all servers are there again. */
export async function playFailovers(options: FailoverOptions): Promise<FailoverOutcome> {
  const { port, seconds, maxLagSeconds, urlAt, headers } = options;
  let [primary, ...standbys] = options.servers;
  const until = performance.now() + seconds * 1000;
  const address = `http://127.0.0.1:${port}`;
  let isOver = false;

  // Times without a primary: what is written then is refused, and replicas are as old as they were.
  const outages: { begin: number; end: number }[] = [];
  const isAway = (at: number) => outages.some(({ begin, end }) => at >= begin && at <= end);

  const releases: Release[] = [];
  const release = async () => {
    while (!isOver) {
      // The driver's own question for types, broken off, would be nobody's error.
      const sql = postgres(urlAt(primary), { max: 1, connect_timeout: 2, onnotice: () => {}, fetch_types: false });
      try {
        const rows = await sql<{ id: number }[]>`
          update portal.sichtbeobachtung
          set status = 'freigegeben', bereich = 'oeffentlich', experte_id = nutzer_id
          where status <> 'freigegeben' and bemerkung like 'Nr. %' returning id::integer`;
        const at = performance.now();
        if (rows.length > 0) releases.push({ id: Math.max(...rows.map(({ id }) => id)), at });
      } catch {
        // The next primary has what is to be released.
      }
      await sql.end({ timeout: 0 }).catch(() => {});
      await sleep(300);
    }
  };

  const stale: string[] = [];
  const failed: string[] = [];
  // What is played, and since when.
  let scene = { name: 'nothing yet', since: performance.now() };
  const fail = (what: string) =>
    failed.push(`${what}, ${((performance.now() - scene.since) / 1000).toFixed(1)} s after ${scene.name}`);
  let answers = 0;
  let unchanged = 0;
  // The newest record that was released for long enough when something is asked: every answer must know of it.
  const mustKnow = (begin: number) => {
    const before = begin - (maxLagSeconds + slackSeconds) * 1000;
    return isAway(begin) ? 0 : Math.max(0, ...releases.slice(-200).flatMap(({ id, at }) => (at <= before ? id : [])));
  };
  const read = async () => {
    let copy: { tag: string; newest: number } | null = null;
    while (!isOver) {
      const begin = performance.now();
      const must = mustKnow(begin);
      try {
        const answer: Response = await fetch(`${address}${page}`, { headers: copy ? { 'If-None-Match': copy.tag } : {} });
        const text = await answer.text();
        if (answer.status === 200) {
          const { result } = JSON.parse(text) as { result: { id: number }[] };
          copy = { tag: answer.headers.get('etag') ?? '', newest: Math.max(0, ...result.map(({ id }) => id)) };
        } else if (answer.status !== 304) fail(`${answer.status}`);
        if (answer.status === 304) unchanged++;
        if (answer.ok || answer.status === 304) answers++;
        if ((answer.ok || answer.status === 304) && (copy?.newest ?? 0) < must)
          stale.push(`${answer.status}: ${copy?.newest} instead of ${must}`);
      } catch (error) {
        fail(String(error instanceof Error ? (error.cause ?? error) : error));
      }
      await sleep(20);
    }
  };

  const mirror = new Map<number, string>();
  let restarts = 0;
  let cursor: string | null = null;
  const mirrorOnce = async (wait: number): Promise<boolean> => {
    const place: string = cursor === null ? '' : `&seit=${cursor}`;
    const answer = await fetch(`${address}/abgleich/v1/sichtbeobachtungen?limit=1000&warten=${wait}${place}`);
    if (answer.status === 410) {
      restarts++;
      mirror.clear();
      cursor = null;
      return true;
    }
    if (!answer.ok) throw new Error(`${answer.status}`);
    const told = (await answer.json()) as {
      result: { id: number; geloescht?: boolean; sichtbeobachtung?: unknown }[];
      cursor: string;
      weitere: boolean;
    };
    for (const { id, geloescht, sichtbeobachtung } of told.result)
      if (geloescht) mirror.delete(id);
      else mirror.set(id, JSON.stringify(sichtbeobachtung));
    cursor = told.cursor;
    return told.weitere;
  };
  const refused: number[] = [];
  const follow = async () => {
    while (!isOver) {
      await mirrorOnce(2).catch(() => {
        refused.push(performance.now());
        return sleep(200);
      });
    }
  };

  const ledger: Entry[] = [];
  const takeovers: number[] = [];
  const played = new Map<string, number>();
  const reporters = [1, 2].map(() =>
    report(
      ledger,
      () => address,
      headers,
      () => isOver,
    ),
  );
  const others = [release(), read(), read(), read(), follow()];

  const takeOver = async (mode: 'fast' | 'immediate', returns: boolean) => {
    const former = primary;
    const outage = { begin: performance.now(), end: Number.POSITIVE_INFINITY };
    outages.push(outage);
    await former.stop(mode);
    await sleep(1500);
    const [next, other] = (await isAhead(standbys[0], standbys[1])) ? [standbys[0], standbys[1]] : [standbys[1], standbys[0]];
    if (!next || !other) throw new Error('two replicas are needed');
    await next.promote();
    const promoted = performance.now();
    primary = next;
    await other.follow(next);
    while (!ledger.some(({ status, at }) => status === 201 && at > promoted) && performance.now() < promoted + 30_000)
      await sleep(20);
    takeovers.push((performance.now() - promoted) / 1000);
    // What it was before it is told to be a replica: nobody may write there.
    if (returns) {
      await former.start();
      await sleep(2000);
    }
    outage.end = performance.now() + (maxLagSeconds + slackSeconds) * 1000;
    await former.rebuild(next);
    standbys = [other, former];
  };
  const at = async (cluster: Cluster, run: (sql: postgres.Sql) => Promise<unknown>) => {
    const sql = postgres(cluster.url, { max: 1, fetch_types: false });
    await run(sql);
    await sql.end();
  };
  const acts: [name: string, play: (standby: Cluster) => Promise<unknown>][] = [
    [
      'a replica is killed',
      async (standby) => {
        await standby.stop('immediate');
        await sleep(3000);
        await standby.start();
      },
    ],
    ['the primary is killed, a replica takes over', () => takeOver('immediate', false)],
    [
      'a replica hangs',
      async (standby) => {
        standby.freeze();
        await sleep(4000);
        standby.thaw();
      },
    ],
    [
      'a replica replays nothing',
      async (standby) => {
        await at(standby, (sql) => sql`select pg_wal_replay_pause()`);
        await sleep((maxLagSeconds + 4) * 1000);
        await at(standby, (sql) => sql`select pg_wal_replay_resume()`);
      },
    ],
    ['the primary is stopped, a replica takes over', () => takeOver('fast', false)],
    ['the primary is killed and comes back as it was', () => takeOver('immediate', true)],
  ];
  for (let act = 0; performance.now() < until; act++) {
    const [name, play] = acts[act % acts.length] as (typeof acts)[number];
    const standby = standbys[act % standbys.length] as Cluster;
    scene = { name, since: performance.now() };
    await play(standby);
    played.set(name, (played.get(name) ?? 0) + 1);
    await sleep(4000);
  }
  await sleep(3000);
  isOver = true;
  await Promise.all([...reporters, ...others]);
  for (let pages = 0; pages < 1000 && (await mirrorOnce(0)); pages++);

  const shown = await readAll(address);
  const wrong = [...new Set([...shown.keys(), ...mirror.keys()])].filter((id) => shown.get(id) !== mirror.get(id));
  const lost = ledger.filter(({ status, at: time }) => status !== 201 && status !== 503 && status !== null && time > 0);
  const outside = ledger.filter(({ status, at: time }) => status === 503 && !isAway(time));
  const rows = [
    holds('played', played.size === acts.length, [...played].map(([name, times]) => `${times} × ${name}`).join('; ')),
    none(`of ${answers} anonymous answers, ${unchanged} of them 304, older than ${maxLagSeconds} s and ${slackSeconds} s`, stale),
    none('anonymous reads that failed', failed),
    none(
      'reports with another answer than 201 and 503',
      lost.map(({ status }) => String(status)),
    ),
    none(
      '503 without Retry-After',
      ledger.filter(({ status, retryAfter }) => status === 503 && !Number(retryAfter)).map(() => '503'),
    ),
    none(
      'reports refused while there was a primary',
      outside.map(({ remark }) => remark),
    ),
    atMost('from a promotion to the first report that is taken', Math.max(0, ...takeovers), takeoverSeconds, 's'),
    none(`of ${shown.size} records, the mirror has otherwise (told to begin anew ${restarts} times)`, wrong.map(String)),
    none(
      'waits of the mirror that failed while there was a primary',
      refused.filter((time) => !isAway(time)).map(() => 'refused'),
    ),
  ];
  return { rows, ledger, primary };
}

/** Whether the first has received as much as the second. */
async function isAhead(first: Cluster | undefined, second: Cluster | undefined): Promise<boolean> {
  const [one = 0, other = 0] = await Promise.all(
    [first, second].map(async (standby) => {
      if (!standby) return 0;
      const sql = postgres(standby.url, { max: 1, fetch_types: false });
      const [row] = await sql<{ position: number }[]>`
        select coalesce(pg_wal_lsn_diff(pg_last_wal_receive_lsn(), '0/0'), 0)::float8 as position`;
      await sql.end();
      return row?.position ?? 0;
    }),
  );
  return one >= other;
}

async function readAll(address: string): Promise<Map<number, string>> {
  const all = new Map<number, string>();
  for (let next: string | null = `${address}/api/v2/sichtbeobachtungen?limit=1000`; next !== null; ) {
    const answer: Response = await fetch(next);
    const { result, next: more } = (await answer.json()) as { result: { id: number }[]; next?: string | null };
    for (const record of result) all.set(record.id, JSON.stringify(record));
    next = more ?? null;
  }
  return all;
}

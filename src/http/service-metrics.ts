// What operators are shown beside requests: the database, the queue, the limits, the feed, the boundaries. Names are those of
// docs/monitoring.
import { getAbgleichLag } from '../db/abgleich.ts';
import type { Sql } from '../db/client.ts';
import { getGrenzlaufAlter } from '../db/grenzlauf.ts';
import { listQueue } from '../db/queue.ts';
import { getTransaktionen, isReadOnly } from '../db/requirements.ts';

import { type Limit, listLimits } from '../guard/limit.ts';

import { runOutsideScope } from '../guard/request.ts';
import { mailDeadLetter } from '../jobs/boss.ts';
import { readVersion } from '../observe/build.ts';
import { type Figure, keepFresh, type Metrics } from '../observe/metrics.ts';

import { listRefusals } from './server.ts';

export interface WatchedService {
  sql: Sql;
  /** Null where no requests are answered. */
  feed: { readonly waiting: number } | null;
  /** Boundaries refresh themselves. */
  hasBoundarySource: boolean;
}

/** Shows these figures. They cost a few short statements every few seconds, and none hangs while the database is away. */
export function watchService(metrics: Metrics, service: WatchedService): void {
  metrics.watch({
    name: 'build_info',
    help: 'Always 1; the release that runs',
    labels: ['version'],
    read: () => [{ labels: { version: readVersion() }, value: 1 }],
  });
  watchDatabase(metrics, service);
  watchLimits(metrics);
  const { feed } = service;
  if (feed)
    metrics.watch({
      name: 'feed_waiting_clients',
      help: 'Clients that wait for something new in the feed',
      read: () => feed.waiting,
    });
  metrics.watch({
    name: 'http_refused_total',
    help: 'Requests and connections refused before they were read',
    type: 'counter',
    labels: ['code'],
    read: () => [...listRefusals()].map(([code, value]) => ({ labels: { code }, value })),
  });
}

function watchDatabase(metrics: Metrics, { sql, feed, hasBoundarySource }: WatchedService): void {
  const orNull = <T>(promise: Promise<T>) => promise.catch(() => null);
  // One after the other, so that reading metrics never takes more than one connection.
  const read = async () => {
    // Of all figures the one that must be there.
    const readOnly = await isReadOnly(sql);
    return {
      readOnly,
      transactions: await orNull(getTransaktionen(sql)),
      queues: await orNull(listQueue(sql)),
      lag: feed && (await orNull(getAbgleichLag(sql))),
      boundaries: hasBoundarySource ? await orNull(getGrenzlaufAlter(sql)) : null,
    };
  };
  // Whoever asks first asks for all: the statements are not theirs.
  const ask = keepFresh(() => runOutsideScope(read));

  metrics.watch({
    name: 'database_up',
    help: 'Whether the database answered within two seconds',
    read: async () => Number((await ask()) !== null),
  });
  metrics.watch({
    name: 'database_read_only',
    help: 'Whether the database can only be read at present',
    read: async () => toNumber((await ask())?.readOnly),
  });
  metrics.watch({
    name: 'database_oldest_transaction_seconds',
    help: 'Age of the oldest transaction that keeps the database from tidying up what changed since',
    read: async () => toNumber((await ask())?.transactions?.oldestSeconds),
  });
  metrics.watch({
    name: 'database_transaction_numbers_used',
    help: 'Numbers of transactions used since the oldest that is still needed; at 2147 million the server stops writing',
    read: async () => toNumber((await ask())?.transactions?.numbersUsed),
  });
  const queues: [name: string, help: string, of: 'jobs' | 'oldestSeconds' | 'overdueSeconds'][] = [
    ['queue_jobs', 'Jobs that wait for their time or for a worker, counted up to 10000', 'jobs'],
    ['queue_oldest_job_age_seconds', 'Time since the oldest of them was put into the queue', 'oldestSeconds'],
    ['queue_overdue_seconds', 'Time that a worker is late with the first of them', 'overdueSeconds'],
  ];
  for (const [name, help, of] of queues)
    metrics.watch({
      name,
      help,
      labels: ['queue'],
      read: async () => {
        const live = (await ask())?.queues?.filter((queue) => queue.name !== mailDeadLetter) ?? [];
        return live.map((queue) => ({ labels: { queue: queue.name }, value: queue[of] }));
      },
    });
  metrics.watch({
    name: 'mails_dead',
    help: 'Mails that were given up in the last 30 days, counted up to 10000',
    read: async () => toNumber((await ask())?.queues?.find(({ name }) => name === mailDeadLetter)?.jobs),
  });
  if (feed)
    metrics.watch({
      name: 'feed_lag_seconds',
      help: 'Age of the oldest writing transaction, which the feed waits for',
      read: async () => toNumber((await ask())?.lag),
    });
  if (hasBoundarySource)
    metrics.watch({
      name: 'boundary_run_age_seconds',
      help: 'Time since a run of the boundaries ended with this outcome',
      labels: ['outcome'],
      read: async () => {
        const { erfolg = null, fehlschlag = null } = (await ask())?.boundaries ?? {};
        return Object.entries({ success: erfolg, failure: fehlschlag }).flatMap(([outcome, value]) =>
          value === null ? [] : { labels: { outcome }, value },
        );
      },
    });
}

function watchLimits(metrics: Metrics): void {
  const ofLimits = (read: (limit: Limit) => number): Figure[] =>
    [...listLimits()].map(([name, limit]) => ({ labels: { limit: name }, value: read(limit) }));
  const labels = ['limit'];
  metrics.watch({
    name: 'admission_slots',
    help: 'Runs that a limit admits at once',
    labels,
    read: () => ofLimits(({ slots }) => slots),
  });
  metrics.watch({
    name: 'admission_running',
    help: 'Runs that a limit has admitted; of the database, connections in use',
    labels,
    read: () => ofLimits(({ running }) => running),
  });
  metrics.watch({
    name: 'admission_waiting',
    help: 'Runs that wait to be admitted',
    labels,
    read: () => ofLimits(({ waiting }) => waiting),
  });
  metrics.watch({
    name: 'admission_refusals_total',
    help: 'Runs that were not admitted, or given up',
    type: 'counter',
    labels: ['limit', 'reason'],
    read: () =>
      [...listLimits()].flatMap(([limit, { refused }]) =>
        Object.entries(refused).map(([reason, value]) => ({ labels: { limit, reason }, value })),
      ),
  });
}

const toNumber = (value: number | boolean | null | undefined) => (value == null ? Number.NaN : Number(value));

// What operators are shown beside requests: the database, the queue, the limits, the feed, the boundaries. Names are those of
// docs/monitoring.
import { getAbgleichLag } from '../db/abgleich.ts';
import type { Sql } from '../db/client.ts';
import { listExport } from '../db/export.ts';
import { getGrenzlaufAlter } from '../db/grenzlauf.ts';
import { listQueue } from '../db/queue.ts';
import { getTransaktionen, isReadOnly } from '../db/requirements.ts';
import { type Limit, listLimits } from '../guard/limit.ts';
import { runOutsideScope } from '../guard/request.ts';
import { mailDeadLetter } from '../jobs/boss.ts';
import { version } from '../observe/build.ts';
import { keepFresh, type Metrics, type Watched } from '../observe/metrics.ts';
import { listRefusals } from './server.ts';

interface WatchedService {
  sql: Sql;
  /** Null where no requests are answered. */
  feed: { readonly waiting: number } | null;
  /** Boundaries refresh themselves. */
  hasBoundarySource: boolean;
}

/** Shows these figures. They cost a few short statements every few seconds, and none hangs while the database is away. */
export function watchService(metrics: Metrics, service: WatchedService): void {
  const watch: Watch = (name, help, read, more) => metrics.watch({ name, help, read, ...more });
  watch('build_info', 'Always 1; the release that runs', () => [{ labels: { version }, value: 1 }], { labels: ['version'] });
  watchDatabase(watch, service);
  watchLimits(watch);
  const { feed } = service;
  if (feed) watch('feed_waiting_clients', 'Clients that wait for something new in the feed', () => feed.waiting);
  watch(
    'http_refused_total',
    'Requests and connections refused before they were read',
    () => [...listRefusals()].map(([code, value]) => ({ labels: { code }, value })),
    { type: 'counter', labels: ['code'] },
  );
}

type Watch = (name: string, help: string, read: Watched['read'], more?: Pick<Watched, 'type' | 'labels'>) => void;

function watchDatabase(watch: Watch, { sql, feed, hasBoundarySource }: WatchedService): void {
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
      exports: await orNull(listExport(sql, null)),
    };
  };
  // Whoever asks first asks for all: the statements are not theirs.
  const ask = keepFresh(() => runOutsideScope(read));

  type Read = NonNullable<Awaited<ReturnType<typeof ask>>>;
  const watchRead = (name: string, help: string, of: (read: Read) => number | boolean | null | undefined) =>
    watch(name, help, async () => {
      const seen = await ask();
      const value = seen && of(seen);
      return value == null ? Number.NaN : Number(value);
    });
  watch('database_up', 'Whether the database answered within two seconds', async () => Number((await ask()) !== null));
  watchRead('database_read_only', 'Whether the database can only be read at present', ({ readOnly }) => readOnly);
  watchRead(
    'database_oldest_transaction_seconds',
    'Age of the oldest transaction that keeps the database from tidying up what changed since',
    ({ transactions }) => transactions?.oldestSeconds,
  );
  watchRead(
    'database_transaction_numbers_used',
    'Numbers of transactions used since the oldest that is still needed; at 2147 million the server stops writing',
    ({ transactions }) => transactions?.numbersUsed,
  );
  const queues: [name: string, help: string, of: 'jobs' | 'oldestSeconds' | 'overdueSeconds'][] = [
    ['queue_jobs', 'Jobs that wait for their time or for a worker, counted up to 10000', 'jobs'],
    ['queue_oldest_job_age_seconds', 'Time since the oldest of them was put into the queue', 'oldestSeconds'],
    ['queue_overdue_seconds', 'Time that a worker is late with the first of them', 'overdueSeconds'],
  ];
  for (const [name, help, of] of queues)
    watch(
      name,
      help,
      async () => {
        const live = (await ask())?.queues?.filter((queue) => queue.name !== mailDeadLetter) ?? [];
        return live.map((queue) => ({ labels: { queue: queue.name }, value: queue[of] }));
      },
      { labels: ['queue'] },
    );
  watchRead(
    'mails_dead',
    'Mails that were given up in the last 30 days, counted up to 10000',
    ({ queues: all }) => all?.find(({ name }) => name === mailDeadLetter)?.jobs,
  );
  if (feed) watchRead('feed_lag_seconds', 'Age of the oldest writing transaction, which the feed waits for', ({ lag }) => lag);
  watch(
    'export_run_age_seconds',
    'Time since the last run for the files to publish of a tenant ended, which had this outcome',
    async () =>
      ((await ask())?.exports ?? []).flatMap(({ mandant, beendet, fehler }) =>
        beendet === null
          ? []
          : {
              labels: { mandant, outcome: fehler === null ? 'success' : 'failure' },
              value: (Date.now() - beendet.getTime()) / 1000,
            },
      ),
    { labels: ['mandant', 'outcome'] },
  );
  if (hasBoundarySource)
    watch(
      'boundary_run_age_seconds',
      'Time since a run of the boundaries ended with this outcome',
      async () => {
        const { erfolg = null, fehlschlag = null } = (await ask())?.boundaries ?? {};
        return Object.entries({ success: erfolg, failure: fehlschlag }).flatMap(([outcome, value]) =>
          value === null ? [] : { labels: { outcome }, value },
        );
      },
      { labels: ['outcome'] },
    );
}

function watchLimits(watch: Watch): void {
  const watchLimit = (name: string, help: string, of: (limit: Limit) => number) =>
    watch(name, help, () => [...listLimits()].map(([limit, state]) => ({ labels: { limit }, value: of(state) })), {
      labels: ['limit'],
    });
  watchLimit('admission_slots', 'Runs that a limit admits at once', ({ slots }) => slots);
  watchLimit(
    'admission_running',
    'Runs that a limit has admitted; of the database, connections in use',
    ({ running }) => running,
  );
  watchLimit('admission_waiting', 'Runs that wait to be admitted', ({ waiting }) => waiting);
  watch(
    'admission_refusals_total',
    'Runs that were not admitted, or given up',
    () =>
      [...listLimits()].flatMap(([limit, { refused }]) =>
        Object.entries(refused).map(([reason, value]) => ({ labels: { limit, reason }, value })),
      ),
    { type: 'counter', labels: ['limit', 'reason'] },
  );
}

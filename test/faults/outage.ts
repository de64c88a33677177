// A database that is away (S5.2): stopped, crashed, standing still; under reports that are written down.
import { setTimeout as sleep } from 'node:timers/promises';
import { callMs } from '../../src/db/client.ts';
import type { Cluster } from '../support/cluster.ts';
import type { Entry } from '../support/ledger.ts';
import { askOnce, startProbe } from './probe.ts';
import { atMost, holds, none, type Row } from './table.ts';

export interface Outage {
  title: string;
  begin(cluster: Cluster): Promise<void> | void;
  end(cluster: Cluster): Promise<void> | void;
  /** Whether connections stay, and what was sent on them waits. */
  isFrozen: boolean;
}

export const outages: readonly Outage[] = [
  {
    title: 'The database is stopped and started',
    begin: (cluster) => cluster.stop('fast'),
    end: (cluster) => cluster.start(),
    isFrozen: false,
  },
  {
    title: 'The database crashes and is started',
    begin: (cluster) => cluster.stop('immediate'),
    end: (cluster) => cluster.start(),
    isFrozen: false,
  },
  {
    title: 'The database stands still and goes on',
    begin: (cluster) => cluster.freeze(),
    end: (cluster) => cluster.thaw(),
    isFrozen: true,
  },
];

const normalSeconds = 5;
const tooLongMs = 2000;
const liveMs = 1000;

export interface Scene {
  cluster: Cluster;
  port: number;
  /** Of those who report all the time. */
  ledger: Entry[];
  seconds: number;
  /** How many times as long as usual all may take. */
  leeway: number;
}

/** Plays an outage; what must hold meanwhile and after it. */
export async function playOutage(outage: Outage, { cluster, port, ledger, seconds, leeway }: Scene): Promise<Row[]> {
  await sleep(500);
  const first = ledger.length;
  const probe = startProbe(port, ['/health/live']);
  const begin = performance.now();
  await outage.begin(cluster);
  const away = performance.now();
  // Once it is noticed: what has been asked already is answered by the connections that were there.
  await sleep(200);
  const asking = askOnce(port, { path: '/health/ready' });
  await sleep(Math.max(0, seconds * 1000 - (performance.now() - away)));
  await outage.end(cluster);
  const back = performance.now();
  await sleep(normalSeconds * 1000);
  await probe.end();
  const ready = await asking;
  // As long as a call may take nobody knows that the database stands still.
  const isNoticed = !outage.isFrozen || seconds * 1000 > callMs + tooLongMs;

  const entries = ledger.slice(first).filter(({ at }) => at > 0);
  const meanwhile = entries.filter(({ at }) => at > begin && at < back);
  const afterwards = entries.filter(({ at }) => at >= back);
  const refusals = meanwhile.filter(({ status }) => status === 503);
  const normalAt = Math.max(back, ...afterwards.filter(({ status }) => status !== 201).map(({ at }) => at));
  const isNormal = afterwards.some(({ status, at }) => status === 201 && at > normalAt);
  // Statements under way wait as long as a call may; all others as long as for a connection.
  const longestMs = (outage.isFrozen ? callMs : 0) + tooLongMs * leeway;
  // A pooler keeps everybody waiting, as long as one may wait.
  const isWaitedOut = meanwhile.length === 0 && seconds * 1000 < longestMs;
  const lived = probe.samples.filter(({ begin }) => begin < back);
  return [
    holds(
      '503 while it is away',
      refusals.length > 0 || !isNoticed || isWaitedOut,
      isWaitedOut ? 'all wait until it is back' : `${refusals.length} of ${meanwhile.length}`,
    ),
    none(
      'of them without Retry-After',
      refusals.filter(({ retryAfter }) => !(Number(retryAfter) > 0)).map(() => '503'),
    ),
    none(
      'other answers than 201 and 503, or none',
      entries.filter(({ status }) => status !== 201 && status !== 503).map(({ status }) => String(status ?? 'no answer')),
    ),
    atMost('the slowest answer meanwhile', Math.max(0, ...meanwhile.map(({ ms }) => ms)) / 1000, longestMs / 1000, 's'),
    none(
      '/health/live other than 200',
      lived.filter(({ status }) => status !== 200).map(({ status }) => String(status ?? 'no answer')),
    ),
    atMost('the slowest of them', Math.max(0, ...lived.map(({ ms }) => ms)) / 1000, (liveMs * leeway) / 1000, 's'),
    ...(isNoticed ? [holds('/health/ready is 503', ready.status === 503, String(ready.status ?? 'no answer'))] : []),
    atMost('normal after it answers again', isNormal ? (normalAt - back) / 1000 : Number.POSITIVE_INFINITY, normalSeconds, 's'),
  ];
}

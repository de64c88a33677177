// npm run faults: what the service must bear (S5), as figures. On a PostgreSQL of its own, which it stops, crashes and freezes.
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { loadConfig } from '../../src/config.ts';
import { openDatabase } from '../../src/db/client.ts';
import { atEnd, closeAll } from '../bench/process.ts';
import { readGauges } from '../fuzz/gauges.ts';
import { findLogProblem, startService } from '../fuzz/service.ts';
import { makeSite } from '../fuzz/site.ts';
import { findMemoryProblem, megabytes, memoryLimits } from '../fuzz/watch.ts';
import { startCluster, withoutCluster } from '../support/cluster.ts';
import { assertAgrees, type Entry, report } from '../support/ledger.ts';
import { applyLoad } from './load.ts';
import { outages, playOutage } from './outage.ts';
import { askOnce, type Sample, startProbe } from './probe.ts';
import { asServiceRole } from './role.ts';
import { sufferSlowClients } from './slow.ts';
import { atLeast, atMost, holds, none, printTable, type Row } from './table.ts';

const usage = `npm run faults -- [options]: plays what the service must bear, and prints what must hold beside what was seen.

  --short        a minute instead of seven: less load, shorter outages, fewer slow clients; times may be five times as long
  --pooler       with PgBouncer between the service and its database
  --help         this text

The service runs as a role of fewest rights. Starts a PostgreSQL with PostGIS of its own and ends it; needs the server
programs of this machine. Exit code: 0 all is kept, 1 something is missed, 2 the run itself failed.
`;

// Less patience than by default, so that slow clients are closed while one waits for it. The short form runs where others compute too:
// what is kept, answered and goes on is asked for, and times only as far as nobody hangs.
const lengths = {
  full: { slow: 100, calibrate: 10, load: 90, stopped: 20, frozen: 25, leeway: 1, env: { MIN_SEND_RATE: '262144' } },
  short: {
    slow: 24,
    calibrate: 3,
    load: 6,
    stopped: 1,
    frozen: 2,
    leeway: 5,
    env: { HEADERS_TIMEOUT: '5', MIN_SEND_RATE: '4000000' },
  },
};
const cheapMs = 2000;
const idleMs = 3000;

/** What bystanders must not notice; where all may take longer, some of them come too late for their turn as well. */
function unnoticed(samples: readonly Sample[], limitMs: number, leeway: number): Row[] {
  const mayRefuse = leeway > 1;
  return [
    none(
      `of ${samples.length} bystanders ${mayRefuse ? '' : 'refused or '}left alone`,
      samples
        .filter(({ status, hasRetryAfter }) => status !== 200 && !(mayRefuse && status === 503 && hasRetryAfter))
        .map(({ path, status }) => `${path} ${status ?? 'no answer'}`),
    ),
    atMost('the longest that one waited', Math.max(0, ...samples.map(({ ms }) => ms)) / 1000, (limitMs * leeway) / 1000, 's'),
  ];
}

/** @returns whether all is kept */
async function run(isShort: boolean, hasPooler: boolean): Promise<boolean> {
  if (withoutCluster) throw new Error(withoutCluster);
  const length = isShort ? lengths.short : lengths.full;
  const cluster = await startCluster();
  atEnd(() => cluster.remove());
  const site = await makeSite(cluster.url);
  const ends: string[] = [];
  const faults: string[] = [];
  const line = (text: string) => {
    const problem = findLogProblem(text);
    if (problem) faults.push(problem);
  };
  const databaseUrl = site.env.DATABASE_URL ?? '';
  const env: Record<string, string> = { ...site.env, ...(await asServiceRole(databaseUrl, hasPooler)), ...length.env };
  const service = await startService(env, { ended: (how) => ends.push(how), line });
  const { port, pid } = service;
  const { headersTimeoutSeconds, minSendRate } = loadConfig(length.env);
  const signal = new AbortController().signal;
  const idle = async () => {
    await sleep(idleMs);
    await service.collectGarbage();
    return readGauges(port, signal);
  };
  const kept: boolean[] = [];
  const page = '/api/v2/sichtbeobachtungen?limit=20';
  // Asked twice, so that it is kept.
  for (let n = 0; n < 3; n++) await askOnce(port, page);

  const slowProbe = startProbe(port, [
    '/health/live',
    page,
    '/api/v2/sichtbeobachtungen?limit=20&bbox=400000,5480000,440000,5560000',
  ]);
  const kinds = await sufferSlowClients(port, { count: length.slow, headersTimeoutSeconds, minSendRate });
  await slowProbe.end();
  const closed = kinds.map(({ name, count, longestSeconds, mustSeconds }) =>
    atMost(`${count} ${name} are closed after`, longestSeconds, mustSeconds, 's'),
  );
  kept.push(printTable('Slow clients (S5.10)', [...closed, ...unnoticed(slowProbe.samples, cheapMs / 2, length.leeway)]));

  const account = site.roles.reporter;
  // The first of the others is blocked.
  const people = [...Object.values(site.roles), ...site.throwaways.slice(1)];
  const usual = await applyLoad({ port, seconds: length.calibrate, rate: null, first: 0, account, people });
  const answered = (usual.answers['200'] ?? 0) + (usual.answers['201'] ?? 0);
  const rate = answered / usual.seconds;
  const warm = await idle();
  const loadProbe = startProbe(port, ['/health/live', page]);
  const load = await applyLoad({ port, seconds: length.load, rate: 10 * rate, first: usual.sent, account, people });
  await loadProbe.end();
  const after = await askOnce(port, `${page}&x=1`);
  const cool = await idle();
  const good = (load.answers['200'] ?? 0) + (load.answers['201'] ?? 0);
  const known = ['200', '201', '503'];
  const memory = warm && cool ? findMemoryProblem(warm, cool) : 'no figures';
  kept.push(
    printTable(
      `Ten times the load that it can bear for ${length.load} s: ${(10 * rate).toFixed(0)} requests a second instead of ${rate.toFixed(0)} (S5.3)`,
      [
        holds(
          'they are sent, or all connections wait',
          load.heldBack > 0 || load.sent > 9 * rate * length.load,
          `${load.sent} sent, ${load.heldBack} held back`,
        ),
        none(
          'without an answer, or with another one than 200, 201, 503',
          Object.entries(load.answers)
            .filter(([status]) => !known.includes(status))
            .map(([status, count]) => `${count} × ${status}`),
        ),
        none(
          '503 without Retry-After',
          Array.from({ length: load.refusedWithoutRetryAfter }, () => '503'),
        ),
        ...(
          [
            ['503', 2],
            ['200', 10],
          ] as const
        ).map(([status, seconds]) =>
          atMost(
            `the slowest ${status}, for ${load.slowest[status]}`,
            (load.slowestMs[status] ?? 0) / 1000,
            seconds * length.leeway,
            's',
          ),
        ),
        atLeast('answered beside', good / load.seconds, rate / 2 / length.leeway, 'a second'),
        ...unnoticed(loadProbe.samples, cheapMs, length.leeway),
        atMost('a request right after it', after.status === 200 ? after.ms / 1000 : Number.POSITIVE_INFINITY, length.leeway, 's'),
        holds(
          `memory is given back (${memoryLimits})`,
          memory === null,
          memory ?? `${megabytes(warm?.resident ?? 0)} -> ${megabytes(cool?.resident ?? 0)}`,
        ),
      ],
    ),
  );

  const ledger: Entry[] = [];
  let isOver = false;
  const headers = { 'X-Auth-User': account.loginname, 'X-Auth-Token': account.token };
  const reporters = [1, 2, 3, 4].map(() =>
    report(
      ledger,
      () => `http://127.0.0.1:${port}`,
      headers,
      () => isOver,
    ),
  );
  for (const outage of outages) {
    const seconds = outage.isFrozen ? length.frozen : length.stopped;
    const rows = await playOutage(outage, { cluster, port, ledger, pid, seconds, leeway: length.leeway });
    kept.push(printTable(`${outage.title} after ${seconds} s (S5.2)`, rows));
  }
  isOver = true;
  await Promise.all(reporters);
  const agreement = await checkLedger(databaseUrl, env.DATA_DIR ?? '', ledger);
  kept.push(printTable('In the end', [agreement, none('ends of the service', ends), none('faults in its log', faults)]));
  service.expectEnd();
  if (kept.includes(false)) console.log(`\nlast lines of the service:\n${service.lastLines().join('\n')}`);
  return !kept.includes(false);
}

/** That all that was acknowledged is there. */
async function checkLedger(databaseUrl: string, dataDir: string, ledger: Entry[]): Promise<Row> {
  const database = await openDatabase({ databaseUrl, dataDir: '' });
  const disagreement = await assertAgrees(database, ledger, join(dataDir, 'media'), 0).then(
    () => null,
    (error: Error) => error.message,
  );
  await database.close();
  const acknowledged = ledger.filter(({ status }) => status === 201).length;
  return holds(
    'all that was acknowledged is there, once, with its entry in the protokoll',
    disagreement === null,
    disagreement ?? `${acknowledged} of ${ledger.length} reports`,
  );
}

const begin = performance.now();
try {
  const { values } = parseArgs({
    options: {
      pooler: { type: 'boolean', default: false },
      short: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) console.log(usage);
  else {
    const isKept = await run(values.short, values.pooler);
    console.log(
      `\n${isKept ? 'All is kept' : 'Something is missed'}, after ${((performance.now() - begin) / 1000).toFixed(0)} s.`,
    );
    process.exitCode = isKept ? 0 : 1;
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 2;
}
await closeAll();
process.exit();

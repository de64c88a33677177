// npm run faults: what the service must bear (S5), as figures.
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { atEnd, closeAll } from '../bench/process.ts';
import { findLogProblem, startService } from '../fuzz/service.ts';
import { makeSite } from '../fuzz/site.ts';
import { findMemoryProblem, megabytes, memoryLimits, readGauges } from '../fuzz/watch.ts';
import { startCluster, withoutCluster } from '../support/cluster.ts';
import { assertAgrees, type Entry, startReports } from '../support/ledger.ts';
import { plainDoor, startProxy, withoutProxy } from '../support/proxy.ts';
import { attacks, findRecord, playAttacks } from './attacks.ts';
import { applyLoad } from './load.ts';
import { outages, playOutage } from './outage.ts';
import { askOnce, type Sample, startProbe } from './probe.ts';
import { asServiceRole } from './role.ts';
import { atLeast, atMost, holds, none, printTable, type Row } from './table.ts';

const usage = `npm run faults -- [options]: plays what the service must bear, and prints what must hold beside what was seen.

  --witness S    instead, S seconds each: one client does its worst, directly and behind the shipped nginx.conf, and a witness with
                 another address is served; on 100 000 sightings on the PostgreSQL of DATABASE_URL, else of its own
  --only TEXT    of these attacks those whose name has TEXT
  --short        a minute instead of four: less load, shorter outages, the demo's sightings; times may be five times as long
  --pooler       with PgBouncer between the service and its database
  --help         this text

The service runs as a role of fewest rights, but for --witness. Starts a PostgreSQL with PostGIS of its own, which it stops, crashes and
freezes, and ends it; needs the server programs of this machine. Exit code: 0 all is kept, 1 something is missed, 2 the run itself failed.
`;

// The short form runs where others compute too: what is kept, answered and goes on is asked for, and times only as far as nobody hangs.
const lengths = {
  full: { calibrate: 10, load: 90, stopped: 20, frozen: 25, leeway: 1 },
  short: { calibrate: 3, load: 6, stopped: 1, frozen: 2, leeway: 5 },
};
const usualClients = 12;
const manyClients = 300;
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
  const env: Record<string, string> = { ...site.env, ...(await asServiceRole(databaseUrl, hasPooler)) };
  const service = await startService(env, { ended: (how) => ends.push(how), line });
  const { port } = service;
  const idle = async () => {
    await sleep(idleMs);
    await service.collectGarbage();
    return readGauges(port);
  };
  const kept: boolean[] = [];
  const page = '/api/v2/sichtbeobachtungen?limit=20';
  // Asked twice, so that it is kept.
  for (let n = 0; n < 3; n++) await askOnce(port, { path: page });

  const account = site.roles.reporter;
  // The first of the others is blocked.
  const people = [...Object.values(site.roles), ...site.throwaways.slice(1)];
  const answeredIn = (samples: readonly Sample[]) => samples.filter(({ status }) => status === 200 || status === 201).length;
  const usual = await applyLoad({ port, seconds: length.calibrate, clients: usualClients, first: 0, account, people });
  const warm = await idle();
  const probe = startProbe(port, ['/health/live', page]);
  const load = await applyLoad({ port, seconds: length.load, clients: manyClients, first: usual.length, account, people });
  await probe.end();
  const after = await askOnce(port, { path: `${page}&x=1` });
  const cool = await idle();
  const rate = answeredIn(usual) / length.calibrate;
  const refused = load.filter(({ status }) => status === 503);
  const slowest = (samples: readonly Sample[]) => Math.max(0, ...samples.map(({ ms }) => ms)) / 1000;
  const memory = warm && cool ? findMemoryProblem(warm, cool) : 'no figures';
  kept.push(
    printTable(
      `${manyClients} clients at once for ${length.load} s; ${usualClients} get ${rate.toFixed(0)} answers a second (S5.3)`,
      [
        none(
          `of ${load.length} without an answer, or with another one than 200, 201, 503`,
          load.filter(({ status }) => ![200, 201, 503].includes(status ?? 0)).map(({ path, status }) => `${path} ${status}`),
        ),
        none(
          `of ${refused.length} 503 without Retry-After`,
          refused.filter(({ hasRetryAfter }) => !hasRetryAfter).map(({ path }) => path),
        ),
        atMost('the slowest 503', slowest(refused), 2 * length.leeway, 's'),
        atMost('the slowest 200', slowest(load.filter(({ status }) => status === 200)), 10 * length.leeway, 's'),
        atLeast('answered', answeredIn(load) / length.load, rate / 2 / length.leeway, 'a second'),
        ...unnoticed(probe.samples, cheapMs, length.leeway),
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
  const headers = { 'X-Auth-User': account.loginname, 'X-Auth-Token': account.token };
  const endReports = startReports(ledger, 4, () => `http://127.0.0.1:${port}`, headers);
  for (const outage of outages) {
    const seconds = outage.isFrozen ? length.frozen : length.stopped;
    const rows = await playOutage(outage, { cluster, port, ledger, seconds, leeway: length.leeway });
    kept.push(printTable(`${outage.title} after ${seconds} s (S5.2)`, rows));
  }
  await endReports();
  const agreement = await checkLedger(databaseUrl, env.DATA_DIR, ledger);
  kept.push(printTable('In the end', [agreement, none('ends of the service', ends), none('faults in its log', faults)]));
  if (kept.includes(false)) console.log(`\nlast lines of the service:\n${service.lastLines().join('\n')}`);
  return !kept.includes(false);
}

/** @returns whether the witness was served all the time */
async function runWitness(seconds: number, isShort: boolean, only: string): Promise<boolean> {
  const problem = withoutProxy('nginx') || (process.env.DATABASE_URL === undefined && withoutCluster);
  if (problem) throw new Error(problem);
  let url = process.env.DATABASE_URL;
  if (url === undefined) {
    const cluster = await startCluster();
    atEnd(() => cluster.remove());
    url = cluster.url;
  }
  const site = await makeSite(url, { sightings: isShort ? 0 : 100_000 });
  const chosen = attacks.filter(({ name }) => name.includes(only));
  const kept: boolean[] = [];
  for (const isDirect of [true, false]) {
    const ends: string[] = [];
    const env = { ...site.env, ...(!isDirect && { TRUST_PROXY: '1' }) };
    const service = await startService(env, { ended: (how) => ends.push(how), line: () => {} });
    const proxy = isDirect ? null : await startProxy('nginx', service.port);
    atEnd(async () => proxy?.end());
    const door = proxy ?? plainDoor(service.port);
    const played = isDirect ? chosen.filter(({ isProxys }) => !isProxys) : chosen;
    const rows = await playAttacks(played, { site, door, record: await findRecord(door), seconds });
    kept.push(
      printTable(`One client does its worst, ${isDirect ? 'directly' : 'behind nginx'}`, [
        ...rows,
        none('ends of the service', ends),
      ]),
    );
    await proxy?.end();
    await service.stop();
  }
  return !kept.includes(false);
}

/** That all that was acknowledged is there. */
async function checkLedger(databaseUrl: string, dataDir: string | undefined, ledger: Entry[]): Promise<Row> {
  const disagreement = await assertAgrees(databaseUrl, ledger, dataDir).then(
    () => null,
    (error: Error) => error.message,
  );
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
      witness: { type: 'string' },
      only: { type: 'string', default: '' },
      pooler: { type: 'boolean', default: false },
      short: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  const { witness, short, pooler, only, help } = values;
  if (help) console.log(usage);
  else {
    if (witness !== undefined && !/^[1-9]\d{0,3}$/.test(witness)) throw new Error(usage);
    const isKept = await (witness === undefined ? run(short, pooler) : runWitness(Number(witness), short, only));
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

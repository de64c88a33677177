// npm run bench: databases of several sizes, every case against the database, the service and what it is compared with.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { openDatabase, poolSize, type Sql } from '../../src/db/client.ts';
import { root } from '../support/child.ts';
import { startCluster } from '../support/cluster.ts';
import type { Call } from './calls.ts';
import { type Case, readCases, type Side, sides } from './cases.ts';
import { drawChart } from './chart.ts';
import { readFacts } from './facts.ts';
import { databaseUrlOf, prepareDatabase } from './generate.ts';
import { type Measure, medianOf, runLoad, runPgbench } from './measure.ts';
import { outputCases, removeFeed } from './outputs.ts';
import { atEnd, closeAll, makeDir } from './process.ts';
import { formatResults } from './report.ts';
import { readMemory, type Server, startPostgraphile, startRival, startService, watchMemory } from './servers.ts';
import type { Entry, Results } from './targets.ts';
import { tasks } from './tasks.ts';
import { removeWritten, writeCases } from './writes.ts';

const cases: Case[] = [...readCases, ...outputCases, ...writeCases];

const usage = `npm run bench -- [options]

  --sizes 100000,1000000,10000000   sightings; each size is a database of its own
  --cases newest,bbox10             cases and tasks to run; all without it
  --sides db,http                   who is measured; all without it
  --rounds 5                        the sides of a case take turns this often; the median counts
  --seconds 3                       length of one measurement
  --keep DIR                        keep the cluster there: ten million sightings are made once
  --json FILE                       write the figures as JSON
  --results DIR                     write RESULTS.md and results.svg there
  --generate                        make the databases, measure nothing

BENCH_DATABASE_URL: a PostgreSQL to use instead of a private one; databases bench_SIZE are created there.

cases: ${cases.map(({ name }) => name).join(', ')}
tasks: ${tasks.map(({ name }) => name).join(', ')}`;

const options = {
  sizes: { type: 'string', default: '100000,1000000,10000000' },
  cases: { type: 'string' },
  sides: { type: 'string', default: sides.join() },
  rounds: { type: 'string', default: '5' },
  seconds: { type: 'string', default: '3' },
  keep: { type: 'string' },
  json: { type: 'string' },
  results: { type: 'string' },
  generate: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

const write = (line: string) => process.stderr.write(`${line}\n`);
const report = (line: string) => write(`${(performance.now() / 1000).toFixed(0).padStart(4)} s  ${line}`);

interface Plan {
  rounds: number;
  seconds: number;
  sides: Side[];
  isChosen(name: string): boolean;
}

/** Everything that answers at one size. */
interface Stand {
  sql: Sql;
  databaseUrl: string;
  scripts: string;
  servers: Partial<Record<Side, Server>>;
}

// More than the service's connections, so that none of them waits for a client.
const connections = 2 * poolSize;

async function main(): Promise<void> {
  const { values } = parseArgs({ options });
  if (values.help) {
    console.log(usage);
    return;
  }
  const names = values.cases?.split(',');
  const unknown = names?.filter((name) => ![...cases, ...tasks].some((known) => known.name === name)) ?? [];
  if (unknown.length > 0) throw new Error(`no such case: ${unknown.join(', ')}\n\n${usage}`);
  const sizes = values.sizes.split(',').map(Number);
  if (!sizes.every((size) => Number.isInteger(size) && size >= 1000)) throw new Error('--sizes: whole numbers from 1000 on');
  const plan: Plan = {
    rounds: Number(values.rounds),
    seconds: Number(values.seconds),
    sides: values.sides.split(',') as Side[],
    isChosen: (name) => names?.includes(name) ?? true,
  };
  const url = process.env.BENCH_DATABASE_URL || (await startServer(values.keep));
  for (const size of sizes) await prepareDatabase(url, size, write);
  if (values.generate) return;

  const results: Results = {
    about: await describeRun(databaseUrlOf(url, sizes[0] ?? 0), values),
    entries: [],
    figures: [],
    memory: [],
  };
  const { json, results: dir } = values;
  if (dir !== undefined) await mkdir(dir, { recursive: true });
  for (const size of sizes) {
    try {
      await measureSize(databaseUrlOf(url, size), size, plan, results);
    } finally {
      // What took hours stays when the rest fails.
      if (json !== undefined) await writeFile(json, JSON.stringify(results, null, 1));
      if (dir !== undefined) await writeFile(join(dir, 'RESULTS.md'), `${formatResults(results)}\n`);
      if (dir !== undefined) await writeFile(join(dir, 'results.svg'), drawChart(results));
    }
  }
  console.log(formatResults(results));
}

/** When, what and where; of the options those that change the figures. */
async function describeRun(databaseUrl: string, values: Record<string, unknown>): Promise<Results['about']> {
  const database = await openDatabase({ databaseUrl, dataDir: '' });
  const [server] = await database.sql<{ version: string; postgis: string; buffers: string }[]>`
    select current_setting('server_version') as version, current_setting('shared_buffers') as buffers,
      (select e.extversion from pg_extension e where e.extname = 'postgis') as postgis`;
  await database.close();
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
  const told = (['sizes', 'cases', 'sides', 'rounds', 'seconds'] as const).flatMap((name) =>
    values[name] === undefined || values[name] === sides.join() ? [] : ` --${name} ${values[name]}`,
  );
  return {
    date: new Date().toISOString().slice(0, 10),
    release: version,
    machine: `${cpus().length} cores (${cpus()[0]?.model.trim()}), ${Math.round(totalmem() / 2 ** 30)} GB of memory`,
    versions: `PostgreSQL ${server?.version} (shared_buffers ${server?.buffers}), PostGIS ${server?.postgis}, Node.js ${process.version}`,
    command: `\`npm run bench --${told.join('')}\``,
  };
}

/** A PostgreSQL of the run's own: its URL. */
async function startServer(kept?: string): Promise<string> {
  // Memory and WAL as anybody sets them for a database of this size; nothing that makes a commit less durable, and no planner settings.
  // `wal_level = minimal` spares the load its WAL.
  const cluster = await startCluster(
    `-c max_connections=100 -c shared_buffers=2GB -c effective_cache_size=8GB -c maintenance_work_mem=1GB -c max_wal_size=8GB
      -c checkpoint_timeout=15min -c wal_level=minimal -c max_wal_senders=0`.replaceAll(/\s+/g, ' '),
    kept,
  );
  atEnd(() => (kept === undefined ? cluster.remove() : cluster.stop('fast')));
  return cluster.url;
}

async function measureSize(databaseUrl: string, size: number, plan: Plan, results: Results): Promise<void> {
  // What a run that was interrupted left behind.
  await removeWrittenOf(databaseUrl, size);
  const database = await openDatabase({ databaseUrl, dataDir: '' });
  // Without the time limits of requests: what is made for a case takes longer.
  const sql = database.connect();
  const service = await startService(databaseUrl, { ANSWER_CACHE_MB: '0' });
  const again = await startService(databaseUrl);
  const pids = [service, again].map(({ running }) => running.process.pid ?? 0);
  const idle = Math.max(...(await Promise.all(pids.map(readMemory))).map((value) => value ?? Number.NaN));
  const facts = await readFacts(sql, size, service.url);
  const page = await (await fetch(`${service.url}/api/v2/sichtbeobachtungen`)).text();
  const rival = await startRival(databaseUrl, page);
  const isCompared =
    plan.sides.includes('postgraphile') && cases.some((c) => plan.isChosen(c.name) && c.sides.includes('postgraphile'));
  const postgraphile = isCompared
    ? await startPostgraphile(databaseUrl, report).catch((error: unknown) => {
        report(`without PostGraphile: ${error}`);
        return null;
      })
    : null;
  const stand: Stand = {
    sql,
    databaseUrl,
    scripts: await makeDir(),
    servers: { http: service, again, constant: rival, naive: rival, ...(postgraphile && { postgraphile }) },
  };
  // Once, so that everything is compiled and connected.
  for (const { url } of [service, again])
    await runLoad(url, await readCase('newest').calls(facts), connections, 1, stand.scripts);
  const watches = pids.map(watchMemory);

  for (const each of cases.filter(({ name }) => plan.isChosen(name))) {
    const calls = await each.calls(facts);
    report(`${size} sightings: ${each.title}${calls.length === 0 ? ': too few for this case' : ''}`);
    if (calls.length > 0) results.entries.push(await measureCase(each, calls, size, plan, stand));
  }
  results.memory.push({ size, idle, peak: Math.max(...watches.map((stop) => stop())) });
  for (const task of tasks.filter(({ name }) => plan.isChosen(name))) {
    report(`${size} sightings: ${task.name}`);
    for (const figure of await task.run({ sql, databaseUrl, size })) results.figures.push({ ...figure, size, task: task.name });
  }
  if ([...outputCases, ...writeCases, ...tasks].some(({ name }) => plan.isChosen(name))) await removeWrittenOf(databaseUrl, size);
  for (const server of [service, again, rival, postgraphile]) await server?.running.stop();
  await database.close();
}

function readCase(name: string): Case {
  const found = readCases.find((candidate) => candidate.name === name);
  if (!found) throw new Error(`no case ${name}`);
  return found;
}

async function measureCase(each: Case, calls: Call[], size: number, plan: Plan, stand: Stand): Promise<Entry> {
  const rounds = new Map<Side, Measure[]>();
  // What the case reads is in memory then, as on a server that is in use.
  if (plan.sides.includes('db') && each.sides.includes('db')) await measureSide('db', calls, 1, stand);
  for (let round = 0; round < plan.rounds; round++) {
    for (const side of each.sides.filter((candidate) => plan.sides.includes(candidate))) {
      if (side === 'postgraphile' && !stand.servers.postgraphile) continue;
      rounds.set(side, [...(rounds.get(side) ?? []), await measureSide(side, calls, plan.seconds, stand)]);
      await endLeftovers(stand.sql);
    }
  }
  const sides = Object.fromEntries([...rounds].map(([side, measures]) => [side, medianOf(measures)]));
  return { size, name: each.name, title: each.title, sides };
}

/** Ends what a server goes on with although its clients went: PostGraphile's slow ones would take minutes of both cores from others. */
async function endLeftovers(sql: Sql): Promise<void> {
  for (let quiet = 0; quiet < 2; ) {
    const [left] = await sql<{ count: number }[]>`
      select count(pg_cancel_backend(a.pid))::integer as count from pg_stat_activity a
      where a.datname = current_database() and a.backend_type = 'client backend' and a.state = 'active' and a.pid <> pg_backend_pid()`;
    quiet = left?.count === 0 ? quiet + 1 : 0;
    await sleep(50);
  }
}

function measureSide(side: Side, calls: Call[], seconds: number, stand: Stand): Promise<Measure> {
  const statements = calls.flatMap(({ statement }) => statement ?? []);
  if (side === 'db') return runPgbench(stand.databaseUrl, statements, 1, seconds, stand.scripts);
  if (side === 'ceiling') return runPgbench(stand.databaseUrl, statements, poolSize, seconds, stand.scripts);
  const url = stand.servers[side]?.url ?? '';
  return runLoad(
    url,
    calls.map((call) => toSide(side, call)),
    connections,
    seconds,
    stand.scripts,
  );
}

/** The request of a case as another server takes it. */
function toSide(side: Side, call: Call): Call {
  if (side === 'constant') return { method: 'GET', path: '/constant', headers: {} };
  if (side === 'naive') {
    return { method: 'GET', path: `/naive?page=${encodeURIComponent(JSON.stringify(call.naive))}`, headers: {} };
  }
  if (side === 'postgraphile') {
    const headers = { 'content-type': 'application/json', accept: 'application/json' };
    return { method: 'POST', path: '/graphql', headers, body: call.graphql ?? '' };
  }
  return call;
}

async function removeWrittenOf(databaseUrl: string, size: number): Promise<void> {
  const database = await openDatabase({ databaseUrl, dataDir: '' });
  const sql: Sql = database.connect();
  await removeWritten(sql, size);
  await removeFeed(sql);
  await database.close();
}

main()
  .catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  })
  .finally(closeAll);

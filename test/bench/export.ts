// Files to publish: how long the large ones take as a command and what its process weighs, and what lists and the service's process
// feel while the service makes all of them.
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Sql } from '../../src/db/client.ts';
import { listExportFaellig } from '../../src/db/export.ts';
import { medianOfNumbers, percentileOf } from './measure.ts';
import { makeDir, startEntry } from './process.ts';
import { type Server, startServer, watchMemory } from './servers.ts';
import type { Figure, TaskContext } from './tasks.ts';

const kuerzel = 'BENCH';
const rounds = 3;
const idleMs = 30_000;
// What a portal's readers ask for, not the most that is possible: far below what two cores serve.
const listsPerSecond = 40;

export async function measureExport({ sql, databaseUrl, size }: TaskContext): Promise<Figure[]> {
  await removePublisher(sql);
  await makePublisher(sql);
  try {
    return [
      ...(await measureCommand(databaseUrl, 'dwca')),
      ...(await measureCommand(databaseUrl, 'gpkg')),
      ...(await measureCommand(databaseUrl, 'cube')),
      // In the service a run rests twice as long as it works: of ten million it takes hours.
      ...(size > 1_000_000 ? [] : await measureService(sql, databaseUrl)),
    ];
  } finally {
    await removePublisher(sql);
  }
}

/** A tenant of all records that are shown. Its links to records are not made: files need none. */
async function makePublisher(sql: Sql): Promise<void> {
  await sql.begin(async (tx) => {
    await tx`set local session_replication_role = 'replica'`;
    await tx`
      with m as (
        insert into portal.mandant (kuerzel, name, domains, boundary, lizenz, herausgeber, kontakt, titel, beschreibung)
        select ${kuerzel}, 'Alle', '{export.bench.test}', st_multi(st_union(m.boundary)), 'CC-BY-4.0', 'Land', 'arten@example.org',
          'Funde', 'Alle'
        from portal.mandant m
        returning id),
      d as (insert into portal.mandant_domain (mandant_id, domain, position) select m.id, 'export.bench.test', 1 from m)
      insert into portal.mandant_zelle (cell_x, cell_y, mandant_id, ganz)
      select distinct g.cell_x, g.cell_y, m.id, true from portal.sichtbeobachtung_gezeigt g, m`;
  });
  await sql`analyze portal.mandant_zelle`;
}

const removePublisher = (sql: Sql) => sql`delete from portal.mandant where kuerzel = ${kuerzel}`;

async function measureCommand(databaseUrl: string, format: string): Promise<Figure[]> {
  const dir = await makeDir();
  const began = performance.now();
  const running = startEntry('cli', 'src/cli.ts', ['export', dir, '--mandant', kuerzel, '--format', format], {
    DATABASE_URL: databaseUrl,
    DATA_DIR: dir,
  });
  const peak = watchMemory(running.process.pid ?? 0);
  const [code] = await once(running.process, 'close');
  if (code !== 0) throw new Error(`the export ended with ${code}: ${running.output()}`);
  const seconds = (performance.now() - began) / 1000;
  return [
    { what: `export of ${format} by command`, value: seconds, unit: 's' },
    { what: `export of ${format}: memory of its process, at most`, value: peak(), unit: 'MB' },
  ];
}

async function measureService(sql: Sql, databaseUrl: string): Promise<Figure[]> {
  const runs = {
    seconds: [] as number[],
    idle: [] as number[],
    busy: [] as number[],
    light: [] as number[],
    heavy: [] as number[],
  };
  for (let round = 0; round < rounds; round++) {
    await removePublisher(sql);
    const service = await startServer({
      DATABASE_URL: databaseUrl,
      DATA_DIR: await makeDir(),
      EXPORT_CRON: '0 4 1 1 *',
      ANSWER_CACHE_MB: '0',
      LOG_LEVEL: 'warn',
      NODE_ENV: 'production',
    });
    const untilMade = async () => {
      while ((await listExportFaellig(sql, false)).length > 0) await sleep(500);
    };
    await untilMade();
    const peak = watchMemory(service.running.process.pid ?? 0);
    runs.idle.push(await measureLists(service, sleep(idleMs)));
    runs.light.push(peak());
    const most = watchMemory(service.running.process.pid ?? 0);
    await makePublisher(sql);
    const began = performance.now();
    runs.busy.push(await measureLists(service, untilMade()));
    runs.seconds.push((performance.now() - began) / 1000);
    runs.heavy.push(most());
    await service.running.stop();
  }
  const { seconds, idle, busy, light, heavy } = runs;
  const ratios = busy.map((value, round) => value / (idle[round] ?? Number.NaN));
  return [
    { what: 'all files in the service', value: medianOfNumbers(seconds), unit: 's' },
    { what: 'newest page made anew, 40 a second: p95 without a run', value: medianOfNumbers(idle), unit: 'ms' },
    { what: 'the same while files are made', value: medianOfNumbers(busy), unit: 'ms' },
    { what: 'ratio of these', value: medianOfNumbers(ratios), unit: 'x' },
    { what: 'memory of the service with lists, at most', value: medianOfNumbers(light), unit: 'MB' },
    { what: 'memory of the service with lists and files, at most', value: medianOfNumbers(heavy), unit: 'MB' },
  ];
}

/** 95th percentile in ms of the newest page, asked for at a constant rate until something has ended. */
async function measureLists({ url }: Server, end: Promise<unknown>): Promise<number> {
  let ended = false;
  const ending = end.finally(() => {
    ended = true;
  });
  const latencies: number[] = [];
  const ask = async () => {
    const began = performance.now();
    const response = await fetch(`${url}/api/v2/sichtbeobachtungen`);
    await response.arrayBuffer();
    if (!response.ok) throw new Error(`the list answers ${response.status}`);
    latencies.push(performance.now() - began);
  };
  const asked: Promise<void>[] = [];
  const began = performance.now();
  for (let n = 1; !ended; n++) {
    asked.push(ask());
    await sleep(Math.max(0, (n * 1000) / listsPerSecond - (performance.now() - began)));
  }
  await Promise.all([...asked, ending]);
  return percentileOf(latencies, 0.95);
}

// The boundary job: all tenants at once while others read, and one border that moves.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { type Database, openDatabase, type Sql } from '../../src/db/client.ts';
import { type BoundarySettings, refreshBoundaries } from '../../src/jobs/boundaries.ts';
import { listCall } from './calls.ts';
import { boxOf } from './cases.ts';
import { makeVariants, readFacts } from './facts.ts';
import { percentileOf } from './measure.ts';
import { makeDir } from './process.ts';
import { startService } from './servers.ts';
import type { Figure, TaskContext } from './tasks.ts';

/** The tenants as a source, each boundary as `geometry` (of portal.mandant m) says. */
async function writeSource(sql: Sql, dir: string, name: string, geometry: string): Promise<BoundarySettings> {
  const [row] = await sql.unsafe<{ document: string }[]>(`
    select json_build_object('type', 'FeatureCollection',
      'crs', json_build_object('type', 'name', 'properties', json_build_object('name', 'urn:ogc:def:crs:EPSG::25832')),
      'features', json_agg(json_build_object('type', 'Feature', 'properties', json_build_object('kuerzel', m.kuerzel),
        'geometry', st_asgeojson(${geometry}, 15, 0)::json)))::text as document
    from portal.mandant m`);
  const file = join(dir, `${name}.geojson`);
  await writeFile(file, row?.document ?? '');
  return { url: pathToFileURL(file).href, key: 'kuerzel', filter: null, allowPrivate: true };
}

/** Real boundaries, from the settings of the service itself; else those of the demo, 300 m further north-east. */
async function readSource(sql: Sql, dir: string): Promise<[settings: BoundarySettings, what: string]> {
  const { BOUNDARY_URL: url, BOUNDARY_KEY: key = 'kuerzel', BOUNDARY_FILTER: filter } = process.env;
  if (!url) return [await writeSource(sql, dir, 'shifted', 'st_translate(m.boundary, 300, 300)'), 'by 300 m'];
  const [property = '', value = ''] = filter?.split('=') ?? [];
  return [{ url, key, filter: filter ? { property, value } : null, allowPrivate: true }, 'to those of BOUNDARY_URL'];
}

/** Two clients that read pages and small boxes, with pauses as a calm portal has them; stops with the returned function. */
function startReaders(url: string, paths: string[]): () => Promise<number[]> {
  const times: number[] = [];
  let stopped = false;
  const read = async (offset: number) => {
    for (let n = offset; !stopped; n++) {
      const began = performance.now();
      const response = await fetch(url + paths[n % paths.length]);
      await response.arrayBuffer();
      if (!response.ok) throw new Error(`a reader got ${response.status}`);
      times.push(performance.now() - began);
      await sleep(10);
    }
  };
  const readers = Promise.all([read(0), read(7)]);
  return async () => {
    stopped = true;
    await readers;
    return times;
  };
}

async function timeRefresh(database: Database, settings: BoundarySettings): Promise<{ seconds: number; touched: number }> {
  const began = performance.now();
  const { zugeordnet } = await refreshBoundaries(database, settings, { force: true });
  return { seconds: (performance.now() - began) / 1000, touched: zugeordnet };
}

export async function measureBoundaries({ sql, databaseUrl, size }: TaskContext): Promise<Figure[]> {
  const dir = await makeDir();
  const database = await openDatabase({ databaseUrl, dataDir: '' });
  const service = await startService(databaseUrl);
  const facts = await readFacts(sql, size, service.url);
  const boxes = await makeVariants((n) => listCall({ tenant: facts.differing, filter: { bbox: boxOf(facts, n, 10) } }));
  const paths = [...boxes, await listCall({ tenant: facts.differing })].map(({ path }) => path);

  const original = await writeSource(sql, dir, 'original', 'm.boundary');
  // What RP gains of HE along their border.
  const neighbour = (kuerzel: string) => `(select n.boundary from portal.mandant n where n.kuerzel = '${kuerzel}')`;
  const moved = await writeSource(
    sql,
    dir,
    'moved',
    `case m.kuerzel
      when 'RP' then st_union(m.boundary, st_intersection(${neighbour('HE')}, st_buffer(m.boundary, 3000)), 0.001)
      when 'HE' then st_difference(m.boundary, st_buffer(${neighbour('RP')}, 3000), 0.001)
      else m.boundary end`,
  );
  const [source, what] = await readSource(sql, dir);
  try {
    const border = await timeRefresh(database, moved);
    await timeRefresh(database, original);

    const quiet = startReaders(service.url, paths);
    await sleep(10_000);
    const before = await quiet();
    const busy = startReaders(service.url, paths);
    const all = await timeRefresh(database, source);
    const during = await busy();
    await timeRefresh(database, original);
    return [
      { what: `a border moved by 3 km, ${border.touched} sightings between`, value: border.seconds, unit: 's' },
      {
        what: `refresh of all 16 boundaries, changed ${what}, ${all.touched} sightings concerned`,
        value: all.seconds,
        unit: 's',
      },
      { what: 'reading meanwhile, p99 over HTTP', value: percentileOf(during, 0.99), unit: 'ms' },
      { what: 'reading before it, p99 over HTTP', value: percentileOf(before, 0.99), unit: 'ms' },
    ];
  } finally {
    await service.running.stop();
    await database.close();
  }
}

// A source of boundaries, and what is stored by them.
import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Sql } from '../../src/db/client.ts';
import type { BoundarySettings } from '../../src/jobs/boundaries.ts';
import { closeAtEnd } from './end.ts';
import { listenAnywhere } from './port.ts';
import { listWrong } from './truth.ts';

export type Ring = [x: number, y: number][];
type Handler = (request: IncomingMessage, response: ServerResponse) => void;

export interface Source {
  url: string;
  settings: BoundarySettings;
  /** Requests so far. */
  requests: IncomingMessage[];
  /** What is answered from now on: a document, or whatever the handler does. */
  serve(answer: object | Handler): void;
}

/** A local HTTP server for the tests of a file. */
export async function startSource(): Promise<Source> {
  let handler: Handler = (_request, response) => response.writeHead(500).end();
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    handler(request, response);
  });
  const url = `http://127.0.0.1:${await listenAnywhere(server)}/grenzen.geojson`;
  closeAtEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url,
    settings: { url, key: 'kuerzel', filter: null, allowPrivate: true },
    requests,
    serve(answer) {
      handler = typeof answer === 'function' ? (answer as Handler) : (_request, response) => response.end(JSON.stringify(answer));
    },
  };
}

export const utm32 = { type: 'name', properties: { name: 'urn:ogc:def:crs:EPSG::25832' } };

export function makeFeature(properties: object, ...polygons: Ring[]): object {
  return {
    type: 'Feature',
    properties,
    geometry: { type: 'MultiPolygon', coordinates: polygons.map((ring) => [[...ring, ring[0]]]) },
  };
}

export function makeCollection(features: object[], crs: object | null = utm32): object {
  return { type: 'FeatureCollection', ...(crs && { crs }), features };
}

/** The outline of a tenant of the test catalogue with other western and eastern borders. */
export const frame = (x1: number, x2: number): Ring => [
  [x1, 5500000],
  [x2, 5500000],
  [x2, 5560000],
  [x1, 5560000],
];

/** The test catalogue's tenants, with the border of N and S at `x`. */
export function makeTenants(x = 452000): object {
  return makeCollection([
    makeFeature({ kuerzel: 'N' }, frame(400000, x)),
    makeFeature({ kuerzel: 'S' }, frame(x, 500000)),
    makeFeature({ kuerzel: 'W' }, frame(300000, 340000)),
  ]);
}

/** Everything about a record that a change of boundaries may touch. */
interface Placement {
  schutz: number;
  sensible_art: boolean;
  /** `N` for a tenant of the point, `(N)` for one that only the cell touches. */
  links: string;
}

/** What is stored of all records, by id. */
export async function readPlacements(sql: Sql): Promise<Map<number, Placement>> {
  const rows = await sql<(Placement & { id: number })[]>`
    select s.id, s.schutz, s.sensible_art, coalesce((
      select string_agg(case when l.exakt then m.kuerzel else '(' || m.kuerzel || ')' end, ' ' order by m.kuerzel)
      from portal.mandant_sichtbeobachtung l join portal.mandant m on m.id = l.mandant_id
      where l.sichtbeobachtung_id = s.id), '') as links
    from portal.sichtbeobachtung s`;
  return new Map(rows.map(({ id, ...placement }) => [id, placement]));
}

/** That every record is where brute force puts it, and is shown there. */
export async function assertPlacements(sql: Sql): Promise<void> {
  assert.deepEqual(await listWrong(sql), []);
}

/** The records whose shown place or tenants differ (D3.14): on which side of a border a hidden record lies is shown to nobody. */
export function listChanged(before: Map<number, Placement>, now: Map<number, Placement>): number[] {
  const shown = ({ schutz, links }: Placement) => `${schutz} ${schutz === 2 ? links.replace(/[()]/g, '') : links}`;
  return [...now]
    .filter(([id, placement]) => shown(before.get(id) ?? placement) !== shown(placement))
    .map(([id]) => id)
    .sort((a, b) => a - b);
}

/** What the change log gained while `work` ran, as ids; anything but UPDATE fails. */
export async function listLogged(sql: Sql, work: () => Promise<unknown>): Promise<number[]> {
  const [last] = await sql<{ id: number }[]>`select coalesce(max(id), 0) as id from portal.protokoll`;
  await work();
  const rows = await sql<{ audit: string; id: number }[]>`
    select audit::text, sichtbeobachtung_id as id from portal.protokoll where id > ${last?.id ?? 0} order by sichtbeobachtung_id`;
  assert.deepEqual(
    rows.filter((row) => row.audit !== 'UPDATE'),
    [],
  );
  return rows.map((row) => row.id);
}

/** Stores sightings of all species, spread over a box, each with a day and recorder of its own kind; every fifth is marked. */
export async function scatterSichtbeobachtungen(sql: Sql, box: [number, number, number, number], count: number): Promise<void> {
  const [x1, y1, x2, y2] = box;
  await sql`
    insert into portal.sichtbeobachtung (nutzer_id, art, point, datum, sensibel)
    select (select min(id) from portal.nutzer), a.ids[1 + n % cardinality(a.ids)],
      -- the golden ratio and the root of two spread evenly, the same at each run
      st_setsrid(st_makepoint(
        ${x1}::float8 + (${x2}::float8 - ${x1}::float8) * (n * 0.6180339887 - floor(n * 0.6180339887)),
        ${y1}::float8 + (${y2}::float8 - ${y1}::float8) * (n * 0.4142135623 - floor(n * 0.4142135623))), 25832),
      date '2000-01-01' + n % 9000, n % 5 = 0
    from generate_series(1, ${count}::integer) n, (select array_agg(id order by id) as ids from portal.art) a`;
}

/** The last run of the boundary job. */
export async function readLastRun(sql: Sql) {
  const [row] = await sql`select * from portal.grenzlauf order by id desc limit 1`;
  assert.ok(row);
  return row;
}

/** Boundaries with all that is derived from them; parts and rings in any order. */
export async function readBoundaries(sql: Sql): Promise<Record<string, unknown>> {
  const [row] = await sql`
    select (select json_agg(json_build_array(m.kuerzel, st_asewkt(st_normalize(m.boundary)), m.quelle, m.stand) order by m.id)::text
        from portal.mandant m) as boundaries,
      (select md5(string_agg(z::text, ' ' order by z.mandant_id, z.cell_x, z.cell_y)) from portal.mandant_zelle z) as cells,
      (select md5(string_agg(t.mandant_id || t.text, ' ' order by t.mandant_id, t.text))
        from (select mandant_id, st_asewkt(st_normalize(teil)) as text from portal.mandant_teil) t) as parts,
      (select md5(string_agg(l::text, ' ' order by l.mandant_id, l.sichtbeobachtung_id)) from portal.mandant_sichtbeobachtung l) as links,
      (select count(*) from portal.protokoll) as entries`;
  return { ...row };
}

/** That the tables which runs work in are empty. */
export async function assertNothingLeftOver(sql: Sql): Promise<void> {
  for (const table of ['grenzlauf_gebiet', 'mandant_entwurf', 'mandant_entwurf_teil', 'mandant_entwurf_zelle']) {
    assert.equal((await sql`select from ${sql(`portal.${table}`)}`).length, 0, `${table} is empty between runs`);
  }
}

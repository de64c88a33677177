// What the outputs beside the interface are asked for: the feed, features and squares for GIS programs, tiles.
import { type FeedPlace, listAbgleich } from '../../src/db/abgleich.ts';
import { type FeatureQuery, type Gitter, listRasterFeature, listSichtbeobachtungFeature } from '../../src/db/ausgabe-ogc.ts';
import { getTile } from '../../src/db/ausgabe-tiles.ts';
import type { Sql } from '../../src/db/client.ts';
import { type Call, captureStatement, headersOf, type Tenant } from './calls.ts';
import { boxOf, type Case, type Side } from './cases.ts';
import { type Facts, makeVariants, pick, unit } from './facts.ts';

const both: Side[] = ['db', 'http'];
const system = (srid: FeatureQuery['system']['srid']) => ({ srid, isNorthFirst: false });
const uriOf = (srid: number) => `http://www.opengis.net/def/crs/EPSG/0/${srid}`;
const limit = 1000;

async function getCall(path: string, run: (sql: Sql) => Promise<unknown>, tenant: Tenant): Promise<Call> {
  return { method: 'GET', path, headers: headersOf(tenant, null), statement: await captureStatement(run) };
}

/** A page of what a mirror copies first, anywhere in it. */
async function copyCalls({ sql, size, plain }: Facts): Promise<Call[]> {
  const { place } = await listAbgleich(sql, plain.id, null, null, 1);
  return makeVariants((n) => {
    const from: FeedPlace = { ...place, id: Math.floor(unit(n, 'copy') * size * 0.99) };
    return getCall(
      `/abgleich/v1/sichtbeobachtungen?limit=${limit}`,
      (client) => listAbgleich(client, plain.id, null, from, limit),
      plain,
    );
  });
}

// So many records that changed one by one lie anywhere: each page of them reads a thousand pages of the table.
const scattered = 300_000;

/** A page of what changed since, anywhere in it; for the host of a large tenant and of a small one, with and without its filter. */
async function changesCalls({ sql, size, plain, tenants }: Facts): Promise<Call[]> {
  // As many transactions as changes: a young server has had fewer.
  await sql`update portal.abgleich_verlauf set versatz = versatz + ${scattered}::bigint`;
  const { place } = await listAbgleich(sql, plain.id, null, null, 1);
  const [{ places = 0 } = {}] = await sql<{ places: number }[]>`
    with first as (
      select pg_snapshot_xmin(pg_current_snapshot())::text::bigint + v.versatz - 1 as last
      from portal.abgleich_verlauf v order by v.nummer desc limit 1),
    made as (
      insert into portal.abgleich (sichtbeobachtung_id, stelle)
      select g.id, f.last - row_number() over (order by bench.unit(g.id::integer, 960))
      from portal.sichtbeobachtung_gezeigt g
      cross join first f
      where bench.unit(g.id::integer, 961) < ${scattered / size}::float8
      on conflict do nothing)
    select f.last::float8 as places from first f`;
  await sql.unsafe('vacuum (analyze) portal.abgleich');
  const small = tenants.find(({ kuerzel }) => kuerzel === 'BE') ?? plain;
  return makeVariants(async (n) => {
    const tenant = n % 2 === 0 ? plain : small;
    const mandant = n % 4 < 2 ? null : tenant.kuerzel;
    const from = { ...place, teil: 1, id: 0, ab: null, stelle: Math.floor(places - unit(n, 'changes') * scattered) };
    const statement = await captureStatement((client) => listAbgleich(client, tenant.id, mandant, from, limit));
    return { method: 'GET' as const, path: '', headers: {}, statement };
  });
}

function itemsCase(name: string, title: string, srid: 25832 | 4326): Case {
  return {
    name,
    title,
    sides: both,
    calls: (facts) =>
      makeVariants(async (n) => {
        const sides = await toSystem(facts.sql, boxOf(facts, n, 100), srid);
        // Longitude and latitude in this order are CRS84, which is the default.
        const asked = srid === 4326 ? '' : `&bbox-crs=${uriOf(srid)}&crs=${uriOf(srid)}`;
        return getCall(
          `/ogc/collections/sichtbeobachtung/items?f=json&limit=${limit}&bbox=${sides.join()}${asked}`,
          (client) =>
            listSichtbeobachtungFeature(client, null, {
              filter: { box: { sides, srid } },
              after: null,
              skip: 0,
              limit,
              system: system(srid),
            }),
          facts.plain,
        );
      }),
  };
}

async function toSystem(sql: Sql, [left = 0, bottom = 0, right = 0, top = 0]: number[], srid: number): Promise<number[]> {
  const [row] = await sql<{ sides: number[] }[]>`
    select to_json(array[st_xmin(b.g), st_ymin(b.g), st_xmax(b.g), st_ymax(b.g)]) as sides
    from (select st_transform(st_makeenvelope(${left}, ${bottom}, ${right}, ${top}, 25832), ${srid}::integer) as g) b`;
  return (row?.sides ?? []).map((side) => Number(side.toFixed(srid === 4326 ? 6 : 0)));
}

const gitter: Gitter[] = ['5km', 'eea10', 'mtb', 'mtbq'];

/** The first page of squares: of a frequent species on each grid, or of everything on that of 5 km. */
function squaresCase(name: string, title: string, count: number, isOfSpecies: boolean): Case {
  return {
    name,
    title,
    sides: both,
    calls: (facts) =>
      makeVariants(
        (n) => {
          const grid = isOfSpecies ? (gitter[n % 4] ?? '5km') : '5km';
          const art = isOfSpecies ? pick(facts.species.slice(0, 20), n, 'squares').art : undefined;
          return getCall(
            `/ogc/collections/raster_${grid}/items?f=json&limit=${count}${art === undefined ? '' : `&art=${art}`}`,
            (client) =>
              listRasterFeature(client, grid, { filter: { art }, after: null, skip: 0, limit: count, system: system(4326) }),
            facts.plain,
          );
        },
        isOfSpecies ? undefined : 1,
      ),
  };
}

/** Tiles that hold a hot spot: every second one of the most crowded. */
function tileCase(z: number): Case {
  return {
    name: `tile${z}`,
    title: `tile of zoom ${z}`,
    sides: [...both, 'again'],
    calls: (facts) =>
      makeVariants(async (n) => {
        const place = pick(n % 2 === 0 ? facts.places.slice(0, 40) : facts.places, n, 'tile');
        const [x = 0, y = 0] = await toSystem(facts.sql, [place.x, place.y, place.x, place.y], 3857);
        const half = 20037508.342789244;
        const tile = { x: Math.floor(((x + half) / (2 * half)) * 2 ** z), y: Math.floor(((half - y) / (2 * half)) * 2 ** z) };
        const all = { art: null, artengruppeId: null, jahrVon: null, jahrBis: null, teilung: 128 };
        return getCall(
          `/tiles/v1/${z}/${tile.x}/${tile.y}.mvt`,
          (client) => getTile(client, { z, ...tile, ...all }),
          facts.plain,
        );
      }),
  };
}

export const outputCases: Case[] = [
  { name: 'feed-copy', title: 'feed, page of 1 000 of the first copy', sides: both, calls: copyCalls },
  { name: 'feed-changes', title: 'feed, page of 1 000 scattered changes', sides: ['db'], calls: changesCalls },
  itemsCase('items', 'OGC items, 1 000 in 100 km, metres', 25832),
  itemsCase('items-degrees', 'OGC items, 1 000 in 100 km, degrees', 4326),
  squaresCase('squares-species', 'squares of a frequent species', limit, true),
  squaresCase('squares-all', 'squares of all species, 5 km', 10_000, false),
  ...[6, 10, 14].map(tileCase),
];

/** Removes the places in the feed that were made for these cases, and those of what was written. */
export async function removeFeed(sql: Sql): Promise<void> {
  await sql.unsafe('delete from portal.abgleich');
}

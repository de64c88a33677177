// Requests to the outputs beside the interface, made up from what twins hold: for the proof that none of them tells a hidden place.
import type { Sql } from '../../src/db/client.ts';
import type { Dice } from './dice.ts';
import { cellSize, type Place, type TwinRecord } from './twins.ts';

export interface OutputRequest {
  path: string;
  headers: Record<string, string>;
}

/** Routes of outputs, as the application has them: a test finds one that nothing asks for. */
export const outputRoutes = [
  '/ogc',
  '/ogc/api',
  '/ogc/conformance',
  '/ogc/collections',
  '/ogc/collections/:collection',
  '/ogc/collections/:collection/items',
  '/ogc/collections/:collection/items/:fid{.+}',
  '/tiles/v1/tiles.json',
  '/tiles/v1/:z/:x/:file',
  '/atlas/v1/phaenologie',
  '/atlas/v1/arten',
  '/atlas/v1/sichtbeobachtungen',
  '/export/v1',
  '/pruefung/v1/hinweise',
] as const;

const systems = ['OGC:CRS84', 'EPSG:4326', 'EPSG:25832', 'EPSG:3857', 'EPSG:3035'] as const;
type System = (typeof systems)[number];
const uriOf = (system: System) =>
  system === 'OGC:CRS84'
    ? 'http://www.opengis.net/def/crs/OGC/1.3/CRS84'
    : `http://www.opengis.net/def/crs/EPSG/0/${system.slice(5)}`;

/** A record's two places in other systems, as the database projects them. */
export interface Placed {
  record: TwinRecord;
  /** x and y of each place and of the middle of the cell, by system; degrees as longitude and latitude. */
  places: Record<System, Place[]>;
  /** Codes of squares of each place and of the middle of the cell. */
  codes: Record<(typeof rasters)[number], string[]>;
}

const rasters = ['raster_5km', 'raster_eea10', 'raster_mtb', 'raster_mtbq', 'verbreitung_eea10'] as const;
const sightings = ['sichtbeobachtung', 'sichtbeobachtung_punkt', 'sichtbeobachtung_quadrat'] as const;
const isSighting = (collection: string): collection is (typeof sightings)[number] =>
  sightings.some((each) => each === collection);
const years = ['2020', '2021', '2022', '2023'];
const arten = ['1', '2', '3', '4', '5'];

/** Makes requests on every route, most of them near records. */
export function makeOutputRequests(dice: Dice, placed: readonly Placed[]): { make(): OutputRequest & { route: string } } {
  const some = (query: Record<string, () => string>, share = 0.4) =>
    Object.entries(query)
      .filter(() => dice.chance(share))
      .map(([name, value]) => `${name}=${encodeURIComponent(value())}`);
  const join = (path: string, pairs: string[]) => (pairs.length > 0 ? `${path}?${pairs.join('&')}` : path);
  const art = () => dice.pick(arten);
  const gid = () => dice.pick(['1', '2']);
  const year = () => dice.pick(years);
  const near = () => dice.pick(placed);

  const boxOf = (): [System, string] => {
    const system = dice.pick(systems);
    const { x, y } = dice.pick(near().places[system]) ?? { x: 0, y: 0 };
    const isDegrees = system === 'OGC:CRS84' || system === 'EPSG:4326';
    const reach = dice.pick([0.5, 40, 700, 3000, 20_000]) / (isDegrees ? 90_000 : 1);
    // The place on the edge, in the middle, or just outside.
    const shift = dice.pick([-1, 0, 0.999, 1, 1.001]) * reach;
    const [x1, y1, x2, y2] = [x + shift - reach, y - reach, x + shift + reach, y + reach];
    const isNorthFirst = system === 'EPSG:4326' || system === 'EPSG:3035';
    return [system, (isNorthFirst ? [y1, x1, y2, x2] : [x1, y1, x2, y2]).join(',')];
  };
  const boxPairs = () => {
    if (dice.chance(0.3)) return [];
    const [system, box] = boxOf();
    return [`bbox=${box}`, ...(system === 'OGC:CRS84' ? [] : [`bbox-crs=${encodeURIComponent(uriOf(system))}`])];
  };
  const crs = () => uriOf(dice.pick(systems));
  const form = () => dice.pick([{}, {}, {}, { accept: 'text/html' }]);

  const items = () => {
    const collection = dice.pick([...sightings, ...sightings, ...rasters]);
    const own = isSighting(collection)
      ? some(
          {
            art,
            artengruppe_id: gid,
            jahr: year,
            mandant: () => dice.pick(['N', 'S', 'W']),
            datetime: () => dice.pick(['2021-01-01/2022-06-30', '../2022-01-01', '2023-05-11', '2021-06-01T00:00:00Z/..']),
          },
          0.2,
        )
      : some({ art, artengruppe_id: gid, jahr_von: year, jahr_bis: () => '2023' }, 0.25);
    const page = some({
      crs,
      limit: () => dice.pick(['1', '3', '10', '1000', '10000']),
      f: () => dice.pick(['json', 'html', 'csv']),
    });
    return join(`/ogc/collections/${collection}/items`, [...boxPairs(), ...own, ...page]);
  };
  const item = () => {
    const { record, codes } = near();
    const collection = dice.pick([...sightings, ...rasters] as const);
    const fid = isSighting(collection) ? String(record.id) : dice.pick(codes[collection]);
    return join(
      `/ogc/collections/${collection}/items/${dice.pick([encodeURIComponent(fid), fid, fid.replace('/', '-')])}`,
      some({ crs, f: () => dice.pick(['json', 'html']) }),
    );
  };
  const tile = () => {
    const zoom = dice.pick([0, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);
    const { x: lon, y: lat } = dice.pick(near().places['OGC:CRS84']) ?? { x: 9, y: 50 };
    const side = 2 ** zoom;
    const x = Math.floor(((lon + 180) / 360) * side);
    const y = Math.floor(((1 - Math.asinh(Math.tan((lat * Math.PI) / 180)) / Math.PI) / 2) * side);
    return join(
      `/tiles/v1/${zoom}/${x}/${y}.mvt`,
      some({ art, artengruppe_id: gid, jahr_von: year, jahr_bis: () => '2023' }, 0.2),
    );
  };
  const records = () =>
    `/atlas/v1/sichtbeobachtungen?id=${Array.from({ length: dice.pick([1, 2, 20]) }, () => near().record.id).join(',')}`;
  const hint = () => {
    const system = dice.pick(['EPSG:25832', 'EPSG:4326', 'EPSG:3857'] as const);
    const { x, y } = dice.pick(near().places[system]) ?? { x: 0, y: 0 };
    const report = some({
      datum: () => `${1 + dice.below(28)}.${1 + dice.below(12)}.2024`,
      anzahl: () => dice.pick(['1', '2', '50']),
      stadium_id: () => '1',
      aktivitaet_id: () => '2',
    });
    return join('/pruefung/v1/hinweise', [`art=${art()}`, `lat=${y}`, `lon=${x}`, `srid=${system}`, ...report]);
  };
  const makers: Record<(typeof outputRoutes)[number], [weight: number, make: () => string]> = {
    '/ogc': [1, () => join('/ogc', some({ f: () => 'html' }))],
    '/ogc/api': [1, () => '/ogc/api'],
    '/ogc/conformance': [1, () => '/ogc/conformance'],
    '/ogc/collections': [2, () => join('/ogc/collections', some({ f: () => 'html' }))],
    '/ogc/collections/:collection': [3, () => `/ogc/collections/${dice.pick([...sightings, ...rasters, 'mandant'])}`],
    '/ogc/collections/:collection/items': [40, items],
    '/ogc/collections/:collection/items/:fid{.+}': [15, item],
    '/tiles/v1/tiles.json': [1, () => '/tiles/v1/tiles.json'],
    '/tiles/v1/:z/:x/:file': [30, tile],
    '/atlas/v1/phaenologie': [
      5,
      () =>
        join(
          '/atlas/v1/phaenologie',
          some({
            art,
            artengruppe_id: gid,
            mandant: () => dice.pick(['N', 'S', 'W']),
            jahr_von: year,
            format: () => dice.pick(['json', 'csv', 'svg']),
          }),
        ),
    ],
    '/atlas/v1/arten': [2, () => join('/atlas/v1/arten', some({ suche: () => dice.pick(['u', 'uhu', 'fal']), art }))],
    '/atlas/v1/sichtbeobachtungen': [8, records],
    '/pruefung/v1/hinweise': [10, hint],
    '/export/v1': [1, () => join('/export/v1', some({ f: () => dice.pick(['html', 'jsonld', 'rdf']) }))],
  };
  const wheel = Object.entries(makers).flatMap(([route, [weight, make]]) =>
    Array.from({ length: weight }, () => ({ route, make })),
  );
  return {
    make() {
      const { route, make } = dice.pick(wheel);
      return { route, path: make(), headers: form() };
    },
  };
}

/** Finds where records lie in all systems and grids: the first place, the second one, and the middle of the cell. */
export async function placeRecords(sql: Sql, records: readonly TwinRecord[]): Promise<Placed[]> {
  return Promise.all(
    records.map(async (record) => {
      const { corner } = record;
      const places = [...record.places, { x: corner.x + cellSize / 2, y: corner.y + cellSize / 2 }];
      const rows = await sql<Record<string, number>[]>`
        select x, y, st_x(g) as lon, st_y(g) as lat, st_x(w) as web_x, st_y(w) as web_y, st_x(l) as laea_x, st_y(l) as laea_y,
          floor(x / 5000)::integer as cell_x, floor(y / 5000)::integer as cell_y, private.to_eea10(p) as eea10, private.to_tk(p) as tk
        from (
          select x, y, p, st_transform(p, 4326) as g, st_transform(p, 3857) as w, st_transform(p, 3035) as l
          from (
            select x, y, st_setsrid(st_makepoint(x, y), 25832) as p
            from json_to_recordset(${JSON.stringify(places)}::text::json) r (x float8, y float8)
          ) points
        ) projected`;
      const pairs = (x: string, y: string): Place[] => rows.map((row) => ({ x: Number(row[x]), y: Number(row[y]) }));
      const codes = (make: (row: Record<string, number>) => string) => [...new Set(rows.map(make))];
      const sheet = (tk = 0) => String(Math.floor(tk / 10)).padStart(4, '0');
      return {
        record,
        places: {
          'OGC:CRS84': pairs('lon', 'lat'),
          'EPSG:4326': pairs('lon', 'lat'),
          'EPSG:25832': pairs('x', 'y'),
          'EPSG:3857': pairs('web_x', 'web_y'),
          'EPSG:3035': pairs('laea_x', 'laea_y'),
        },
        codes: {
          raster_5km: codes(({ cell_x, cell_y }) => `${cell_x}/${cell_y}`),
          raster_eea10: codes(({ eea10 = 0 }) => `10kmE${Math.floor(eea10 / 1000)}N${eea10 % 1000}`),
          verbreitung_eea10: codes(({ eea10 = 0 }) => `10kmE${Math.floor(eea10 / 1000)}N${eea10 % 1000}-${record.art}`),
          raster_mtb: codes(({ tk }) => sheet(tk)),
          raster_mtbq: codes(({ tk = 0 }) => `${sheet(tk)}/${tk % 10}`),
        },
      };
    }),
  );
}

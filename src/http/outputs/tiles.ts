// GET /tiles/v1/{z}/{x}/{y}.mvt and /tiles/v1/tiles.json: vector tiles (O3.1).

import { fromGeojsonVt } from '@maplibre/vt-pbf';
import { type Context, Hono } from 'hono';
import {
  canPackTiles,
  getTile,
  getTileBounds,
  listTile,
  type TileFeature,
  type TileGeometry,
  type TileQuery,
} from '../../db/ausgabe-tiles.ts';
import type { Versioned } from '../../db/page.ts';
import { runOutsideScope } from '../../guard/request.ts';
import { type Deps, type Env, requestOrigin } from '../context.ts';
import { PortalError } from '../wire/portal-error.ts';
import type { Answer } from '../wire/reply.ts';
import type { AnswerOutput } from './answer-output.ts';
import { queryReader, recordFilters } from './output-query.ts';

export const maxZoom = 16;
/** Bytes of a tile; what is more is thinned out further. */
export const maxTileBytes = 500_000;
// Small squares along each side of a tile: a point for each of 16 384 fits, with room for boundaries.
const teilungen = [128, 64, 32, 16, 8];

// After so long a tile is not thinned out further.
const thinningMs = 3000;

const readTileQuery = queryReader(recordFilters);
const readTile = (c: Context<Env>) => ({ ...readPlace(c), ...readTileQuery(c) });

export function tileRoutes(deps: Deps, conditionally: AnswerOutput): Hono<Env> {
  const { reads, config } = deps;
  let canPack: Promise<boolean> | null = null;
  const make = async (query: TileQuery): Promise<Versioned<Buffer<ArrayBuffer>>> => {
    canPack ??= runOutsideScope(() => canPackTiles(reads)).catch((error: unknown) => {
      canPack = null;
      throw error;
    });
    if (await canPack) return getTile(reads, query);
    const { value, ...version } = await listTile(reads, query);
    return { value: packTile(value), ...version };
  };

  const tile = async (_c: Context<Env>, asked: ReturnType<typeof readTile>): Promise<Answer> => {
    const { z, x, y, art = null, artengruppe_id = null, jahr_von = null, jahr_bis = null } = asked;
    const query = { z, x, y, art, artengruppeId: artengruppe_id, jahrVon: jahr_von, jahrBis: jahr_bis };
    const until = performance.now() + thinningMs;
    for (const teilung of teilungen) {
      const { value: body, ...version } = await make({ ...query, teilung });
      if (body.length <= maxTileBytes) return { body, type: 'application/vnd.mapbox-vector-tile', status: 200, ...version };
      if (performance.now() > until) break;
    }
    // Boundaries alone, of thousands of tenants; or there was no time to go on.
    throw new PortalError('ueberlastet');
  };

  const description = async (c: Context<Env>): Promise<Answer> => {
    const { value: bounds, stand } = await getTileBounds(reads);
    const document = {
      tilejson: '3.0.0',
      name: 'Beobachtungen',
      scheme: 'xyz',
      tiles: [`${requestOrigin(c, config.trustedHops)}/tiles/v1/{z}/{x}/{y}.mvt`],
      minzoom: 0,
      maxzoom: maxZoom,
      ...(bounds && { bounds: bounds.map((degrees) => Math.round(degrees * 1e5) / 1e5) }),
      vector_layers: layers,
    };
    return { body: JSON.stringify(document), type: 'application/json; charset=utf-8', status: 200, stand };
  };

  return new Hono<Env>()
    .get('/tiles/v1/tiles.json', conditionally(queryReader({}), description))
    .get('/tiles/v1/:z/:x/:file', conditionally(readTile, tile));
}

const layers = [
  {
    id: 'raster',
    description: 'Meldungen und Arten je Quadrat: 5 km bei Zoom 9, mit jeder Stufe darunter doppelt so breit',
    minzoom: 0,
    maxzoom: 9,
    fields: { meldungen: 'Zahl der Meldungen', arten: 'Zahl der Arten' },
  },
  {
    id: 'sichtbeobachtung',
    description: 'Meldungen an ihrem genauen Ort',
    minzoom: 10,
    maxzoom: maxZoom,
    fields: { id: 'Nummer der Meldung' },
  },
  {
    id: 'zelle',
    description: 'Quadrate von 5 × 5 km, in denen geschützte Fundorte liegen',
    minzoom: 10,
    maxzoom: maxZoom,
    fields: { meldungen: 'Zahl der geschützten Meldungen darin' },
  },
  {
    id: 'mandant',
    description: 'Gebiete der Mandanten',
    minzoom: 0,
    maxzoom: maxZoom,
    fields: { kuerzel: 'Kürzel', name: 'Name' },
  },
];

const place = /^\/tiles\/v1\/(0|[1-9]\d{0,5})\/(0|[1-9]\d{0,5})\/(0|[1-9]\d{0,5})\.mvt$/;

/** @throws PortalError `nicht_gefunden` for what is no tile of the pyramid, written as it is written there */
function readPlace(c: Context<Env>): { z: number; x: number; y: number } {
  const [, z = Number.NaN, x = Number.NaN, y = Number.NaN] = place.exec(c.req.path)?.map(Number) ?? [];
  if (!(z <= maxZoom && x < 2 ** z && y < 2 ** z)) throw new PortalError('nicht_gefunden');
  return { z, x, y };
}

const extent = 4096;

/** A tile of version 2 where the database can't pack it (O3.2), as PostGIS does: layers without features are left out. */
export function packTile(features: readonly TileFeature[]): Buffer<ArrayBuffer> {
  const layers: Record<string, { features: ReturnType<typeof toPacked>[] }> = {};
  for (const feature of features) {
    layers[feature.layer] ??= { features: [] };
    layers[feature.layer]?.features.push(toPacked(feature));
  }
  return Buffer.from(fromGeojsonVt(layers, { version: 2, extent }));
}

function toPacked({ id, properties, geometry }: TileFeature) {
  return { ...(id !== null && { id }), type: geometry.type === 'Point' ? 1 : 3, tags: properties, geometry: toRings(geometry) };
}

function toRings(geometry: TileGeometry) {
  if (geometry.type === 'Point') return [geometry.coordinates];
  return geometry.type === 'Polygon' ? geometry.coordinates : geometry.coordinates.flat();
}

// Vector tiles (O3.1), as gis_public.
import { asPublic, readPublic } from './ausgabe.ts';
import type { Sql, Transaction } from './client.ts';
import type { Versioned } from './page.ts';
import { oneValue } from './row.ts';

/** Which tile, of which records. */
export interface TileQuery {
  z: number;
  x: number;
  y: number;
  art: number | null;
  artengruppeId: number | null;
  jahrVon: number | null;
  jahrBis: number | null;
  /** Small squares along each side: a dense tile has a point for each of them. */
  teilung: number;
}

/** A feature of a tile, in the tile's own coordinates. */
export interface TileFeature {
  layer: string;
  /** Beside the attributes: the same in every tile that shows a part of it. */
  id: number | null;
  properties: Record<string, string | number>;
  geometry: TileGeometry;
}

export type TileGeometry =
  | { type: 'Point'; coordinates: number[] }
  | { type: 'Polygon'; coordinates: number[][][] }
  | { type: 'MultiPolygon'; coordinates: number[][][][] };

/** A packed tile. PostgreSQL only: the embedded database is built without the library. */
export async function getTile(sql: Sql, query: TileQuery): Promise<Versioned<Buffer<ArrayBuffer>>> {
  const read = (tx: Transaction) =>
    oneValue<Buffer<ArrayBuffer>>(tx`
      select ausgabe.get_tile(
        z => ${query.z}::integer, x => ${query.x}::integer, y => ${query.y}::integer, art => ${query.art}::integer,
        artengruppe_id => ${query.artengruppeId}::integer, jahr_von => ${query.jahrVon}::integer,
        jahr_bis => ${query.jahrBis}::integer, teilung => ${query.teilung}::integer)`);
  return readPublic(sql, read, query);
}

/** What is in a tile, unpacked. */
export async function listTile(sql: Sql, query: TileQuery): Promise<Versioned<TileFeature[]>> {
  const read = async (tx: Transaction) => {
    const rows = await tx<{ ebene: string; fid: number | null; merkmale: string; geom: string }[]>`
      select ebene, fid, merkmale, geom
      from ausgabe.list_tile(
        z => ${query.z}::integer, x => ${query.x}::integer, y => ${query.y}::integer, art => ${query.art}::integer,
        artengruppe_id => ${query.artengruppeId}::integer, jahr_von => ${query.jahrVon}::integer,
        jahr_bis => ${query.jahrBis}::integer, teilung => ${query.teilung}::integer)`;
    return rows.map(({ ebene, fid, merkmale, geom }) => ({
      layer: ebene,
      id: fid,
      properties: JSON.parse(merkmale) as Record<string, string | number>,
      geometry: JSON.parse(geom) as TileGeometry,
    }));
  };
  return readPublic(sql, read, query);
}

/** Where there are tenants, in degrees: west, south, east, north; null without any. */
export async function getTileBounds(sql: Sql): Promise<Versioned<[number, number, number, number] | null>> {
  return readPublic(sql, async (tx) => {
    const [row] = await tx<{ west: number | null; south: number; east: number; north: number }[]>`
      select b.west, b.south, b.east, b.north from ausgabe.get_tile_bounds() b`;
    return row && row.west !== null ? [row.west, row.south, row.east, row.north] : null;
  });
}

/** Whether this database packs tiles itself. */
export async function canPackTiles(sql: Sql): Promise<boolean> {
  return asPublic(sql, (tx) => oneValue<boolean>(tx`select ausgabe.can_pack_tile()`));
}

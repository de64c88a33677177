// Pages of features for GIS programs (O2), as the database makes them.
import { asPublic, readPublic } from './ausgabe.ts';
import type { Sql, Transaction } from './client.ts';
import type { Versioned } from './page.ts';
import { oneValue } from './row.ts';

/** A system that geometries are asked for in. */
export interface OutputSystem {
  srid: 25832 | 3035 | 3857 | 4326;
  /** Northing or latitude is the first axis. */
  isNorthFirst: boolean;
}

/** left, bottom, right, top: easting or longitude first, whatever the system says. */
export interface OutputBox {
  sides: readonly number[];
  srid: OutputSystem['srid'];
}

export interface FeatureFilter {
  art?: number | undefined;
  artengruppe_id?: number | undefined;
  mandant?: string | undefined;
  /** Years, both included. */
  jahr_von?: number | undefined;
  jahr_bis?: number | undefined;
  /** YYYY-MM-DD, both included. */
  datum_von?: string | undefined;
  datum_bis?: string | undefined;
  box?: OutputBox | undefined;
}

/** What a page is asked for. */
export interface FeatureQuery {
  filter: FeatureFilter;
  /** The key of the last feature of the page before. */
  after: string | null;
  /** So many are left out at its beginning. */
  skip: number;
  limit: number;
  system: OutputSystem;
}

export interface FeaturePage {
  /** GeoJSON features, with a comma and a line break between them: in pieces, to be copied once. */
  features: readonly Buffer[];
  returned: number;
  /** What the next page begins behind; null on the last one. */
  lastKey: string | null;
}

export type Gitter = '5km' | 'eea10' | 'mtb' | 'mtbq';

/** Sightings that are points, or masked ones, which are squares; null for both. */
export type Form = 'punkt' | 'quadrat' | null;

/** A page of sightings. Fails with MANUN. */
export function listSichtbeobachtungFeature(
  sql: Sql,
  form: Form,
  { filter, after, skip, limit, system }: FeatureQuery,
): Promise<Versioned<FeaturePage>> {
  const { art, artengruppe_id, datum_von, datum_bis, mandant, box } = filter;
  return readPage(
    sql,
    (tx) => tx`
      select f.features, f.last_key, f.returned from ausgabe.list_sichtbeobachtung(
        art => ${art ?? null}::integer, gid => ${artengruppe_id ?? null}::integer, datum_von => ${datum_von ?? null}::date,
        datum_bis => ${datum_bis ?? null}::date, mandant => ${mandant ?? null}::text,
        box => ${toArray(box?.sides)}::float8[], box_srid => ${box?.srid ?? null}::integer,
        after_key => ${toArray(after?.split('_'))}::bigint[], skip => ${skip}::integer, row_limit => ${limit}::integer, srid => ${system.srid}::integer,
        north_first => ${system.isNorthFirst}::boolean, form => ${form}::text) f`,
  );
}

/** A page of the squares of a grid that hold sightings. */
export function listRasterFeature(
  sql: Sql,
  gitter: Gitter,
  { filter, after, skip, limit, system }: FeatureQuery,
): Promise<Versioned<FeaturePage>> {
  const { art, artengruppe_id, jahr_von, jahr_bis, box } = filter;
  return readPage(
    sql,
    (tx) => tx`
      select f.features, f.last_key, f.returned from ausgabe.list_raster_feature(
        gitter => ${gitter}::text, art => ${art ?? null}::integer, gid => ${artengruppe_id ?? null}::integer,
        jahr_von => ${jahr_von ?? null}::integer, jahr_bis => ${jahr_bis ?? null}::integer,
        box => ${toArray(box?.sides)}::float8[], box_srid => ${box?.srid ?? null}::integer, after_key => ${after}::text,
        skip => ${skip}::integer, row_limit => ${limit}::integer, srid => ${system.srid}::integer, north_first => ${system.isNorthFirst}::boolean) f`,
  );
}

/** A page of 10 km squares and the species that were found in them. */
export function listVerbreitungFeature(
  sql: Sql,
  { filter, after, skip, limit, system }: FeatureQuery,
): Promise<Versioned<FeaturePage>> {
  const { art, artengruppe_id, jahr_von, jahr_bis, box } = filter;
  return readPage(
    sql,
    (tx) => tx`
      select f.features, f.last_key, f.returned from ausgabe.list_verbreitung_feature(
        art => ${art ?? null}::integer, gid => ${artengruppe_id ?? null}::integer,
        jahr_von => ${jahr_von ?? null}::integer, jahr_bis => ${jahr_bis ?? null}::integer,
        box => ${toArray(box?.sides)}::float8[], box_srid => ${box?.srid ?? null}::integer, after_key => ${after}::text,
        skip => ${skip}::integer, row_limit => ${limit}::integer, srid => ${system.srid}::integer, north_first => ${system.isNorthFirst}::boolean) f`,
  );
}

/** A page of tenants. */
export function listMandantFeature(
  sql: Sql,
  { filter: { box }, after, skip, limit, system }: FeatureQuery,
): Promise<Versioned<FeaturePage>> {
  return readPage(
    sql,
    (tx) => tx`
      select f.features, f.last_key, f.returned from ausgabe.list_mandant_feature(
        box => ${toArray(box?.sides)}::float8[], box_srid => ${box?.srid ?? null}::integer, after_key => ${after}::text,
        skip => ${skip}::integer, row_limit => ${limit}::integer, srid => ${system.srid}::integer, north_first => ${system.isNorthFirst}::boolean) f`,
  );
}

/** One sighting; null where everybody may see none of this form. */
export function getSichtbeobachtungFeature(
  sql: Sql,
  form: Form,
  id: number,
  { srid, isNorthFirst }: OutputSystem,
): Promise<Versioned<Buffer | null>> {
  return readOne(
    sql,
    (tx) => tx`select ausgabe.get_sichtbeobachtung(${id}::bigint, ${srid}::integer, ${isNorthFirst}::boolean, ${form}::text)`,
  );
}

/** One square; null where it holds no record. */
export function getRasterFeature(
  sql: Sql,
  gitter: Gitter,
  code: string,
  { srid, isNorthFirst }: OutputSystem,
): Promise<Versioned<Buffer | null>> {
  return readOne(
    sql,
    (tx) => tx`select ausgabe.get_raster_feature(${gitter}::text, ${code}::text, ${srid}::integer, ${isNorthFirst}::boolean)`,
  );
}

/** One 10 km square and species; null where there is no record. */
export function getVerbreitungFeature(
  sql: Sql,
  code: string,
  art: number,
  { srid, isNorthFirst }: OutputSystem,
): Promise<Versioned<Buffer | null>> {
  return readOne(
    sql,
    (tx) =>
      tx`select ausgabe.get_verbreitung_feature(${code}::text, ${art}::integer, ${srid}::integer, ${isNorthFirst}::boolean)`,
  );
}

export function getMandantFeature(
  sql: Sql,
  kuerzel: string,
  { srid, isNorthFirst }: OutputSystem,
): Promise<Versioned<Buffer | null>> {
  return readOne(
    sql,
    (tx) => tx`select ausgabe.get_mandant_feature(${kuerzel}::text, ${srid}::integer, ${isNorthFirst}::boolean)`,
  );
}

/**
 * Where anything may lie: west, south, east, north in degrees; null where there is nothing.
 * @param margins metres around all sightings and tenants
 * @returns an entry for each of them
 */
export function listExtent(sql: Sql, margins: Iterable<number>): Promise<Versioned<Map<number, number[] | null>>> {
  return readPublic(sql, async (tx) => {
    const extents = new Map<number, number[] | null>();
    for (const margin of margins) {
      const extent = await oneValue<string | null>(tx`select to_json(ausgabe.get_extent(${margin}::float8))::text`);
      extents.set(margin, extent === null ? null : (JSON.parse(extent) as number[]));
    }
    return extents;
  });
}

/** Boxes around tenants by their kuerzel: west, south, east, north in degrees. */
export function listMandantBox(sql: Sql): Promise<Map<string, number[]>> {
  return asPublic(sql, async (tx) => {
    const rows = await tx<{ kuerzel: string; box: string }[]>`
      select b.kuerzel, to_json(b.box)::text as box from ausgabe.list_mandant_box() b`;
    return new Map(rows.map(({ kuerzel, box }) => [kuerzel, JSON.parse(box) as number[]]));
  });
}

type RawQuery = (tx: Transaction) => { raw(): Promise<(Buffer | null)[][]> };

const separator = Buffer.from(',\n');

// Their bytes are passed on as they are. Each row is a piece.
async function readPage(sql: Sql, query: RawQuery): Promise<Versioned<FeaturePage>> {
  return readPublic(sql, async (tx) => {
    const rows = await query(tx).raw();
    return {
      features: rows.flatMap(([features], index) => (features ? [...(index > 0 ? [separator] : []), features] : [])),
      lastKey: rows.at(-1)?.[1]?.toString() ?? null,
      returned: rows.reduce((sum, [, , returned]) => sum + Number(returned?.toString() ?? 0), 0),
    };
  });
}

async function readOne(sql: Sql, query: RawQuery): Promise<Versioned<Buffer | null>> {
  return readPublic(sql, async (tx) => (await query(tx).raw())[0]?.[0] ?? null);
}

// The driver doesn't ask for the types of arrays: they go as text.
const toArray = (values: readonly (number | string)[] | undefined) => (values ? `{${values.join(',')}}` : null);

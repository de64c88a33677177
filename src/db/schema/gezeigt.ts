// What analysts read.
import { sql } from 'drizzle-orm';
import { bigint, date, index, integer, primaryKey, text, uuid } from 'drizzle-orm/pg-core';
import { point, polygon, portal } from './common.ts';

const shownColumn = () => bigint('id', { mode: 'number' }).primaryKey();

/**
 * One row per public released record as everyone may see it whatever tenant is addressed; kept by triggers. It holds nothing
 * that an analyst may not read, because a plain view hides no column and no row from a function in a where-clause.
 */
export const sichtbeobachtungGezeigt = portal.table(
  'sichtbeobachtung_gezeigt',
  {
    id: shownColumn(),
    guid: uuid('guid').notNull(),
    art: integer('art').notNull(),
    anzahl: integer('anzahl').notNull(),
    datum: date('datum').notNull(),
    jahr: integer('jahr').notNull().generatedAlwaysAs(sql`extract(year from datum)`),
    stadium_id: integer('stadium_id'),
    aktivitaet_id: integer('aktivitaet_id'),
    // null for a protected record: a recorder may have described the place
    bemerkung: text('bemerkung'),
    // how far off the true place may be: 0, or half the diagonal of a cell
    unschaerfe_m: integer('unschaerfe_m').notNull(),
    cell_x: integer('cell_x').notNull(),
    cell_y: integer('cell_y').notNull(),
    place: point('place').notNull(),
  },
  (t) => [
    index('sichtbeobachtung_gezeigt_place').using('gist', t.place),
    index('sichtbeobachtung_gezeigt_art').on(t.art, t.datum),
    index('sichtbeobachtung_gezeigt_zelle').on(t.cell_x, t.cell_y),
  ],
);

/**
 * What sichtbeobachtung_gezeigt leaves out of the protected records in it, for analysts who may see their true place. Without
 * an index on the place: PostGIS tells everyone the extent of a spatial index, and protected records are few.
 */
export const sichtbeobachtungExakt = portal.table('sichtbeobachtung_exakt', {
  id: shownColumn(),
  bemerkung: text('bemerkung'),
  place: point('place').notNull(),
});

/** Every 5 km cell of the service area, so that counts per cell are found by a box on the map. */
export const rasterZelle = portal.table(
  'raster_zelle',
  {
    cell_x: integer('cell_x').notNull(),
    cell_y: integer('cell_y').notNull(),
    cell: polygon('cell').notNull(),
  },
  (t) => [primaryKey({ columns: [t.cell_x, t.cell_y] }), index('raster_zelle_cell').using('gist', t.cell)],
);

// Grids: their squares, and how much was seen in each (docs/decisions.md, O2.1, O2.3).
import { bigint, customType, index, integer, primaryKey, text } from 'drizzle-orm/pg-core';
import { art } from './art.ts';
import { polygon, portal } from './common.ts';

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

/**
 * Squares of the other grids that hold a record, as polygons. Not one by its name: who waits for another's square could wait for ever, so
 * two at once may both write it.
 */
export const rasterFeld = portal.table(
  'raster_feld',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    gitter: text('gitter').notNull(),
    x: integer('x').notNull(),
    y: integer('y').notNull(),
    code: text('code').notNull(),
    cell: polygon('cell').notNull(),
  },
  (t) => [index('raster_feld_xy').on(t.gitter, t.x, t.y), index('raster_feld_cell').using('gist', t.cell)],
);

const bits = customType<{ data: string }>({ dataType: () => 'bit varying' });

/** Counts per square of each grid, as of when the square was counted last; raster_offen has those that changed since. */
export const rasterZahl = portal.table(
  'raster_zahl',
  {
    gitter: text('gitter').notNull(),
    x: integer('x').notNull(),
    y: integer('y').notNull(),
    meldungen: bigint('meldungen', { mode: 'number' }).notNull(),
    arten: integer('arten').notNull(),
    verschleiert: bigint('verschleiert', { mode: 'number' }).notNull(),
    erstes_jahr: integer('erstes_jahr').notNull(),
    letztes_jahr: integer('letztes_jahr').notNull(),
    // of the 5 km grid: the species as bits, by which larger squares are counted
    artenmenge: bits('artenmenge'),
    // as /ogc shows it; null where it is yet to be written
    feature: text('feature'),
  },
  (t) => [primaryKey({ columns: [t.gitter, t.x, t.y] })],
);

const polygonOfMap = customType<{ data: string }>({ dataType: () => 'geometry(Polygon,3857)' });

/** The same for tiles: 5 km cells, and squares twice as wide at each further level. Without counts: yet to be counted. */
export const rasterGrob = portal.table(
  'raster_grob',
  {
    stufe: integer('stufe').notNull(),
    x: integer('x').notNull(),
    y: integer('y').notNull(),
    meldungen: bigint('meldungen', { mode: 'number' }),
    arten: integer('arten'),
    verschleiert: bigint('verschleiert', { mode: 'number' }),
    // from level 1: those of the next level are put together of these
    artenmenge: bits('artenmenge'),
    cell: polygonOfMap('cell'),
  },
  (t) => [primaryKey({ columns: [t.stufe, t.x, t.y] })],
);

/** Where a record came, went or changed since the squares there were counted. Rows are only added, so that no writer waits. */
export const rasterOffen = portal.table('raster_offen', {
  id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
  cell_x: integer('cell_x').notNull(),
  cell_y: integer('cell_y').notNull(),
  eea10: integer('eea10'),
  tk: integer('tk'),
});

/** Which bit of raster_zahl.artenmenge a species is. */
export const artPlatz = portal.table('art_platz', {
  art: integer('art')
    .primaryKey()
    .references(() => art.id, { onDelete: 'cascade' }),
  platz: integer('platz').notNull().unique(),
});

// What analysts read.
import { sql } from 'drizzle-orm';
import { bigint, date, index, integer, primaryKey, smallint, text, uuid } from 'drizzle-orm/pg-core';
import { point, portal } from './common.ts';

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
    // the same place in other grids: null until a database from before has been filled, tk also where there is no sheet
    eea10: integer('eea10'),
    tk: integer('tk'),
    // day (Europe/Berlin) of the last change of what is shown here
    geaendert: date('geaendert').notNull().default(sql`(now() at time zone 'Europe/Berlin')::date`),
  },
  (t) => [
    index('sichtbeobachtung_gezeigt_place').using('gist', t.place),
    // Here and below with all that counts need: records are counted from the index alone, a square in a tenth of the time.
    index('sichtbeobachtung_gezeigt_art_lage').on(t.art, t.datum, t.unschaerfe_m, t.cell_x, t.cell_y, t.eea10, t.tk),
    index('sichtbeobachtung_gezeigt_zelle_art').on(t.cell_x, t.cell_y, t.art, t.datum, t.unschaerfe_m),
    index('sichtbeobachtung_gezeigt_eea10').on(t.eea10, t.art, t.datum, t.unschaerfe_m),
    index('sichtbeobachtung_gezeigt_tk').on(t.tk, t.art, t.datum, t.unschaerfe_m),
    index('sichtbeobachtung_gezeigt_lage').on(t.cell_x, t.cell_y, t.id),
    index('sichtbeobachtung_gezeigt_tag').on(t.datum, t.stadium_id),
    index('sichtbeobachtung_gezeigt_quadrat').on(t.id).where(sql`${t.unschaerfe_m} > 0`),
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

/** Photos and sound files that may be passed on (O5.4): those with a licence, of records that are shown at their true place. */
export const mediumGezeigt = portal.table(
  'medium_gezeigt',
  {
    sichtbeobachtung_id: bigint('sichtbeobachtung_id', { mode: 'number' }).notNull(),
    nummer: smallint('nummer').notNull(),
    name: text('name').notNull(),
    lizenz: text('lizenz').notNull(),
    // null: the account does not want its name shown
    urheber: text('urheber'),
  },
  (t) => [primaryKey({ name: 'medium_gezeigt_pk', columns: [t.sichtbeobachtung_id, t.nummer] })],
);

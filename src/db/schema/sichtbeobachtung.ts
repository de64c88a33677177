// Sightings and their files.
import { sql } from 'drizzle-orm';
import {
  bigint,
  boolean,
  check,
  date,
  type ExtraConfigColumn,
  foreignKey,
  index,
  integer,
  primaryKey,
  smallint,
  text,
  unique,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core';
import { aktivitaet, art, stadium } from './art.ts';
import { bereich, bytea, identity, nutzerReference, point, portal, status, zeitpunkt } from './common.ts';
import { nutzer } from './nutzer.ts';

/** `bereich = oeffentlich and status = freigegeben`: what everyone may read. Index predicates must say it literally. */
const released = (t: Record<'bereich' | 'status', ExtraConfigColumn>) =>
  sql`${t.bereich} = 'oeffentlich' and ${t.status} = 'freigegeben'`;
const published = (t: Record<'bereich', ExtraConfigColumn>) => sql`${t.bereich} = 'oeffentlich'`;

export const sichtbeobachtung = portal.table(
  'sichtbeobachtung',
  {
    id: identity().primaryKey(),
    guid: uuid('guid').notNull(),
    nutzer_id: nutzerReference('nutzer_id').notNull(),
    art: integer('art').notNull(),
    anzahl: integer('anzahl').notNull().default(1),
    sensibel: boolean('sensibel').notNull().default(false),
    datum: date('datum').notNull(),
    bereich: bereich('bereich').notNull().default('privat'),
    status: status('status').notNull().default('pruefung'),
    point: point('point').notNull(),
    stadium_id: integer('stadium_id'),
    aktivitaet_id: integer('aktivitaet_id'),
    bemerkung: text('bemerkung'),
    bemerkung_experte: text('bemerkung_experte'),
    // who released or rejected it
    experte_id: nutzerReference('experte_id'),
    // names of stored files
    foto: text('foto'),
    foto_2: text('foto_2'),
    foto_3: text('foto_3'),
    biotopfoto: text('biotopfoto'),
    audio: text('audio'),
    // of these files; empty: all rights reserved, null: as the account says (O5.5)
    medien_lizenz: text('medien_lizenz'),
    angelegt: zeitpunkt('angelegt'),
    // What follows is derived by trigger from the columns above, the catalogue and the boundaries; see sichtbeobachtung/ableitung.sql.
    gid: integer('gid').notNull(),
    jahr: smallint('jahr').notNull().generatedAlwaysAs(sql`extract(year from datum)`),
    cell_x: integer('cell_x').notNull(),
    cell_y: integer('cell_y').notNull(),
    raster_point: point('raster_point').notNull(),
    // where a reader without special rights finds it, unless only the addressed tenant protects it (schutz = 1)
    shown_point: point('shown_point').notNull(),
    // sensitive in a tenant that its cell touches
    sensible_art: boolean('sensible_art').notNull(),
    // 0 free: nobody protects it; 1 elsewhere: only tenants that its cell does not touch; 2 everywhere (docs/glossary.md)
    schutz: smallint('schutz').notNull(),
    // of a released public record: the beginning of its JSON, at its true place
    kopf_json: text('kopf_json'),
  },
  (t) => [
    ...(
      [
        [t.nutzer_id, nutzer.id, 'restrict'],
        [t.art, art.id, 'restrict'],
        [t.stadium_id, stadium.id, 'restrict'],
        [t.aktivitaet_id, aktivitaet.id, 'restrict'],
        [t.experte_id, nutzer.id, 'set null'],
      ] as const
    ).map(([column, other, onDelete]) =>
      foreignKey({ name: `sichtbeobachtung_${column.name}`, columns: [column], foreignColumns: [other] }).onDelete(onDelete),
    ),
    check('sichtbeobachtung_anzahl', sql`${t.anzahl} between 1 and 20000`),
    // D6.1
    check('sichtbeobachtung_bemerkung_laenge', sql`length(${t.bemerkung}) <= 4000`),
    check('sichtbeobachtung_bemerkung_experte_laenge', sql`length(${t.bemerkung_experte}) <= 4000`),
    check('sichtbeobachtung_medien_lizenz', sql`${t.medien_lizenz} in ('CC0-1.0', 'CC-BY-4.0', 'CC-BY-NC-4.0', '')`),
    check('sichtbeobachtung_datum', sql`${t.datum} >= date '1800-01-01'`),
    check(
      'sichtbeobachtung_schutz',
      sql`${t.schutz} in (0, 1, 2) and (${t.schutz} = 2 or not (${t.sensibel} or ${t.sensible_art}))`,
    ),
    check('sichtbeobachtung_private_unreleased', sql`${t.bereich} = 'oeffentlich' or ${t.status} <> 'freigegeben'`),
    // Two points are the same place when they agree to the millimetre (D2.6).
    uniqueIndex('sichtbeobachtung_doppelt').on(
      t.nutzer_id,
      t.art,
      t.datum,
      sql`round(public.st_x(${t.point}) * 1000)`,
      sql`round(public.st_y(${t.point}) * 1000)`,
    ),
    index('sichtbeobachtung_neu').on(t.id).where(published(t)),
    index('sichtbeobachtung_shown').using('gist', t.shown_point, t.datum, t.id).where(released(t)),
    index('sichtbeobachtung_unreleased')
      .using('gist', t.shown_point, t.datum, t.id)
      .where(sql`${t.bereich} = 'oeffentlich' and ${t.status} <> 'freigegeben'`),
    index('sichtbeobachtung_protected')
      .using('gist', t.raster_point, t.id)
      .where(sql`${published(t)} and ${t.schutz} > 0`),
    index('sichtbeobachtung_datum').using('gist', t.datum, t.id).where(released(t)),
    index('sichtbeobachtung_art').on(t.art, t.id),
    index('sichtbeobachtung_art_jahr').on(t.art, t.jahr, t.id).where(published(t)),
    index('sichtbeobachtung_gruppe').on(t.gid, t.id).where(published(t)),
    index('sichtbeobachtung_jahr').on(t.jahr, t.id).where(published(t)),
    index('sichtbeobachtung_status_shown').on(t.status, t.id, t.shown_point, t.datum, t.art, t.schutz).where(published(t)),
    index('sichtbeobachtung_nutzer').on(t.nutzer_id, t.id),
    index('sichtbeobachtung_erfahrung').on(t.nutzer_id, t.gid).where(released(t)),
    index('sichtbeobachtung_zelle').on(t.cell_x, t.cell_y),
    index('sichtbeobachtung_stadium').on(t.stadium_id).where(sql`${t.stadium_id} is not null`),
    index('sichtbeobachtung_aktivitaet').on(t.aktivitaet_id).where(sql`${t.aktivitaet_id} is not null`),
    index('sichtbeobachtung_experte').on(t.experte_id).where(sql`${t.experte_id} is not null`),
    ...[t.foto, t.foto_2, t.foto_3, t.biotopfoto, t.audio].flatMap((column) => [
      uniqueIndex(`sichtbeobachtung_${column.name}`).on(column).where(sql`${column} is not null`),
      check(`sichtbeobachtung_${column.name}_name`, sql`${column} ~ '^[0-9a-f]{32}[.][a-z0-9]{2,4}$'`),
    ]),
  ],
);

/**
 * Where an imported record comes from: what its source called it, and the guid that it had there. Kept when the record is deleted, so
 * that the next import of the same source doesn't bring it back; hence no reference.
 */
export const sichtbeobachtungHerkunft = portal.table(
  'sichtbeobachtung_herkunft',
  {
    sichtbeobachtung_id: bigint('sichtbeobachtung_id', { mode: 'number' }).primaryKey(),
    quelle: text('quelle'),
    quelle_id: text('quelle_id'),
    guid: uuid('guid'),
  },
  (t) => [
    uniqueIndex('sichtbeobachtung_herkunft_quelle').on(t.quelle, t.quelle_id),
    uniqueIndex('sichtbeobachtung_herkunft_guid').on(t.guid),
    check('sichtbeobachtung_herkunft_quelle_id', sql`(${t.quelle} is null) = (${t.quelle_id} is null)`),
  ],
);

/** Files of an import that are stored already, while the records that will name them are not: an import that is begun again finds them. */
export const mediumImport = portal.table(
  'medium_import',
  {
    // SHA-256 of the file as it was; the same file may be named several times, and every name is stored once
    hash: bytea('hash').notNull(),
    nummer: integer('nummer').notNull(),
    audio: boolean('audio').notNull(),
    name: text('name').notNull(),
    angelegt: zeitpunkt('angelegt'),
  },
  (t) => [primaryKey({ columns: [t.hash, t.nummer, t.audio] }), unique('medium_import_name').on(t.name)],
);

/** Remarks as they were before D6.1 limited them: what an update to this release had to shorten is kept here whole. */
export const bemerkungGekuerzt = portal.table('bemerkung_gekuerzt', {
  sichtbeobachtung_id: bigint('sichtbeobachtung_id', { mode: 'number' }).primaryKey(),
  bemerkung: text('bemerkung'),
  bemerkung_experte: text('bemerkung_experte'),
});

/** Names of stored files that no record names any more, until they are removed from the storage. */
export const mediumEntfernt = portal.table('medium_entfernt', {
  name: text('name').primaryKey(),
  zeitpunkt: zeitpunkt('zeitpunkt'),
});

/**
 * The tenants of a record. `exakt`: its true point lies there. A record that any tenant protects also has a row for every
 * other tenant that its cell touches, because to most readers it is in all of them (D4). Kept by triggers alone: foreign keys
 * took a sixth of a bulk import.
 */
export const mandantSichtbeobachtung = portal.table(
  'mandant_sichtbeobachtung',
  {
    mandant_id: integer('mandant_id').notNull(),
    sichtbeobachtung_id: bigint('sichtbeobachtung_id', { mode: 'number' }).notNull(),
    gid: integer('gid').notNull(),
    exakt: boolean('exakt').notNull(),
    // public and released: lists of everyone don't walk through an import that waits for its review
    frei: boolean('frei').notNull(),
  },
  (t) => [
    primaryKey({ name: 'mandant_sichtbeobachtung_pk', columns: [t.sichtbeobachtung_id, t.mandant_id] }),
    index('mandant_sichtbeobachtung_frei').on(t.mandant_id, t.frei, t.sichtbeobachtung_id),
    index('mandant_sichtbeobachtung_gruppe').on(t.mandant_id, t.frei, t.gid, t.sichtbeobachtung_id),
  ],
);

// Review: what is known of a species, rules of experts, and why a waiting record is odd (docs/decisions.md, O6).
import { sql } from 'drizzle-orm';
import {
  bigint,
  boolean,
  check,
  customType,
  date,
  index,
  integer,
  jsonb,
  primaryKey,
  smallint,
  text,
  timestamp,
  unique,
} from 'drizzle-orm/pg-core';
import { art } from './art.ts';
import { bytea, identity, nutzerReference, partOf, portal, textArray, zeitpunkt } from './common.ts';
import { mandant } from './mandant.ts';
import { nutzer } from './nutzer.ts';
import { sichtbeobachtung } from './sichtbeobachtung.ts';

/** What released records of a species are counted by. */
export const merkmal = portal.enum('merkmal', ['zelle', 'drittel', 'anzahl', 'stadium', 'aktivitaet']);

/**
 * How many released records of a species there are by cell (x, y), third of a month (x: 0 to 35), individuals (x), stage and activity (x)
 * in a third (y). At true cells, so never for analysts; `offene` are those that nobody protects.
 */
export const pruefZahl = portal.table(
  'pruef_zahl',
  {
    art: integer('art').notNull(),
    merkmal: merkmal('merkmal').notNull(),
    x: integer('x').notNull(),
    y: integer('y').notNull(),
    meldungen: integer('meldungen').notNull(),
    offene: integer('offene').notNull(),
  },
  (t) => [primaryKey({ name: 'pruef_zahl_pk', columns: [t.art, t.merkmal, t.x, t.y] })],
);

/** Records that came among the released (vorzeichen 1) or left them (-1) and are not counted yet. Rows are only added, so that no writer waits. */
export const pruefZahlOffen = portal.table(
  'pruef_zahl_offen',
  {
    id: identity().primaryKey(),
    art: integer('art').notNull(),
    cell_x: integer('cell_x').notNull(),
    cell_y: integer('cell_y').notNull(),
    datum: date('datum').notNull(),
    anzahl: integer('anzahl').notNull(),
    stadium_id: integer('stadium_id'),
    aktivitaet_id: integer('aktivitaet_id'),
    offen: boolean('offen').notNull(),
    vorzeichen: smallint('vorzeichen').notNull(),
  },
  (t) => [index('pruef_zahl_offen_fort').on(t.art).where(sql`${t.offen} and ${t.vorzeichen} < 0`)],
);

const flaeche = customType<{ data: string }>({ dataType: () => 'geometry(Geometry,4326)' });

/** What an expert says of a species, everywhere or at a tenant; beats what is learned from records. */
export const pruefregel = portal.table(
  'pruefregel',
  {
    id: integer('id').primaryKey().generatedAlwaysAsIdentity(),
    // null: at all tenants that have no rule of their own
    mandant_id: integer('mandant_id').references(() => mandant.id, { onDelete: 'cascade' }),
    art: partOf('art', () => art.id),
    // first and last third of a month, as 05-2; from the first over the end of the year where it is the later one
    von: text('von'),
    bis: text('bis'),
    anzahl_max: integer('anzahl_max'),
    // where it is to be expected, as it was given
    gebiet: flaeche('gebiet'),
    zwei_personen: boolean('zwei_personen').notNull().default(false),
    automatisch: boolean('automatisch').notNull().default(false),
  },
  (t) => [
    unique('pruefregel_art_mandant').on(t.art, t.mandant_id).nullsNotDistinct(),
    index('pruefregel_mandant').on(t.mandant_id),
    check(
      'pruefregel_zeit',
      sql`(${t.von} is null) = (${t.bis} is null) and ${t.von} ~ '^(0[1-9]|1[0-2])-[1-3]$' and ${t.bis} ~ '^(0[1-9]|1[0-2])-[1-3]$'`,
    ),
    check('pruefregel_anzahl', sql`${t.anzahl_max} between 1 and 20000`),
    check(
      'pruefregel_gebiet',
      sql`public.geometrytype(${t.gebiet}) in ('POLYGON', 'MULTIPOLYGON') and public.st_npoints(${t.gebiet}) <= 10000 and public.st_isvalid(${t.gebiet})`,
    ),
  ],
);

/** The queue: published records that wait for their review, with what it is searched by, and why each is odd. */
export const pruefgrund = portal.table(
  'pruefgrund',
  {
    sichtbeobachtung_id: bigint('sichtbeobachtung_id', { mode: 'number' })
      .primaryKey()
      .references(() => sichtbeobachtung.id, { onDelete: 'cascade' }),
    // [{"code", "text", "werte"}], the gravest first
    gruende: jsonb('gruende').notNull(),
    codes: textArray('codes').notNull(),
    auffaelligkeit: integer('auffaelligkeit').notNull(),
    berechnet: timestamp('berechnet', { withTimezone: true }).notNull(),
    // of the record, so that a page of the queue does not look up what it leaves out
    nutzer_id: nutzerReference('nutzer_id').notNull(),
    art: integer('art').notNull(),
    gid: integer('gid').notNull(),
    mandanten: integer('mandanten').array().notNull(),
    angelegt: timestamp('angelegt', { withTimezone: true }).notNull(),
    mit_foto: boolean('mit_foto').notNull(),
  },
  (t) => [index('pruefgrund_auffaelligkeit').on(t.auffaelligkeit.desc().nullsFirst(), t.sichtbeobachtung_id)],
);

/** Records whose reasons are to be found out: published or changed since, or no longer waiting. */
export const pruefgrundOffen = portal.table('pruefgrund_offen', {
  id: identity().primaryKey(),
  sichtbeobachtung_id: bigint('sichtbeobachtung_id', { mode: 'number' }).notNull(),
});

/** What became of a decision that came with an Idempotency-Key: sent again, it is answered from here. Swept after seven days. */
export const entscheidung = portal.table(
  'entscheidung',
  {
    nutzer_id: nutzerReference('nutzer_id')
      .notNull()
      .references(() => nutzer.id, { onDelete: 'cascade' }),
    // SHA-256 of the key
    schluessel: bytea('schluessel').notNull(),
    sichtbeobachtung_id: bigint('sichtbeobachtung_id', { mode: 'number' }).notNull(),
    // SHA-256 of what was to be decided
    anfrage: bytea('anfrage').notNull(),
    // why it was not done; null: it was
    code: text('code'),
    zeitpunkt: zeitpunkt('zeitpunkt'),
  },
  (t) => [primaryKey({ columns: [t.nutzer_id, t.schluessel, t.sichtbeobachtung_id] })],
);

/** Who would release a record of which two experts must (pruefregel.zwei_personen); goes with any other decision. */
export const bestaetigung = portal.table(
  'bestaetigung',
  {
    sichtbeobachtung_id: bigint('sichtbeobachtung_id', { mode: 'number' })
      .primaryKey()
      .references(() => sichtbeobachtung.id, { onDelete: 'cascade' }),
    // null: erased since
    experte_id: nutzerReference('experte_id').references(() => nutzer.id, { onDelete: 'set null' }),
    zeitpunkt: zeitpunkt('zeitpunkt'),
  },
  (t) => [index('bestaetigung_experte').on(t.experte_id)],
);

/** Runs of automatic release that released something. */
export const pruefLauf = portal.table('pruef_lauf', {
  id: integer('id').primaryKey().generatedAlwaysAsIdentity(),
  zeitpunkt: zeitpunkt('zeitpunkt'),
  anzahl: integer('anzahl').notNull(),
  zurueckgenommen: timestamp('zurueckgenommen', { withTimezone: true }),
});

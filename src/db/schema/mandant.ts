// The installation and its tenants, with their boundaries.
import { sql } from 'drizzle-orm';
import {
  bigint,
  boolean,
  check,
  index,
  integer,
  primaryKey,
  text,
  timestamp,
  unique,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core';
import { ergebnis, identity, multiPolygon, partOf, polygon, portal, textArray, zeitpunkt } from './common.ts';

/** One row: what belongs to this installation and must survive every release. */
export const installation = portal.table(
  'installation',
  {
    id: boolean('id').primaryKey().default(true),
    guid_namespace: uuid('guid_namespace').notNull(),
    // The service area (D3.9), EPSG:25832, metres.
    x_min: integer('x_min').notNull().default(0),
    y_min: integer('y_min').notNull().default(5000000),
    x_max: integer('x_max').notNull().default(1200000),
    y_max: integer('y_max').notNull().default(6300000),
    // Which sql/code the database runs, so that an older release never replaces a newer one.
    code_release: integer('code_release').array(),
    code_hash: text('code_hash'),
    // Which views of schema gis: they are replaced only when they changed, because an analyst's open transaction is in the way.
    gis_hash: text('gis_hash'),
    // Whether the squares of all records that were there before them are known and are to be counted.
    has_raster_lage: boolean('has_raster_lage').notNull().default(false),
    // Whether the records that were there before them are in portal.pruef_zahl.
    has_pruef_zahl: boolean('has_pruef_zahl').notNull().default(false),
    // Experts see true places in their own groups only; kept here from EXPERTEN_NUR_ZUSTAENDIG.
    orte_nach_gruppe: boolean('orte_nach_gruppe').notNull().default(false),
  },
  (t) => [
    check('installation_one_row', sql`${t.id}`),
    check('installation_area', sql`${t.x_min} < ${t.x_max} and ${t.y_min} < ${t.y_max}`),
  ],
);

export const mandant = portal.table(
  'mandant',
  {
    id: integer('id').primaryKey().generatedAlwaysAsIdentity(),
    kuerzel: text('kuerzel').notNull(),
    name: text('name').notNull(),
    schluessel: text('schluessel'),
    domains: textArray('domains').notNull(),
    boundary: multiPolygon('boundary').notNull(),
    // where the boundary comes from, without secrets, and since when it is this one; kept by a trigger
    quelle: text('quelle').notNull().default('SQL'),
    stand: zeitpunkt('stand'),
    // whether everybody is shown the remark and the biotope photo of a protected record, which may describe its place (D6.5)
    bemerkung_geschuetzter: text('bemerkung_geschuetzter').notNull().default('zeigen'),
    // under which its files are published, and what they say of themselves (O5.1); null: nothing is published
    lizenz: text('lizenz'),
    herausgeber: text('herausgeber'),
    kontakt: text('kontakt'),
    titel: text('titel'),
    beschreibung: text('beschreibung'),
  },
  (t) => [
    uniqueIndex('mandant_kuerzel').on(sql`lower(${t.kuerzel})`),
    unique('mandant_schluessel').on(t.schluessel),
    check('mandant_kuerzel_filled', sql`${t.kuerzel} <> ''`),
    check('mandant_bemerkung_geschuetzter', sql`${t.bemerkung_geschuetzter} in ('zeigen', 'verbergen')`),
    check(
      'mandant_lizenz',
      sql`${t.lizenz} in ('CC0-1.0', 'CC-BY-4.0', 'CC-BY-NC-4.0', 'dl-de/by-2-0', 'dl-de/zero-2-0', 'ODbL-1.0')`,
    ),
    check(
      'mandant_lizenz_angaben',
      sql`${t.lizenz} is null or num_nonnulls(${t.herausgeber}, ${t.kontakt}, ${t.titel}, ${t.beschreibung}) = 4`,
    ),
    check('mandant_boundary_valid', sql`public.st_isvalid(${t.boundary})`),
  ],
);

/** One row per domain: two tenants can't claim the same one. Kept by a trigger on mandant. */
export const mandantDomain = portal.table(
  'mandant_domain',
  {
    domain: text('domain').primaryKey(),
    mandant_id: partOf('mandant_id', () => mandant.id),
    position: integer('position').notNull(),
  },
  (t) => [
    index('mandant_domain_mandant').on(t.mandant_id),
    check('mandant_domain_lower', sql`${t.domain} = lower(${t.domain}) and ${t.domain} <> ''`),
  ],
);

/** The boundary in small pieces: a point is tested against a few dozen vertices instead of thousands. */
export const mandantTeil = portal.table(
  'mandant_teil',
  {
    id: integer('id').primaryKey().generatedAlwaysAsIdentity(),
    mandant_id: partOf('mandant_id', () => mandant.id),
    teil: polygon('teil').notNull(),
  },
  (t) => [index('mandant_teil_teil').using('gist', t.teil), index('mandant_teil_mandant').on(t.mandant_id)],
);

/** The 5 km cells that a tenant touches; `ganz` when the cell lies wholly inside it. */
export const mandantZelle = portal.table(
  'mandant_zelle',
  {
    cell_x: integer('cell_x').notNull(),
    cell_y: integer('cell_y').notNull(),
    mandant_id: partOf('mandant_id', () => mandant.id),
    ganz: boolean('ganz').notNull(),
  },
  (t) => [primaryKey({ columns: [t.cell_x, t.cell_y, t.mandant_id] }), index('mandant_zelle_mandant').on(t.mandant_id)],
);

/** One row per run of the boundary job. */
export const grenzlauf = portal.table(
  'grenzlauf',
  {
    id: identity().primaryKey(),
    begonnen: zeitpunkt('begonnen'),
    beendet: timestamp('beendet', { withTimezone: true }),
    // the address without what may be secret in it
    quelle: text('quelle').notNull(),
    erzwungen: boolean('erzwungen').notNull(),
    ergebnis: ergebnis('ergebnis').notNull().default('laeuft'),
    // tenants whose boundary changed
    mandanten: integer('mandanten').notNull().default(0),
    // sightings whose tenants changed, and those of them that are shown elsewhere now
    zugeordnet: integer('zugeordnet').notNull().default(0),
    maskiert: integer('maskiert').notNull().default(0),
    // features of the source that name no tenant
    uebergangen: integer('uebergangen').notNull().default(0),
    grund: text('grund'),
    // the connection that does it: a run whose connection is gone was killed
    verbindung: integer('verbindung'),
    verbunden: timestamp('verbunden', { withTimezone: true }),
  },
  (t) => [
    check('grenzlauf_beendet', sql`(${t.ergebnis} = 'laeuft') = (${t.beendet} is null)`),
    check('grenzlauf_grund', sql`(${t.ergebnis} in ('fehlgeschlagen', 'abgebrochen')) = (${t.grund} is not null)`),
  ],
);

/** What a run read for a tenant, feature by feature; empty between runs. */
export const grenzlaufGebiet = portal.table(
  'grenzlauf_gebiet',
  {
    id: identity().primaryKey(),
    grenzlauf_id: bigint('grenzlauf_id', { mode: 'number' })
      .notNull()
      .references(() => grenzlauf.id, { onDelete: 'cascade' }),
    mandant_id: partOf('mandant_id', () => mandant.id),
    gebiet: multiPolygon('gebiet').notNull(),
  },
  (t) => [
    index('grenzlauf_gebiet_grenzlauf').on(t.grenzlauf_id, t.mandant_id),
    index('grenzlauf_gebiet_mandant').on(t.mandant_id),
  ],
);

/**
 * The next boundary of a tenant with everything that follows from it, computed before the catalogue is locked; empty unless a
 * boundary is being changed. See mandant/grenzwechsel.sql.
 */
export const mandantEntwurf = portal.table('mandant_entwurf', {
  mandant_id: integer('mandant_id')
    .primaryKey()
    .references(() => mandant.id, { onDelete: 'cascade' }),
  // the boundary that it was computed against
  alt: multiPolygon('alt').notNull(),
  boundary: multiPolygon('boundary').notNull(),
  // the last entry of the change log that the list of records knows; null: nothing is computed yet
  protokoll_id: bigint('protokoll_id', { mode: 'number' }),
  // records between the old and the new boundary
  sichtbeobachtung_id: bigint('sichtbeobachtung_id', { mode: 'number' }).array(),
});

/** As mandant_teil. */
export const mandantEntwurfTeil = portal.table(
  'mandant_entwurf_teil',
  {
    id: integer('id').primaryKey().generatedAlwaysAsIdentity(),
    mandant_id: partOf('mandant_id', () => mandantEntwurf.mandant_id),
    teil: polygon('teil').notNull(),
  },
  (t) => [index('mandant_entwurf_teil_mandant').on(t.mandant_id)],
);

/** As mandant_zelle. */
export const mandantEntwurfZelle = portal.table(
  'mandant_entwurf_zelle',
  {
    mandant_id: partOf('mandant_id', () => mandantEntwurf.mandant_id),
    cell_x: integer('cell_x').notNull(),
    cell_y: integer('cell_y').notNull(),
    ganz: boolean('ganz').notNull(),
  },
  (t) => [primaryKey({ columns: [t.mandant_id, t.cell_x, t.cell_y] })],
);

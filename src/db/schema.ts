// The tables of schema `portal`. `npm run generate` turns a change here into a migration in sql/migrations.
// Functions and triggers are not declared here: they live in sql/code and are replaced at every migrate, as does what each index
// is for (96_indexes.sql).
import { sql } from 'drizzle-orm';
import {
  bigint,
  boolean,
  check,
  customType,
  date,
  type ExtraConfigColumn,
  foreignKey,
  index,
  integer,
  pgSchema,
  primaryKey,
  smallint,
  text,
  timestamp,
  unique,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core';

export const portal = pgSchema('portal');

export const bereich = portal.enum('bereich', ['privat', 'oeffentlich']);
export const status = portal.enum('status', ['pruefung', 'hinweis', 'freigegeben', 'abgelehnt']);
export const rolle = portal.enum('rolle', ['expert', 'administrator']);
export const audit = portal.enum('audit', ['CREATE', 'UPDATE', 'DELETE']);
export const ergebnis = portal.enum('ergebnis', ['laeuft', 'erfolgreich', 'unveraendert', 'fehlgeschlagen', 'abgebrochen']);

// drizzle's own geometry() drops the SRID, and a column without one would take a point of any system.
const point = customType<{ data: string }>({ dataType: () => 'geometry(Point,25832)' });
const multiPolygon = customType<{ data: string }>({ dataType: () => 'geometry(MultiPolygon,25832)' });
const polygon = customType<{ data: string }>({ dataType: () => 'geometry(Polygon,25832)' });
const bytea = customType<{ data: Buffer }>({ dataType: () => 'bytea' });
const textArray = (name: string) => text(name).array();

const identity = (name = 'id') => bigint(name, { mode: 'number' }).generatedAlwaysAsIdentity();
const nutzerReference = (name: string) => bigint(name, { mode: 'number' });
const zeitpunkt = (name: string) => timestamp(name, { withTimezone: true }).notNull().default(sql`now()`);

// --- the installation -------------------------------------------------------------------------------------------

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
  },
  (t) => [
    check('installation_one_row', sql`${t.id}`),
    check('installation_area', sql`${t.x_min} < ${t.x_max} and ${t.y_min} < ${t.y_max}`),
  ],
);

// --- tenants ----------------------------------------------------------------------------------------------------

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
  },
  (t) => [
    uniqueIndex('mandant_kuerzel').on(sql`lower(${t.kuerzel})`),
    unique('mandant_schluessel').on(t.schluessel),
    check('mandant_kuerzel_filled', sql`${t.kuerzel} <> ''`),
    check('mandant_bemerkung_geschuetzter', sql`${t.bemerkung_geschuetzter} in ('zeigen', 'verbergen')`),
    check('mandant_boundary_valid', sql`public.st_isvalid(${t.boundary})`),
  ],
);

/** One row per domain: two tenants can't claim the same one. Kept by a trigger on mandant. */
export const mandantDomain = portal.table(
  'mandant_domain',
  {
    domain: text('domain').primaryKey(),
    mandant_id: integer('mandant_id')
      .notNull()
      .references(() => mandant.id, { onDelete: 'cascade' }),
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
    mandant_id: integer('mandant_id')
      .notNull()
      .references(() => mandant.id, { onDelete: 'cascade' }),
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
    mandant_id: integer('mandant_id')
      .notNull()
      .references(() => mandant.id, { onDelete: 'cascade' }),
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
    mandant_id: integer('mandant_id')
      .notNull()
      .references(() => mandant.id, { onDelete: 'cascade' }),
    gebiet: multiPolygon('gebiet').notNull(),
  },
  (t) => [
    index('grenzlauf_gebiet_grenzlauf').on(t.grenzlauf_id, t.mandant_id),
    index('grenzlauf_gebiet_mandant').on(t.mandant_id),
  ],
);

/**
 * The next boundary of a tenant with everything that follows from it, computed before the catalogue is locked; empty unless a
 * boundary is being changed. See 32_grenze.sql.
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
    mandant_id: integer('mandant_id')
      .notNull()
      .references(() => mandantEntwurf.mandant_id, { onDelete: 'cascade' }),
    teil: polygon('teil').notNull(),
  },
  (t) => [index('mandant_entwurf_teil_mandant').on(t.mandant_id)],
);

/** As mandant_zelle. */
export const mandantEntwurfZelle = portal.table(
  'mandant_entwurf_zelle',
  {
    mandant_id: integer('mandant_id')
      .notNull()
      .references(() => mandantEntwurf.mandant_id, { onDelete: 'cascade' }),
    cell_x: integer('cell_x').notNull(),
    cell_y: integer('cell_y').notNull(),
    ganz: boolean('ganz').notNull(),
  },
  (t) => [primaryKey({ columns: [t.mandant_id, t.cell_x, t.cell_y] })],
);

// --- species ----------------------------------------------------------------------------------------------------

export const artengruppe = portal.table('artengruppe', {
  id: integer('id').primaryKey(),
  name_deutsch: text('name_deutsch').notNull(),
  is_animal: boolean('is_animal').notNull(),
  legacy_regional_artengruppe_id: integer('legacy_regional_artengruppe_id'),
});

export const art = portal.table(
  'art',
  {
    id: integer('id').primaryKey(),
    eu_guid: text('eu_guid'),
    gid: integer('gid')
      .notNull()
      .references(() => artengruppe.id, { onDelete: 'restrict' }),
    name_wissenschaftlich: text('name_wissenschaftlich').notNull(),
    // Many have none: a quarter of the species that people report.
    name_deutsch: text('name_deutsch'),
    bluetenmerkmale: text('bluetenmerkmale'),
    bluetezeit: text('bluetezeit'),
    fortpflanzung: text('fortpflanzung'),
    gefaehrdung: text('gefaehrdung'),
    lebensraum: text('lebensraum'),
    nahrung: text('nahrung'),
    oekologie: text('oekologie'),
    quelle: text('quelle'),
    ueberregionale_verbreitung: text('ueberregionale_verbreitung'),
    schutzwuerdigkeit_und_schutzstatus: text('schutzwuerdigkeit_und_schutzstatus'),
    vegetative_merkmale: text('vegetative_merkmale'),
    verhalten: text('verhalten'),
  },
  (t) => [
    index('art_gid').on(t.gid),
    index('art_eu_guid').on(t.eu_guid),
    index('art_name_deutsch').on(sql`lower(${t.name_deutsch}) text_pattern_ops`),
    index('art_name_wissenschaftlich').on(sql`lower(${t.name_wissenschaftlich}) text_pattern_ops`),
  ],
);

/** How a tenant defines a species. Names left empty are the general ones of `art`. */
export const artMandant = portal.table(
  'art_mandant',
  {
    mandant_id: integer('mandant_id')
      .notNull()
      .references(() => mandant.id, { onDelete: 'cascade' }),
    art: integer('art')
      .notNull()
      .references(() => art.id, { onDelete: 'cascade' }),
    art_id: text('art_id').notNull(),
    name_wissenschaftlich: text('name_wissenschaftlich'),
    name_deutsch: text('name_deutsch'),
    sensibel: boolean('sensibel').notNull().default(false),
    regionale_verbreitung: text('regionale_verbreitung'),
    legacy_regional_art_id: integer('legacy_regional_art_id'),
    // derived by triggers: its members in the JSON of every sighting, names and numbers
    titel_json: text('titel_json'),
    art_json: text('art_json'),
  },
  (t) => [
    primaryKey({ columns: [t.mandant_id, t.art] }),
    uniqueIndex('art_mandant_art_id').on(t.mandant_id, t.art_id),
    index('art_mandant_legacy').on(t.mandant_id, t.legacy_regional_art_id),
    index('art_mandant_name_deutsch').on(t.mandant_id, sql`lower(${t.name_deutsch}) text_pattern_ops`),
    index('art_mandant_name_wissenschaftlich').on(t.mandant_id, sql`lower(${t.name_wissenschaftlich}) text_pattern_ops`),
    index('art_mandant_sensibel').on(t.mandant_id, t.art).where(sql`${t.sensibel}`),
    index('art_mandant_art').on(t.art, t.sensibel),
  ],
);

const fotoColumns = () => ({
  id: integer('id').primaryKey().generatedAlwaysAsIdentity(),
  art: integer('art')
    .notNull()
    .references(() => art.id, { onDelete: 'cascade' }),
  uri: text('uri'),
  autor: text('autor'),
  lizenz: text('lizenz'),
  bildunterschrift: text('bildunterschrift'),
});

export const artFoto = portal.table('art_foto', fotoColumns(), (t) => [index('art_foto_art').on(t.art)]);

export const verwechslung = portal.table('verwechslung', {
  art: integer('art')
    .primaryKey()
    .references(() => art.id, { onDelete: 'cascade' }),
  beschreibung: text('beschreibung'),
});

export const verwechslungArt = portal.table(
  'verwechslung_art',
  {
    art: integer('art')
      .notNull()
      .references(() => art.id, { onDelete: 'cascade' }),
    aid: integer('aid')
      .notNull()
      .references(() => art.id, { onDelete: 'cascade' }),
  },
  (t) => [primaryKey({ columns: [t.art, t.aid] }), index('verwechslung_art_aid').on(t.aid)],
);

export const verwechslungFoto = portal.table('verwechslung_foto', fotoColumns(), (t) => [
  index('verwechslung_foto_art').on(t.art),
]);

export const stadium = portal.table('stadium', {
  id: integer('id').primaryKey(),
  name: text('name').notNull(),
  phaenogramm: boolean('phaenogramm').notNull().default(true),
});

export const aktivitaet = portal.table('aktivitaet', {
  id: integer('id').primaryKey(),
  name: text('name').notNull(),
});

// --- accounts ---------------------------------------------------------------------------------------------------

export const nutzer = portal.table(
  'nutzer',
  {
    id: identity().primaryKey(),
    loginname: text('loginname').notNull(),
    // NFKC, case-folded, trimmed (D3.18); kept by a trigger, so that SQL can't make look-alikes either.
    loginname_key: text('loginname_key').notNull(),
    email: text('email'),
    email_key: text('email_key'),
    vorname: text('vorname'),
    nachname: text('nachname'),
    anonymisiert: smallint('anonymisiert').notNull().default(0),
    status: smallint('status').notNull().default(1),
    password_hash: text('password_hash'),
    portal_name: text('portal_name'),
    portal_url: text('portal_url'),
    angelegt: zeitpunkt('angelegt'),
    // came by itself: unconfirmed, it is free again after seven days; one that was made by command waits as long as it takes
    registriert: boolean('registriert').notNull().default(false),
  },
  (t) => [
    uniqueIndex('nutzer_loginname_key').on(t.loginname_key),
    uniqueIndex('nutzer_email_key').on(t.email_key),
    check('nutzer_loginname_filled', sql`${t.loginname_key} <> ''`),
    check('nutzer_anonymisiert', sql`${t.anonymisiert} in (0, 1)`),
    check('nutzer_status', sql`${t.status} in (0, 1)`),
  ],
);

const nutzerColumn = () =>
  nutzerReference('nutzer_id')
    .notNull()
    .references(() => nutzer.id, { onDelete: 'cascade' });

export const nutzerRolle = portal.table('nutzer_rolle', { nutzer_id: nutzerColumn(), rolle: rolle('rolle').notNull() }, (t) => [
  primaryKey({ columns: [t.nutzer_id, t.rolle] }),
]);

/** The groups to which an expert is restricted; none = not restricted. */
export const nutzerArtengruppe = portal.table(
  'nutzer_artengruppe',
  {
    nutzer_id: nutzerColumn(),
    gid: integer('gid')
      .notNull()
      .references(() => artengruppe.id, { onDelete: 'cascade' }),
  },
  (t) => [primaryKey({ columns: [t.nutzer_id, t.gid] }), index('nutzer_artengruppe_gid').on(t.gid)],
);

/** Access keys. Only the SHA-256 of a token is stored: whoever reads this table can't log in (D3.16). */
export const token = portal.table(
  'token',
  { hash: bytea('hash').primaryKey(), nutzer_id: nutzerColumn(), angelegt: zeitpunkt('angelegt'), genutzt: zeitpunkt('genutzt') },
  (t) => [index('token_nutzer').on(t.nutzer_id), check('token_hash_length', sql`octet_length(${t.hash}) = 32`)],
);

/**
 * One-time links to set a password (D3.18, D3.22). Only the SHA-256 of what the link carries is stored; one per account, so
 * that a new mail ends the link of the last one.
 */
export const nutzerLink = portal.table(
  'nutzer_link',
  {
    nutzer_id: nutzerReference('nutzer_id')
      .primaryKey()
      .references(() => nutzer.id, { onDelete: 'cascade' }),
    hash: bytea('hash').notNull(),
    angelegt: zeitpunkt('angelegt'),
  },
  (t) => [uniqueIndex('nutzer_link_hash').on(t.hash)],
);

/** Login names that were asked for together with an address that has an account already: taken for as long as a link lives. */
export const nutzerReservierung = portal.table('nutzer_reservierung', {
  loginname_key: text('loginname_key').primaryKey(),
  angelegt: zeitpunkt('angelegt'),
});

/**
 * Networks from which an account logged in lately: what strangers try elsewhere doesn't lock it out there. A hash, made anew for
 * each account: no address is stored.
 */
export const nutzerNetz = portal.table(
  'nutzer_netz',
  { nutzer_id: nutzerColumn(), netz: bytea('netz').notNull(), zuletzt: zeitpunkt('zuletzt') },
  (t) => [primaryKey({ columns: [t.nutzer_id, t.netz] })],
);

/** Attempts per window, shared by all instances (S2.5). `schluessel` is a hash: no address or name is stored. */
export const versuch = portal.table(
  'versuch',
  {
    zweck: text('zweck').notNull(),
    schluessel: bytea('schluessel').notNull(),
    seit: zeitpunkt('seit'),
    anzahl: integer('anzahl').notNull(),
  },
  (t) => [primaryKey({ columns: [t.zweck, t.schluessel] }), index('versuch_seit').on(t.seit)],
);

// --- locks ------------------------------------------------------------------------------------------------------

/**
 * Tables without rows, to be locked (05_locks.sql): unlike an advisory lock, which every session on the server may take by its
 * number, this needs rights that analysts don't have.
 */
const lockTable = (name: string) => portal.table(name, { id: boolean('id').primaryKey() });
export const sperreKatalog = lockTable('sperre_katalog');
export const sperreKonto = lockTable('sperre_konto');

// --- sightings --------------------------------------------------------------------------------------------------

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
    angelegt: zeitpunkt('angelegt'),
    // What follows is derived by trigger from the columns above, the catalogue and the boundaries; see 60_sichtbeobachtung.sql.
    gid: integer('gid').notNull(),
    jahr: smallint('jahr').notNull().generatedAlwaysAs(sql`extract(year from datum)`),
    cell_x: integer('cell_x').notNull(),
    cell_y: integer('cell_y').notNull(),
    raster_point: point('raster_point').notNull(),
    // where a reader without special rights finds it, unless only the addressed tenant protects it (schutz = 1)
    shown_point: point('shown_point').notNull(),
    // sensitive in a tenant that its cell touches
    sensible_art: boolean('sensible_art').notNull(),
    // 0 nobody protects it; 1 only tenants that its cell does not touch; 2 protected everywhere
    schutz: smallint('schutz').notNull(),
    // of a released public record: the beginning of its JSON, at its true place
    kopf_json: text('kopf_json'),
  },
  (t) => [
    foreignKey({ name: 'sichtbeobachtung_nutzer_id', columns: [t.nutzer_id], foreignColumns: [nutzer.id] }).onDelete('restrict'),
    foreignKey({ name: 'sichtbeobachtung_art', columns: [t.art], foreignColumns: [art.id] }).onDelete('restrict'),
    foreignKey({ name: 'sichtbeobachtung_stadium_id', columns: [t.stadium_id], foreignColumns: [stadium.id] }).onDelete(
      'restrict',
    ),
    foreignKey({ name: 'sichtbeobachtung_aktivitaet_id', columns: [t.aktivitaet_id], foreignColumns: [aktivitaet.id] }).onDelete(
      'restrict',
    ),
    foreignKey({ name: 'sichtbeobachtung_experte_id', columns: [t.experte_id], foreignColumns: [nutzer.id] }).onDelete(
      'set null',
    ),
    check('sichtbeobachtung_anzahl', sql`${t.anzahl} between 1 and 20000`),
    // D6.1
    check('sichtbeobachtung_bemerkung_laenge', sql`length(${t.bemerkung}) <= 4000`),
    check('sichtbeobachtung_bemerkung_experte_laenge', sql`length(${t.bemerkung_experte}) <= 4000`),
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

// --- what analysts read -----------------------------------------------------------------------------------------

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

// --- logs -------------------------------------------------------------------------------------------------------

/** Change log: no content, and no reference, because a deleted record keeps its entries (D3.14). */
export const protokoll = portal.table(
  'protokoll',
  {
    id: identity().primaryKey(),
    audit: audit('audit').notNull(),
    sichtbeobachtung_id: bigint('sichtbeobachtung_id', { mode: 'number' }).notNull(),
    zeitpunkt: zeitpunkt('zeitpunkt'),
  },
  (t) => [index('protokoll_zeitpunkt').on(t.zeitpunkt, t.id), index('protokoll_sichtbeobachtung').on(t.sichtbeobachtung_id)],
);

/** Quality-assurance log: one row per status change of a published record and per publication (D3.15). */
export const qs = portal.table(
  'qs',
  {
    id: identity().primaryKey(),
    sichtbeobachtung_id: bigint('sichtbeobachtung_id', { mode: 'number' }).notNull(),
    nutzer_id: nutzerReference('nutzer_id').notNull(),
    art: integer('art').notNull(),
    datum_beobachtung: date('datum_beobachtung').notNull(),
    status: status('status').notNull(),
    experte_id: nutzerReference('experte_id'),
    zeitpunkt: zeitpunkt('zeitpunkt'),
  },
  (t) => [
    index('qs_zeitpunkt').on(t.zeitpunkt, t.id),
    index('qs_nutzer').on(t.nutzer_id, t.id),
    index('qs_status').on(t.status, t.id),
  ],
);

/**
 * How often something changed that anonymous readers may see: the sum over all rows is the version behind their ETags. Several
 * rows, so that writers don't wait for each other; see private.count_change.
 */
export const stand = portal.table('stand', {
  id: bigint('id', { mode: 'number' }).primaryKey(),
  anzahl: bigint('anzahl', { mode: 'number' }).notNull(),
});

// Species, as they are everywhere and as tenants define them.
import { sql } from 'drizzle-orm';
import { boolean, index, integer, primaryKey, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { partOf, portal } from './common.ts';
import { mandant } from './mandant.ts';

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
    mandant_id: partOf('mandant_id', () => mandant.id),
    art: partOf('art', () => art.id),
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
  art: partOf('art', () => art.id),
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
    art: partOf('art', () => art.id),
    aid: partOf('aid', () => art.id),
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

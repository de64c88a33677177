// Both logs, and the version behind ETags.
import { sql } from 'drizzle-orm';
import { bigint, date, index, integer, primaryKey, timestamp } from 'drizzle-orm/pg-core';
import { audit, identity, nutzerReference, portal, status, textArray, zeitpunkt } from './common.ts';

/** Change log: no content, and no reference, because a deleted record keeps its entries (D3.14). */
export const protokoll = portal.table(
  'protokoll',
  {
    id: identity().primaryKey(),
    audit: audit('audit').notNull(),
    sichtbeobachtung_id: bigint('sichtbeobachtung_id', { mode: 'number' }).notNull(),
    zeitpunkt: zeitpunkt('zeitpunkt'),
  },
  (t) => [index('protokoll_zeitpunkt').on(t.zeitpunkt, t.id), index('protokoll_satz').on(t.sichtbeobachtung_id, t.id)],
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
    // codes of what spoke against it when it was decided; null: nothing, or nothing known
    gruende: textArray('gruende'),
    // the run that decided, or took that back (portal.pruef_lauf); null: a person
    lauf: integer('lauf'),
  },
  (t) => [
    index('qs_zeitpunkt').on(t.zeitpunkt, t.id),
    index('qs_nutzer').on(t.nutzer_id, t.id),
    index('qs_status').on(t.status, t.id),
    index('qs_lauf').on(t.sichtbeobachtung_id, t.lauf).where(sql`${t.lauf} is not null`),
    index('qs_experte').on(t.experte_id, t.id).where(sql`${t.experte_id} is not null`),
  ],
);

/**
 * How often something changed that anonymous readers may see, and how often the change log grew: all rows together are the versions
 * behind their ETags. Several rows, so that writers don't wait for each other; each says on which start of a server it counted last, so
 * that two servers that went on from the same state come to no version that is both's. See private.count_version.
 */
export const stand = portal.table('stand', {
  id: bigint('id', { mode: 'number' }).primaryKey(),
  anzahl: bigint('anzahl', { mode: 'number' }).notNull(),
  anzahl_protokoll: bigint('anzahl_protokoll', { mode: 'number' }).notNull().default(0),
  gestartet: timestamp('gestartet', { withTimezone: true }),
  gestartet_protokoll: timestamp('gestartet_protokoll', { withTimezone: true }),
});

/** The same by blocks of 80 km, for what is shown of some places alone. See private.count_block. */
export const standBlock = portal.table(
  'stand_block',
  {
    block: integer('block').notNull(),
    id: bigint('id', { mode: 'number' }).notNull(),
    anzahl: bigint('anzahl', { mode: 'number' }).notNull(),
    gestartet: timestamp('gestartet', { withTimezone: true }),
  },
  (t) => [primaryKey({ columns: [t.block, t.id] })],
);

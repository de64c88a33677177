// Files to publish (O5): which there are, and what made them wrong.
import { sql } from 'drizzle-orm';
import { bigint, check, index, integer, primaryKey, text, timestamp } from 'drizzle-orm/pg-core';
import { bytea, identity, partOf, portal, zeitpunkt } from './common.ts';
import { mandant } from './mandant.ts';

/** A file of a tenant as it is stored. */
export const exportDatei = portal.table(
  'export_datei',
  {
    mandant_id: partOf('mandant_id', () => mandant.id),
    datei: text('datei').notNull(),
    // its name in the storage
    objekt: text('objekt').notNull(),
    bytes: bigint('bytes', { mode: 'number' }).notNull(),
    // records in it; squares in cube.csv
    anzahl: bigint('anzahl', { mode: 'number' }).notNull(),
    sha256: bytea('sha256').notNull(),
    // since when it has this content
    stand: zeitpunkt('stand'),
  },
  (t) => [
    primaryKey({ name: 'export_datei_pk', columns: [t.mandant_id, t.datei] }),
    check('export_datei_sha256', sql`octet_length(${t.sha256}) = 32`),
  ],
);

/**
 * Changes after which the files of a tenant show what must not be shown any more: written with the change, deleted when new files are whole
 * that were made of a snapshot with the change in it.
 */
export const exportUngueltig = portal.table(
  'export_ungueltig',
  { id: identity().primaryKey(), mandant_id: integer('mandant_id').notNull() },
  (t) => [index('export_ungueltig_mandant').on(t.mandant_id)],
);

/** The last run for each tenant. */
export const exportLauf = portal.table('export_lauf', {
  mandant_id: integer('mandant_id')
    .primaryKey()
    .references(() => mandant.id, { onDelete: 'cascade' }),
  beendet: timestamp('beendet', { withTimezone: true }).notNull(),
  // why it failed; null: it did not
  fehler: text('fehler'),
});

// Review.
import { bigint, primaryKey, text } from 'drizzle-orm/pg-core';
import { bytea, nutzerReference, portal, zeitpunkt } from './common.ts';
import { nutzer } from './nutzer.ts';

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

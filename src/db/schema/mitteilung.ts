// What recorders are told of their records by mail, and what they answer.
import { sql } from 'drizzle-orm';
import { bigint, boolean, check, index, text, timestamp, uuid } from 'drizzle-orm/pg-core';
import { bytea, identity, nutzerReference, portal, zeitpunkt } from './common.ts';
import { nutzer } from './nutzer.ts';
import { sichtbeobachtung } from './sichtbeobachtung.ts';

const recordColumn = () =>
  bigint('sichtbeobachtung_id', { mode: 'number' })
    .notNull()
    .references(() => sichtbeobachtung.id, { onDelete: 'cascade' });
const nutzerColumn = () =>
  nutzerReference('nutzer_id')
    .notNull()
    .references(() => nutzer.id, { onDelete: 'cascade' });

/** What reviewers asked about a record, and what its recorder answered. */
export const nachricht = portal.table(
  'nachricht',
  {
    id: identity().primaryKey(),
    sichtbeobachtung_id: recordColumn(),
    // null: the reviewer's account was erased; a recorder's number stays with the record
    nutzer_id: nutzerReference('nutzer_id').references(() => nutzer.id, { onDelete: 'set null' }),
    text: text('text').notNull(),
    // a question that the recorder had yet to be mailed; only release 0.32 wrote it
    offen: boolean('offen').notNull().default(false),
    zeitpunkt: zeitpunkt('zeitpunkt'),
  },
  (t) => [
    index('nachricht_satz').on(t.sichtbeobachtung_id, t.id),
    index('nachricht_nutzer').on(t.nutzer_id, t.id),
    index('nachricht_offen').on(t.id).where(sql`${t.offen}`),
    check('nachricht_text', sql`length(${t.text}) between 1 and 4000`),
  ],
);

/** How often a recorder wants mails; without a row weekly. */
export const mitteilung = portal.table(
  'mitteilung',
  {
    nutzer_id: nutzerReference('nutzer_id')
      .primaryKey()
      .references(() => nutzer.id, { onDelete: 'cascade' }),
    haeufigkeit: text('haeufigkeit').notNull().default('woechentlich'),
    // when the recipient's server refused the address for good: no mails, until the account changes this setting or its address
    abgelehnt: timestamp('abgelehnt', { withTimezone: true }),
  },
  (t) => [check('mitteilung_haeufigkeit', sql`${t.haeufigkeit} in ('sofort', 'taeglich', 'woechentlich', 'nie')`)],
);

/**
 * Records whose decision, or question, their recorder has yet to be told. Rows instead of a number up to which all is told: the QS log's numbers are not
 * committed in their order, and a decision that was committed late would be told to nobody.
 */
export const mitteilungOffen = portal.table(
  'mitteilung_offen',
  {
    sichtbeobachtung_id: recordColumn().primaryKey(),
    nutzer_id: nutzerColumn(),
    // from when on it may be told
    faellig: timestamp('faellig', { withTimezone: true }).notNull(),
    // the mail that tells it and is on its way
    mail: uuid('mail'),
  },
  (t) => [
    index('mitteilung_offen_nutzer').on(t.nutzer_id, t.mail),
    index('mitteilung_offen_faellig').on(t.faellig).where(sql`${t.mail} is null`),
  ],
);

/** Links of mails to one record of the recipient's, for 30 days. Several for each: those of earlier mails stay good. */
export const sichtbeobachtungLink = portal.table(
  'sichtbeobachtung_link',
  {
    hash: bytea('hash').primaryKey(),
    sichtbeobachtung_id: recordColumn(),
    nutzer_id: nutzerColumn(),
    angelegt: zeitpunkt('angelegt'),
  },
  (t) => [
    index('sichtbeobachtung_link_satz').on(t.sichtbeobachtung_id),
    index('sichtbeobachtung_link_nutzer').on(t.nutzer_id),
    index('sichtbeobachtung_link_angelegt').on(t.angelegt),
    check('sichtbeobachtung_link_hash_length', sql`octet_length(${t.hash}) = 32`),
  ],
);

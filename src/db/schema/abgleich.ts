// The feed for mirrors (docs/decisions.md, O1): where each record stands in it.
import { bigint, index, integer, primaryKey, text, timestamp } from 'drizzle-orm/pg-core';
import { portal, zeitpunkt } from './common.ts';

const stelle = () => bigint('stelle', { mode: 'number' }).notNull();
const recordReference = () => bigint('sichtbeobachtung_id', { mode: 'number' });

/**
 * The place in the feed of each record that has one of its own: that of its last visible change. Without a reference, because a
 * deleted record keeps its place.
 */
export const abgleich = portal.table(
  'abgleich',
  {
    sichtbeobachtung_id: recordReference().primaryKey(),
    stelle: stelle(),
    geaendert: zeitpunkt('geaendert'),
  },
  (t) => [index('abgleich_stelle').on(t.stelle, t.sichtbeobachtung_id)],
);

/**
 * Many records that came at once: those released of a range of ids stand here, as far as they have no place of their own. So does, at
 * 0, what was there before the feed was.
 */
export const abgleichBlock = portal.table(
  'abgleich_block',
  {
    stelle: stelle(),
    von: bigint('von', { mode: 'number' }).notNull(),
    bis: bigint('bis', { mode: 'number' }).notNull(),
  },
  (t) => [primaryKey({ columns: [t.stelle, t.von] })],
);

/** The tenants whose filter listed a record once and does no more: their mirrors are told that it is gone. */
export const abgleichEhemals = portal.table(
  'abgleich_ehemals',
  {
    sichtbeobachtung_id: recordReference().notNull(),
    mandant_id: integer('mandant_id').notNull(),
  },
  (t) => [primaryKey({ columns: [t.sichtbeobachtung_id, t.mandant_id] })],
);

/** What a server is to the feed, from its start or restore on: places are numbers of its transactions, moved so that they go on growing. */
export const abgleichVerlauf = portal.table('abgleich_verlauf', {
  nummer: integer('nummer').primaryKey(),
  // which server, history and database: see private.get_server_kennung
  kennung: text('kennung').notNull(),
  // place = number of the transaction + versatz
  versatz: bigint('versatz', { mode: 'number' }).notNull(),
  beginn: bigint('beginn', { mode: 'number' }).notNull(),
  // all up to here had ended when it was written: what a backup of this table surely holds
  komplett: bigint('komplett', { mode: 'number' }).notNull(),
  // by these it is known without reading files that nothing was started, restored or copied
  gestartet: timestamp('gestartet', { withTimezone: true }).notNull(),
  ort: text('ort').notNull(),
  seit: zeitpunkt('seit'),
});

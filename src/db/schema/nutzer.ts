// Accounts, their keys, and the locks.
import { sql } from 'drizzle-orm';
import { boolean, check, index, integer, primaryKey, smallint, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { artengruppe } from './art.ts';
import { bytea, identity, nutzerReference, partOf, portal, rolle, zeitpunkt } from './common.ts';
import { mandant } from './mandant.ts';

export const nutzer = portal.table(
  'nutzer',
  {
    id: identity().primaryKey(),
    // null: erased (D7.2); the row stays for what refers to its number, and has nothing else
    loginname: text('loginname'),
    // NFKC, case-folded, trimmed (D3.18); kept by a trigger, so that SQL can't make look-alikes either.
    loginname_key: text('loginname_key'),
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
    // it is being erased, and what becomes of its records: behalten, loeschen; null: an account as any other
    loeschung: text('loeschung'),
    // under which its photos and sound files are passed on, unless a report says otherwise; null: all rights reserved (O5.5)
    medien_lizenz: text('medien_lizenz'),
  },
  (t) => [
    uniqueIndex('nutzer_loginname_key').on(t.loginname_key),
    uniqueIndex('nutzer_email_key').on(t.email_key),
    check('nutzer_loginname_filled', sql`${t.loginname_key} <> ''`),
    check('nutzer_anonymisiert', sql`${t.anonymisiert} in (0, 1)`),
    check('nutzer_status', sql`${t.status} in (0, 1)`),
    check('nutzer_medien_lizenz', sql`${t.medien_lizenz} in ('CC0-1.0', 'CC-BY-4.0', 'CC-BY-NC-4.0')`),
    check(
      'nutzer_loeschung',
      sql`${t.loeschung} is null or (${t.loeschung} in ('behalten', 'loeschen') and ${t.status} = 0 and ${t.password_hash} is null)`,
    ),
    // What has no name any more is nobody.
    check(
      'nutzer_geloescht',
      sql`${t.loginname_key} is not null or (${t.loeschung} is not null and num_nonnulls(${t.loginname}, ${t.email}, ${t.email_key}, ${t.vorname}, ${t.nachname}, ${t.portal_name}, ${t.portal_url}) = 0)`,
    ),
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
    gid: partOf('gid', () => artengruppe.id),
  },
  (t) => [primaryKey({ columns: [t.nutzer_id, t.gid] }), index('nutzer_artengruppe_gid').on(t.gid)],
);

/** The tenants to which an expert is restricted; none = not restricted. A tenant that somebody is restricted to stays. */
export const nutzerMandant = portal.table(
  'nutzer_mandant',
  {
    nutzer_id: nutzerColumn(),
    mandant_id: integer('mandant_id')
      .notNull()
      .references(() => mandant.id, { onDelete: 'restrict' }),
  },
  (t) => [primaryKey({ columns: [t.nutzer_id, t.mandant_id] }), index('nutzer_mandant_mandant').on(t.mandant_id)],
);

/** Access keys. Only the SHA-256 of a token is stored: whoever reads this table can't log in (D3.16). */
export const token = portal.table(
  'token',
  { hash: bytea('hash').primaryKey(), nutzer_id: nutzerColumn(), angelegt: zeitpunkt('angelegt'), genutzt: zeitpunkt('genutzt') },
  (t) => [index('token_nutzer').on(t.nutzer_id), check('token_hash_length', sql`octet_length(${t.hash}) = 32`)],
);

const linkColumns = () => ({
  nutzer_id: nutzerReference('nutzer_id')
    .primaryKey()
    .references(() => nutzer.id, { onDelete: 'cascade' }),
  hash: bytea('hash').notNull(),
  angelegt: zeitpunkt('angelegt'),
});

/**
 * One-time links to set a password (D3.18, D3.22). Only the SHA-256 of what the link carries is stored; one per account, so
 * that a new mail ends the link of the last one.
 */
export const nutzerLink = portal.table('nutzer_link', linkColumns(), (t) => [uniqueIndex('nutzer_link_hash').on(t.hash)]);

/** One-time links to the own data (D7.3): to fetch them once, and to erase the account. One per account, for a day. */
export const nutzerDatenLink = portal.table(
  'nutzer_daten_link',
  {
    ...linkColumns(),
    // the data were fetched by it
    geholt: boolean('geholt').notNull().default(false),
  },
  (t) => [uniqueIndex('nutzer_daten_link_hash').on(t.hash)],
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

/**
 * Tables without rows, to be locked (locks.sql): unlike an advisory lock, which every session on the server may take by its
 * number, this needs rights that analysts don't have.
 */
const lockTable = (name: string) => portal.table(name, { id: boolean('id').primaryKey() });
export const sperreKatalog = lockTable('sperre_katalog');
export const sperreKonto = lockTable('sperre_konto');
export const sperreRaster = lockTable('sperre_raster');
export const sperreExport = lockTable('sperre_export');
export const sperrePruefung = lockTable('sperre_pruefung');

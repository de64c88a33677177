// What the tables of all rooms are made with.
import { sql } from 'drizzle-orm';
import { type AnyPgColumn, bigint, customType, integer, pgSchema, text, timestamp } from 'drizzle-orm/pg-core';

export const portal = pgSchema('portal');

export const bereich = portal.enum('bereich', ['privat', 'oeffentlich']);
export const status = portal.enum('status', ['pruefung', 'hinweis', 'freigegeben', 'abgelehnt']);
export const rolle = portal.enum('rolle', ['expert', 'administrator']);
export const audit = portal.enum('audit', ['CREATE', 'UPDATE', 'DELETE']);
export const ergebnis = portal.enum('ergebnis', ['laeuft', 'erfolgreich', 'unveraendert', 'fehlgeschlagen', 'abgebrochen']);

// drizzle's own geometry() drops the SRID, and a column without one would take a point of any system.
export const point = customType<{ data: string }>({ dataType: () => 'geometry(Point,25832)' });
export const multiPolygon = customType<{ data: string }>({ dataType: () => 'geometry(MultiPolygon,25832)' });
export const polygon = customType<{ data: string }>({ dataType: () => 'geometry(Polygon,25832)' });
export const bytea = customType<{ data: Buffer }>({ dataType: () => 'bytea' });
export const textArray = (name: string) => text(name).array();

export const identity = (name = 'id') => bigint(name, { mode: 'number' }).generatedAlwaysAsIdentity();
export const nutzerReference = (name: string) => bigint(name, { mode: 'number' });
export const zeitpunkt = (name: string) => timestamp(name, { withTimezone: true }).notNull().default(sql`now()`);
/** What a row is part of, and goes with. */
export const partOf = (name: string, whole: () => AnyPgColumn) =>
  integer(name).notNull().references(whole, { onDelete: 'cascade' });

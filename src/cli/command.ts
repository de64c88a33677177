// What all commands have in common.
import { access } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Config } from '../config.ts';
import { type Database, embeddedDirectory, type Sql } from '../db/client.ts';
import type { ExportStand } from '../db/export.ts';
import type { UrlSetting } from '../db/requirements.ts';
import { createProgress } from '../observe/progress.ts';
import { UsageError, type Values } from './line.ts';

/**
 * Works on a database that is ready; `rest` is what stands behind the command's name. It loads what it alone needs: reading all of it took
 * half a second of every command.
 */
export type Command = (database: Database, values: Values, rest: string[], config: Config) => Promise<void>;

/** Needs no database, or opens it itself; reads the settings where it needs them. */
export type PlainCommand = (rest: string[], readConfig: () => Config) => Promise<void>;

export const progress = createProgress(process.stderr);

export const warn = (sentence: string) => console.error(`Hinweis: ${sentence}.`);

export const countOf = (count: number, one: string, many: string) => `${count} ${count === 1 ? one : many}`;

/** @throws UsageError where it is missing or empty */
export function requireOption(values: Values, name: 'loginname' | 'email' | 'vorname' | 'nachname'): string {
  const value = values[name]?.trim();
  if (!value) throw new UsageError(`--${name} fehlt.`);
  return value;
}

/** One and no more: `backup verfy DIR` must not become a backup in a directory of that name. */
export function requireDirectory(command: string, [dir, ...more]: string[]): string {
  if (!dir) throw new UsageError(`Das Verzeichnis fehlt: ${command} VERZEICHNIS`);
  if (more.length > 0) throw new UsageError(`Ein Verzeichnis ist zu viel; erlaubt ist: ${command} VERZEICHNIS`);
  return dir;
}

/**
 * Tenants that publish.
 * @param kuerzel one of them; all without it
 * @throws UsageError where there is none
 */
export async function requirePublishers(sql: Sql, kuerzel: string | undefined): Promise<ExportStand[]> {
  const { isMandant, listExport } = await import('../db/export.ts');
  const mandanten = await listExport(sql, kuerzel ?? null);
  if (mandanten.length > 0) return mandanten;
  const name = kuerzel?.slice(0, 40);
  if (kuerzel !== undefined && !(await isMandant(sql, kuerzel))) throw new UsageError(`Einen Mandanten „${name}“ gibt es nicht.`);
  const sentence = name === undefined ? 'Kein Mandant hat eine Lizenz' : `${name} hat keine Lizenz`;
  throw new UsageError(`${sentence}, ohne sie wird nichts veröffentlicht: lizenz in mandanten.geojson (docs/publishing.md).`);
}

/** Commands write as the owner; the service's role may only do what its users do. */
export function ownersAddress(config: Config): { url: string | null; setting: UrlSetting } {
  const { migrateDatabaseUrl, directDatabaseUrl, databaseUrl } = config;
  if (migrateDatabaseUrl !== null) return { url: migrateDatabaseUrl, setting: 'MIGRATE_DATABASE_URL' };
  if (directDatabaseUrl !== null) return { url: directDatabaseUrl, setting: 'DIRECT_DATABASE_URL' };
  return { url: databaseUrl, setting: 'DATABASE_URL' };
}

/** Whoever meant PostgreSQL and lost DATABASE_URL on the way would work on a new database without a word. */
export async function sayNewEmbedded(config: Config): Promise<void> {
  const directory = resolve(embeddedDirectory(config.dataDir));
  if (ownersAddress(config).url === null && !(await exists(directory)))
    console.error(`Ohne DATABASE_URL: eine eingebettete Datenbank wird angelegt, in ${directory}.`);
}

/** Of a file or a directory. */
export const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );

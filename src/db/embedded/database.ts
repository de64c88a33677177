// The embedded database: PostgreSQL and PostGIS in this process, for trying the service out and for its tests.
// Its directory holds `pg/` (PGlite's data), `embedded.lock` and, while it is first filled, `embedded.incomplete`.

import { accessSync, constants, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Duplex } from 'node:stream';
import { Bridge } from './bridge.ts';
import { type Engine, startEngine } from './engine.ts';
import { type DirectoryLock, takeLock } from './lock.ts';

export interface EmbeddedDatabase {
  /**
   * For postgres.js' `socket` option: a fresh virtual connection. Give that client `fetch_types: false`: it doesn't
   * catch errors of its own look at the types, so that a crash of the engine could become an unhandled rejection.
   */
  socket: () => Duplex;
  /** The data directory as gzip tar, for `loadFrom`; waits until no transaction is open. */
  dump(): Promise<Uint8Array>;
  /** Rolls open transactions back and shuts down. End the postgres.js clients first. */
  close(): Promise<void>;
}

export interface EmbeddedOptions {
  dataDir: string;
  /** a dump made by dump(), used when the directory is empty */
  loadFrom?: Uint8Array;
  /** longest wait (ms) of a virtual connection for the engine before it fails with SQLSTATE 55P03 (15000) */
  lockTimeoutMs?: number;
  /** called when the engine's thread dies unexpectedly; every connection has failed by then */
  onCrash?: (error: Error) => void;
}

/** Another process, or this one, has the directory open. */
export class EmbeddedBusyError extends Error {
  override name = 'EmbeddedBusyError';
  constructor(directory: string) {
    super(
      `Die eingebettete Datenbank in ${directory} wird gerade von einem anderen Prozess benutzt; bitte diesen zuerst beenden.`,
    );
    this.stack = `${this.name}: ${this.message}`;
  }
}

/** The directory can't be used; the message says why and what to do. */
export class EmbeddedOpenError extends Error {
  override name = 'EmbeddedOpenError';
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.stack = `${this.name}: ${this.message}`;
  }
}

/** PostgreSQL major version of this PGlite; data directories of another one can't be read. */
export const majorVersion = '18';

// PGlite writes the files of a new database one by one; a kill in the middle leaves something that looks like one.
const placesOf = (directory: string) => ({ path: join(directory, 'pg'), incomplete: join(directory, 'embedded.incomplete') });

/** Whether no database was ever completed in a directory. */
export function isEmptyEmbedded(directory: string): boolean {
  const { path, incomplete } = placesOf(directory);
  return existsSync(incomplete) || !existsSync(path) || readdirSync(path).length === 0;
}

/** Opens the embedded database, creating it when the directory is empty. Creates no extension. */
export async function openEmbedded(options: EmbeddedOptions): Promise<EmbeddedDatabase> {
  const directory = resolve(options.dataDir);
  const lock = lockDirectory(directory);
  let bridge: Bridge | null = null;
  let engine: Engine;
  try {
    const data = prepareData(directory);
    try {
      engine = await startEngine({
        dataDir: data.path,
        loadFrom: data.isNew && options.loadFrom ? Uint8Array.from(options.loadFrom) : null,
        onCrash(error) {
          bridge?.fail(error);
          lock.release();
          options.onCrash?.(error);
        },
      });
    } catch (error) {
      throw new EmbeddedOpenError(
        `Die eingebettete Datenbank in ${directory} konnte nicht geöffnet werden (${oneLine(error)}); ist sie beschädigt, hilft nur eine Sicherung.`,
        error,
      );
    }
    data.complete();
  } catch (error) {
    lock.release();
    throw error;
  }
  bridge = new Bridge(engine, options.lockTimeoutMs ?? 15_000);
  const opened = bridge;
  let closing: Promise<void> | null = null;
  return {
    socket: () => opened.connect(),
    dump: () => opened.dump(),
    close() {
      closing ??= opened.close().finally(() => lock.release());
      return closing;
    },
  };
}

function lockDirectory(directory: string): DirectoryLock {
  let lock: DirectoryLock | null;
  try {
    mkdirSync(directory, { recursive: true });
    accessSync(directory, constants.W_OK);
    lock = takeLock(directory);
  } catch (error) {
    throw new EmbeddedOpenError(`In ${directory} kann nicht geschrieben werden (${oneLine(error)}).`, error);
  }
  if (!lock) throw new EmbeddedBusyError(directory);
  return lock;
}

/** Finds out what is in the directory, and makes room for a new database if none was ever completed there. */
function prepareData(directory: string): { path: string; isNew: boolean; complete(): void } {
  const { path, incomplete } = placesOf(directory);
  try {
    const isNew = isEmptyEmbedded(directory);
    if (existsSync(incomplete)) rmSync(path, { recursive: true, force: true });
    if (isNew) {
      writeFileSync(incomplete, '');
      mkdirSync(path, { recursive: true });
    } else {
      accessSync(path, constants.W_OK);
      const version = existsSync(join(path, 'PG_VERSION')) ? readFileSync(join(path, 'PG_VERSION'), 'utf8').trim() : null;
      if (!version)
        throw new EmbeddedOpenError(
          `${path} enthält keine Datenbank (PG_VERSION fehlt oder ist leer); bitte ein leeres Verzeichnis angeben.`,
        );
      if (version !== majorVersion) {
        throw new EmbeddedOpenError(
          `Die Datenbank in ${directory} stammt von PostgreSQL ${version}, diese Version braucht PostgreSQL ${majorVersion}; bitte mit der alten Version sichern und neu einspielen.`,
        );
      }
    }
    return { path, isNew, complete: () => rmSync(incomplete, { force: true }) };
  } catch (error) {
    if (error instanceof EmbeddedOpenError) throw error;
    throw new EmbeddedOpenError(`In ${directory} kann nicht gelesen oder geschrieben werden (${oneLine(error)}).`, error);
  }
}

function oneLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error))
    .replace('Build with -sASSERTIONS for more info.', '')
    .replace(/\s+/g, ' ')
    .trim();
}

// PGlite takes no lock on its directory: two processes on one directory lost a quarter of their acknowledged writes
// without a word. The lock here is an exclusive transaction in an empty SQLite file. SQLite holds it as a byte-range
// lock of the operating system, so the kernel drops it with the process, however that ends: nothing goes stale, no
// process number is compared (they repeat across containers), and it holds on Windows too. A lock file with a pid would fail in all three.

import { accessSync, constants } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';

/** A lock that is held until it is released or the process ends. */
export interface DirectoryLock {
  release(): void;
}

const busy = 5; // SQLITE_BUSY

/**
 * Takes the lock of a directory, without waiting; null when somebody has it, in this process or another. Fails with the system's error when
 * the directory can't be written to.
 * @param name of the file in it
 */
export function takeLock(directory: string, name = 'embedded.lock'): DirectoryLock | null {
  // SQLite says only that it can't open the file.
  accessSync(directory, constants.W_OK | constants.X_OK);
  const database = openSqlite(join(directory, name));
  try {
    // journal_mode stays DELETE: with WAL, exclusive transactions let readers in
    database.exec('begin exclusive');
  } catch (error) {
    database.close();
    if ((error as { errcode?: number }).errcode === busy) return null;
    throw error;
  }
  return {
    release() {
      if (database.isOpen) database.close();
    },
  };
}

function openSqlite(path: string): DatabaseSync {
  // Node 22 prints an ExperimentalWarning when node:sqlite is loaded, which says nothing to the person who starts the service
  const emitWarning = process.emitWarning;
  process.emitWarning = () => {};
  try {
    const sqlite = createRequire(import.meta.url)('node:sqlite') as typeof import('node:sqlite');
    return new sqlite.DatabaseSync(path, { timeout: 0 });
  } finally {
    process.emitWarning = emitWarning;
  }
}

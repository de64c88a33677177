// Where the templates are that test/support/run.ts made, and their copies. TEST_TEMPLATE is the name of a database, or of a data
// directory with an embedded one.
import { cpSync } from 'node:fs';

/** What the template was before its catalogue: migrated and empty. */
export const migratedOf = (template: string) => `${template}_migrated`;

let copies = 0;

/**
 * Copies a data directory with an embedded database, beside it: what a killed test leaves goes with it. Not by node:fs/promises, which
 * takes four times as long for its thousand files.
 */
export function copyDirectory(template: string): string {
  const dataDir = `${template}_${process.pid}_${++copies}`;
  cpSync(template, dataDir, { recursive: true });
  return dataDir;
}

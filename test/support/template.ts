// Where the templates are that test/support/run.ts made, and their copies. TEST_TEMPLATE is the name of a database, or of a data
// directory with an embedded one.
import { cp } from 'node:fs/promises';

/** What the template was before its catalogue: migrated and empty. */
export const migratedOf = (template: string) => `${template}_migrated`;

let copies = 0;

/** Copies a data directory with an embedded database, beside it: what a killed test leaves goes with it. */
export async function copyDirectory(template: string): Promise<string> {
  const dataDir = `${template}_${process.pid}_${++copies}`;
  await cp(template, dataDir, { recursive: true });
  return dataDir;
}

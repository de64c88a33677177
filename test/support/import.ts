// Bulk imports in tests: a file of its own for each.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ImportError } from '../../src/catalog/problems.ts';
import { importSichtbeobachtungen, type SichtbeobachtungenOptions } from '../../src/catalog/sichtbeobachtungen.ts';
import type { Database } from '../../src/db/client.ts';
import type { Progress } from '../../src/observe/progress.ts';
import type { Account } from './catalogue.ts';

const silent: Progress = { step() {}, end() {} };

/** Writes `content` to a file called `name`, hands its path to `use`, and removes it. */
export async function withFile<T>(name: string, content: string | Buffer, use: (path: string) => Promise<T>): Promise<T> {
  const dir = await mkdtemp(join(tmpdir(), 'sighting-import-'));
  try {
    await writeFile(join(dir, name), content);
    return await use(join(dir, name));
  } finally {
    await rm(dir, { recursive: true });
  }
}

/** The id of an account. */
export async function idOf(database: Database, account: string): Promise<number> {
  const [row] = await database.sql<{ id: number }[]>`select id from portal.nutzer where loginname = ${account}`;
  if (!row) throw new Error(`no account ${account}`);
  return row.id;
}

/** Imports a file with this content as `melder` or another account; how many were stored. */
export async function importCsv(
  database: Database,
  content: string | Buffer,
  account: Account = 'melder',
  progress: Progress = silent,
): Promise<number> {
  return (await importCsvWith(database, content, {}, account, progress)).stored;
}

/** The same with options; how many were stored, and how many left out. */
export async function importCsvWith(
  database: Database,
  content: string | Buffer,
  options: Partial<SichtbeobachtungenOptions>,
  account: Account = 'melder',
  progress: Progress = silent,
) {
  const all = {
    nutzerId: await idOf(database, account),
    quelle: null,
    media: null,
    dryRun: false,
    skipDuplicates: false,
    ignoreColumns: false,
    keepAllProblems: false,
    warn() {},
    ...options,
  };
  return withFile('liste.csv', content, (path) => importSichtbeobachtungen(database, path, progress, all));
}

/** What an import tells. */
export const counts = (stored: number, skipped = 0, known = 0) => ({ stored, skipped, known });

/** What is wrong with a file that must be refused, as `line: message`. */
export async function problemsOf(imported: Promise<unknown>): Promise<string[]> {
  const error = await imported.then(
    () => new Error('the file was imported'),
    (reason) => reason,
  );
  if (error instanceof ImportError) return error.problems.map(({ line, message }) => `${line}: ${message}`);
  throw error;
}

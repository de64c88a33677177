// The photos and sound files of an import: through the same pipeline as those of a form, and stored before the records that name them.
import { createHash } from 'node:crypto';
import { readFile, realpath, stat } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { isAbsolute, join, relative, sep } from 'node:path';
import type { Sql } from '../db/client.ts';
import { getMediumImport, setMediumImport } from '../db/medium.ts';
import { kindOfMedium, type MediumField, mediumFields } from '../db/sichtbeobachtung.ts';
import type { StagedMedia } from '../db/sichtbeobachtung-import.ts';
import { describeRefusal, makeMedium, maxFileBytes } from '../media/medium.ts';
import type { Storage } from '../media/storage.ts';
import { type MediaThreads, MediaUnavailableError } from '../media/threads.ts';
import { describeCell, type ProblemList } from './problems.ts';
import { columns } from './sichtbeobachtung-columns.ts';

export interface ImportMedia {
  /** Paths in the file are relative to it, and stay below it. */
  directory: string;
  threads: MediaThreads;
  storage: Storage;
}

/** Line and column of a file's path. */
export type MediumKey = `${number} ${MediumField}`;

interface NamedFile {
  key: MediumKey;
  line: number;
  field: MediumField;
  path: string;
}

/**
 * Stores the files that records will name. Each is remembered, so that an import that is broken off doesn't begin anew.
 * @param staged the paths by line of the file
 * @param failIfAny throws when there are problems
 * @returns the names that they are stored under; none for a dry run, which only looks whether they are there
 */
export async function storeImportMedia(
  sql: Sql,
  { directory, threads, storage }: ImportMedia,
  staged: StagedMedia[],
  run: { dryRun: boolean; problems: ProblemList; failIfAny(): void; report(done: number, total: number): void },
): Promise<Map<MediumKey, string>> {
  const files: NamedFile[] = [];
  const root = await realpath(directory).catch(() => null);
  if (root === null) run.problems.add(0, 'Das Verzeichnis von --dateien gibt es nicht');
  run.failIfAny();
  for (const row of staged) {
    for (const field of mediumFields) {
      const cell = row[field];
      if (cell === null) continue;
      const found = await findFile(root ?? '', field, cell);
      if ('problem' in found) run.problems.add(row.zeile, found.problem);
      else files.push({ key: `${row.zeile} ${field}`, line: row.zeile, field, path: found.path });
    }
  }
  run.failIfAny();
  const names = new Map<MediumKey, string>();
  if (run.dryRun) return names;

  const store = async ({ key, line, field, path }: NamedFile, nummer: number, hash: Buffer) => {
    const file = { hash, nummer, audio: field === 'audio' };
    let name = await getMediumImport(sql, file);
    // Stored elsewhere, when MEDIA_URL was another one then: a row must never name a file that isn't there.
    if (name === null || (await storage.get(name)) === null) {
      try {
        const medium = await threads.run((files) => makeMedium(files, kindOfMedium(field), path));
        await storage.put(medium.name, medium.bytes, medium.contentType);
        await setMediumImport(sql, file, medium.name);
        name = medium.name;
      } catch (error) {
        const problem =
          error instanceof MediaUnavailableError ? `${field} ließ sich nicht umwandeln` : describeRefusal(field, error);
        if (problem === null) throw error;
        run.problems.add(line, problem);
        return;
      }
    }
    names.set(key, name);
  };

  // How often each was named before: every record has a stored file of its own.
  const uses = new Map<string, number>();
  let next = 0;
  let done = 0;
  const work = async () => {
    for (let file = files[next++]; file; file = files[next++]) {
      const hash = createHash('sha256')
        .update(await readFile(file.path))
        .digest();
      const use = `${kindOfMedium(file.field)} ${hash.toString('hex')}`;
      const nummer = uses.get(use) ?? 0;
      uses.set(use, nummer + 1);
      await store(file, nummer, hash);
      run.report(++done, files.length);
    }
  };
  run.report(0, files.length);
  // As many at once as there are threads for files at most; errors of one end the others with the process.
  await Promise.all(Array.from({ length: Math.min(4, availableParallelism()) }, work));
  run.problems.sort();
  run.failIfAny();
  return names;
}

async function findFile(root: string, field: MediumField, cell: string): Promise<{ path: string } | { problem: string }> {
  const { allowed } = columns[field];
  const path = isAbsolute(cell) ? null : await realpath(join(root, cell)).catch(() => null);
  const inside = path === null ? '..' : relative(root, path);
  if (path === null || inside === '..' || inside.startsWith(`..${sep}`)) return { problem: describeCell(field, cell, allowed) };
  const entry = await stat(path).catch(() => null);
  if (!entry?.isFile()) return { problem: describeCell(field, cell, allowed) };
  const limit = maxFileBytes[kindOfMedium(field)];
  if (entry.size > limit) return { problem: `${field}: die Datei ist zu groß, erlaubt sind ${limit / 1024 / 1024} MB` };
  return { path };
}

// Whether a backup is whole and as it was written: what `backup verify` says, and what a restore looks at before it touches anything.
import { createReadStream } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import type { Programs } from '../config.ts';
import { mediumFields } from '../db/sichtbeobachtung.ts';
import type { Progress } from '../observe/progress.ts';
import { BackupError, toBackupError } from './error.ts';
import { type Manifest, type Part, requireManifest } from './manifest.ts';
import { checkMedia, hashFile, type MediaList, openCopy, readList } from './media.ts';
import { requireProgram, runProgram } from './programs.ts';

export interface CheckedBackup {
  manifest: Manifest;
  list: MediaList;
}

// As many problems are told.
const maxTold = 20;

/**
 * Reads all of a backup.
 * @throws BackupError with what is wrong
 */
export async function checkBackup(directory: string, programs: Programs, progress: Progress): Promise<CheckedBackup> {
  const dir = resolve(directory);
  try {
    const manifest = await requireManifest(dir);
    progress.step('Die Teile der Sicherung werden geprüft', 0, 1);
    failIfAny(dir, await checkParts(dir, manifest));
    const list = await readList(join(dir, manifest.medien.datei));
    progress.step('Die Datenbank wird gelesen', 0, 1);
    failIfAny(dir, await checkDump(join(dir, manifest.datenbank.datei), manifest, list, programs));
    const report = (done: number, total: number) => progress.step('Fotos und Tonaufnahmen werden geprüft', done, total);
    failIfAny(dir, await checkMedia(openCopy(dir), list, report));
    progress.end();
    return { manifest, list };
  } catch (error) {
    throw toBackupError(error, dir);
  }
}

function failIfAny(dir: string, problems: string[]): void {
  if (problems.length === 0) return;
  const more = problems.length > maxTold ? [`und ${problems.length - maxTold} weitere`] : [];
  const lines = [...problems.slice(0, maxTold), ...more].map((problem) => `  ${problem}`);
  throw new BackupError([`Die Sicherung in ${dir} ist beschädigt:`, ...lines].join('\n'));
}

async function checkParts(dir: string, { datenbank, medien, schluessel }: Manifest): Promise<string[]> {
  const problems: string[] = [];
  for (const part of [datenbank, medien, schluessel].filter((each): each is Part => each !== null)) {
    const hash = await hashFile(join(dir, part.datei)).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null;
      throw error;
    });
    if (hash === null) problems.push(`${part.datei} fehlt`);
    else if (hash !== part.sha256) problems.push(`${part.datei} ist verändert`);
  }
  return problems;
}

async function checkDump(path: string, manifest: Manifest, list: MediaList, programs: Programs): Promise<string[]> {
  const { datenbank, anzahl, medien } = manifest;
  if (datenbank.programm === null) {
    const ignore = new Writable({ write: (_chunk, _encoding, done) => done() });
    return pipeline(createReadStream(path), createGunzip(), ignore).then(
      () => [],
      () => [`${datenbank.datei} lässt sich nicht lesen`],
    );
  }
  await requireProgram(programs, 'pg_restore', datenbank.programm);
  await runProgram(programs, 'pg_restore', ['--list', path], {});
  const { rows, names } = await readSichtbeobachtung(path, programs);
  const unknown = [...names].filter((name) => !list.has(name) && !medien.fehlend.includes(name));
  return [
    ...(rows === anzahl.sichtbeobachtung
      ? []
      : [`${datenbank.datei} hat ${rows} Beobachtungen statt ${anzahl.sichtbeobachtung}`]),
    ...unknown.map((name) => `Datei ${name} gehört zu einer Beobachtung und ist nicht in der Liste`),
  ];
}

// The rows as `COPY` writes them: what the dump itself says of records and their files.
async function readSichtbeobachtung(path: string, programs: Programs): Promise<{ rows: number; names: Set<string> }> {
  const names = new Set<string>();
  let rows = 0;
  let columns: number[] | null = null;
  const args = ['--data-only', '--schema=portal', '--table=sichtbeobachtung', '--file=-', path];
  await runProgram(programs, 'pg_restore', args, {}, async (out) => {
    for await (const line of readLines(out)) {
      if (columns === null) {
        const [, named] = /^COPY portal\.sichtbeobachtung \((.*)\) FROM stdin;$/.exec(line) ?? [];
        if (named !== undefined) columns = mediumFields.map((field) => named.split(', ').indexOf(field));
      } else if (line === '\\.') {
        columns = null;
      } else {
        rows++;
        const values = line.split('\t');
        for (const column of columns) {
          const value = values[column];
          if (value !== undefined && value !== '\\N') names.add(value);
        }
      }
    }
  });
  return { rows, names };
}

// Node's own reader of lines also ends them at characters that a remark may hold.
async function* readLines(input: Readable): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of input.setEncoding('latin1')) {
    const lines = `${rest}${chunk}`.split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
}

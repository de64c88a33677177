// What a backup consists of. The manifest is written last and by a rename: where there is none, or one that names what isn't there, no
// backup came to its end.
import { randomUUID } from 'node:crypto';
import { readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import * as v from 'valibot';
import { syncDirectory, writeDurably } from '../media/durable.ts';
import { BackupError } from './error.ts';

const manifestName = 'sicherung.json';
/** The present form; a program knows those up to its own. */
const format = 1;

/** Parts of one backup: each run writes new ones, so that the last whole backup stays whole until the next one is. */
export const partPattern = /^(datenbank|medien|schluessel)-\d{8}T\d{9}Z\.(dump|tar\.gz|sha256|key)$/;

const hash = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/));
const count = v.pipe(v.number(), v.integer(), v.minValue(0));
// Names become paths.
const part = v.object({ datei: v.pipe(v.string(), v.regex(partPattern)), sha256: hash });
const version = v.pipe(v.string(), v.regex(/^\d+(\.\d+)*/));
const mediumName = v.pipe(v.string(), v.regex(/^[0-9a-f]{32}\.[a-z0-9]{1,4}$/));

const manifestSchema = v.object({
  format: v.literal(format),
  /** Release of the functions in the database. */
  version,
  installation: v.pipe(v.string(), v.regex(/^[0-9a-f]{32}$/)),
  begonnen: v.pipe(v.string(), v.isoTimestamp()),
  beendet: v.pipe(v.string(), v.isoTimestamp()),
  datenbank: v.object({
    ...part.entries,
    art: v.picklist(['postgresql', 'eingebettet']),
    server: version,
    /** Version of pg_dump. */
    programm: v.nullable(version),
    migrationen: v.array(hash),
  }),
  anzahl: v.object({
    mandant: count,
    art: count,
    nutzer: count,
    sichtbeobachtung: count,
    protokoll: count,
    qs: count,
    abgleich: count,
  }),
  /** The list of files with their hashes; `fehlend`: named by records, and not in the storage already when it was backed up. */
  medien: v.object({ ...part.entries, anzahl: count, fehlend: v.array(mediumName) }),
  /** null: it came from SECRET_KEY, or there was none. */
  schluessel: v.nullable(part),
});

export type Manifest = v.InferOutput<typeof manifestSchema>;
export type Part = v.InferOutput<typeof part>;

/**
 * The manifest of a backup, null when there is none.
 * @throws BackupError for one that this program can't read
 */
export async function readManifest(dir: string): Promise<Manifest | null> {
  let text: string;
  try {
    text = await readFile(join(dir, manifestName), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  const json = parse(text);
  const newer = v.safeParse(v.object({ format: v.pipe(v.number(), v.gtValue(format)) }), json);
  if (newer.success) {
    throw new BackupError(
      `Die Sicherung in ${dir} hat Format ${newer.output.format}, dieses Programm kennt Format ${format}; bitte ein neueres.`,
    );
  }
  const parsed = v.safeParse(manifestSchema, json);
  if (!parsed.success) throw new BackupError(`${manifestName} in ${dir} ist beschädigt.`);
  return parsed.output;
}

/**
 * The manifest of a backup.
 * @throws BackupError when there is no whole backup in the directory
 */
export async function requireManifest(dir: string): Promise<Manifest> {
  const manifest = await readManifest(dir);
  if (manifest) return manifest;
  throw new BackupError(
    `In ${dir} ist keine vollständige Sicherung: ${manifestName} fehlt. Eine abgebrochene Sicherung hat keins; noch einmal sichern führt sie fort.`,
  );
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Makes a backup whole. */
export async function writeManifest(dir: string, manifest: Omit<Manifest, 'format'>): Promise<void> {
  const partial = join(dir, `.${manifestName}.${randomUUID()}`);
  try {
    await writeDurably(partial, Buffer.from(`${JSON.stringify({ format, ...manifest }, null, 2)}\n`), 0o600);
    await rename(partial, join(dir, manifestName));
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
  await syncDirectory(dir);
}

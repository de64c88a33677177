// Photos and sound files of a form on their way into the storage.
import type { Context } from 'hono';
import { isMediumGesperrt } from '../../db/medium.ts';
import { isReadOnly } from '../../db/requirements.ts';
import { kindOfMedium, type MediumField, type MediumNames, mediumFields } from '../../db/sichtbeobachtung.ts';
import { describeRefusal, type MadeMedium, makeMedium, maxFileBytes } from '../../media/medium.ts';
import type { FileMaker } from '../../media/threads.ts';
import type { ReceivedFile, Upload } from '../../media/uploads.ts';
import type { Deps, Env } from '../context.ts';
import { toPortalError } from '../errors.ts';
import { limits, requireAllowed, requireWriteAllowed } from '../too-often.ts';
import { readFormWithFiles } from '../wire/form.ts';
import type { Form } from '../wire/multipart.ts';
import { PortalError, sentences } from '../wire/portal-error.ts';

const mebibyte = 1024 * 1024;

interface FormWithMedia extends Pick<Form, 'fields'> {
  /**
   * Makes the files what is kept of them, stores them, and calls `save` with their names; null for one that is to be
   * removed. When `save` fails they are removed again.
   */
  keep<R>(save: (names: MediumNames) => Promise<R>): Promise<R>;
}

/**
 * Reads a form that may hold a sighting's files, and forgets the files as they came when `handle` is done.
 * @throws PortalError as readForm; 413 for a file that is too large, 429 when the reader stored too many of them or of sightings, 503 when too many are under way
 */
export async function receiveMedia<R>(
  c: Context<Env>,
  deps: Deps,
  reader: number,
  handle: (form: FormWithMedia) => Promise<R>,
): Promise<R> {
  const { media } = deps;
  // A promise: two files of a form may come at once.
  let upload: Promise<Upload> | undefined;
  try {
    const { fields, files } = await readFormWithFiles(c, mediumFields, async (name, stream) => {
      upload ??= media.uploads.begin();
      const limit = maxFileBytes[kindOfMedium(name as MediumField)];
      const file = await (await upload).receive(stream, limit);
      if (!file) throw new PortalError('zu_gross', { [name]: sentences.fileTooLarge(name, limit / mebibyte) });
      return file;
    });
    const cleared = mediumFields.filter((name) => fields.has(name));
    return await handle({
      fields,
      keep: (save) => keepFiles(deps, reader, files as ReadonlyMap<MediumField, ReceivedFile>, cleared, save),
    });
  } finally {
    await upload?.then(
      (begun) => begun.end(),
      () => {},
    );
  }
}

/** Removes files that a record no longer has. The database remembers those that can't be removed now. */
export async function removeMedia({ sql, media, log }: Deps, names: readonly string[]): Promise<void> {
  if (names.length === 0) return;
  try {
    // Asked after the record let go of them: a backup that began before still copies them.
    if (!(await isMediumGesperrt(sql))) await media.storage.remove(names);
  } catch {
    log.warn('files of a changed sighting wait for the sweep');
  }
}

async function keepFiles<R>(
  deps: Deps,
  reader: number,
  files: ReadonlyMap<MediumField, ReceivedFile>,
  cleared: MediumField[],
  save: (names: MediumNames) => Promise<R>,
): Promise<R> {
  const { sql, media, log } = deps;
  requireWriteAllowed(deps, reader);
  // A photo takes a second of a core: not for what can't be stored.
  if (files.size > 0) {
    if (await isReadOnly(sql)) throw new PortalError('ueberlastet');
    await requireAllowed(deps, limits.files, reader, files.size);
  }
  // All of them before the first is stored: what is refused leaves nothing behind.
  const made: (MadeMedium & { field: MediumField })[] = [];
  const make = async (maker: FileMaker) => {
    for (const [field, { path }] of files) {
      const medium = await makeMedium(maker, kindOfMedium(field), path).catch((error: unknown) => {
        const problem = describeRefusal(field, error);
        throw problem === null ? error : new PortalError('ungueltiger_parameter', { [field]: problem });
      });
      made.push({ field, ...medium });
    }
  };
  if (files.size > 0) await media.threads.run(make);
  const names: MediumNames = Object.fromEntries([
    ...cleared.map((field) => [field, null]),
    ...made.map(({ field, name }) => [field, name]),
  ]);
  try {
    // Objects before the row (a row never names a file that isn't there); what a crash leaves in between is swept.
    for (const { name, bytes, contentType } of made) await media.storage.put(name, bytes, contentType);
    return await save(names);
  } catch (error) {
    // Where it is not known whether the row was committed, the files stay: the sweep looks again.
    const isDefinite = error instanceof Error && toPortalError(error)?.code !== 'ueberlastet';
    if (made.length > 0 && isDefinite) {
      await media.storage
        .remove(made.map(({ name }) => name))
        .catch(() => log.warn('files of a refused sighting wait for the sweep'));
    }
    throw error;
  }
}

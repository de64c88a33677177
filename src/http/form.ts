// Reads form bodies (D1.20): multipart/form-data, or urlencoded where no file is sent.
import { setImmediate } from 'node:timers/promises';
import type { Context } from 'hono';
import { watchPace } from '../guard/pace.ts';
import type { Deps } from './context.ts';
import { PortalError, sentences } from './errors.ts';
import { keyOf, readMultipart, type TakeFile } from './multipart.ts';
import { countParameters, type Parameters, parseQuery } from './query.ts';

/** What a form may hold beside its files. */
export const maxFields = 200;
export const maxFieldsBytes = 128 * 1024;
/** Four photos of 12 MiB, a sound file of 1 MiB, and the fields. */
export const maxBodyBytes = 52 * 1024 * 1024;

type FormDeps = Pick<Deps, 'config'>;
// As much of a body is taken in one turn.
const patientBytes = 64 * 1024;

export interface Form<F = never> {
  fields: Parameters;
  /** The file parts that have content. */
  files: ReadonlyMap<string, F>;
}

/**
 * Reads the whole body of a form without files.
 * @throws PortalError 415 for another type, 413 when it is too large, 400 when it is no readable form or holds a file
 */
export function readForm(c: Context, deps: FormDeps): Promise<Form> {
  return readFormWithFiles(c, deps, [], () => Promise.reject(new PortalError('ungueltige_anfrage')));
}

/**
 * Reads the whole body.
 * @param fileFields names that come as a file, or empty
 * @param takeFile takes the content of one of them
 * @throws PortalError as readForm, and what takeFile throws
 */
export async function readFormWithFiles<F>(
  c: Context,
  { config }: FormDeps,
  fileFields: readonly string[],
  takeFile: TakeFile<F>,
): Promise<Form<F>> {
  const contentType = c.req.header('content-type') ?? '';
  const type = contentType.split(';', 1)[0]?.trim().toLowerCase();
  if (type !== 'application/x-www-form-urlencoded' && type !== 'multipart/form-data')
    throw new PortalError('falscher_inhaltstyp');
  const maxBytes = type === 'multipart/form-data' && fileFields.length > 0 ? maxBodyBytes : maxFieldsBytes;
  if (Number(c.req.header('content-length') ?? 0) > maxBytes) throw new PortalError('zu_gross');
  const body = boundBody(c.req.raw.body, maxBytes, config.minReceiveRate);
  if (type === 'application/x-www-form-urlencoded') {
    const fields = parseQuery(await readText(body), maxFields);
    if (countParameters(fields) > maxFields)
      throw new PortalError('ungueltiger_parameter', { formular: sentences.tooManyFields(maxFields) });
    return checkFileFields({ fields, files: new Map() }, fileFields);
  }
  const form = await readMultipart(body, contentType, { maxFields, maxFieldsBytes }, async (name, stream) => {
    if (fileFields.includes(name)) return takeFile(name, stream);
    throw new PortalError('ungueltiger_parameter', { [keyOf(name)]: sentences.textExpected(keyOf(name)) });
  });
  return checkFileFields(form, fileFields);
}

// The body as it comes: cut off when it is too large, or slower than a body may be.
async function* boundBody(body: Request['body'], maxBytes: number, minRate: number): AsyncGenerator<Uint8Array> {
  if (!body) return;
  const reader = body.getReader();
  const cancel = () => void reader.cancel().catch(() => {});
  let isSlow = false;
  const pace = watchPace(minRate, () => {
    isSlow = true;
    // Ends the read that waits.
    cancel();
  });
  let bytes = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (isSlow) throw new PortalError('zu_langsam');
      if (done) return;
      bytes += value.length;
      pace.count(value.length);
      if (bytes > maxBytes) throw new PortalError('zu_gross');
      // Of a large body, much may be there already: others have their turn in between.
      if (bytes > patientBytes) await setImmediate();
      yield value;
    }
  } finally {
    pace.stop();
    // What still comes is dropped by the server; a client that broke off is no fault.
    cancel();
  }
}

function checkFileFields<F>(form: Form<F>, fileFields: readonly string[]): Form<F> {
  for (const name of fileFields) {
    const texts = form.fields.get(name) ?? [];
    if (texts.some((value) => value !== ''))
      throw new PortalError('ungueltiger_parameter', { [name]: sentences.fileExpected(name) });
    if (texts.length + (form.files.has(name) ? 1 : 0) > 1)
      throw new PortalError('ungueltiger_parameter', { [name]: sentences.twice(name) });
  }
  return form;
}

async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  // Not fatal: what is no UTF-8 becomes U+FFFD, as in multipart fields.
  return new TextDecoder().decode(Buffer.concat(chunks));
}

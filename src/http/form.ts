// Reads form bodies (D1.20): multipart/form-data, or urlencoded where no file is sent.
import type { Context } from 'hono';
import { PortalError, sentences } from './errors.ts';
import { keyOf, maxBodyBytes, readMultipart, type TakeFile } from './multipart.ts';
import { type Parameters, parseQuery } from './query.ts';

const maxUrlencodedBytes = 1024 * 1024;

export interface Form<F = never> {
  fields: Parameters;
  /** The file parts that have content. */
  files: ReadonlyMap<string, F>;
}

/**
 * Reads the whole body of a form without files.
 * @throws PortalError 415 for another type, 413 when it is too large, 400 when it is no readable form or holds a file
 */
export function readForm(c: Context): Promise<Form> {
  return readFormWithFiles(c, [], () => Promise.reject(new PortalError('ungueltige_anfrage')));
}

/**
 * Reads the whole body.
 * @param fileFields names that come as a file, or empty
 * @param takeFile takes the content of one of them
 * @throws PortalError as readForm, and what takeFile throws
 */
export async function readFormWithFiles<F>(c: Context, fileFields: readonly string[], takeFile: TakeFile<F>): Promise<Form<F>> {
  const contentType = c.req.header('content-type') ?? '';
  const type = contentType.split(';', 1)[0]?.trim().toLowerCase();
  if (Number(c.req.header('content-length') ?? 0) > maxBodyBytes) throw new PortalError('zu_gross');
  if (type === 'application/x-www-form-urlencoded') {
    const fields = parseQuery(await readText(c, maxUrlencodedBytes));
    return checkFileFields({ fields, files: new Map() }, fileFields);
  }
  if (type !== 'multipart/form-data') throw new PortalError('falscher_inhaltstyp');
  const body = c.req.raw.body;
  if (!body) throw new PortalError('ungueltige_anfrage');
  const form = await readMultipart(body, contentType, async (name, stream) => {
    if (fileFields.includes(name)) return takeFile(name, stream);
    throw new PortalError('ungueltiger_parameter', { [keyOf(name)]: sentences.textExpected(keyOf(name)) });
  });
  return checkFileFields(form, fileFields);
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

async function readText(c: Context, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of c.req.raw.body ?? []) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new PortalError('zu_gross');
    chunks.push(chunk);
  }
  // Not fatal: what is no UTF-8 becomes U+FFFD, as in multipart fields.
  return new TextDecoder().decode(Buffer.concat(chunks));
}

// Reads form bodies (D1.20): multipart/form-data, or urlencoded where no file is sent.
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import type { Context } from 'hono';
import type { Env } from '../context.ts';
import { readBody } from './body.ts';
import { type Form, keyOf, readMultipart, type TakeFile } from './multipart.ts';
import { PortalError, sentences } from './portal-error.ts';
import { maxFields, parseQuery } from './query.ts';

export const maxFieldsBytes = 128 * 1024;
/** Four photos of 12 MiB, a sound file of 1 MiB, and the fields. */
export const maxBodyBytes = 52 * 1024 * 1024;

/**
 * Reads the whole body of a form without files.
 * @throws PortalError 415 for another type, 413 when it is too large, 400 when it is no readable form or holds a file
 */
export function readForm(c: Context<Env>): Promise<Form> {
  return readFormWithFiles(c, [], () => Promise.reject(new PortalError('ungueltige_anfrage')));
}

/**
 * Reads the whole body.
 * @param fileFields names that come as a file, or empty
 * @param takeFile takes the content of one of them
 * @throws PortalError as readForm, and what takeFile throws
 */
export async function readFormWithFiles<F>(
  c: Context<Env>,
  fileFields: readonly string[],
  takeFile: TakeFile<F>,
): Promise<Form<F>> {
  const contentType = c.req.header('content-type') ?? '';
  const type = contentType.split(';', 1)[0]?.trim().toLowerCase();
  if (type !== 'application/x-www-form-urlencoded' && type !== 'multipart/form-data')
    throw new PortalError('falscher_inhaltstyp');
  const maxBytes = type === 'multipart/form-data' && fileFields.length > 0 ? maxBodyBytes : maxFieldsBytes;
  if (Number(c.req.header('content-length') ?? 0) > maxBytes) throw new PortalError('zu_gross');
  const body = readBody(bodyOf(c), maxBytes);
  if (type === 'application/x-www-form-urlencoded') {
    const fields = parseQuery(await readText(body));
    if ([...fields.values()].flat().length > maxFields)
      throw new PortalError('ungueltiger_parameter', { formular: sentences.tooManyFields(maxFields) });
    return checkFileFields({ fields, files: new Map() }, fileFields);
  }
  const form = await readMultipart(body, contentType, maxFieldsBytes, async (name, stream) => {
    if (fileFields.includes(name)) return takeFile(name, stream);
    throw new PortalError('ungueltiger_parameter', { [keyOf(name)]: sentences.fileUnexpected(keyOf(name), fileFields) });
  });
  return checkFileFields(form, fileFields);
}

/**
 * Reads the whole body as JSON, whatever type it is sent as.
 * @throws PortalError 413 when it is too large, 400 when it is no JSON
 */
export async function readJson(c: Context<Env>, maxBytes: number): Promise<unknown> {
  const text = await readWhole(c, maxBytes);
  try {
    return JSON.parse(text);
  } catch {
    throw new PortalError('ungueltige_anfrage');
  }
}

/** Reads the whole body as text. @throws PortalError 413 when it is too large */
export function readWhole(c: Context<Env>, maxBytes: number): Promise<string> {
  if (Number(c.req.header('content-length') ?? 0) > maxBytes) throw new PortalError('zu_gross');
  return readText(readBody(bodyOf(c), maxBytes));
}

// Straight from the connection where there is one: by way of the Request's own stream, a report took a sixth more.
function bodyOf(c: Context<Env>): Readable {
  const incoming: unknown = c.env?.incoming;
  if (incoming instanceof Readable) return incoming;
  return c.req.raw.body ? Readable.fromWeb(c.req.raw.body as ReadableStream) : Readable.from([]);
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

// Not fatal: what is no UTF-8 becomes U+FFFD, as in multipart fields.
async function readText(body: AsyncIterable<Buffer>): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of body) text += decoder.decode(chunk, { stream: true });
  return text + decoder.decode();
}

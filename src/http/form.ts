// Reads form bodies (D1.20): multipart/form-data, or urlencoded where no file is sent.
import { Readable } from 'node:stream';
import { Busboy } from '@fastify/busboy';
import type { Context } from 'hono';
import { PortalError, sentences } from './errors.ts';
import { addValue, type Parameters, parseQuery } from './query.ts';

const maxFieldBytes = 65536;
const maxParts = 40;
// Four photos of 12 MiB, a sound file of 1 MiB, and the fields.
const maxBodyBytes = 52 * 1024 * 1024;
const maxHeaderBytes = 8192;
const headerEnd = Buffer.from('\r\n\r\n');
const maxUrlencodedBytes = 1024 * 1024;

export interface Form {
  fields: Parameters;
  /** Names of the file parts that have content. */
  files: string[];
}

/**
 * Reads the whole body.
 * @param fileFields names that may come as a file
 * @throws PortalError 415 for another type, 413 when it is too large, 400 when it is no readable form
 */
export async function readForm(c: Context, fileFields: readonly string[]): Promise<Form> {
  const contentType = c.req.header('content-type') ?? '';
  const type = contentType.split(';', 1)[0]?.trim().toLowerCase();
  if (Number(c.req.header('content-length') ?? 0) > maxBodyBytes) throw new PortalError('zu_gross');
  if (type === 'application/x-www-form-urlencoded') {
    const fields = parseQuery(await readText(c, maxUrlencodedBytes));
    return checkFileFields({ fields, files: [] }, fileFields);
  }
  if (type !== 'multipart/form-data') throw new PortalError('falscher_inhaltstyp');
  const body = c.req.raw.body;
  if (!body) throw new PortalError('ungueltige_anfrage');
  const form = await readMultipart(Readable.fromWeb(body as Parameters0<typeof Readable.fromWeb>), contentType);
  return checkFileFields(form, fileFields);
}

function checkFileFields(form: Form, fileFields: readonly string[]): Form {
  for (const name of form.files) {
    if (!fileFields.includes(name))
      throw new PortalError('ungueltiger_parameter', { [keyOf(name)]: sentences.textExpected(keyOf(name)) });
  }
  for (const name of fileFields) {
    const texts = form.fields.get(name) ?? [];
    if (texts.some((value) => value !== ''))
      throw new PortalError('ungueltiger_parameter', { [name]: sentences.fileExpected(name) });
  }
  return form;
}

// A name that can't be one of ours is not repeated: it would become a member of the answer, in XML an element.
function keyOf(name: string): string {
  return /^[a-z][a-z0-9_-]{0,40}$/i.test(name) ? name : 'formular';
}

type Parameters0<F extends (...args: never[]) => unknown> = globalThis.Parameters<F>[0];

function readMultipart(body: Readable, contentType: string): Promise<Form> {
  return new Promise((resolve, reject) => {
    const fields: Parameters = new Map();
    const files: string[] = [];
    let busboy: InstanceType<typeof Busboy>;
    try {
      busboy = new Busboy({
        headers: { 'content-type': contentType },
        limits: {
          fieldNameSize: 200,
          fieldSize: maxFieldBytes,
          fields: maxParts,
          files: maxParts,
          parts: maxParts,
          headerPairs: 20,
        },
      });
    } catch {
      // no boundary
      body.resume();
      reject(new PortalError('ungueltige_anfrage'));
      return;
    }
    let problem: PortalError | null = null;
    let bytes = 0;
    const headers = new PartHeaders(contentType);
    body.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > maxBodyBytes) fail(new PortalError('zu_gross'));
      else if (headers.exceeds(chunk))
        problem ??= new PortalError('ungueltiger_parameter', { formular: sentences.headerTooLarge(maxHeaderBytes) });
    });
    const fail = (error: PortalError) => {
      body.unpipe(busboy);
      body.destroy();
      reject(error);
    };
    // A problem is told when the body is read: a client that is still sending would not hear it.
    busboy.on('field', (name, value, _nameTruncated, valueTruncated) => {
      if (valueTruncated)
        problem ??= new PortalError('ungueltiger_parameter', {
          [keyOf(name)]: sentences.fieldTooLong(keyOf(name), maxFieldBytes),
        });
      addValue(fields, name, value);
    });
    busboy.on('file', (name, stream) => {
      stream.once('data', () => files.push(name));
      stream.on('error', () => fail(new PortalError('ungueltige_anfrage')));
      stream.on('end', () => {
        if (!files.includes(name)) addValue(fields, name, '');
      });
      stream.resume();
    });
    for (const event of ['partsLimit', 'filesLimit', 'fieldsLimit'] as const) {
      busboy.on(event, () => {
        problem ??= new PortalError('ungueltiger_parameter', { formular: sentences.tooManyParts(maxParts) });
      });
    }
    busboy.on('error', () => fail(problem ?? new PortalError('ungueltige_anfrage')));
    busboy.on('finish', () => (problem ? reject(problem) : resolve({ fields, files })));
    body.on('error', () => reject(new PortalError('ungueltige_anfrage')));
    body.pipe(busboy);
  });
}

// Measures the headers of parts: busboy cuts long ones off without a word, and what is cut off may be the field's name.
class PartHeaders {
  readonly #boundary: Buffer;
  /** What may still become a delimiter together with the next chunk. */
  #rest = Buffer.alloc(0);
  #inHeader = false;
  #length = 0;
  constructor(contentType: string) {
    const [, quoted, plain] = /boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(contentType) ?? [];
    this.#boundary = Buffer.from(`--${quoted ?? plain ?? ''}`);
  }

  /** Whether the header of some part was longer than allowed, up to and with this chunk. */
  exceeds(chunk: Buffer): boolean {
    let data = Buffer.concat([this.#rest, chunk]);
    for (;;) {
      const delimiter = this.#inHeader ? headerEnd : this.#boundary;
      const at = data.indexOf(delimiter);
      if (at < 0) {
        const keep = Math.min(data.length, delimiter.length - 1);
        if (this.#inHeader) this.#length += data.length - keep;
        this.#rest = data.subarray(data.length - keep);
        return this.#inHeader && this.#length > maxHeaderBytes;
      }
      if (this.#inHeader && this.#length + at > maxHeaderBytes) return true;
      this.#length = 0;
      this.#inHeader = !this.#inHeader;
      data = data.subarray(at + delimiter.length);
    }
  }
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

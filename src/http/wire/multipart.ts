// multipart/form-data: fields into memory, files to whoever takes them.
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { Busboy } from '@fastify/busboy';
import { PortalError, sentences } from './errors.ts';
import { addValue, type Parameters } from './query.ts';

export const maxHeaderBytes = 8192;
/** Of all parts together: decoding their names takes longer than reading what is in them. */
export const maxHeadersBytes = 32 * 1024;
const headerEnd = Buffer.from('\r\n\r\n');

/** What the fields of a form may be together; of files there may be as many. */
export interface FieldBounds {
  maxFields: number;
  maxFieldsBytes: number;
}

/** Takes the content of a file part; told of the first byte, never of an empty part. */
export type TakeFile<F> = (name: string, stream: Readable) => Promise<F>;

export interface Multipart<F> {
  fields: Parameters;
  files: Map<string, F>;
}

/**
 * Reads a body to its end; a problem is told then, because a client that is still sending would not hear it.
 * @param body fails when the request breaks off
 * @param takeFile its PortalErrors become the answer; its streams break off with an error when the request does
 * @throws PortalError 400 when it is no readable form, 503 when many parts waited too long for a turn, and what `body` throws of them
 */
export async function readMultipart<F>(
  body: AsyncIterable<Buffer>,
  contentType: string,
  { maxFields, maxFieldsBytes }: FieldBounds,
  takeFile: TakeFile<F>,
): Promise<Multipart<F>> {
  const boundary = readBoundary(contentType);
  if (boundary === null) throw new PortalError('ungueltige_anfrage');
  const busboy = makeBusboy(boundary, maxFields, maxFieldsBytes);
  if (!busboy) throw new PortalError('ungueltige_anfrage');
  const fields: Parameters = new Map();
  const files = new Map<string, F>();
  const taking: Promise<void>[] = [];
  const open = new Set<Readable>();
  let problem: unknown = null;

  const { promise: read, resolve, reject } = Promise.withResolvers<void>();
  const fail = (error: Error) => {
    for (const stream of open) stream.destroy(error);
    reject(error);
  };
  // What fails in an event of the parser would be nobody's error, and this would never end.
  const onPart =
    <A extends unknown[]>(take: (...args: A) => void) =>
    (...args: A) => {
      try {
        take(...args);
      } catch (error) {
        fail(error instanceof Error ? error : new Error('something was thrown that is no error'));
      }
    };

  let fieldsBytes = 0;
  const onField = (name: string | undefined, value: string, nameTruncated: boolean, valueTruncated: boolean) => {
    if (name === undefined) {
      problem ??= new PortalError('ungueltiger_parameter', { formular: sentences.nameless });
      return;
    }
    fieldsBytes += name.length + Buffer.byteLength(value);
    if (fieldsBytes > maxFieldsBytes || nameTruncated || valueTruncated)
      problem ??= new PortalError('zu_gross', { [keyOf(name)]: sentences.fieldsTooLarge(maxFieldsBytes) });
    else addValue(fields, name, value);
  };
  busboy.on('field', onPart(onField));
  const onFile = (name: string | undefined, stream: Readable) => {
    if (name === undefined) {
      problem ??= new PortalError('ungueltiger_parameter', { formular: sentences.nameless });
      stream.resume();
      return;
    }
    open.add(stream);
    stream.on('close', () => open.delete(stream));
    stream.on('error', () => fail(new PortalError('ungueltige_anfrage')));
    const take = async () => {
      const file = await takeFirst(stream, () => takeFile(name, stream));
      if (file === null) addValue(fields, name, '');
      else if (files.has(name))
        problem ??= new PortalError('ungueltiger_parameter', { [keyOf(name)]: sentences.twice(keyOf(name)) });
      else files.set(name, file);
    };
    taking.push(
      take().catch((error: unknown) => {
        problem ??= error;
        stream.resume();
      }),
    );
  };
  busboy.on('file', onPart(onFile));
  for (const event of ['partsLimit', 'filesLimit', 'fieldsLimit'] as const) {
    busboy.on(event, () => {
      problem ??= new PortalError('ungueltiger_parameter', { formular: sentences.tooManyFields(maxFields) });
    });
  }
  busboy.on('error', () => fail(new PortalError('ungueltige_anfrage')));
  busboy.on('finish', resolve);

  const headers = new PartHeaders(boundary, maxFields);
  const feed = async () => {
    let fatal: string | null = null;
    for await (const chunk of body) {
      // What comes after that is dropped unread: a megabyte of empty parts kept the parser busy for a second.
      if (fatal !== null) continue;
      const fault = headers.inspect(chunk);
      if (fault === 'header') fatal = sentences.headerTooLarge(maxHeaderBytes, maxHeadersBytes);
      else if (fault === 'parts') fatal = sentences.tooManyFields(maxFields);
      if (fatal !== null) continue;
      if (!busboy.write(chunk)) await Promise.race([once(busboy, 'drain'), read]);
    }
    if (fatal !== null) throw new PortalError('ungueltiger_parameter', { formular: fatal });
    busboy.end();
  };
  feed().catch((error: unknown) => fail(error instanceof PortalError ? error : new PortalError('ungueltige_anfrage')));

  // Whatever happens, no file is still being written when this returns.
  await read.finally(() => Promise.all(taking));
  if (problem) throw problem;
  return { fields, files };
}

/** A name that can't be one of ours is not repeated: it would become a member of the answer, in XML an element. */
export function keyOf(name: string): string {
  return /^[a-z][a-z0-9_-]{0,40}$/i.test(name) ? name : 'formular';
}

// Null for an empty part, which clears a field: nobody need take it.
async function takeFirst<F>(stream: Readable, take: () => Promise<F>): Promise<F | null> {
  const hasContent = await new Promise<boolean>((resolve, reject) => {
    stream.once('readable', () => resolve(stream.readableLength > 0));
    stream.once('end', () => resolve(false));
    stream.once('error', reject);
  });
  if (hasContent) return take();
  stream.resume();
  return null;
}

// What separates the parts; null when the header is no list of parameters with one. Given on in the one form that two readers can't
// read differently: what a parameter of another name holds must not count for one of them.
function readBoundary(contentType: string): string | null {
  const [, list] = /^multipart\/form-data[ \t]*((?:;.*)?)$/is.exec(contentType) ?? [];
  if (list === undefined) return null;
  let rest = list.trimEnd();
  let boundary: string | null = null;
  while (rest !== '') {
    const found = /^;[ \t]*(?:([!#$%&'*+.^_`|~\w-]+)=(?:"([^"\\\r\n]*)"|([^\s;"]*)))?[ \t]*/.exec(rest);
    if (!found) return null;
    const [all, name, quoted, plain] = found;
    if (name?.toLowerCase() === 'boundary') {
      if (boundary !== null) return null;
      boundary = quoted ?? plain ?? '';
    }
    rest = rest.slice(all.length);
  }
  // More than RFC 2046 allows (5.1.1): clients are not that strict, and nothing depends on it.
  return boundary !== null && /^[ !#-[\]-~]{0,199}[!#-[\]-~]$/.test(boundary) ? boundary : null;
}

// Null when that is no boundary.
function makeBusboy(boundary: string, maxFields: number, maxFieldsBytes: number): InstanceType<typeof Busboy> | null {
  try {
    return new Busboy({
      headers: { 'content-type': `multipart/form-data; boundary="${boundary}"` },
      limits: {
        fieldNameSize: 200,
        fieldSize: maxFieldsBytes,
        fields: maxFields,
        files: maxFields,
        parts: maxFields,
        headerPairs: 20,
      },
    });
  } catch {
    return null;
  }
}

// Counts parts and measures their headers, before busboy sees them: it cuts long headers off without a word, and what is cut off
// may be the field's name; and it goes on making a stream for each of a hundred thousand parts.
class PartHeaders {
  readonly #boundary: Buffer;
  /** What may still become a delimiter together with the next chunk. */
  #rest = Buffer.alloc(0);
  #inHeader = false;
  #length = 0;
  /** Of the headers before this one. */
  #sum = 0;
  #parts = 0;
  readonly #maxParts: number;
  constructor(boundary: string, maxParts: number) {
    this.#maxParts = maxParts;
    this.#boundary = Buffer.from(`--${boundary}`);
  }

  /** Of which the beginning came. */
  get parts(): number {
    return this.#parts;
  }

  #isTooLong(length: number): boolean {
    return length > maxHeaderBytes || this.#sum + length > maxHeadersBytes;
  }

  /** What is too much, up to and with this chunk: the header of a part, or the number of parts. */
  inspect(chunk: Buffer): 'header' | 'parts' | null {
    let data = Buffer.concat([this.#rest, chunk]);
    for (;;) {
      const delimiter = this.#inHeader ? headerEnd : this.#boundary;
      const at = data.indexOf(delimiter);
      if (at < 0) {
        const keep = Math.min(data.length, delimiter.length - 1);
        if (this.#inHeader) this.#length += data.length - keep;
        this.#rest = data.subarray(data.length - keep);
        return this.#inHeader && this.#isTooLong(this.#length) ? 'header' : null;
      }
      if (this.#inHeader) {
        if (this.#isTooLong(this.#length + at)) return 'header';
        this.#sum += this.#length + at;
      }
      // The last one ends the form.
      if (!this.#inHeader && ++this.#parts > this.#maxParts + 1) return 'parts';
      this.#length = 0;
      this.#inHeader = !this.#inHeader;
      data = data.subarray(at + delimiter.length);
    }
  }
}

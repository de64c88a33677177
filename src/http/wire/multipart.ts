// multipart/form-data: fields into memory, files to whoever takes them.
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { Busboy } from '@fastify/busboy';
import { PortalError, sentences } from './portal-error.ts';
import { addValue, maxFields, type Parameters } from './query.ts';

/**
 * Of a form, all that is no content: headers of parts, and what separates them. Busboy cuts a longer header off without a word, and the
 * field's name with it.
 */
const maxHeadersBytes = 32 * 1024;

/** Takes the content of a file part; told of the first byte, never of an empty part. */
export type TakeFile<F> = (name: string, stream: Readable) => Promise<F>;

export interface Form<F = never> {
  fields: Parameters;
  /** The file parts that have content. */
  files: ReadonlyMap<string, F>;
}

/**
 * Reads a body to its end; most problems are told then, because a client that is still sending may not hear it.
 * @param body fails when the request breaks off
 * @param takeFile its PortalErrors become the answer; its streams break off with an error when the request does
 * @throws PortalError 400 when it is no readable form, and what `body` throws
 */
export async function readMultipart<F>(
  body: AsyncIterable<Buffer>,
  contentType: string,
  maxFieldsBytes: number,
  takeFile: TakeFile<F>,
): Promise<Form<F>> {
  const busboy = makeBusboy(contentType, maxFieldsBytes);
  if (!busboy) throw new PortalError('ungueltige_anfrage');
  const fields: Parameters = new Map();
  const files = new Map<string, F>();
  const taking: Promise<void>[] = [];
  const open = new Set<Readable>();
  let problem: unknown = null;

  const { promise: read, resolve, reject } = Promise.withResolvers<void>();
  let isOver = false;
  const fail = (error: Error) => {
    isOver = true;
    for (const stream of open) stream.destroy(error);
    reject(error);
  };
  let contentBytes = 0;
  let fieldsBytes = 0;
  busboy.on('field', (name: string | undefined, value, nameTruncated, valueTruncated) => {
    if (name === undefined) {
      problem ??= new PortalError('ungueltiger_parameter', { formular: sentences.nameless });
      return;
    }
    contentBytes += Buffer.byteLength(value);
    fieldsBytes += name.length + Buffer.byteLength(value);
    if (fieldsBytes > maxFieldsBytes || nameTruncated || valueTruncated)
      problem ??= new PortalError('zu_gross', { [keyOf(name)]: sentences.fieldsTooLarge(maxFieldsBytes) });
    else addValue(fields, name, value);
  });
  busboy.on('file', (name: string | undefined, stream, filename: string | undefined) => {
    if (name === undefined) {
      problem ??= new PortalError('ungueltiger_parameter', { formular: sentences.nameless });
      stream.resume();
      return;
    }
    open.add(stream);
    stream.on('end', () => {
      contentBytes += stream.bytesRead;
    });
    stream.on('close', () => open.delete(stream));
    stream.on('error', () => fail(new PortalError('ungueltige_anfrage')));
    const take = async () => {
      const file = await takeFirst(stream, () => takeFile(name, stream));
      // A file that was chosen and did not come, not a field that is to be cleared.
      if (file === null && filename)
        problem ??= new PortalError('ungueltiger_parameter', { [keyOf(name)]: sentences.fileEmpty(keyOf(name)) });
      else if (file === null) addValue(fields, name, '');
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
  });
  // At once: a megabyte of empty parts would keep the parser busy for half a second.
  busboy.on('partsLimit', () => {
    fail(new PortalError('ungueltiger_parameter', { formular: sentences.tooManyFields(maxFields) }));
  });
  busboy.on('error', () => fail(new PortalError('ungueltige_anfrage')));
  busboy.on('finish', resolve);

  let received = 0;
  const feed = async () => {
    for await (const chunk of body) {
      received += chunk.length;
      if (!busboy.write(chunk)) await Promise.race([once(busboy, 'drain'), read]);
      if (isOver) return;
    }
    busboy.end();
  };
  feed().catch((error: unknown) => fail(error instanceof PortalError ? error : new PortalError('ungueltige_anfrage')));

  // Whatever happens, no file is still being written when this returns.
  await read.finally(() => Promise.all(taking));
  if (received - contentBytes > maxHeadersBytes)
    problem ??= new PortalError('ungueltiger_parameter', { formular: sentences.headersTooLarge(maxHeadersBytes) });
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

// Null for a type without a boundary.
function makeBusboy(contentType: string, maxFieldsBytes: number): InstanceType<typeof Busboy> | null {
  try {
    return new Busboy({
      headers: { 'content-type': contentType },
      // Many clients name no file (RFC 7578, 4.2).
      isPartAFile: (_name, type, filename) =>
        filename !== undefined || /^(?:(?:image|audio|video)\/|application\/(?:octet-stream|ogg)$)/.test(type ?? ''),
      limits: {
        fieldNameSize: 200,
        fieldSize: maxFieldsBytes,
        parts: maxFields,
        headerPairs: 20,
        headerSize: maxHeadersBytes,
      },
    });
  } catch {
    return null;
  }
}

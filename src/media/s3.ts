// Media in S3 or what speaks its language. Each call is bounded as a whole, tries and pauses included: an upload waits for it.
import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { AwsClient } from 'aws4fetch';
import { convert } from 'xmlbuilder2';
import type { S3Place } from '../config.ts';
import { isExportName, isMediumName, requireExportName, requireMediumName, requireStoredName } from './name.ts';
import { type ByteRange, type OpenedFile, type Storage, StorageError, type StoredMedium } from './storage.ts';

/** Bounds of one call. */
export interface S3Limits {
  /** Tries at most; every call may be repeated, because a name belongs to one content. */
  tries: number;
  /** Milliseconds for one try. */
  tryMs: number;
  /** Milliseconds for all. */
  totalMs: number;
  /** Milliseconds before the second try; four times as many before each further one. */
  pauseMs: number;
}

// Reading a thousand entries, the usual page, takes 130 to 400 ms in which no request is answered.
const pageSize = 200;

const usualLimits: S3Limits = { tries: 3, tryMs: 5_000, totalMs: 8_000, pauseMs: 100 };
// Of a part of a file, for which nobody waits: at half a megabyte a second, and of putting the parts together.
const partLimits: S3Limits = { tries: 3, tryMs: 120_000, totalMs: 300_000, pauseMs: 1000 };
const usualPartBytes = 64 * 1024 * 1024;

interface Content {
  bytes: Uint8Array;
  contentType?: string;
}

interface Call {
  content?: Content;
  range?: ByteRange | undefined;
  limits?: S3Limits;
}

interface Answer {
  status: number;
  headers: Headers;
  body: Buffer;
}

/** The answer's parts that are used; one entry comes as an object, several as an array. */
interface ListBucketResult {
  IsTruncated?: string;
  NextContinuationToken?: string;
  Contents?: Entry | Entry[];
}

interface Entry {
  Key?: string;
  LastModified?: string;
}

export class S3Storage implements Storage {
  readonly #client: AwsClient;
  readonly #bucketUrl: string;
  /** With its slash, or empty. */
  readonly #prefix: string;
  readonly #limits: S3Limits;
  readonly #partLimits: S3Limits;
  readonly #partBytes: number;

  constructor(place: S3Place & { limits?: S3Limits; partBytes?: number }) {
    const { endpoint, ...credentials } = place.settings;
    this.#client = new AwsClient({ ...credentials, service: 's3', retries: 0 });
    this.#bucketUrl = `${endpoint.replace(/(?<!\/)\/+$/, '')}/${place.bucket}`;
    this.#prefix = place.prefix === '' ? '' : `${place.prefix}/`;
    this.#limits = place.limits ?? usualLimits;
    this.#partLimits = place.limits ?? partLimits;
    this.#partBytes = place.partBytes ?? usualPartBytes;
  }

  async put(name: string, bytes: Uint8Array, contentType: string): Promise<void> {
    await this.#require('PUT', this.#urlOf(requireMediumName(name)), { content: { bytes, contentType } });
  }

  async putFile(name: string, path: string, contentType: string): Promise<void> {
    const url = this.#urlOf(requireExportName(name));
    const file = await open(path);
    try {
      const part = Buffer.allocUnsafe(Math.min(this.#partBytes, (await file.stat()).size + 1));
      const first = await readPart(file, part);
      if (first.length < this.#partBytes)
        await this.#require('PUT', url, { content: { bytes: first, contentType }, limits: this.#partLimits });
      else await this.#putParts(url, file, part, contentType);
    } finally {
      await file.close();
    }
  }

  // Nothing is to be seen before the last call. Of a process that is killed parts stay behind, which a rule of the bucket removes.
  async #putParts(url: string, file: FileHandle, part: Buffer, contentType: string): Promise<void> {
    const limits = this.#partLimits;
    const begun = await this.#require('POST', `${url}?uploads`, { content: { bytes: Buffer.alloc(0), contentType } });
    const id = /<UploadId>([^<]+)<\/UploadId>/.exec(String(begun.body))?.[1];
    if (id === undefined) throw new StorageError('S3 begins no upload');
    const upload = `uploadId=${encodeURIComponent(id)}`;
    try {
      const tags: string[] = [];
      for (let bytes = part; bytes.length > 0; bytes = await readPart(file, part)) {
        const content = { bytes };
        const { headers } = await this.#require('PUT', `${url}?partNumber=${tags.length + 1}&${upload}`, { content, limits });
        tags.push(headers.get('etag') ?? '');
      }
      const list = tags.map((tag, n) => `<Part><PartNumber>${n + 1}</PartNumber><ETag>${tag}</ETag></Part>`);
      const bytes = Buffer.from(`<CompleteMultipartUpload>${list.join('')}</CompleteMultipartUpload>`);
      const ended = await this.#require('POST', `${url}?${upload}`, {
        content: { bytes, contentType: 'application/xml' },
        limits,
      });
      // It may turn out after the status was sent.
      if (!ended.body.includes('<CompleteMultipartUploadResult')) throw describeAnswer(ended.status, ended.body);
    } catch (cause) {
      await this.#call('DELETE', `${url}?${upload}`).catch(() => {});
      throw cause;
    }
  }

  async open(name: string, range?: ByteRange): Promise<OpenedFile | null> {
    const url = this.#urlOf(requireExportName(name));
    const response = await this.#repeat(this.#limits, async (signal) => {
      const end = new AbortController();
      const abort = () => end.abort(signal.reason);
      signal.addEventListener('abort', abort);
      // What is read afterwards takes the time that its reader takes; a server that falls silent is given up by the client.
      return this.#send('GET', url, { range }, end.signal).finally(() => signal.removeEventListener('abort', abort));
    });
    if (response.status === 200 || response.status === 206) {
      const total = response.headers.get('content-range')?.split('/')[1] ?? response.headers.get('content-length');
      return { size: Number(total), stream: response.body ? Readable.fromWeb(response.body as never) : Readable.from([]) };
    }
    const body = Buffer.from(await response.arrayBuffer());
    if (response.status === 404 && readErrorCode(body) !== 'NoSuchBucket') return null;
    throw describeAnswer(response.status, body);
  }

  async get(name: string): Promise<Uint8Array | null> {
    const { status, body } = await this.#call('GET', this.#urlOf(requireMediumName(name)));
    // A bucket that is not there is answered with 404 too, and is no missing photo.
    if (status === 404 && readErrorCode(body) !== 'NoSuchBucket') return null;
    if (status !== 200) throw describeAnswer(status, body);
    return body;
  }

  async remove(names: readonly string[]): Promise<void> {
    for (const url of names.map((name) => this.#urlOf(requireStoredName(name)))) {
      const { status, body } = await this.#call('DELETE', url);
      const isGone = status === 204 || status === 200 || (status === 404 && readErrorCode(body) === 'NoSuchKey');
      if (!isGone) throw describeAnswer(status, body);
    }
  }

  list(): AsyncGenerator<StoredMedium> {
    return this.#listBelow('', isMediumName);
  }

  listExport(): AsyncGenerator<StoredMedium> {
    return this.#listBelow('export/', isExportName);
  }

  async *#listBelow(below: string, isName: (name: string) => boolean): AsyncGenerator<StoredMedium> {
    let token: string | undefined;
    do {
      const page = await this.#listPage(`${this.#prefix}${below}`, token);
      for (const { Key = '', LastModified = '' } of [page.Contents ?? []].flat()) {
        const key = decodeKey(Key);
        const name = key.slice(this.#prefix.length);
        if (key.startsWith(this.#prefix) && isName(name)) yield { name, modified: new Date(LastModified) };
      }
      if (page.IsTruncated === 'true' && (!page.NextContinuationToken || page.NextContinuationToken === token))
        throw new StorageError('S3 gives a list without its end');
      token = page.IsTruncated === 'true' ? page.NextContinuationToken : undefined;
    } while (token !== undefined);
  }

  /** Nothing to do: an object appears whole or not at all. */
  async removePartialFiles(): Promise<void> {}

  // Names are given encoded: a foreign key may hold characters that no XML can.
  async #listPage(prefix: string, token: string | undefined): Promise<ListBucketResult> {
    const query = new URLSearchParams({
      'list-type': '2',
      'encoding-type': 'url',
      'max-keys': String(pageSize),
      prefix,
    });
    if (token !== undefined) query.set('continuation-token', token);
    const { body } = await this.#require('GET', `${this.#bucketUrl}?${query}`);
    try {
      const { ListBucketResult: page } = convert(body.toString(), { format: 'object' }) as {
        ListBucketResult?: ListBucketResult;
      };
      if (page) return page;
    } catch (cause) {
      throw new StorageError('S3 gives a list that is no XML', { cause });
    }
    throw new StorageError('S3 gives no list');
  }

  /** @param name that was checked */
  #urlOf(name: string): string {
    return `${this.#bucketUrl}/${`${this.#prefix}${name}`.split('/').map(encodeURIComponent).join('/')}`;
  }

  async #require(method: string, url: string, call: Call = {}): Promise<Answer> {
    const answer = await this.#call(method, url, call);
    if (answer.status !== 200) throw describeAnswer(answer.status, answer.body);
    return answer;
  }

  #call(method: string, url: string, call: Call = {}): Promise<Answer> {
    return this.#repeat(call.limits ?? this.#limits, async (signal) => {
      const response = await this.#send(method, url, call, signal);
      return { status: response.status, headers: response.headers, body: Buffer.from(await response.arrayBuffer()) };
    });
  }

  async #repeat<A extends { status: number }>(limits: S3Limits, send: (signal: AbortSignal) => Promise<A>): Promise<A> {
    const { tries, tryMs, totalMs, pauseMs } = limits;
    const total = AbortSignal.timeout(totalMs);
    for (let left = tries - 1, pause = pauseMs; ; left--, pause *= 4) {
      try {
        const answer = await send(AbortSignal.any([total, AbortSignal.timeout(tryMs)]));
        if ((answer.status < 500 && answer.status !== 429) || left === 0) return answer;
      } catch (cause) {
        if (left === 0) throw new StorageError(describeSilence(cause), { cause });
      }
      await sleep(pause, undefined, { signal: total }).catch((cause) => {
        throw new StorageError('S3 does not answer in time', { cause });
      });
    }
  }

  // Signed anew each time: the signature holds the time. The content's hash is part of it, so the server refuses what
  // arrives otherwise than it was sent.
  async #send(method: string, url: string, { content, range }: Call, signal: AbortSignal): Promise<Response> {
    const headers = {
      'x-amz-content-sha256': createHash('sha256')
        .update(content?.bytes ?? '')
        .digest('hex'),
      ...(content?.contentType !== undefined && { 'content-type': content.contentType }),
      ...(range && { range: `bytes=${range.start}-${range.end}` }),
    };
    const request = await this.#client.sign(url, { method, headers, ...(content && { body: content.bytes }) });
    // A redirect would carry the signature to another host.
    return fetch(request, { signal, redirect: 'error' });
  }
}

// As much as there is: a read may give less.
async function readPart(file: FileHandle, into: Buffer): Promise<Buffer> {
  let length = 0;
  for (let read = -1; read !== 0 && length < into.length; length += read)
    read = (await file.read(into, length, into.length - length, null)).bytesRead;
  return into.subarray(0, length);
}

// A connection that fails is told by its code: the message names the server.
function describeSilence(cause: unknown): string {
  for (let each = cause; each instanceof Error; each = each.cause)
    if ('code' in each && typeof each.code === 'string') return `S3 does not answer (${each.code})`;
  return 'S3 does not answer';
}

// Servers that don't know encoding-type give keys as they are, and a foreign one may hold a stray percent sign.
function decodeKey(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}

// Only the code: what else stands in an error may repeat keys and what was signed.
function readErrorCode(body: Buffer): string | undefined {
  return /<Code>(\w{1,60})<\/Code>/.exec(body.toString('utf8', 0, 2_000))?.[1];
}

function describeAnswer(status: number, body: Buffer): StorageError {
  return new StorageError(`S3 answers ${status} ${readErrorCode(body) ?? ''}`.trimEnd());
}

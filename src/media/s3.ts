// Media in S3 or what speaks its language. Each call is bounded as a whole, tries and pauses included: an upload waits for it.
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { AwsClient } from 'aws4fetch';
import { convert } from 'xmlbuilder2';
import type { S3Place } from '../config.ts';
import { isMediumName, requireMediumName } from './name.ts';
import { type Storage, StorageError, type StoredMedium } from './storage.ts';

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

interface Answer {
  status: number;
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

  constructor(place: S3Place & { limits?: S3Limits }) {
    const { endpoint, ...credentials } = place.settings;
    this.#client = new AwsClient({ ...credentials, service: 's3', retries: 0 });
    this.#bucketUrl = `${endpoint.replace(/(?<!\/)\/+$/, '')}/${place.bucket}`;
    this.#prefix = place.prefix === '' ? '' : `${place.prefix}/`;
    this.#limits = place.limits ?? usualLimits;
  }

  async put(name: string, bytes: Uint8Array, contentType: string): Promise<void> {
    const { status, body } = await this.#call('PUT', this.#urlOf(name), { bytes, contentType });
    if (status !== 200) throw describeAnswer(status, body);
  }

  async get(name: string): Promise<Uint8Array | null> {
    const { status, body } = await this.#call('GET', this.#urlOf(name));
    // A bucket that is not there is answered with 404 too, and is no missing photo.
    if (status === 404 && readErrorCode(body) !== 'NoSuchBucket') return null;
    if (status !== 200) throw describeAnswer(status, body);
    return body;
  }

  async remove(names: readonly string[]): Promise<void> {
    for (const url of names.map((name) => this.#urlOf(name))) {
      const { status, body } = await this.#call('DELETE', url);
      const isGone = status === 204 || status === 200 || (status === 404 && readErrorCode(body) === 'NoSuchKey');
      if (!isGone) throw describeAnswer(status, body);
    }
  }

  async *list(): AsyncGenerator<StoredMedium> {
    let token: string | undefined;
    do {
      const page = await this.#listPage(token);
      for (const { Key = '', LastModified = '' } of [page.Contents ?? []].flat()) {
        const key = decodeKey(Key);
        const name = key.slice(this.#prefix.length);
        if (key.startsWith(this.#prefix) && isMediumName(name)) yield { name, modified: new Date(LastModified) };
      }
      if (page.IsTruncated === 'true' && (!page.NextContinuationToken || page.NextContinuationToken === token))
        throw new StorageError('S3 gives a list without its end');
      token = page.IsTruncated === 'true' ? page.NextContinuationToken : undefined;
    } while (token !== undefined);
  }

  /** Nothing to do: an object appears whole or not at all. */
  async removePartialFiles(): Promise<void> {}

  // Names are given encoded: a foreign key may hold characters that no XML can.
  async #listPage(token: string | undefined): Promise<ListBucketResult> {
    const query = new URLSearchParams({
      'list-type': '2',
      'encoding-type': 'url',
      'max-keys': String(pageSize),
      prefix: this.#prefix,
    });
    if (token !== undefined) query.set('continuation-token', token);
    const { status, body } = await this.#call('GET', `${this.#bucketUrl}?${query}`);
    if (status !== 200) throw describeAnswer(status, body);
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

  #urlOf(name: string): string {
    const key = `${this.#prefix}${requireMediumName(name)}`;
    return `${this.#bucketUrl}/${key.split('/').map(encodeURIComponent).join('/')}`;
  }

  async #call(method: string, url: string, content?: { bytes: Uint8Array; contentType: string }): Promise<Answer> {
    const { tries, tryMs, totalMs, pauseMs } = this.#limits;
    const total = AbortSignal.timeout(totalMs);
    for (let left = tries - 1, pause = pauseMs; ; left--, pause *= 4) {
      try {
        const answer = await this.#try(method, url, content, AbortSignal.any([total, AbortSignal.timeout(tryMs)]));
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
  async #try(
    method: string,
    url: string,
    content: { bytes: Uint8Array; contentType: string } | undefined,
    signal: AbortSignal,
  ): Promise<Answer> {
    const headers = {
      'x-amz-content-sha256': createHash('sha256')
        .update(content?.bytes ?? '')
        .digest('hex'),
      ...(content && { 'content-type': content.contentType }),
    };
    const request = await this.#client.sign(url, { method, headers, ...(content && { body: content.bytes }) });
    // A redirect would carry the signature to another host.
    const response = await fetch(request, { signal, redirect: 'error' });
    return { status: response.status, body: Buffer.from(await response.arrayBuffer()) };
  }
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

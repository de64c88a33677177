// Where media are kept: a directory or S3, behind one interface.
import { DirectoryStorage } from './directory.ts';
import { S3Storage } from './s3.ts';
import { StorageError } from './storage-error.ts';

/** A stored object. */
export interface StoredMedium {
  name: string;
  modified: Date;
}

/** Objects under names of makeMediumName; every method refuses other names. All throw StorageError when it does not work. */
export interface Storage {
  /** Stores bytes under a name that is new; durable when it returns, and until then not to be seen. */
  put(name: string, bytes: Uint8Array, contentType: string): Promise<void>;
  /** null when there is no such object. */
  get(name: string): Promise<Uint8Array | null>;
  /** Those that don't exist are no error. */
  remove(names: readonly string[]): Promise<void>;
  /** Every object in no order, with its age; other files at the same place are passed over. */
  list(): AsyncIterable<StoredMedium>;
  /** Removes what broken writes left behind before this moment. */
  removeDrafts(olderThan: Date): Promise<void>;
}

/** How S3 is reached, as the usual environment variables have it. */
export interface S3Settings {
  /** Address of the server, https://s3.eu-central-1.amazonaws.com; the bucket becomes the first part of the path. */
  endpoint: string;
  region: string;
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
}

/**
 * The storage at a place; nothing is read or written yet.
 * @param mediaUrl path of a directory, or `s3://bucket/prefix`
 * @param settings needed for S3
 * @throws StorageError for another kind of address and for S3 without settings, with a sentence for the operator
 */
export function openStorage(mediaUrl: string, settings: S3Settings | null): Storage {
  const [, scheme] = /^([a-z][a-z0-9+.-]+):\/\//i.exec(mediaUrl) ?? [];
  if (scheme === undefined && mediaUrl !== '') return new DirectoryStorage(mediaUrl);
  const [, bucket, prefix = ''] = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([\w./-]*))?$/.exec(mediaUrl) ?? [];
  if (bucket === undefined)
    throw new StorageError(
      'MEDIA_URL muss ein Verzeichnis oder s3://bucket/prefix sein (im Präfix Buchstaben, Ziffern, Punkt, - _ /).',
    );
  if (settings === null) throw new StorageError('MEDIA_URL nennt S3, aber die Zugangsdaten dafür fehlen.');
  return new S3Storage({ bucket, prefix: prefix.replace(/^\/+|(?<!\/)\/+$/g, ''), settings });
}

// Which storage an address stands for.
import { DirectoryStorage } from './directory.ts';
import { S3Storage } from './s3.ts';
import type { S3Settings, Storage } from './storage.ts';
import { StorageError } from './storage-error.ts';

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

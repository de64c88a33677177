// Which storage a place stands for; nothing is read or written yet.
import type { MediaPlace } from '../config.ts';
import { DirectoryStorage } from './directory.ts';
import { S3Storage } from './s3.ts';
import type { Storage } from './storage.ts';

export function openStorage(place: MediaPlace): Storage {
  return 'directory' in place ? new DirectoryStorage(place.directory) : new S3Storage(place);
}

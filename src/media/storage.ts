// Where media are kept, and files to publish beside them: a directory or S3, behind one interface.
import type { Readable } from 'node:stream';

/** A stored object. */
export interface StoredMedium {
  name: string;
  modified: Date;
}

/** Part of an object; both ends belong to it. */
export interface ByteRange {
  start: number;
  end: number;
}

/** An object that is read bit by bit. */
export interface OpenedFile {
  /** Of the whole object. */
  size: number;
  /** Has to be read or destroyed. */
  stream: Readable;
}

/**
 * Objects under names of makeMediumName, and files to publish, which may be larger than memory, under those of makeExportName; every method
 * refuses other names. All throw StorageError when it does not work.
 */
export interface Storage {
  /** Stores bytes under a name that is new; durable when it returns, and until then not to be seen. */
  put(name: string, bytes: Uint8Array, contentType: string): Promise<void>;
  /** null when there is no such object. */
  get(name: string): Promise<Uint8Array | null>;
  /** Of both kinds. Those that don't exist are no error. */
  remove(names: readonly string[]): Promise<void>;
  /** Every medium in no order, with its age; other files at the same place are passed over. */
  list(): AsyncIterable<StoredMedium>;
  /** Stores a file of this disk to be published, under a name that is new or has this content; as put, in constant memory. */
  putFile(name: string, path: string, contentType: string): Promise<void>;
  /** Opens a file to publish, or a part of it; null when there is no such object. */
  open(name: string, range?: ByteRange): Promise<OpenedFile | null>;
  /** Every file to publish, as list. */
  listExport(): AsyncIterable<StoredMedium>;
  /** Removes what broken writes left behind before this moment. */
  removePartialFiles(olderThan: Date): Promise<void>;
}

/**
 * The storage of media can't be used now: full, not writable, not to be reached. The message has no path and no address: it is what the
 * log says.
 */
export class StorageError extends Error {
  readonly code = 'STORAGE';
}

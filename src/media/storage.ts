// Where media are kept: a directory or S3, behind one interface.

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
  removePartialFiles(olderThan: Date): Promise<void>;
}

/**
 * The storage of media can't be used now: full, not writable, not to be reached. The message has no path and no address: it is what the
 * log says.
 */
export class StorageError extends Error {
  readonly code = 'STORAGE';
}

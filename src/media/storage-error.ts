/**
 * The storage of media can't be used now: full, not writable, not to be reached. The message has no path and no address: it is what the
 * log says.
 */
export class StorageError extends Error {
  readonly code = 'STORAGE';
}

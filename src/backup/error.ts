/** A backup can't be made, read or restored; the message is for the operator. */
export class BackupError extends Error {}

/** The same error, or where it is one of the file system a sentence that names the directory. */
export function toBackupError(error: unknown, directory: string): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (code === undefined || syscall === undefined) return error;
  return new BackupError(`In ${directory} kann nicht gelesen oder geschrieben werden (${code}).`);
}

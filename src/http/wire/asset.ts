// Files that come with the service and its packages.
import { readFile } from 'node:fs/promises';

/** Reads a file when it is asked for first, and keeps it; what could not be read is read again for whoever asks next. */
export function readOnce(path: string | URL): () => Promise<Uint8Array<ArrayBuffer>> {
  let content: Promise<Uint8Array<ArrayBuffer>> | null = null;
  return () => {
    content ??= readFile(path).then(
      (bytes) => new Uint8Array(bytes),
      (error: unknown) => {
        content = null;
        throw error;
      },
    );
    return content;
  };
}

// Reads an archive back.
import { configure, Uint8ArrayReader, Uint8ArrayWriter, ZipReader } from '@zip.js/zip.js';

configure({ useWebWorkers: false });

/** Name of each file in an archive → its bytes. */
export async function readZip(bytes: Uint8Array): Promise<Map<string, Buffer>> {
  const reader = new ZipReader(new Uint8ArrayReader(bytes));
  const files = new Map<string, Buffer>();
  for (const entry of await reader.getEntries())
    if (!entry.directory)
      files.set(entry.filename, Buffer.from(await entry.getData(new Uint8ArrayWriter(), { checkSignature: true })));
  await reader.close();
  return files;
}

// What is on disk when these return is there after a power cut too.
import { copyFile, mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Writes a new file. */
export async function writeDurably(path: string, bytes: Uint8Array, mode?: number): Promise<void> {
  const file = await open(path, 'wx', mode);
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Copies a file, which may be larger than memory. */
export async function copyDurably(from: string, to: string): Promise<void> {
  await copyFile(from, to);
  const file = await open(to, 'r+');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Makes a directory where it is missing. A new one is durable when its parent is: from the first that had to be made down to this one. */
export async function makeDirectory(path: string, mode?: number): Promise<void> {
  const first = await mkdir(path, { recursive: true, ...(mode !== undefined && { mode }) });
  if (first === undefined) return;
  for (let made = path; made.length >= first.length; made = dirname(made)) await syncDirectory(dirname(made));
}

/** Makes what was renamed in a directory durable. Windows can't open a directory, and needs no such thing. */
export async function syncDirectory(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

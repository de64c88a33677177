// The embedded engine as tests run it: most are at an end before code that V8 makes faster has paid for its making, a third of the work
// of a file; and the memory that is shared is filled with zeros at each start, the logs that are kept are copied with each template.
import { cpSync } from 'node:fs';
import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { openEmbedded } from '../../src/db/embedded/database.ts';

/** Of a process of its own. */
export const quickFlags = ['--liftoff-only', '--no-wasm-tier-up', '--no-wasm-dynamic-tiering'];

/** Of this process, before it opens a database. */
export function beQuick(): void {
  for (const flag of quickFlags) setFlagsFromString(flag);
}

/** Has the database in this directory, which is closed, take little memory. */
export async function takeLittle(directory: string): Promise<void> {
  await appendFile(join(directory, 'pg', 'postgresql.conf'), '\nshared_buffers = 16MB\nmin_wal_size = 32MB\n');
}

/** Makes an empty database in this directory, and says how to have copies of it: each made from nothing takes 8 s of a core. */
export async function makeEmpty(directory: string): Promise<(copy: string) => void> {
  await (await openEmbedded({ dataDir: directory })).close();
  await takeLittle(directory);
  return (copy) => cpSync(directory, copy, { recursive: true });
}

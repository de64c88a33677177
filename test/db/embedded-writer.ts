// Opens the directory given as argument and writes numbered rows until it is killed.
// Says `acknowledged n` on stdout after each commit was answered: what it said must be there afterwards.

import { writeSync } from 'node:fs';
import postgres from 'postgres';
import { openEmbedded } from '../../src/db/embedded/database.ts';

const directory = process.argv[2];
if (!directory) throw new Error('usage: embedded-writer.ts DIRECTORY');

const database = await openEmbedded({ dataDir: directory });
const options = { socket: database.socket, max: 3, fetch_types: false, onnotice: () => {} };
const sql = postgres(options as postgres.Options<Record<string, never>>);
await sql`create table if not exists written (n int primary key, filler text)`;
const begin = await sql<{ next: number }[]>`select coalesce(max(n), 0) + 1 as next from written`;
let next = begin[0]?.next ?? 1;

async function writeForEver(): Promise<void> {
  for (;;) {
    const n = next;
    next += 1;
    if (n % 3 === 0) await sql.begin((transaction) => transaction`insert into written values (${n}, ${'x'.repeat(n % 2000)})`);
    else await sql`insert into written values (${n}, ${'y'.repeat(n % 2000)})`;
    // synchronous, so that the line is out before the next thing happens
    writeSync(1, `acknowledged ${n}\n`);
  }
}
await Promise.all([writeForEver(), writeForEver(), writeForEver()]);

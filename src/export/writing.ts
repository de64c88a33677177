// What all writers of files have in common.
import type { Transaction } from '../db/client.ts';
import type { ExportMandant } from '../db/export.ts';
import type { ExportSource, ExportUmfang } from '../db/export-rows.ts';

/** What writers of a format are given. */
export interface Writing {
  tx: Transaction;
  mandant: ExportMandant;
  source: ExportSource;
  origin: string;
  path: string;
  /** Days and area of all records. */
  umfang: () => Promise<ExportUmfang>;
  /** Called with the number of rows of each batch. */
  count: (rows: number) => Promise<void>;
}

/** Batches of lines as bytes, counted. */
export async function* joined(batches: AsyncIterable<Buffer[]>, count: Writing['count']): AsyncGenerator<Buffer> {
  for await (const lines of batches) {
    yield Buffer.concat(lines);
    await count(lines.length);
  }
}

// `export check`: what the next files would change, before they are made (O5.8).
import type { Readable } from 'node:stream';
import { parse } from 'csv-parse';
import type { ExportedRecord } from '../db/export-check.ts';
import { type Command, countOf } from './command.ts';
import { UsageError } from './line.ts';

// Beyond it a change is rather a mistake, and GBIF stops to ask.
const maxGonePercent = 5;
const recordsPerStep = 2000;
const exitCode = 2;

export const exportCheckCommands: Record<string, Command> = {
  async 'export check'(database, { mandant }, _rest, config) {
    const [{ listExport }, { compareExport }, { openStorage }] = await Promise.all([
      import('../db/export.ts'),
      import('../db/export-check.ts'),
      import('../media/open-storage.ts'),
    ]);
    const storage = openStorage(config.media);
    const mandanten = await listExport(database.sql, mandant ?? null);
    if (mandanten.length === 0)
      throw new UsageError(
        mandant === undefined ? 'Niemand veröffentlicht etwas.' : `${mandant.slice(0, 40)} veröffentlicht nichts.`,
      );
    for (const { mandant: kuerzel, dateien } of mandanten) {
      const file = dateien.find(({ datei }) => datei === 'sichtbeobachtung.csv');
      const opened = file && (await storage.open(file.objekt));
      if (!opened) {
        console.log(`${kuerzel}: Es gibt noch keine Dateien, mit denen sich vergleichen ließe.`);
        continue;
      }
      const { alt, kommen, gehen, wechseln } = await compareExport(database.sql, kuerzel, readRecords(opened.stream));
      const counts = `${kommen} kommen, ${gehen} gehen, ${wechseln} wechseln den Ort`;
      console.log(`${kuerzel}: ${countOf(alt, 'Beobachtung', 'Beobachtungen')} in den Dateien; ${counts}.`);
      if (gehen * 100 <= alt * maxGonePercent) continue;
      console.error(`${kuerzel}: Mehr als ${maxGonePercent} % der Kennungen fielen weg; GBIF hielte den Datensatz an.`);
      process.exitCode = exitCode;
    }
  },
};

async function* readRecords(stream: Readable): AsyncGenerator<ExportedRecord[]> {
  let records: ExportedRecord[] = [];
  for await (const { guid, lon, lat } of stream.pipe(parse({ columns: true })) as AsyncIterable<ExportedRecord>) {
    if (records.push({ guid, lon, lat }) < recordsPerStep) continue;
    yield records;
    records = [];
  }
  if (records.length > 0) yield records;
}

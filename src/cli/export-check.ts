// `export check`: what the next files would change, before they are made (O5.8).
import type { Readable } from 'node:stream';
import { parse } from 'csv-parse';
import type { ExportedRecord } from '../db/export-check.ts';
import { type Command, countOf, requirePublishers } from './command.ts';

// Beyond it a change is rather a mistake, and GBIF stops to ask.
const maxGonePercent = 5;
const recordsPerStep = 2000;
const exitCode = 2;

export const exportCheckCommands: Record<string, Command> = {
  async 'export check'(database, { mandant }, _rest, config) {
    const [{ withClient }, { compareExport }, { openStorage }] = await Promise.all([
      import('../db/client.ts'),
      import('../db/export-check.ts'),
      import('../media/open-storage.ts'),
    ]);
    const storage = openStorage(config.media);
    for (const { mandant: kuerzel, dateien } of await requirePublishers(database.sql, mandant)) {
      const file = dateien.find(({ datei }) => datei === 'sichtbeobachtung.csv');
      const opened = file && (await storage.open(file.objekt));
      if (!opened) {
        console.log(`${kuerzel}: Es gibt noch keine Dateien, mit denen sich vergleichen ließe.`);
        continue;
      }
      const { alt, kommen, gehen, wechseln } = await withClient(database, {}, (sql) =>
        compareExport(sql, kuerzel, readRecords(opened.stream)),
      );
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

// Commands about files to publish (O5).
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { asPublic } from '../db/ausgabe.ts';
import { withClient } from '../db/client.ts';
import { type ExportDatei, exportDateien } from '../db/export.ts';
import { type Command, countOf, progress, requireDirectory, requirePublishers, warn } from './command.ts';
import { UsageError } from './line.ts';

const formats: Record<string, ExportDatei> = {
  dwca: 'dwca.zip',
  csv: 'sichtbeobachtung.csv',
  geojson: 'sichtbeobachtung.geojson',
  gpkg: 'sichtbeobachtung.gpkg',
  cube: 'cube.csv',
};

export const exportCommands: Record<string, Command> = {
  async export(database, values, rest, config) {
    const dir = requireDirectory('export', rest);
    const { writeExport } = await import('../export/files.ts');
    const { dateienOf } = await import('../export/licences.ts');
    const wanted = values.format === undefined ? exportDateien : [readFormat(values.format)];
    const mandanten = await requirePublishers(database.sql, values.mandant);
    for (const mandant of mandanten) {
      const allowed = dateienOf(mandant.lizenz);
      const dateien = wanted.filter((datei) => allowed.includes(datei));
      if (dateien.length === 0) {
        warn(`${mandant.mandant}: GBIF nimmt Archive mit der Lizenz ${mandant.lizenz} nicht an, die anderen Formate gibt es`);
        continue;
      }
      const place = join(dir, mandant.mandant.toLowerCase());
      await mkdir(place, { recursive: true });
      // Beside their place, so that a file is whole when it gets there.
      const directory = await mkdtemp(join(place, '.neu-'));
      try {
        // Its own connection: those of requests end a statement after seconds.
        const written = await withClient(database, {}, (sql) =>
          asPublic(sql, (tx) =>
            writeExport(tx, mandant, dateien, {
              directory,
              origin: config.publicUrl.replaceAll('{domain}', mandant.domain),
              onRows: (datei, done) => progress.step(`${mandant.mandant} ${datei}`, done, done),
            }),
          ),
        );
        progress.end();
        for (const { datei, path, bytes, anzahl } of written) {
          await rename(path, join(place, datei));
          const rows =
            datei === 'cube.csv' ? countOf(anzahl, 'Zeile', 'Zeilen') : countOf(anzahl, 'Beobachtung', 'Beobachtungen');
          console.log(`${join(place, datei)}: ${rows}, ${Math.ceil(bytes / 1000).toLocaleString('de-DE')} kB`);
        }
      } finally {
        await rm(directory, { recursive: true, force: true });
      }
    }
  },
};

function readFormat(format: string): ExportDatei {
  const datei = formats[format];
  if (datei === undefined) throw new UsageError(`--format ist „${format}“, erlaubt sind ${Object.keys(formats).join(', ')}.`);
  return datei;
}

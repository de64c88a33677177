// Commands about files to publish (O5).
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { readPublic } from '../db/ausgabe.ts';
import { type ExportDatei, exportDateien, isMandant, listExport } from '../db/export.ts';
import { type Command, countOf, progress, requireDirectory } from './command.ts';
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
    const mandanten = await listExport(database.sql, values.mandant ?? null);
    if (values.mandant !== undefined && !(await isMandant(database.sql, values.mandant)))
      throw new UsageError(`Einen Mandanten „${values.mandant}“ gibt es nicht.`);
    if (mandanten.length === 0)
      throw new UsageError(
        `${values.mandant === undefined ? 'Kein Mandant' : `${values.mandant}`} hat ${values.mandant === undefined ? 'eine' : 'keine'} Lizenz, ohne sie wird nichts veröffentlicht: lizenz in mandanten.geojson (docs/publishing.md).`,
      );
    for (const mandant of mandanten) {
      const allowed = dateienOf(mandant.lizenz);
      const dateien = wanted.filter((datei) => allowed.includes(datei));
      if (dateien.length === 0)
        throw new UsageError(
          `${mandant.mandant}: GBIF nimmt Archive mit der Lizenz ${mandant.lizenz} nicht an, die anderen Formate gibt es.`,
        );
      const place = join(dir, mandant.mandant.toLowerCase());
      await mkdir(place, { recursive: true });
      // Beside their place, so that a file is whole when it gets there.
      const directory = await mkdtemp(join(place, '.neu-'));
      try {
        const { value: written } = await readPublic(database.sql, (tx) =>
          writeExport(tx, mandant, dateien, {
            directory,
            origin: config.publicUrl.replaceAll('{domain}', mandant.domain),
            onRows: (datei, done) => progress.step(`${mandant.mandant} ${datei}`, done, done),
          }),
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

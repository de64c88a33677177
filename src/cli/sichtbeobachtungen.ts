// Import of many sightings.
import type { ImportMedia } from '../catalog/import-media.ts';
import { importSichtbeobachtungen } from '../catalog/sichtbeobachtungen.ts';
import type { Config } from '../config.ts';
import type { Database } from '../db/client.ts';
import { type Command, countOf, progress, requireOption, warn } from './command.ts';
import { UsageError } from './line.ts';
import { requireLogin } from './nutzer.ts';

export const sichtbeobachtungCommands: Record<string, Command> = {
  async 'sichtbeobachtungen import'(database, values, [path], config) {
    if (!path) throw new UsageError('Die Datei fehlt: sichtbeobachtungen import DATEI.csv [--loginname L]');
    const quelle = values.quelle?.trim() ?? null;
    if (quelle === '' || (quelle?.length ?? 0) > 200) throw new UsageError('--quelle ist ein Name mit höchstens 200 Zeichen.');
    const nutzerId =
      values.loginname === undefined ? null : await requireActiveNutzer(database, requireOption(values, 'loginname'));
    const dryRun = Boolean(values['dry-run']);
    const media = values.dateien === undefined ? null : await openImportMedia(values.dateien, config);
    const { stored, skipped, known } = await importSichtbeobachtungen(database, path, progress, {
      nutzerId,
      quelle,
      media,
      dryRun,
      skipDuplicates: Boolean(values['skip-duplicates']),
      ignoreColumns: Boolean(values['ignore-columns']),
      keepAllProblems: values.errors !== undefined,
      warn,
    }).finally(() => media?.threads.close());
    progress.end();
    const outcome = dryRun ? 'in Ordnung, nichts wurde geladen (--dry-run)' : 'geladen';
    const left = [
      known > 0 ? `, ${known} von dort ${known === 1 ? 'war' : 'waren'} schon da` : '',
      skipped > 0 ? `, ${countOf(skipped, 'Dopplung', 'Dopplungen')} ausgelassen` : '',
    ].join('');
    console.log(`${countOf(stored, 'Sichtbeobachtung', 'Sichtbeobachtungen')} ${outcome}${left}.`);
  },
};

/** Files of an import go where those of the service are. */
async function openImportMedia(directory: string, config: Config): Promise<ImportMedia> {
  const { createMediaThreads } = await import('../media/threads.ts');
  const { openStorage } = await import('../media/open-storage.ts');
  return { directory, threads: createMediaThreads({ workers: config.photoWorkers }), storage: openStorage(config.media) };
}

async function requireActiveNutzer(database: Database, loginname: string): Promise<number> {
  const login = await requireLogin(database, loginname);
  if (login.status !== 1) throw new UsageError(`Das Konto „${loginname}“ ist gesperrt.`);
  return login.id;
}

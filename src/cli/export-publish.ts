// `export publish`: makes the files to publish now, and asks GBIF to fetch an archive.
import type { Config } from '../config.ts';
import type { Command } from './command.ts';
import { UsageError } from './line.ts';

const askMs = 30_000;

export const exportPublishCommands: Record<string, Command> = {
  async 'export publish'(database, { mandant, gbif }, _rest, config) {
    if (gbif !== undefined) requireGbif(gbif, mandant, config);
    const [{ publishAll, sweepExport }, { openStorage }, { createLog }, { isMandant, listExportFaellig }] = await Promise.all([
      import('../jobs/export.ts'),
      import('../media/open-storage.ts'),
      import('../observe/log.ts'),
      import('../db/export.ts'),
    ]);
    if (mandant !== undefined && !(await isMandant(database.sql, mandant)))
      throw new UsageError(`Einen Mandanten „${mandant.slice(0, 40)}“ gibt es nicht.`);
    const storage = openStorage(config.media);
    const work = { storage, dataDir: config.dataDir, publicUrl: config.publicUrl, log: createLog('silent') };
    const all = await listExportFaellig(database.work, true);
    const chosen = all.filter((each) => mandant === undefined || each.toLowerCase() === mandant.toLowerCase());
    // While another run is under way nothing is swept; that one has done it.
    await sweepExport(database, storage).catch(() => {});
    const failed = await publishAll(database, chosen, work);
    for (const sentence of failed) console.error(sentence);
    if (failed.length > 0) process.exitCode = 1;
    else console.log(chosen.length === 0 ? 'Niemand veröffentlicht etwas.' : `Veröffentlicht: ${chosen.join(', ')}.`);
    if (gbif === undefined || failed.length > 0 || chosen.length === 0) return;
    const fault = await askGbif(config.gbif, gbif);
    if (fault === null) return console.log('GBIF ist gebeten, den Datensatz abzurufen.');
    console.error(fault);
    process.exitCode = 1;
  },
};

function requireGbif(dataset: string, mandant: string | undefined, { gbif }: Config): void {
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(dataset))
    throw new UsageError('--gbif nimmt den Schlüssel eines Datensatzes bei GBIF, etwa 50c9509d-22c7-4a22-a47d-8c48425ef4a7.');
  if (mandant === undefined) throw new UsageError('--gbif braucht --mandant: wessen Archiv der Datensatz ist.');
  if (gbif.user === null || gbif.password === null)
    throw new UsageError('GBIF_USER und GBIF_PASSWORD fehlen: Mit --gbif sind sie nötig.');
}

/**
 * Asks the registry to crawl a dataset.
 * @returns why it was not asked, as a sentence without its address or the password; null: it was
 */
async function askGbif({ url, user, password }: Config['gbif'], dataset: string): Promise<string | null> {
  const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
  try {
    const { status } = await fetch(`${url}/dataset/${dataset}/crawl`, {
      method: 'POST',
      headers: { authorization },
      // A redirect would carry the password to another host.
      redirect: 'error',
      signal: AbortSignal.timeout(askMs),
    });
    if (status >= 200 && status < 300) return null;
    if (status === 401 || status === 403) return `GBIF lehnt GBIF_USER und GBIF_PASSWORD für diesen Datensatz ab (${status}).`;
    if (status === 404) return 'GBIF kennt diesen Datensatz nicht (404).';
    return `GBIF hat die Bitte um einen Abruf abgelehnt (${status}).`;
  } catch {
    return 'GBIF (EXPORT_GBIF_URL) antwortet nicht.';
  }
}

// Backups: made, checked, restored.
import type { Manifest } from '../backup/manifest.ts';
import type { Command, PlainCommand } from './command.ts';
import { countOf, ownersAddress, progress, requireDirectory, sayNewEmbedded, warn } from './command.ts';

export const backupCommands: Record<string, Command> = {
  async backup(database, _values, rest, config) {
    const dir = requireDirectory('backup', rest);
    // What others write for it too: pg_dump, SQLite.
    process.umask(0o077);
    const [{ createBackup }, { openStorage }, { listForeignSchemas }] = await Promise.all([
      import('../backup/create.ts'),
      import('../media/open-storage.ts'),
      import('../db/sicherung.ts'),
    ]);
    const source = { ...config, databaseUrl: ownersAddress(config).url, database, storage: openStorage(config.media) };
    const { manifest, copied } = await createBackup(source, dir, progress, warn);
    const foreign = await listForeignSchemas(database.sql);
    if (foreign.length > 0) warn(`Nicht gesichert ist, was der Dienst nicht angelegt hat: Schema ${foreign.join(', ')}`);
    if (config.secretKey !== null) warn('Der Schlüssel steht in SECRET_KEY und nicht in der Sicherung');
    else if (manifest.schluessel === null) warn('In DATA_DIR ist kein Schlüssel; in der Sicherung ist keiner');
    const { anzahl, medien } = manifest;
    console.log(
      `${countOf(anzahl.sichtbeobachtung, 'Beobachtung', 'Beobachtungen')} und ${countOf(medien.anzahl, 'Datei', 'Dateien')} (${copied} neu) sind in ${dir} gesichert.`,
    );
    if (medien.fehlend.length === 0) return;
    warnOfMissing(medien.fehlend.length);
    process.exitCode = 2;
  },
};

export const plainBackupCommands: Record<string, PlainCommand> = {
  async 'backup verify'(rest, readConfig) {
    const dir = requireDirectory('backup verify', rest);
    const { checkBackup } = await import('../backup/verify.ts');
    const { manifest } = await checkBackup(dir, readConfig().programs, progress);
    console.log(`Die Sicherung ist vollständig und unverändert: ${describeBackup(manifest)}.`);
    if (manifest.medien.fehlend.length > 0) warnOfMissing(manifest.medien.fehlend.length);
  },

  async restore(rest, readConfig) {
    const dir = requireDirectory('restore', rest);
    const config = readConfig();
    await sayNewEmbedded(config);
    const [{ restoreBackup }, { openStorage }] = await Promise.all([
      import('../backup/restore.ts'),
      import('../media/open-storage.ts'),
    ]);
    const target = { ...config, databaseUrl: ownersAddress(config).url, storage: openStorage(config.media) };
    const { database, manifest, files } = await restoreBackup(target, dir, progress, (line) => console.error(line));
    try {
      const { migrateAll } = await import('../prepare.ts');
      await migrateAll(database, (line) => console.error(line));
    } finally {
      await database.close();
    }
    if (config.secretKey === null && manifest.schluessel === null)
      console.error('Hinweis: In der Sicherung ist kein Schlüssel; SECRET_KEY muss derselbe sein wie zur Zeit der Sicherung.');
    console.log(`Zurückgespielt: ${describeBackup(manifest)}, davon ${files} neu in der Ablage.`);
  },
};

/** Of a backup: how many files of records it could not have. */
function warnOfMissing(count: number): void {
  const missing = countOf(count, 'Datei fehlte', 'Dateien fehlten');
  warn(`${missing} schon in der Ablage; welche, steht in sicherung.json unter fehlend`);
}

function describeBackup({ begonnen, version, anzahl, medien }: Manifest): string {
  const form = { timeZone: 'Europe/Berlin', dateStyle: 'short', timeStyle: 'short' } as const;
  const moment = new Date(begonnen).toLocaleString('de-DE', form);
  const records = countOf(anzahl.sichtbeobachtung, 'Beobachtung', 'Beobachtungen');
  return `${moment} Uhr, Version ${version}, ${records}, ${countOf(medien.anzahl, 'Datei', 'Dateien')}`;
}

// Operator commands (D5).
import { createWriteStream } from 'node:fs';
import { access, rename, rm, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import type { Manifest } from './backup/manifest.ts';
import { describeProblems, formatProblems, ImportError } from './catalog/csv.ts';
import type { DemoLogin } from './catalog/demo.ts';
import type { ImportMedia } from './catalog/import-media.ts';
import { importSichtbeobachtungen } from './catalog/sichtbeobachtungen.ts';
import { type Config, describeSettings, loadConfig } from './config.ts';
import { checkDatabase, readOnlySentence, type UrlSetting, unreachable } from './db/check.ts';
import { type Database, DatabaseError, embeddedDirectory, openDatabase } from './db/client.ts';
import { countNutzerSaetze, setNutzerLoeschung } from './db/loeschung.ts';
import { isMigrated, migrateDatabase } from './db/migrate.ts';
import { createNutzer, getLogin, type Login, setNutzerStatus, setPasswordHash } from './db/nutzer.ts';
import { hashPassword, sha1OfPlain } from './guard/password.ts';
import { codeOfFault, describeStartError } from './observe/fault.ts';
import { createProgress } from './observe/progress.ts';
import { describeLogins } from './welcome.ts';

const usage = `Aufruf: npm run cli -- BEFEHL

  migrate                                   die Datenbank auf den Stand dieser Version bringen
  catalog import VERZEICHNIS [--force]      Mandanten, Gruppen, Arten, Stadien laden oder aktualisieren; --force: Grenzen auch mit
                                            großen Änderungen, wenn es schon Beobachtungen gibt
  catalog export VERZEICHNIS                den Katalog, wie er ist, in ein leeres Verzeichnis schreiben
  catalog template VERZEICHNIS              dasselbe ohne Inhalt, zum Ausfüllen; Format: catalog import --help
  nutzer import DATEI.csv [--ignore-columns] [--dry-run]
                                            viele Konten anlegen, ohne Passwort; Format: nutzer import --help
  sichtbeobachtungen import DATEI.csv [--loginname L] [--quelle NAME] [--dateien VERZEICHNIS]
      [--skip-duplicates] [--ignore-columns] [--dry-run]
                                            viele Beobachtungen laden, alle oder keine; ohne die, die es schon gibt; ohne
                                            Spalten, die hier nichts bedeuten; nur prüfen. Format: sichtbeobachtungen import --help
      --errors DATEI                        alle Fehler eines Imports als CSV dorthin, bei jedem import
  nutzer create --loginname L --email E --vorname V --nachname N
      [--rolle administrator|expert] [--artengruppen 1,2] --password-stdin
                                            ein Konto anlegen; das Passwort kommt im Klartext von der Standardeingabe
  nutzer password --loginname L             neues Passwort von der Standardeingabe
  nutzer block|unblock --loginname L        Konto sperren, wieder zulassen
  nutzer export NAME [DATEI.zip]            alles, was unter einem Konto gespeichert ist, für die Person selbst
  nutzer erase NAME --records keep|delete [--ja]
                                            ein Konto löschen; keep: veröffentlichte Beobachtungen bleiben, ohne die Person;
                                            delete: alle gehen mit; --ja: ohne Rückfrage
  grenzen refresh [--force]                 die Grenzen der Mandanten jetzt von BOUNDARY_URL holen; --force: auch mit großen
                                            Änderungen
  abgleich neu                              alle Spiegel neu beginnen lassen: nachdem Dateien der Datenbank durch eine ältere Kopie
                                            ersetzt wurden
  backup VERZEICHNIS                        Datenbank, Fotos, Tonaufnahmen und Schlüssel sichern; noch einmal dorthin: auf den
                                            neuesten Stand bringen
  backup verify VERZEICHNIS                 prüfen, ob eine Sicherung vollständig und unverändert ist
  restore VERZEICHNIS                       eine Sicherung in eine leere Datenbank zurückspielen
  demo load [--logins]                      Demo-Katalog, -Konten und -Beobachtungen; --logins: neue Passwörter zeigen

${describeSettings()}`;

/** The command line is wrong; the message says how. */
class UsageError extends Error {}

const progress = createProgress(process.stderr);

const options = {
  loginname: { type: 'string' },
  email: { type: 'string' },
  vorname: { type: 'string' },
  nachname: { type: 'string' },
  rolle: { type: 'string' },
  artengruppen: { type: 'string' },
  'password-stdin': { type: 'boolean' },
  logins: { type: 'boolean' },
  force: { type: 'boolean' },
  'dry-run': { type: 'boolean' },
  'skip-duplicates': { type: 'boolean' },
  'ignore-columns': { type: 'boolean' },
  errors: { type: 'string' },
  quelle: { type: 'string' },
  dateien: { type: 'string' },
  records: { type: 'string' },
  ja: { type: 'boolean' },
  yes: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;
type Values = { [name in keyof typeof options]?: (typeof options)[name]['type'] extends 'string' ? string : boolean };

// Each loads what it alone needs: reading all of it took half a second of every command.
const commands: Record<string, (database: Database, values: Values, rest: string[], config: Config) => Promise<void>> = {
  async migrate(database) {
    const { migrateAll } = await import('./prepare.ts');
    const outcome = await migrateAll(database, (line) => console.error(line));
    const sentence = {
      replaced: 'Die Datenbank ist auf dem Stand dieser Version.',
      unchanged: 'Die Datenbank war schon auf dem Stand dieser Version.',
      'database is newer': 'Die Funktionen der Datenbank gehören zu einer neueren Version und bleiben, wie sie sind.',
    }[outcome];
    console.log(sentence);
  },

  async 'catalog export'(database, _values, [dir]) {
    if (!dir) throw new UsageError('Das Verzeichnis fehlt: catalog export VERZEICHNIS');
    const { exportCatalogue } = await import('./catalog/format.ts');
    await exportCatalogue(database.sql, dir);
    console.log(`Der Katalog steht in ${dir}.`);
  },

  async 'catalog import'(database, values, [dir]) {
    if (!dir) throw new UsageError('Das Verzeichnis fehlt: catalog import VERZEICHNIS');
    const { importCatalogue } = await import('./catalog/catalogue.ts');
    const warn = (sentence: string) => console.error(`Hinweis: ${sentence}.`);
    const catalogue = await importCatalogue(database, dir, { force: Boolean(values.force), progress, warn });
    progress.end();
    const counts = [
      countOf(catalogue.mandanten.length, 'Mandant', 'Mandanten'),
      countOf(catalogue.artengruppen.length, 'Artengruppe', 'Artengruppen'),
      countOf(catalogue.arten.length, 'Art', 'Arten'),
      countOf(catalogue.artenMandanten.length, 'Artdefinition', 'Artdefinitionen'),
    ];
    console.log(`${counts.join(', ')} geladen.`);
  },

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
    }).finally(() => media?.threads.close());
    progress.end();
    const outcome = dryRun ? 'in Ordnung, nichts wurde geladen (--dry-run)' : 'geladen';
    const left = [
      known > 0 ? `, ${known} von dort ${known === 1 ? 'war' : 'waren'} schon da` : '',
      skipped > 0 ? `, ${countOf(skipped, 'Dopplung', 'Dopplungen')} ausgelassen` : '',
    ].join('');
    console.log(`${countOf(stored, 'Sichtbeobachtung', 'Sichtbeobachtungen')} ${outcome}${left}.`);
  },

  async 'nutzer import'(database, values, [path]) {
    if (!path) throw new UsageError('Die Datei fehlt: nutzer import DATEI.csv');
    const { importNutzer } = await import('./catalog/nutzer.ts');
    const dryRun = Boolean(values['dry-run']);
    const { created, known } = await importNutzer(database, path, { dryRun, ignoreColumns: Boolean(values['ignore-columns']) });
    const outcome = dryRun ? 'in Ordnung, nichts wurde angelegt (--dry-run)' : 'angelegt';
    const left = known > 0 ? `, ${countOf(known, 'Konto gab es', 'Konten gab es')} schon` : '';
    console.log(`${countOf(created, 'Konto', 'Konten')} ${outcome}${left}.`);
  },

  async 'nutzer create'(database, values) {
    const rolle = values.rolle ?? null;
    if (rolle !== null && rolle !== 'expert' && rolle !== 'administrator') {
      throw new UsageError(`--rolle ist „${rolle}“, erlaubt sind administrator und expert.`);
    }
    const missing = (['loginname', 'email', 'vorname', 'nachname'] as const)
      .filter((name) => !values[name]?.trim())
      .map((name) => `--${name}`);
    if (!values['password-stdin']) missing.push('--password-stdin (das Passwort kommt von der Standardeingabe)');
    if (missing.length > 0) throw new UsageError(`Es ${missing.length === 1 ? 'fehlt' : 'fehlen'} ${missing.join(', ')}.`);
    const artengruppen = (values.artengruppen ?? '').split(',').flatMap((part) => part.trim() || []);
    if (!artengruppen.every((part) => /^\d{1,9}$/.test(part))) {
      throw new UsageError(`--artengruppen ist „${values.artengruppen}“, erlaubt sind ids mit Komma dazwischen.`);
    }
    const email = requireOption(values, 'email');
    if (!/^[^\s@]+@[^\s@]+$/.test(email)) throw new UsageError(`--email ist „${email}“, erlaubt ist eine E-Mail-Adresse.`);
    const id = await createNutzer(database.sql, {
      loginname: requireOption(values, 'loginname'),
      email,
      vorname: requireOption(values, 'vorname'),
      nachname: requireOption(values, 'nachname'),
      anonymisiert: 0,
      rolle,
      artengruppen: artengruppen.map(Number),
      passwordHash: await hashPassword(sha1OfPlain(await readPassword())),
    }).catch((error: { code?: string; column_name?: string }) => {
      if (error.code === 'NTZER') throw new UsageError(`--${error.column_name} ist schon vergeben.`);
      if (error.code === '23503') throw new UsageError('--artengruppen enthält eine id, die es nicht gibt.');
      throw error;
    });
    console.log(JSON.stringify({ id }));
  },

  async 'nutzer password'(database, values) {
    const loginname = requireOption(values, 'loginname');
    const passwordHash = await hashPassword(sha1OfPlain(await readPassword()));
    requireFound(await setPasswordHash(database.sql, loginname, passwordHash), loginname);
    console.log('Das Passwort ist geändert; alle Zugangsschlüssel des Kontos sind ungültig.');
  },

  async 'nutzer block'(database, values) {
    const loginname = requireOption(values, 'loginname');
    const found = await setNutzerStatus(database.sql, loginname, 0).catch(
      refuseLast('Der letzte aktive Administrator kann nicht gesperrt werden.'),
    );
    requireFound(found, loginname);
    console.log('Das Konto ist gesperrt.');
  },

  async 'nutzer unblock'(database, values) {
    const loginname = requireOption(values, 'loginname');
    requireFound(await setNutzerStatus(database.sql, loginname, 1), loginname);
    console.log('Das Konto ist zugelassen.');
  },

  async 'nutzer export'(database, _values, [loginname, file], config) {
    if (!loginname) throw new UsageError('Der Anmeldename fehlt: nutzer export NAME [DATEI.zip]');
    const { id } = await requireLogin(database, loginname);
    const path = file ?? `auskunft-${id}.zip`;
    if (await exists(path)) throw new UsageError(`Die Datei ${path} gibt es schon; sie wird nicht überschrieben.`);
    const { writeAuskunft } = await import('./auskunft/archive.ts');
    const { openStorage } = await import('./media/open-storage.ts');
    // Nobody else's to read; under its name it is whole or not there.
    const partial = `${path}.teil`;
    const output = Writable.toWeb(createWriteStream(partial, { mode: 0o600 }));
    const report = (done: number, total: number) => progress.step('Dateien', done, total);
    try {
      const from = { sql: database.sql, storage: openStorage(config.media) };
      const archived = await writeAuskunft(from, { nutzerId: id, zugangsstand: null }, output, report);
      await rename(partial, path);
      progress.end();
      const counts = `${countOf(archived.saetze, 'Beobachtung', 'Beobachtungen')}, ${countOf(archived.dateien, 'Datei', 'Dateien')}`;
      console.log(`${path}: ${counts}.`);
      if (archived.fehlend > 0)
        console.error(`Hinweis: ${countOf(archived.fehlend, 'Datei fehlt', 'Dateien fehlen')} in der Ablage, siehe im Archiv.`);
    } catch (error) {
      await rm(partial, { force: true });
      const { code, path: failed } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT') throw new UsageError(`Das Verzeichnis von ${path} gibt es nicht.`);
      // Where it would be, in full: a release's own directory is nobody's to write to.
      if (failed === partial && ['EACCES', 'EPERM', 'EROFS'].includes(code ?? ''))
        throw new UsageError(
          `${resolve(path)} kann nicht geschrieben werden (${code}); erlaubt ist eine Datei, wo dieser Benutzer schreiben darf.`,
        );
      throw error;
    }
  },

  async 'nutzer erase'(database, values, [loginname], config) {
    if (!loginname) throw new UsageError('Der Anmeldename fehlt: nutzer erase NAME --records keep|delete');
    const records = values.records;
    if (records !== 'keep' && records !== 'delete') {
      const wrong = records === undefined ? '--records fehlt' : `--records ist „${records}“`;
      throw new UsageError(
        `${wrong}, erlaubt sind keep (veröffentlichte Beobachtungen bleiben, ohne die Person) und delete (alle gehen mit).`,
      );
    }
    const { id, name, loginname: stored } = await requireLogin(database, loginname);
    const { alle, privat } = await countNutzerSaetze(database.sql, id);
    const gone = records === 'keep' ? privat : alle;
    const fate = [
      `${countOf(gone, 'Beobachtung wird', 'Beobachtungen werden')} gelöscht`,
      `${countOf(alle - gone, 'bleibt', 'bleiben')} ohne Namen`,
    ].join(', ');
    const sentence = `Das Konto „${stored}“ (${name}) wird für immer gelöscht: ${fate}.`;
    if (values.ja || values.yes) console.error(sentence);
    else await confirm(sentence);
    await setNutzerLoeschung(database.sql, id, records === 'keep' ? 'behalten' : 'loeschen').catch(
      refuseLast('Der letzte aktive Administrator kann nicht gelöscht werden; zuerst braucht ein anderes Konto diese Rolle.'),
    );
    const { startBoss } = await import('./jobs/boss.ts');
    const { eraseNutzer } = await import('./jobs/loeschung.ts');
    const boss = await startBoss(database, () => {}, { supervise: false, mayChange: true });
    try {
      await eraseNutzer(boss, database.sql, id, (done) => progress.step('Beobachtungen', Math.min(done, alle), alle));
    } finally {
      await boss.stop();
    }
    progress.end();
    const { removeEntfernt } = await import('./jobs/media.ts');
    const { openStorage } = await import('./media/open-storage.ts');
    await removeEntfernt(database.sql, openStorage(config.media)).catch(() =>
      console.error('Hinweis: Die Ablage der Dateien antwortet nicht; der Dienst entfernt sie, sobald sie es tut.'),
    );
    console.log(`Das Konto „${stored}“ ist gelöscht.`);
  },

  async 'grenzen refresh'(database, values, _rest, config) {
    if (!config.boundary) throw new UsageError('BOUNDARY_URL ist nicht gesetzt: Dort steht, woher die Grenzen kommen.');
    const { refreshBoundaries } = await import('./jobs/boundaries.ts');
    const outcome = await refreshBoundaries(database, config.boundary, { force: Boolean(values.force), report: progress.step });
    progress.end();
    const { mandanten, zugeordnet, maskiert, uebergangen } = outcome;
    const sentences = ['Die Grenzen sind unverändert.'];
    if (mandanten > 0) {
      const grenzen = mandanten === 1 ? 'Die Grenze von 1 Mandanten ist' : `Die Grenzen von ${mandanten} Mandanten sind`;
      const haben = `${countOf(zugeordnet, 'Beobachtung hat', 'Beobachtungen haben')} andere Mandanten`;
      sentences[0] = `${grenzen} neu; ${haben}, ${countOf(maskiert, 'davon wird', 'davon werden')} an anderer Stelle gezeigt.`;
    }
    if (uebergangen > 0) {
      sentences.push(
        `${uebergangen} ${uebergangen === 1 ? 'Feature der Quelle nennt' : 'Features der Quelle nennen'} keinen Mandanten.`,
      );
    }
    console.log(sentences.join(' '));
  },

  async 'abgleich neu'(database) {
    const { createAbgleichVerlauf } = await import('./db/abgleich.ts');
    await createAbgleichVerlauf(database.sql);
    console.log('Alle Spiegel beginnen beim nächsten Abruf neu.');
  },

  async backup(database, _values, rest, config) {
    const dir = requireDirectory('backup', rest);
    // What others write for it too: pg_dump, SQLite.
    process.umask(0o077);
    const [{ createBackup }, { openStorage }, { listForeignSchemas }] = await Promise.all([
      import('./backup/create.ts'),
      import('./media/open-storage.ts'),
      import('./db/sicherung.ts'),
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

  async 'demo load'(database, values) {
    const { loadDemo } = await import('./catalog/demo.ts');
    const created = await loadDemo(database, progress);
    const logins: DemoLogin[] = values.logins ? await renewDemoPasswords(database) : created;
    console.log(['Die Demo ist geladen.', ...describeLogins(logins)].join('\n'));
  },
};

const warn = (sentence: string) => console.error(`Hinweis: ${sentence}.`);

/** Of a backup: how many files of records it could not have. */
function warnOfMissing(count: number): void {
  const missing = countOf(count, 'Datei fehlte', 'Dateien fehlten');
  warn(`${missing} schon in der Ablage; welche, steht in sicherung.json unter fehlend`);
}

/** Files of an import go where those of the service are. */
async function openImportMedia(directory: string, config: Config): Promise<ImportMedia> {
  const { createMediaThreads } = await import('./media/threads.ts');
  const { openStorage } = await import('./media/open-storage.ts');
  return { directory, threads: createMediaThreads({ workers: config.photoWorkers }), storage: openStorage(config.media) };
}

async function requireActiveNutzer(database: Database, loginname: string): Promise<number> {
  const login = await requireLogin(database, loginname);
  if (login.status !== 1) throw new UsageError(`Das Konto „${loginname}“ ist gesperrt.`);
  return login.id;
}

async function requireLogin(database: Database, loginname: string): Promise<Login> {
  const login = await getLogin(database.sql, loginname);
  if (login === null) throw noAccount(loginname);
  return login;
}

/** Says in a sentence why the last administrator stays; all other errors go on. */
function refuseLast(sentence: string): (error: { code?: string }) => never {
  return (error) => {
    throw error.code === 'LADMN' ? new UsageError(sentence) : error;
  };
}

const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );

/** Asks whoever sits at the terminal. */
async function confirm(question: string): Promise<void> {
  if (!process.stdin.isTTY) throw new UsageError(`${question} Ohne Terminal wird nicht gefragt: --ja bestätigt das.`);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await terminal.question(`${question}\nZum Bestätigen „ja“ eingeben: `);
    if (answer.trim().toLowerCase() !== 'ja') throw new UsageError('Abgebrochen; nichts wurde gelöscht.');
  } finally {
    terminal.close();
  }
}

/** Those that need no database, or open it themselves. */
const plainCommands: Record<string, (rest: string[]) => Promise<void>> = {
  async 'catalog template'([dir]) {
    if (!dir) throw new UsageError('Das Verzeichnis fehlt: catalog template VERZEICHNIS');
    const { writeTemplate } = await import('./catalog/format.ts');
    await writeTemplate(dir);
    console.log(`Ein leerer Katalog steht in ${dir}; was hineingehört: npm run cli -- catalog import --help`);
  },

  async 'backup verify'(rest) {
    const dir = requireDirectory('backup verify', rest);
    const { checkBackup } = await import('./backup/check.ts');
    const { manifest } = await checkBackup(dir, loadConfig(process.env).programs, progress);
    console.log(`Die Sicherung ist vollständig und unverändert: ${describeBackup(manifest)}.`);
    if (manifest.medien.fehlend.length > 0) warnOfMissing(manifest.medien.fehlend.length);
  },

  async restore(rest) {
    const dir = requireDirectory('restore', rest);
    const config = loadConfig(process.env);
    await sayNewEmbedded(config);
    const [{ restoreBackup }, { openStorage }] = await Promise.all([
      import('./backup/restore.ts'),
      import('./media/open-storage.ts'),
    ]);
    const target = { ...config, databaseUrl: ownersAddress(config).url, storage: openStorage(config.media) };
    const { database, manifest, files } = await restoreBackup(target, dir, progress, (line) => console.error(line));
    try {
      const { migrateAll } = await import('./prepare.ts');
      await migrateAll(database, (line) => console.error(line));
    } finally {
      await database.close();
    }
    if (config.secretKey === null && manifest.schluessel === null)
      console.error('Hinweis: In der Sicherung ist kein Schlüssel; SECRET_KEY muss derselbe sein wie zur Zeit der Sicherung.');
    console.log(`Zurückgespielt: ${describeBackup(manifest)}, davon ${files} neu in der Ablage.`);
  },
};

// Commands write as the owner; the service's role may only do what its users do.
function ownersAddress(config: Config): { url: string | null; setting: UrlSetting } {
  const { migrateDatabaseUrl, directDatabaseUrl, databaseUrl } = config;
  if (migrateDatabaseUrl !== null) return { url: migrateDatabaseUrl, setting: 'MIGRATE_DATABASE_URL' };
  if (directDatabaseUrl !== null) return { url: directDatabaseUrl, setting: 'DIRECT_DATABASE_URL' };
  return { url: databaseUrl, setting: 'DATABASE_URL' };
}

// Whoever meant PostgreSQL and lost DATABASE_URL on the way would work on a new database without a word.
async function sayNewEmbedded(config: Config): Promise<void> {
  const directory = resolve(embeddedDirectory(config.dataDir));
  const isThere = await access(directory).then(
    () => true,
    () => false,
  );
  if (ownersAddress(config).url === null && !isThere)
    console.error(`Ohne DATABASE_URL: eine eingebettete Datenbank wird angelegt, in ${directory}.`);
}

// One and no more: `backup verfy DIR` must not become a backup in a directory of that name.
function requireDirectory(command: string, [dir, ...more]: string[]): string {
  if (!dir) throw new UsageError(`Das Verzeichnis fehlt: ${command} VERZEICHNIS`);
  if (more.length > 0) throw new UsageError(`Ein Verzeichnis ist zu viel; erlaubt ist: ${command} VERZEICHNIS`);
  return dir;
}

function describeBackup({ begonnen, version, anzahl, medien }: Manifest): string {
  const moment = new Date(begonnen).toLocaleString('de-DE', {
    timeZone: 'Europe/Berlin',
    dateStyle: 'short',
    timeStyle: 'short',
  });
  const records = countOf(anzahl.sichtbeobachtung, 'Beobachtung', 'Beobachtungen');
  return `${moment} Uhr, Version ${version}, ${records}, ${countOf(medien.anzahl, 'Datei', 'Dateien')}`;
}

async function renewDemoPasswords(database: Database): Promise<DemoLogin[]> {
  const { listDemoLoginnames, makeDemoPassword } = await import('./catalog/demo.ts');
  const logins: DemoLogin[] = [];
  for (const loginname of await listDemoLoginnames()) {
    const password = makeDemoPassword();
    await setPasswordHash(database.sql, loginname, await hashPassword(sha1OfPlain(password)));
    logins.push({ loginname, rolle: null, password });
  }
  return logins;
}

function requireOption(values: Values, name: 'loginname' | 'email' | 'vorname' | 'nachname'): string {
  const value = values[name]?.trim();
  if (!value) throw new UsageError(`--${name} fehlt.`);
  return value;
}

const countOf = (count: number, one: string, many: string) => `${count} ${count === 1 ? one : many}`;

const noAccount = (loginname: string) => new UsageError(`Es gibt kein Konto mit dem Anmeldenamen „${loginname}“.`);

function requireFound(found: boolean, loginname: string): void {
  if (!found) throw noAccount(loginname);
}

// One line; a line end at its end is the terminal's, not the password's.
async function readPassword(): Promise<string> {
  const password = (await text(process.stdin)).replace(/\r?\n$/, '');
  if (password === '') throw new UsageError('Das Passwort auf der Standardeingabe ist leer.');
  return password;
}

async function main(): Promise<void> {
  const { values, positionals } = parseCommandLine();
  // The longer name first: `backup verify` is no backup to a directory of that name.
  const name = [...Object.keys(commands), ...Object.keys(plainCommands)]
    .sort((a, b) => b.length - a.length)
    .find((command) => `${positionals.join(' ')} `.startsWith(`${command} `));
  if (values.help) {
    console.log((await formatOf(name)) ?? usage);
    return;
  }
  if (!name) {
    const unknown = positionals.join(' ').slice(0, 60);
    console.error(`${unknown === '' ? 'Der Befehl fehlt.' : `Unbekannter Befehl „${unknown}“.`}\n\n${usage}`);
    process.exitCode = 1;
    return;
  }
  const rest = positionals.slice(name.split(' ').length);
  if (plainCommands[name]) return plainCommands[name](rest);
  const config = loadConfig(process.env);
  await sayNewEmbedded(config);
  const { url, setting } = ownersAddress(config);
  const database = await openDatabase({
    ...config,
    databaseUrl: url,
    directDatabaseUrl: null,
  });
  try {
    // PostgreSQL is migrated when its operator says so; the embedded database has nobody else to do it.
    // A backup is of what is there, by a newer release too.
    if (database.kind === 'embedded' && name !== 'backup') await migrateDatabase(database);
    else if (name === 'migrate') await checkDatabase(database.sql, setting);
    else await requireReady(database, setting);
    await commands[name]?.(database, values, rest, config);
  } catch (error) {
    if (error instanceof ImportError && values.errors) await writeFile(values.errors, formatProblems(error.problems));
    if (codeOfFault(error) === '25006') throw new DatabaseError(readOnlySentence);
    throw error;
  } finally {
    await database.close();
  }
}

// What is not there yet, or not to be used by this role, is told by a code of PostgreSQL's class 42 or 3F; a parameter of the address that the
// server does not know, as the connection that it is.
async function requireReady({ sql }: Database, setting: UrlSetting): Promise<void> {
  const ready = await isMigrated(sql).catch((error: unknown) => {
    if (/^(42|3F)/.test(codeOfFault(error) ?? '') && codeOfFault(error) !== '42704') return false;
    throw unreachable(error, setting);
  });
  if (!ready) throw new DatabaseError('Die Datenbank ist nicht erreichbar oder nicht migriert: npm run migrate');
}

/** What a command's files look like; null for commands without any. */
async function formatOf(name: string | undefined): Promise<string | null> {
  if (name?.startsWith('catalog ')) return (await import('./catalog/format.ts')).describeFormat();
  if (name === 'sichtbeobachtungen import') return (await import('./catalog/sichtbeobachtung-columns.ts')).describeColumns();
  if (name === 'nutzer import') return (await import('./catalog/nutzer.ts')).describeNutzerFormat();
  return null;
}

// Loosely first: what Node says of unknown options is English.
function parseCommandLine() {
  const { tokens } = parseArgs({ options, allowPositionals: true, strict: false, tokens: true });
  for (const token of tokens) {
    if (token.kind !== 'option') continue;
    const known = Object.hasOwn(options, token.name) ? options[token.name as keyof typeof options] : undefined;
    if (!known) throw new UsageError(`${token.rawName} gibt es nicht; Hilfe: npm run cli -- --help`);
    if (known.type === 'boolean' && token.value !== undefined) throw new UsageError(`${token.rawName} nimmt keinen Wert.`);
    if (known.type === 'string' && (token.value === undefined || (!token.inlineValue && token.value.startsWith('-'))))
      throw new UsageError(`${token.rawName} braucht einen Wert; einer, der mit - beginnt: ${token.rawName}=WERT.`);
  }
  return parseArgs({ options, allowPositionals: true });
}

main().catch((error: unknown) => {
  progress.end();
  if (error instanceof ImportError) {
    for (const line of describeProblems(error.problems)) console.error(line);
  }
  console.error(describeStartError(error));
  process.exit(1);
});

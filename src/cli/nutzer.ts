// Commands about accounts.
import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { Database } from '../db/client.ts';
import { countNutzerSaetze, setNutzerLoeschung } from '../db/loeschung.ts';
import { createNutzer, getLogin, type Login, setNutzerStatus, setPasswordHash } from '../db/nutzer.ts';
import { readMailAddress } from '../guard/mail-address.ts';
import { hashPassword, sha1OfPlain } from '../guard/password.ts';
import { toName } from '../guard/text.ts';
import { type Command, countOf, exists, progress, requireOption, warn } from './command.ts';
import { UsageError } from './line.ts';

export const nutzerCommands: Record<string, Command> = {
  async 'nutzer import'(database, values, [path]) {
    if (!path) throw new UsageError('Die Datei fehlt: nutzer import DATEI.csv');
    const { importNutzer } = await import('../catalog/nutzer.ts');
    const dryRun = Boolean(values['dry-run']);
    const { created, known } = await importNutzer(database, path, {
      dryRun,
      ignoreColumns: Boolean(values['ignore-columns']),
      warn,
    });
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
    const mandanten = (values.mandanten ?? '').split(',').flatMap((part) => part.trim() || []);
    if (!mandanten.every((part) => /^[\p{L}\p{N}_-]{1,20}$/u.test(part))) {
      throw new UsageError(`--mandanten ist „${values.mandanten}“, erlaubt sind Abkürzungen mit Komma dazwischen.`);
    }
    const given = requireOption(values, 'email');
    const email = readMailAddress(given);
    if ('allowed' in email) throw new UsageError(`--email ist „${given}“, erlaubt ist ${email.allowed}.`);
    const id = await createNutzer(database.sql, {
      loginname: requireOption(values, 'loginname'),
      email: email.address,
      vorname: toName(requireOption(values, 'vorname')),
      nachname: toName(requireOption(values, 'nachname')),
      anonymisiert: 0,
      rolle,
      artengruppen: artengruppen.map(Number),
      mandanten,
      passwordHash: await hashPassword(sha1OfPlain(await readPassword())),
    }).catch((error: { code?: string; column_name?: string; detail?: string }) => {
      if (error.code === 'NTZER') throw new UsageError(`--${error.column_name} ist schon vergeben.`);
      if (error.code === 'MANUN') throw new UsageError(`--mandanten enthält „${error.detail}“, diesen Mandanten gibt es nicht.`);
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
    const { writeAuskunft } = await import('../auskunft/archive.ts');
    const { openStorage } = await import('../media/open-storage.ts');
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
    const { startBoss } = await import('../jobs/boss.ts');
    const { eraseNutzer } = await import('../jobs/loeschung.ts');
    const boss = await startBoss(database, () => {}, { supervise: false, mayChange: true });
    try {
      await eraseNutzer(boss, database.sql, id, (done) => progress.step('Beobachtungen', Math.min(done, alle), alle));
    } finally {
      await boss.stop();
    }
    progress.end();
    const { removeEntfernt } = await import('../jobs/media.ts');
    const { openStorage } = await import('../media/open-storage.ts');
    await removeEntfernt(database.sql, openStorage(config.media)).catch(() =>
      console.error('Hinweis: Die Ablage der Dateien antwortet nicht; der Dienst entfernt sie, sobald sie es tut.'),
    );
    console.log(`Das Konto „${stored}“ ist gelöscht.`);
  },
};

/** @throws UsageError where there is no such account */
export async function requireLogin(database: Database, loginname: string): Promise<Login> {
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

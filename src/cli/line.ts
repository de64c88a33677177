// The command line: what may stand there, and what is said of it.
import { parseArgs } from 'node:util';
import { describeSettings } from '../config.ts';

export const usage = `Aufruf: npm run cli -- BEFEHL

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
      [--rolle administrator|expert] [--artengruppen 1,2] [--mandanten RP,HE] --password-stdin
                                            ein Konto anlegen; das Passwort kommt im Klartext von der Standardeingabe
  nutzer password --loginname L             neues Passwort von der Standardeingabe
  nutzer block|unblock --loginname L        Konto sperren, wieder zulassen
  nutzer export NAME [DATEI.zip]            alles, was unter einem Konto gespeichert ist, für die Person selbst
  nutzer erase NAME --records keep|delete [--ja]
                                            ein Konto löschen; keep: veröffentlichte Beobachtungen bleiben, ohne die Person;
                                            delete: alle gehen mit; --ja: ohne Rückfrage
  grenzen refresh [--force]                 die Grenzen der Mandanten jetzt von BOUNDARY_URL holen; --force: auch mit großen
                                            Änderungen
  export VERZEICHNIS [--mandant KUERZEL] [--format dwca|csv|geojson|gpkg|cube]
                                            die Dateien zum Veröffentlichen schreiben, je Mandant in ein Verzeichnis
  export check [--mandant KUERZEL]          was die nächsten Dateien ändern: wie viele Beobachtungen kommen, gehen, den Ort
                                            wechseln; endet mit 2, wenn mehr als 5 % der Kennungen wegfallen
  export publish [--mandant KUERZEL] [--gbif DATENSATZ]
                                            die Dateien zum Veröffentlichen jetzt machen; --gbif: danach GBIF bitten, das Archiv
                                            des Mandanten abzurufen (GBIF_USER, GBIF_PASSWORD)
  pruefung runs                             Läufe, die nach den Regeln der Experten automatisch freigegeben haben
  pruefung undo NUMMER                      zurücknehmen, was ein solcher Lauf freigegeben hat
  abgleich neu                              alle Spiegel neu beginnen lassen: nachdem Dateien der Datenbank durch eine ältere Kopie
                                            ersetzt wurden
  backup VERZEICHNIS                        Datenbank, Fotos, Tonaufnahmen und Schlüssel sichern; noch einmal dorthin: auf den
                                            neuesten Stand bringen
  backup verify VERZEICHNIS                 prüfen, ob eine Sicherung vollständig und unverändert ist
  restore VERZEICHNIS                       eine Sicherung in eine leere Datenbank zurückspielen
  demo load [--logins]                      Demo-Katalog, -Konten und -Beobachtungen; --logins: neue Passwörter zeigen

${describeSettings()}`;

/** The command line is wrong; the message says how. */
export class UsageError extends Error {}

const options = {
  loginname: { type: 'string' },
  email: { type: 'string' },
  vorname: { type: 'string' },
  nachname: { type: 'string' },
  rolle: { type: 'string' },
  artengruppen: { type: 'string' },
  mandanten: { type: 'string' },
  'password-stdin': { type: 'boolean' },
  logins: { type: 'boolean' },
  force: { type: 'boolean' },
  'dry-run': { type: 'boolean' },
  'skip-duplicates': { type: 'boolean' },
  'ignore-columns': { type: 'boolean' },
  errors: { type: 'string' },
  gbif: { type: 'string' },
  quelle: { type: 'string' },
  dateien: { type: 'string' },
  records: { type: 'string' },
  mandant: { type: 'string' },
  format: { type: 'string' },
  ja: { type: 'boolean' },
  yes: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

/** The options of a command line. */
export type Values = { [name in keyof typeof options]?: (typeof options)[name]['type'] extends 'string' ? string : boolean };

/**
 * Name of the command with its parts, and options. Loosely first: what Node says of unknown options is English.
 * @throws UsageError
 */
export function parseCommandLine() {
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

// The operations of the interface: what the document tells of each, beyond what the schemas tell.
import type { Deps } from '../context.ts';
import { accountOperations } from './accounts.ts';
import type { Operation } from './operation.ts';
import { recordOperations } from './records.ts';

export const tags = [
  { name: 'Anmeldung', description: 'Anmelden, abmelden, registrieren, Passwort zurücksetzen' },
  { name: 'Arten', description: 'Artengruppen und Arten, wie der angesprochene Mandant sie führt' },
  { name: 'Beobachtungen', description: 'Sichtbeobachtungen melden, lesen, suchen, ändern, veröffentlichen, prüfen, löschen' },
  { name: 'Protokolle', description: 'Änderungen für Abgleiche, Statuswechsel für die Qualitätssicherung' },
  { name: 'Konten', description: 'Konten lesen, suchen und ändern' },
];

/**
 * The table from which the document is made, in the order in which a reader meets the operations.
 * @param deps decide which regular expressions are allowed
 */
export function listOperations(deps: Pick<Deps, 'sql' | 'regexpSql'>): Operation[] {
  const operations = [...accountOperations(deps), ...recordOperations(deps)];
  return tags.flatMap(({ name }) => operations.filter(({ tag }) => tag === name));
}

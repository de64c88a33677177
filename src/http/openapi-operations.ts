// The operations of the interface: what the document tells of each, beyond what the schemas tell.
import type { Deps } from './context.ts';
import type { ErrorCode } from './errors.ts';
import type { Entries } from './input.ts';
import { accountOperations } from './openapi-accounts.ts';
import { recordOperations } from './openapi-records.ts';

/** A request that can be sent as it stands; `path.id` 1 stands for a record that this account may do this with. */
export interface Example {
  summary: string;
  /** Who sends it; nobody when it is missing. */
  as?: 'nutzer' | 'expert' | 'administrator';
  path?: { id: string } | { name: string };
  query?: Record<string, string>;
  form?: Record<string, string>;
  headers?: Record<string, string>;
  status: number;
}

export interface Operation {
  method: 'get' | 'post' | 'put' | 'delete';
  path: string;
  operationId: string;
  tag: string;
  summary: string;
  description: string;
  /** Whether it takes X-Auth-User and X-Auth-Token. */
  auth: 'none' | 'optional' | 'required';
  query?: Entries;
  form?: Entries;
  /** Form parts that may be files. */
  files?: readonly string[];
  /** Name of the record's schema; `bare` when it is the whole answer, `list` when there are pages of it; a `file` has none. */
  record: string;
  shape: 'bare' | 'single' | 'list' | 'file';
  status?: 201;
  /** Anonymous answers carry an ETag. */
  cached?: true;
  /** The method comes in X-HTTP-Method-Override. */
  override?: readonly string[];
  /** What can go wrong, beyond what can go wrong everywhere. */
  errors?: readonly ErrorCode[];
  examples: Example[];
}

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

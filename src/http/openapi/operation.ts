// What is told of an operation beside its route, and what the examples of several share.
import type { Subject } from '../../db/page.ts';
import type { Entries } from '../wire/input.ts';
import type { ErrorCode } from '../wire/portal-error.ts';

/** In the order in which a reader meets them. */
export const tags = [
  { name: 'Anmeldung', description: 'Anmelden, abmelden, registrieren, Passwort zurücksetzen' },
  { name: 'Arten', description: 'Artengruppen und Arten, wie der angesprochene Mandant sie führt' },
  { name: 'Beobachtungen', description: 'Sichtbeobachtungen melden, lesen, suchen, ändern, veröffentlichen, prüfen, löschen' },
  { name: 'Protokolle', description: 'Änderungen für Abgleiche, Statuswechsel für die Qualitätssicherung' },
  { name: 'Konten', description: 'Konten lesen, suchen und ändern' },
] as const;

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

/** Whether X-Auth-User and X-Auth-Token say anything to an operation, and whether it does without them. */
export type Auth = 'none' | 'optional' | 'required';

/** `bare` when the record is the whole answer, `list` when there are pages of it; a `file` has none. */
export type Shape = 'bare' | 'single' | 'list' | 'file';

export interface Operation {
  method: 'get' | 'post' | 'put' | 'delete';
  path: string;
  operationId: string;
  tag: (typeof tags)[number]['name'];
  summary: string;
  description: string;
  auth: Auth;
  query?: Entries;
  form?: Entries;
  /** Form parts that may be files. */
  files?: readonly string[];
  /** What parameters mean here, where that is not what they mean everywhere. */
  meanings?: Readonly<Record<string, string>>;
  /** Name of the record's schema. */
  record: string;
  shape: Shape;
  status?: 201;
  /** Anonymous answers carry an ETag, made of the version of this. */
  caching?: Subject;
  /** The methods that X-HTTP-Method-Override may name, one of which it has to. */
  override?: readonly string[];
  /** What can go wrong, beyond what can go wrong everywhere. */
  errors?: readonly ErrorCode[];
  examples: readonly Example[];
}

/** What can be wrong with any form. */
export const formErrors: readonly ErrorCode[] = ['zu_langsam', 'zu_gross', 'falscher_inhaltstyp'];

/** A request that means another method than the one it comes with. */
export const meaning = (method: string) => ({ headers: { 'X-HTTP-Method-Override': method } });

/** A record of the account's own, or one that it may act on. */
export const own = { id: '1' };

export const unknown = { id: '999999999' };

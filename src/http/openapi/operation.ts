// What is told of an operation, and what the examples of several share.
import type { ErrorCode } from '../wire/errors.ts';
import type { Entries } from '../wire/input.ts';

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

/** What can be wrong with any form. */
export const formErrors: ErrorCode[] = ['zu_langsam', 'zu_gross', 'falscher_inhaltstyp'];

/** A record of the account's own, or one that it may act on. */
export const own = { id: '1' };

export const unknown = { id: '999999999' };

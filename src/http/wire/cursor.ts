// Pages (D1.12, D1.13): the cursor, and the URL that carries it.
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';
import { PortalError, sentences } from './portal-error.ts';
import type { Parameters } from './query.ts';

// Everything else in a list's query is a filter: a cursor belongs to one set of them.
const noFilters = new Set(['restrict', 'limit', 'cursor']);

export interface Page {
  /** Path of the list, tenant and filters: what a cursor is valid for. */
  path: string;
  tenant: number;
  parameters: Parameters;
  names: ListNames;
}

export interface ListNames {
  /** Names that the list knows; others are not repeated. */
  known: readonly string[];
  /** Those of its filters, sorted. */
  filters: readonly string[];
}

/** @param entries what the list takes beside the parameters that every operation takes */
export function namesOfList(entries: object): ListNames {
  const names = Object.keys(entries);
  return { known: ['format', 'callback', ...names], filters: names.filter((name) => !noFilters.has(name)).sort() };
}

/** The cursor that continues after the record with this id. */
function makeCursor(key: KeyObject, page: Page, lastId: number): string {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(lastId));
  return Buffer.concat([bytes, sign(key, page, bytes)]).toString('base64url');
}

/**
 * The id that a cursor stands for.
 * @throws PortalError when it was altered, or made for other filters or another tenant
 */
export function readCursor(key: KeyObject, page: Page, cursor: string | undefined): number | null {
  if (cursor === undefined) return null;
  const bytes = Buffer.from(cursor, 'base64url');
  const valid =
    bytes.length === 24 &&
    bytes.toString('base64url') === cursor &&
    timingSafeEqual(bytes.subarray(8), sign(key, page, bytes.subarray(0, 8)));
  if (!valid) throw new PortalError('ungueltiger_parameter', { cursor: sentences.cursor });
  return Number(bytes.readBigUInt64BE());
}

/** The URL of the page after `lastId`, null when there is none. */
export function nextUrl(key: KeyObject, page: Page, origin: string, lastId: number | null): string | null {
  if (lastId === null) return null;
  const pairs = [];
  for (const [name, values] of page.parameters) {
    if (name !== 'cursor' && page.names.known.includes(name)) {
      for (const value of values) pairs.push(`${name}=${encodeURIComponent(value)}`);
    }
  }
  pairs.push(`cursor=${makeCursor(key, page, lastId)}`);
  return `${origin}${page.path}?${pairs.join('&')}`;
}

function sign(key: KeyObject, { path, tenant, parameters, names }: Page, bytes: Buffer): Buffer {
  const filters = names.filters.map((name) => [name, parameters.get(name)?.[0] ?? null]);
  return createHmac('sha256', key)
    .update(JSON.stringify([path, tenant, filters]))
    .update(bytes)
    .digest()
    .subarray(0, 16);
}

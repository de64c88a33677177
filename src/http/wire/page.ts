// The input of a list: its filters, and where the page begins.
import type { Context } from 'hono';
import type { Deps, Env } from '../context.ts';
import { nextUrl, readCursor } from './cursor.ts';
import { checkInput, type Entries, pageFields } from './input.ts';
import { queryParameters, readFormat } from './reply.ts';

/**
 * Reads and checks the query of a list.
 * @returns the checked filters with `limit` and `restrict`; the id that the page begins after; and what makes the URL of
 *   the next page
 */
export function readPage<E extends Entries>(c: Context<Env>, { secretKey }: Deps, filters: E) {
  const parameters = queryParameters(c);
  readFormat(c);
  const entries = { ...filters, ...pageFields };
  const input = checkInput(c, parameters, entries);
  const { cursor } = input as { cursor?: string };
  const page = {
    path: c.req.path,
    tenant: c.get('tenant').id,
    parameters,
    known: ['format', 'callback', ...Object.keys(entries)],
  };
  return {
    input,
    beforeId: readCursor(secretKey, page, cursor),
    next: (lastId: number | null) => nextUrl(secretKey, page, c.get('origin'), lastId),
  };
}

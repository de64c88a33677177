// The query of an output: checked as that of the interface is, but a name that nobody knows is an error (O0.5).
import type { Context } from 'hono';
import * as v from 'valibot';
import { shorten } from '../../guard/text.ts';
import type { Env } from '../context.ts';
import * as field from '../wire/fields.ts';
import { checkInput, type Entries, type Output } from '../wire/input.ts';
import { PortalError } from '../wire/portal-error.ts';
import { parseQuery, queryOf } from '../wire/query.ts';

/** Which records maps and charts tell of: of a species, of a species group, of the years from and to. */
export const recordFilters = {
  art: v.optional(field.id),
  artengruppe_id: v.optional(field.id),
  jahr_von: v.optional(field.integer(0, 9999)),
  jahr_bis: v.optional(field.integer(0, 9999)),
};

/**
 * Makes what reads the query of an output.
 * @param entries what is allowed, by name
 * @returns throws PortalError `ungueltiger_parameter` for values that are not allowed and for names that are not known
 */
export function queryReader<E extends Entries>(entries: E): (c: Context<Env>) => Output<E> {
  const schema = v.object(entries);
  const known = Object.keys(entries);
  const allowed = known.length > 0 ? `erlaubt sind ${known.join(', ')}` : 'hier ist keiner erlaubt';
  return (c) => {
    const parameters = parseQuery(queryOf(c.req.url));
    // What the database refuses later is repeated to the user from here.
    c.set('sent', parameters);
    for (const name of parameters.keys())
      if (!known.includes(name)) throw new PortalError('ungueltiger_parameter', { [name]: unknownName(name, allowed) });
    return checkInput(parameters, schema);
  };
}

const unknownName = (name: string, allowed: string) => `Den Parameter „${shorten(name)}“ gibt es hier nicht, ${allowed}.`;

// Filters that maps and charts have in common.
import * as v from 'valibot';
import * as field from '../wire/fields.ts';

const year = field.integer(0, 9999);

/** Which records: of a species, of a species group, of the years from and to. */
export const recordFilters = {
  art: v.optional(field.id),
  artengruppe_id: v.optional(field.id),
  jahr_von: v.optional(year),
  jahr_bis: v.optional(year),
};

// What may be sent of a sighting, and what sightings are looked for by.
import * as v from 'valibot';
import { type Feld, type FeldName, type FeldValues, listFeld } from '../../sichtbeobachtung-felder.ts';
import * as field from '../wire/fields.ts';
import { textFilter } from '../wire/input.ts';

type Value = v.GenericSchema<string, unknown>;

function schemaOf(feld: Feld): Value {
  switch (feld.kind) {
    case 'id':
      return field.id;
    case 'integer':
      return field.integer(feld.min, feld.max);
    case 'number':
      return field.double(feld.allowed);
    case 'boolean':
      return field.boolean;
    case 'date':
      return field.date;
    case 'text':
      return field.characters(feld.maxLength);
    case 'word':
      return field.oneOf(feld.words);
  }
}

// An empty field stands for its default (D3.7).
const orEmpty = (feld: Feld): Value => (feld.empty === undefined ? schemaOf(feld) : field.emptyAs(schemaOf(feld), feld.empty));

function whenCreated(feld: Feld): v.GenericSchema<string | undefined, unknown> {
  // What is not among the fields is null in the row.
  if (feld.absent === null) return v.optional(orEmpty(feld));
  if (feld.absent !== undefined) return v.optional(orEmpty(feld), feld.absent);
  return feld.empty === undefined ? schemaOf(feld) : v.optional(orEmpty(feld), '');
}

const formOf = (make: (feld: Feld) => unknown) => Object.fromEntries(listFeld().map(([name, feld]) => [name, make(feld)]));

export const createSichtbeobachtungFields = formOf(whenCreated) as {
  [name in FeldName]: v.GenericSchema<string | undefined, FeldValues[name]>;
};

export const changeSichtbeobachtungFields = {
  ...(formOf((feld) => v.optional(orEmpty(feld))) as {
    [name in FeldName]: v.OptionalSchema<v.GenericSchema<string, FeldValues[name]>, undefined>;
  }),
  status: v.optional(field.status),
};

export const sichtbeobachtungenFilters = {
  bereich: v.optional(field.oneOf(['oeffentlich', 'privat', 'persoenlich']), 'oeffentlich'),
  titel_deutsch: textFilter,
  titel_wissenschaftlich: textFilter,
  eu_guid: textFilter,
  art_id: textFilter,
  artengruppe_id: v.optional(field.id),
  legacy_regional_art_id: v.optional(field.id),
  lanis_rlp_osiris_art_id: v.optional(field.id),
  legacy_regional_artengruppe_id: v.optional(field.id),
  lanis_rlp_osiris_artengruppe_id: v.optional(field.id),
  is_animal: v.optional(field.boolean),
  jahr: v.optional(field.integer(1, 9999)),
  datum_von: v.optional(field.date),
  datum_bis: v.optional(field.date),
  mandant: v.optional(field.text('das Kürzel eines Mandanten')),
  bbox: v.optional(field.bbox),
  status: v.optional(field.status),
};

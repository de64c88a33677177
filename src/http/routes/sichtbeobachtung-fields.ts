// What may be sent of a sighting, and what sightings are looked for by.
import * as v from 'valibot';
import * as field from '../wire/fields.ts';
import { textFilter } from '../wire/input.ts';

const lat = field.double('eine Zahl (Hochwert im Koordinatensystem aus srid)');
const lon = field.double('eine Zahl (Rechtswert im Koordinatensystem aus srid)');
const bereich = field.oneOf(['privat', 'oeffentlich']);
// An empty field stands for its default (D3.7).
const defaulted = {
  srid: field.emptyAs(field.oneOf(['EPSG:25832', 'EPSG:4326', 'EPSG:3857']), 'EPSG:25832'),
  anzahl: field.emptyAs(field.integer(1, 20000), 1),
  sensibel: field.emptyAs(field.boolean, false),
  datum: field.emptyAs(field.date, null),
  bemerkung: field.emptyAs(field.remark, null),
  stadium_id: field.emptyAs(field.id, null),
  aktivitaet_id: field.emptyAs(field.id, null),
};

export const createSichtbeobachtungFields = {
  art: field.id,
  lat,
  lon,
  srid: v.optional(defaulted.srid, ''),
  anzahl: v.optional(defaulted.anzahl, ''),
  sensibel: v.optional(defaulted.sensibel, ''),
  datum: v.optional(defaulted.datum, ''),
  bereich: v.optional(bereich, 'privat'),
  bemerkung: v.optional(defaulted.bemerkung, ''),
  stadium_id: v.optional(defaulted.stadium_id, ''),
  aktivitaet_id: v.optional(defaulted.aktivitaet_id, ''),
};

export const changeSichtbeobachtungFields = {
  art: v.optional(field.id),
  lat: v.optional(lat),
  lon: v.optional(lon),
  srid: v.optional(defaulted.srid),
  anzahl: v.optional(defaulted.anzahl),
  sensibel: v.optional(defaulted.sensibel),
  datum: v.optional(defaulted.datum),
  bereich: v.optional(bereich),
  bemerkung: v.optional(defaulted.bemerkung),
  stadium_id: v.optional(defaulted.stadium_id),
  aktivitaet_id: v.optional(defaulted.aktivitaet_id),
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

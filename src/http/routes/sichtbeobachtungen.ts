// /sichtbeobachtungen
import { type Context, Hono } from 'hono';
import * as v from 'valibot';
import {
  createSichtbeobachtung,
  deleteSichtbeobachtung,
  getSichtbeobachtung,
  listSichtbeobachtung,
  mayComputeLong,
  updateSichtbeobachtung,
} from '../../db/sichtbeobachtung.ts';
import { type Deps, type Env, requireReader } from '../context.ts';
import { receiveMedia, removeMedia } from '../media/receive.ts';
import { overridable } from '../protocol.ts';
import { PortalError, sentences } from '../wire/errors.ts';
import * as field from '../wire/fields.ts';
import { checkInput, restrictFields, textFilter } from '../wire/input.ts';
import { readPage } from '../wire/page.ts';
import { readPathId, readQuery, replyRows } from '../wire/reply.ts';
import { showMedia } from './medien.ts';

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

export function sichtbeobachtungenRoutes(deps: Deps): Hono<Env> {
  const { sql } = deps;
  const routes = new Hono<Env>()
    .get('/sichtbeobachtungen', async (c) => {
      const { input, beforeId, next } = readPage(c, deps, sichtbeobachtungenFilters);
      const { limit, restrict, cursor, lanis_rlp_osiris_art_id, lanis_rlp_osiris_artengruppe_id, ...asked } = input;
      const filter = {
        ...asked,
        legacy_regional_art_id: oldOrNew(input, 'lanis_rlp_osiris_art_id', 'legacy_regional_art_id'),
        legacy_regional_artengruppe_id: oldOrNew(input, 'lanis_rlp_osiris_artengruppe_id', 'legacy_regional_artengruppe_id'),
      };
      const client = mayComputeLong(filter) ? deps.slowSql : sql;
      const page = await listSichtbeobachtung(client, c.get('tenant').id, c.get('reader'), filter, beforeId, limit);
      c.get('conditional')?.tell(page.stand);
      return replyRows(c, { rows: showMedia(c, deps, page.rows), next: next(page.lastId), restrict });
    })
    .get('/sichtbeobachtungen/:id', async (c) => {
      const { restrict } = readQuery(c, restrictFields);
      const rows = await getSichtbeobachtung(sql, c.get('tenant').id, c.get('reader'), readPathId(c));
      return replyRows(c, { rows: showMedia(c, deps, rows), restrict });
    })
    .post('/sichtbeobachtungen', async (c) => {
      const reader = requireReader(c);
      readQuery(c, {});
      const created = await receiveMedia(c, deps, reader, ({ fields, keep }) => {
        const input = checkInput(c, fields, createSichtbeobachtungFields);
        const record = { ...input, srid: sridNumbers[input.srid] };
        return keep((names) => createSichtbeobachtung(sql, c.get('tenant').id, reader, keyOf(c), { ...record, ...names }));
      });
      const url = `${c.get('origin')}/api/v2/sichtbeobachtungen/${created.id}`;
      c.header('Location', url);
      return replyRows(c, { rows: JSON.stringify([{ ...created, url }]) }, 201);
    });

  return overridable(routes, '/sichtbeobachtungen/:id', {
    async put(c) {
      const reader = requireReader(c);
      readQuery(c, {});
      const id = readPathId(c);
      const removed = await receiveMedia(c, deps, reader, ({ fields, keep }) => {
        const { srid = 'EPSG:25832', ...input } = checkInput(c, fields, changeSichtbeobachtungFields);
        // D3.8: a place is changed as a whole.
        if ((input.lat === undefined) !== (input.lon === undefined)) {
          const name = input.lat === undefined ? 'lat' : 'lon';
          throw new PortalError('ungueltiger_parameter', { [name]: sentences.both(name, name === 'lat' ? 'lon' : 'lat') });
        }
        // Without a place it says nothing.
        const change = { ...input, ...(input.lat !== undefined && { srid: sridNumbers[srid] }) };
        return keep((names) => updateSichtbeobachtung(sql, c.get('tenant').id, reader, keyOf(c), id, { ...change, ...names }));
      });
      await removeMedia(deps, removed);
      return replyRows(c, { rows: JSON.stringify([{ id }]) });
    },
    async delete(c) {
      const reader = requireReader(c);
      readQuery(c, {});
      const id = readPathId(c);
      await removeMedia(deps, await deleteSichtbeobachtung(sql, reader, keyOf(c), id));
      return replyRows(c, { rows: JSON.stringify([{ id }]) });
    },
  });
}

const keyOf = (c: Context<Env>) => c.get('tokenHash') ?? null;

const sridNumbers = { 'EPSG:25832': 25832, 'EPSG:4326': 4326, 'EPSG:3857': 3857 } as const;

// D1.4, D6.3: the deprecated parameters have an even older name each.
function oldOrNew<O extends string, N extends string>(
  input: { [name in O | N]?: number | undefined },
  oldName: O,
  newName: N,
): number | undefined {
  if (input[oldName] !== undefined && input[newName] !== undefined && input[oldName] !== input[newName]) {
    throw new PortalError('ungueltiger_parameter', { [newName]: sentences.twice(newName) });
  }
  return input[newName] ?? input[oldName];
}

// /sichtbeobachtungen
import { Hono } from 'hono';
import * as v from 'valibot';
import { createSichtbeobachtung, getSichtbeobachtung, listSichtbeobachtung } from '../db/sichtbeobachtung.ts';
import { type Deps, type Env, requireReader } from './context.ts';
import { PortalError, sentences } from './errors.ts';
import * as field from './fields.ts';
import { readForm } from './form.ts';
import { checkInput, restrictFields, textFilter } from './input.ts';
import { readPage } from './page.ts';
import { queryParameters, readFormat, replyRows } from './reply.ts';

const fileFields = ['foto', 'foto_2', 'foto_3', 'biotopfoto', 'audio'] as const;

// An empty field stands for its default (D3.7).
const orDefault = <S extends v.GenericSchema<string, unknown>, const D extends v.InferOutput<S> | null>(schema: S, fallback: D) =>
  v.optional(
    v.union(
      [
        v.pipe(
          v.literal(''),
          v.transform(() => fallback),
        ),
        schema,
      ],
      emptyOr(schema),
    ),
    '',
  );

// A union has no message of its own for a value that fits none of its options: pass on that of the schema.
function emptyOr(schema: v.GenericSchema<string, unknown>) {
  return (issue: v.UnionIssue<v.BaseIssue<unknown>>) => v.safeParse(schema, issue.input).issues?.[0].message ?? '';
}

const formFields = {
  art: field.id,
  lat: field.double('eine Zahl (Hochwert im Koordinatensystem aus srid)'),
  lon: field.double('eine Zahl (Rechtswert im Koordinatensystem aus srid)'),
  srid: orDefault(field.oneOf(['EPSG:25832', 'EPSG:4326', 'EPSG:3857']), 'EPSG:25832'),
  anzahl: orDefault(field.integer(1, 20000), 1),
  sensibel: orDefault(field.boolean, false),
  datum: orDefault(field.date, null),
  bereich: v.optional(field.oneOf(['privat', 'oeffentlich']), 'privat'),
  bemerkung: orDefault(field.text(), null),
  stadium_id: orDefault(field.id, null),
  aktivitaet_id: orDefault(field.id, null),
};

const filters = {
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
  status: v.optional(field.oneOf(['freigegeben', 'pruefung', 'hinweis', 'abgelehnt'])),
};

export function sichtbeobachtungenRoutes(deps: Deps): Hono<Env> {
  const { sql } = deps;
  return new Hono<Env>()
    .get('/sichtbeobachtungen', async (c) => {
      const { input, beforeId, next } = readPage(c, deps, filters);
      const filter = {
        bereich: input.bereich,
        status: input.status ?? null,
        titelDeutsch: input.titel_deutsch ?? null,
        titelWissenschaftlich: input.titel_wissenschaftlich ?? null,
        euGuid: input.eu_guid ?? null,
        artId: input.art_id ?? null,
        legacyRegionalArtId: oldOrNew(input, 'lanis_rlp_osiris_art_id', 'legacy_regional_art_id'),
        artengruppeId: input.artengruppe_id ?? null,
        legacyRegionalArtengruppeId: oldOrNew(input, 'lanis_rlp_osiris_artengruppe_id', 'legacy_regional_artengruppe_id'),
        isAnimal: input.is_animal ?? null,
        jahr: input.jahr ?? null,
        datumVon: input.datum_von ?? null,
        datumBis: input.datum_bis ?? null,
        mandant: input.mandant ?? null,
        bbox: input.bbox ?? null,
      };
      const page = await listSichtbeobachtung(sql, c.get('tenant').id, c.get('reader'), filter, beforeId, input.limit);
      return replyRows(c, { rows: page.rows, next: next(page.lastId), restrict: input.restrict });
    })
    .get('/sichtbeobachtungen/:id', async (c) => {
      readFormat(queryParameters(c));
      const { restrict } = checkInput(queryParameters(c), restrictFields);
      const rows = await getSichtbeobachtung(sql, c.get('tenant').id, c.get('reader'), pathId(c.req.param('id')));
      return replyRows(c, { rows, restrict });
    })
    .post('/sichtbeobachtungen', async (c) => {
      const reader = requireReader(c);
      readFormat(queryParameters(c));
      const form = await readForm(c, fileFields);
      const [file] = form.files;
      if (file) throw new PortalError('nicht_verfuegbar', { [file]: sentences.noFilesYet(file) });
      const input = checkInput(form.fields, formFields);
      const created = await createSichtbeobachtung(sql, c.get('tenant').id, reader, {
        ...input,
        srid: sridNumbers[input.srid],
        stadiumId: input.stadium_id,
        aktivitaetId: input.aktivitaet_id,
      });
      const url = `${c.get('origin')}/api/v2/sichtbeobachtungen/${created.id}`;
      c.header('Location', url);
      return replyRows(c, { rows: JSON.stringify([{ ...created, url }]) }, 201);
    });
}

const sridNumbers = { 'EPSG:25832': 25832, 'EPSG:4326': 4326, 'EPSG:3857': 3857 } as const;

// D1.4: the deprecated parameters have an even older name each.
function oldOrNew<O extends string, N extends string>(
  input: { [name in O | N]?: number | undefined },
  oldName: O,
  newName: N,
): number | null {
  if (input[oldName] !== undefined && input[newName] !== undefined) {
    throw new PortalError('ungueltiger_parameter', { [newName]: sentences.twice(newName) });
  }
  return input[newName] ?? input[oldName] ?? null;
}

// Whatever is no number is no record: unknown, not malformed.
function pathId(value: string): number {
  if (!/^\d{1,15}$/.test(value)) throw new PortalError('nicht_gefunden');
  return Number(value);
}

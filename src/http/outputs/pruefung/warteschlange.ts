// GET /pruefung/v1/warteschlange: what waits for a reviewer, and why each is odd (O6); GET /pruefung/v1/nachrichten/{id}: the thread of a record.
import type { Context } from 'hono';
import * as v from 'valibot';
import {
  listNachricht,
  listWarteschlange,
  type Nachricht,
  type Pruefgrund,
  type WarteschlangeStelle,
} from '../../../db/pruefung.ts';
import { toIsoDate } from '../../../guard/text.ts';
import type { Deps, Env } from '../../context.ts';
import { addressMedia } from '../../media/address.ts';
import * as field from '../../wire/fields.ts';
import { PortalError } from '../../wire/portal-error.ts';
import { readPathId } from '../../wire/query.ts';
import { queryReader } from '../output-query.ts';

/** Codes of reasons. */
export const gruende = [
  ...['regel', 'entfernung', 'jahreszeit', 'erste_in_zelle', 'erste_im_mandant', 'anzahl_hoch', 'stadium_unmoeglich'],
  ...['verwechslung', 'zu_wenige_vergleiche'],
];
const sortierungen = ['alt', 'auffaellig'] as const;

export const warteschlangeFilter = {
  grund: v.optional(field.oneOf(gruende)),
  mandant: v.optional(field.text('das Kürzel eines Mandanten')),
  gid: v.optional(field.id),
  art: v.optional(field.id),
  seit: v.optional(v.pipe(v.string(), v.check(isIsoDay, 'ein Tag, den es gibt, wie 2026-05-31'))),
  mit_foto: v.optional(field.boolean),
  sortierung: v.optional(field.oneOf(sortierungen), 'alt'),
};
const readQuery = queryReader({
  ...warteschlangeFilter,
  limit: v.optional(field.integer(1, 200), '50'),
  cursor: v.optional(v.pipe(v.string(), v.maxLength(100))),
});

const readNothing = queryReader({});

function isIsoDay(value: string): boolean {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(value) ?? [];
  return day !== undefined && toIsoDate(Number(year), Number(month), Number(day)) === value;
}

/** A record that waits. */
export interface Wartend {
  id: number;
  stand: string;
  // biome-ignore lint/suspicious/noExplicitAny: as the interface shows it
  sichtbeobachtung: any;
  gruende: Pruefgrund[];
  /** Releases, where a rule asks for two persons. */
  bestaetigungen: number;
  /** How many its recorder had released of the group, 20 for more. */
  erfahrung: number;
  nachrichten: Nachricht[];
}

/** A page of the queue as this reader may see it. */
export async function readWarteschlange(
  c: Context<Env>,
  deps: Deps,
  reader: number,
  { sortierung, ...filter }: v.InferOutput<v.ObjectSchema<typeof warteschlangeFilter, undefined>>,
  after: WarteschlangeStelle | null,
  limit: number,
): Promise<{ result: Wartend[]; naechste: WarteschlangeStelle | null }> {
  const tenant = c.get('tenant').id;
  const page = await listWarteschlange(deps.sql, tenant, reader, filter, sortierung === 'auffaellig', after, limit);
  const shown = JSON.parse(Buffer.concat(addressMedia(c, deps, page.sichtbeobachtungen)).toString());
  const result = page.zeilen.map(({ id, stand, gruende, bestaetigungen, erfahrung, nachrichten }, at) => ({
    id,
    stand,
    sichtbeobachtung: shown[at],
    gruende,
    bestaetigungen,
    erfahrung,
    nachrichten,
  }));
  return { result, naechste: page.naechste };
}

export async function answerWarteschlange(c: Context<Env>, deps: Deps, reader: number): Promise<Response> {
  const { limit, cursor, ...query } = readQuery(c);
  const { result, naechste } = await readWarteschlange(c, deps, reader, query, readCursor(cursor), limit);
  return c.json({ result, ...(naechste && { cursor: makeCursor(naechste) }) });
}

export async function answerNachrichten(c: Context<Env>, { sql }: Deps, reader: number): Promise<Response> {
  readNothing(c);
  const nachrichten = await listNachricht(sql, reader, readPathId(c.req.param('id')));
  if (nachrichten === null) throw new PortalError('nicht_gefunden');
  return c.json({ result: JSON.parse(nachrichten) });
}

// Not signed: whoever makes one up is shown what is theirs from another place on.
const makeCursor = ({ auffaelligkeit, id }: WarteschlangeStelle) => Buffer.from(`${auffaelligkeit} ${id}`).toString('base64url');

function readCursor(cursor: string | undefined): WarteschlangeStelle | null {
  if (cursor === undefined) return null;
  const [, auffaelligkeit, id] = /^(\d{1,6}) (\d{1,15})$/.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  if (id === undefined)
    throw new PortalError('ungueltiger_parameter', { cursor: 'cursor ist nicht lesbar, erlaubt ist der cursor einer Antwort.' });
  return { auffaelligkeit: Number(auffaelligkeit), id: Number(id) };
}

// GET and POST /pruefung/v1/entscheidungen.csv: the queue as a table, and the same table back with decisions (O6).
import type { Context } from 'hono';
import * as v from 'valibot';
import type { WarteschlangeStelle } from '../../../db/pruefung.ts';
import { toCsvCell } from '../../../guard/csv.ts';
import type { Deps, Env } from '../../context.ts';
import * as field from '../../wire/fields.ts';
import { readWhole } from '../../wire/form.ts';
import { PortalError } from '../../wire/portal-error.ts';
import { send } from '../../wire/reply.ts';
import { queryReader } from '../output-query.ts';
import { decideAll, maxBodyBytes, maxEntscheidungen, readSchluessel } from './entscheidungen.ts';
import { readWarteschlange, type Wartend, warteschlangeFilter } from './warteschlange.ts';

const readQuery = queryReader({
  ...warteschlangeFilter,
  limit: v.optional(field.integer(1, maxEntscheidungen), String(maxEntscheidungen)),
});
const readTableQuery = queryReader({ probe: v.optional(field.boolean, 'false') });

/** What a reviewer reads, by the names in the first line; status and bemerkung are left to be filled in. */
const columns: Record<string, (row: Wartend) => string | number | boolean | null> = {
  id: ({ id }) => id,
  stand: ({ stand }) => stand,
  datum: ({ sichtbeobachtung }) => sichtbeobachtung.datum,
  titel_deutsch: ({ sichtbeobachtung }) => sichtbeobachtung.titel_deutsch,
  titel_wissenschaftlich: ({ sichtbeobachtung }) => sichtbeobachtung.titel_wissenschaftlich,
  anzahl: ({ sichtbeobachtung }) => sichtbeobachtung.anzahl,
  stadium: ({ sichtbeobachtung }) => sichtbeobachtung.stadium,
  aktivitaet: ({ sichtbeobachtung }) => sichtbeobachtung.aktivitaet,
  lat: ({ sichtbeobachtung }) => sichtbeobachtung.lat,
  lon: ({ sichtbeobachtung }) => sichtbeobachtung.lon,
  erfasser: ({ sichtbeobachtung }) => sichtbeobachtung.erfasser,
  bemerkung_erfasser: ({ sichtbeobachtung }) => sichtbeobachtung.bemerkung,
  gruende: ({ gruende }) => gruende.map(({ text }) => text).join('; '),
  status: () => null,
  bemerkung: () => null,
};
const pageSize = 200;

export async function answerTable(c: Context<Env>, deps: Deps, reader: number): Promise<Response> {
  const { limit, ...query } = readQuery(c);
  const lines = [Object.keys(columns).join(',')];
  let after: WarteschlangeStelle | null = null;
  do {
    const wanted = Math.min(pageSize, limit + 1 - lines.length);
    const page = await readWarteschlange(c, deps, reader, query, after, wanted);
    for (const row of page.result)
      lines.push(
        Object.values(columns)
          .map((read) => toCsvCell(read(row)))
          .join(','),
      );
    after = page.naechste;
  } while (after !== null && lines.length <= limit);
  c.header('Content-Disposition', 'attachment; filename="pruefung.csv"');
  return send(c, { body: `\ufeff${lines.join('\r\n')}\r\n`, type: 'text/csv; charset=utf-8', status: 200 });
}

/** Decides on the rows with a status; the others wait on. */
export async function takeTable(c: Context<Env>, deps: Deps, reader: number): Promise<Response> {
  const { probe } = readTableQuery(c);
  const schluessel = readSchluessel(c);
  const rows = await parseTable(await readWhole(c, maxBodyBytes));
  const entscheidungen = rows
    .filter(({ status = '' }) => status.trim() !== '')
    .map(({ id = '', stand, status = '', bemerkung = '' }) => ({
      id: /^\d{1,15}$/.test(id.trim()) ? Number(id) : id,
      status: status.trim().toLowerCase(),
      stand: stand?.trim(),
      // A cell left empty leaves what is there.
      ...(bemerkung !== '' && { bemerkung }),
    }));
  if (entscheidungen.length > maxEntscheidungen)
    throw new PortalError('ungueltiger_parameter', {
      tabelle: `In der Tabelle stehen ${entscheidungen.length} Entscheidungen, erlaubt sind ${maxEntscheidungen}.`,
    });
  const result = await decideAll(c, deps, reader, entscheidungen, schluessel, probe);
  return c.json({ result, lauf: null });
}

// Its package is loaded where a table comes only. As Excel saves it, with semicolons, too.
async function parseTable(text: string): Promise<Record<string, string>[]> {
  if (text.includes('\ufffd'))
    throw new PortalError('ungueltiger_parameter', {
      tabelle: 'Die Tabelle ist nicht in UTF-8; in Excel: „CSV UTF-8“ speichern.',
    });
  const { parse } = await import('csv-parse/sync');
  const [head = ''] = text.split('\n', 1);
  const delimiter = head.includes(';') ? ';' : ',';
  try {
    const rows: Record<string, string>[] = parse(text, {
      bom: true,
      columns: true,
      delimiter,
      skip_empty_lines: true,
    });
    const missing = ['id', 'stand', 'status'].filter((name) => rows.length > 0 && !(name in (rows[0] ?? {})));
    if (missing.length === 0) return rows;
    throw new PortalError('ungueltiger_parameter', { tabelle: `In der ersten Zeile fehlt ${missing.join(', ')}.` });
  } catch (error) {
    if (error instanceof PortalError) throw error;
    throw new PortalError('ungueltiger_parameter', {
      tabelle: 'Die Tabelle ist nicht lesbar, erlaubt ist CSV mit der Kopfzeile, mit der sie heruntergeladen wurde.',
    });
  }
}

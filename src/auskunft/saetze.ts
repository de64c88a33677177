// The sightings of an account as they are exported: one record each, and the same as a table.
import { extname } from 'node:path';
import { type Inhaber, listAuskunftProtokoll, listAuskunftSichtbeobachtung } from '../db/auskunft.ts';
import type { Sql } from '../db/client.ts';
import { toCsvCell } from '../guard/csv.ts';

type Value = string | number | boolean | null | object;
type Satz = { [name: string]: Value };

export interface ExportedSatz {
  /** With the beginning of its change log, which is its last field. */
  satz: Satz;
  /** The entry after which its change log goes on; null when it is whole. */
  offen: number | null;
  /** Its files: under which name they are stored, and where they are in the archive. */
  dateien: { name: string; path: string }[];
}

// What the database leaves in place of an address. It begins with a character below the blank, which JSON text can't hold as it is: looked for
// before the text is parsed, no remark can be taken for one.
const mark = /"[^ -\u{10ffff}][+-]([0-9a-f]{32}\.[a-z0-9]{2,4})"/gu;

/** The sightings of an account, some at a time. */
export async function* listSaetze(sql: Sql, inhaber: Inhaber): AsyncGenerator<ExportedSatz[]> {
  for await (const { result, zusatz, offen } of listAuskunftSichtbeobachtung(sql, inhaber)) {
    const shown = JSON.parse(result.replaceAll(mark, '{"medium":"$1"}')) as Satz[];
    const more = JSON.parse(zusatz) as Satz[];
    const open = JSON.parse(offen) as (number | null)[];
    yield shown.map((satz, index) => toExported(satz, more[index] ?? {}, open[index] ?? null));
  }
}

function toExported(shown: Satz, zusatz: Satz, offen: number | null): ExportedSatz {
  const dateien: ExportedSatz['dateien'] = [];
  const satz: Satz = {};
  for (const [field, value] of Object.entries(shown)) {
    if (isMedium(value)) {
      const path = `dateien/${shown.id}_${field}${extname(value.medium)}`;
      dateien.push({ name: value.medium, path });
      satz[field] = path;
    } else satz[field] = value;
    if (field === 'lon') satz.srid = 'EPSG:25832';
  }
  return { satz: { ...satz, ...zusatz }, offen, dateien };
}

const isMedium = (value: Value): value is { medium: string } =>
  typeof value === 'object' && value !== null && 'medium' in value && typeof value.medium === 'string';

/**
 * One of them as JSON. What doesn't come with it of its change log is read while it is written, some at a time: its owner may have changed
 * a record a million times.
 */
export async function* renderSatz(sql: Sql, inhaber: Inhaber, { satz, offen }: ExportedSatz): AsyncGenerator<string> {
  const json = JSON.stringify(satz);
  if (offen === null) return yield json;
  const end = ']}';
  // Entries would come to stand where they don't belong.
  if (!json.endsWith(end)) throw new Error('protokoll is not the last field of a record');
  yield json.slice(0, -end.length);
  for await (const page of listAuskunftProtokoll(sql, inhaber, Number(satz.id), offen)) {
    // Written anew: PostgreSQL puts blanks between them, JSON.stringify none.
    yield `,${JSON.stringify(JSON.parse(page)).slice(1, -1)}`;
  }
  yield end;
}

/** The same as CSV: a column for each field but the change log. Begins with a byte order mark, without which spreadsheets guess. */
export async function* formatSaetze(pages: AsyncIterable<ExportedSatz[]>): AsyncGenerator<string> {
  let names: string[] | null = null;
  for await (const page of pages) {
    const lines: string[] = [];
    for (const { satz } of page) {
      if (names === null) {
        names = Object.keys(satz).filter((name) => name !== 'protokoll');
        lines.push(`\ufeff${names.join(',')}\r\n`);
      }
      lines.push(`${names.map((name) => toCell(satz[name] ?? null)).join(',')}\r\n`);
    }
    yield lines.join('');
  }
  if (names === null) yield '\ufeffid\r\n';
}

// Tenants are the only list.
const toCell = (value: Value): string =>
  toCsvCell(typeof value === 'object' && value !== null ? (value as Satz[]).map(({ kuerzel }) => kuerzel).join(' ') : value);

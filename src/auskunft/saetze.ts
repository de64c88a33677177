// The sightings of an account as they are exported: one record each, and the same as a table.
import { extname } from 'node:path';
import { listAuskunftSichtbeobachtung } from '../db/auskunft.ts';
import type { Sql } from '../db/client.ts';

type Value = string | number | boolean | null | object;
type Satz = { [name: string]: Value };

export interface ExportedSatz {
  satz: Satz;
  /** Its files: under which name they are stored, and where they are in the archive. */
  dateien: { name: string; path: string }[];
}

// What the database leaves in place of an address. It begins with a character below the blank, which JSON text can't hold as it is: looked for
// before the text is parsed, no remark can be taken for one.
const mark = /"[^ -\u{10ffff}][+-]([0-9a-f]{32}\.[a-z0-9]{2,4})"/gu;

/** The sightings of an account, some at a time. */
export async function* listSaetze(sql: Sql, nutzerId: number): AsyncGenerator<ExportedSatz[]> {
  for await (const { result, zusatz } of listAuskunftSichtbeobachtung(sql, nutzerId)) {
    const shown = JSON.parse(result.replaceAll(mark, '{"medium":"$1"}')) as Satz[];
    const more = JSON.parse(zusatz) as Satz[];
    yield shown.map((satz, index) => toExported(satz, more[index] ?? {}));
  }
}

function toExported(shown: Satz, zusatz: Satz): ExportedSatz {
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
  return { satz: { ...satz, ...zusatz }, dateien };
}

const isMedium = (value: Value): value is { medium: string } =>
  typeof value === 'object' && value !== null && 'medium' in value && typeof value.medium === 'string';

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

function toCell(value: Value): string {
  if (value === null) return '';
  // Tenants, the only list.
  const text = Array.isArray(value) ? value.map(({ kuerzel }: Satz) => kuerzel).join(' ') : String(value);
  // A spreadsheet would compute what begins so, and remarks of experts are others' texts.
  const inert = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert;
}

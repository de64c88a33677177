// CSV files with a header line; every problem is collected with its file and line.
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { CsvError, parse } from 'csv-parse/sync';
import * as v from 'valibot';
import { shorten } from '../guard/text.ts';

export interface Problem {
  file: string;
  line: number;
  message: string;
}

/** What an operator gave can't be loaded; nothing of it was. */
export class ImportError extends Error {
  readonly problems: Problem[];
  /**
   * @param total how many there are, when `problems` are only the first of them
   * @param outcome what became of it
   */
  constructor(problems: Problem[], total = problems.length, outcome = 'nichts wurde geladen') {
    const shown = total > problems.length ? ` (hier die ersten ${problems.length})` : '';
    super(`${total} Fehler${shown}, ${outcome}.`);
    this.problems = problems;
  }
}

// More than anybody reads on a terminal.
const shownProblems = 100;

/** Problems as lines for a terminal: the first hundred and, where there are more, how many there are of each kind. */
export function describeProblems(problems: Problem[]): string[] {
  const lines = problems
    .slice(0, shownProblems)
    .map(({ file, line, message }) => (line > 0 ? `${file}:${line}: ${message}` : `${file}: ${message}`));
  if (problems.length <= shownProblems) return lines;
  const kinds = new Map<string, number>();
  for (const { file, message } of problems) {
    const kind = `${file}: ${message.replace(/„[^„“]*“/g, '„…“').replace(/\d+/g, '…')}`;
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  }
  const counts = [...kinds].sort(([, a], [, b]) => b - a).slice(0, shownProblems);
  return [
    ...lines,
    `… und ${problems.length - shownProblems} weitere; alle als CSV mit --errors DATEI. Nach Art:`,
    ...counts.map(([kind, count]) => `${String(count).padStart(8)} × ${kind}`),
  ];
}

/** Problems as CSV. */
export function formatProblems(problems: Problem[]): string {
  const rows = problems.map(({ file, line, message }) => [file, line > 0 ? String(line) : '', message]);
  return [['datei', 'zeile', 'fehler'], ...rows].map((row) => `${toCsvLine(row)}\n`).join('');
}

/** A record as RFC 4180 has it, without its line end. */
export function toCsvLine(fields: string[]): string {
  return fields.map((field) => (/[",\r\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field)).join(',');
}

/** `lat ist „abc“, erlaubt ist eine Zahl`; `lat ist leer, …`. */
export function describeCell(name: string, value: string, allowed: string): string {
  return `${name} ist ${value.trim() === '' ? 'leer' : `„${shorten(value)}“`}, erlaubt ist ${allowed}`;
}

/** What a file is that is no CSV in UTF-8, as far as its first bytes tell; null for what may be one. */
export function describeForeign(bytes: Buffer): string | null {
  const begin = bytes.toString('latin1', 0, 4);
  if (begin.startsWith('\xff\xfe') || begin.startsWith('\xfe\xff')) return 'Die Datei ist UTF-16, nötig ist CSV in UTF-8';
  if (begin === 'PK\x03\x04') return 'Die Datei ist eine Arbeitsmappe (.xlsx, .ods) oder ein ZIP-Archiv, nötig ist CSV in UTF-8';
  if (begin === '\xd0\xcf\x11\xe0') return 'Die Datei ist eine Arbeitsmappe von Excel (.xls), nötig ist CSV in UTF-8';
  return null;
}

/**
 * What is wrong with the names in a header line, one sentence each.
 * @param ignoreUnknown names that are not allowed are no fault
 */
export function listHeaderProblems(names: string[], allowed: string[], required: string[], ignoreUnknown = false): string[] {
  const [only = ''] = names;
  if (names.length === 1 && /[;\t]/.test(only)) {
    return [`Die Spalten sind durch ${only.includes(';') ? 'Semikolon' : 'Tabulator'} getrennt, nötig ist das Komma`];
  }
  return [
    ...names
      .filter((name, index) => (allowed.includes(name) ? names.indexOf(name) !== index : !ignoreUnknown))
      .map((name) => `Spalte „${shorten(name)}“ ist unbekannt oder doppelt, erlaubt: ${allowed.join(',')}`),
    ...required.filter((name) => !names.includes(name)).map((name) => `Spalte ${name} fehlt`),
  ];
}

// biome-ignore lint/suspicious/noExplicitAny: the entries of any object schema
type Columns = Record<string, v.GenericSchema<any, any>>;
export type Row<C extends Columns> = { line: number; values: v.InferOutput<v.ObjectSchema<C, undefined>> };

/**
 * Reads a CSV file whose columns are named as in `columns`; columns whose schema accepts an empty text may be missing.
 * Problems are added to `problems`, the rows without any are returned.
 * @param ignoreUnknown other columns are left out instead of refused
 */
export async function readCsv<C extends Columns>(
  path: string,
  columns: C,
  problems: Problem[],
  ignoreUnknown = false,
): Promise<Row<C>[]> {
  const file = basename(path);
  const records = parseRecords(file, await readFile(path), problems);
  const [header, ...body] = records;
  if (!header) {
    if (problems.every((problem) => problem.file !== file)) {
      problems.push({ file, line: 1, message: `Die Kopfzeile fehlt, erwartet: ${Object.keys(columns).join(',')}` });
    }
    return [];
  }
  const names = header.fields.map((name) => name.trim());
  const required = Object.keys(columns).filter((name) => !v.is(columns[name] as Columns[string], ''));
  const wrong = listHeaderProblems(names, Object.keys(columns), required, ignoreUnknown);
  problems.push(...wrong.map((message) => ({ file, line: header.line, message })));
  if (wrong.length > 0) return [];

  const schema = v.object(columns);
  const empty = Object.fromEntries(Object.keys(columns).map((name) => [name, '']));
  const rows: Row<C>[] = [];
  for (const { line, fields } of body) {
    if (fields.length !== names.length) {
      problems.push({ file, line, message: `${fields.length} Felder statt ${names.length}` });
      continue;
    }
    const values = { ...empty, ...Object.fromEntries(names.map((name, index) => [name, fields[index]])) };
    const result = v.safeParse(schema, values);
    if (result.success) rows.push({ line, values: result.output as Row<C>['values'] });
    const named = new Set<string>();
    for (const issue of result.issues ?? []) {
      const name = String(issue.path?.[0]?.key);
      if (named.has(name)) continue;
      named.add(name);
      problems.push({ file, line, message: describeCell(name, String(issue.path?.[0]?.value), issue.message) });
    }
  }
  return rows;
}

function parseRecords(file: string, bytes: Buffer, problems: Problem[]): { line: number; fields: string[] }[] {
  const foreign = describeForeign(bytes);
  if (foreign !== null) {
    problems.push({ file, line: 1, message: foreign });
    return [];
  }
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    problems.push({ file, line: 1, message: 'Die Datei ist nicht UTF-8' });
    return [];
  }
  try {
    const parsed = parse(text, { info: true, relax_column_count: true, skip_empty_lines: true }) as unknown as {
      record: string[];
      info: { lines: number };
    }[];
    // The parser tells where a record ends; with line breaks inside quotes it began earlier.
    return parsed.map(({ record, info }) => ({
      line: info.lines - record.reduce((sum, field) => sum + (field.match(/\n/g)?.length ?? 0), 0),
      fields: record,
    }));
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const line = Number((error as { lines?: number }).lines ?? 1);
    problems.push({ file, line, message: 'Die Zeile ist kein gültiges CSV; Anführungszeichen werden verdoppelt' });
    return [];
  }
}

/** Kinds of columns; messages say what is allowed. */
export const column = {
  id: v.pipe(
    v.string(),
    v.trim(),
    v.regex(/^\d{1,10}$/, 'eine ganze Zahl ab 0'),
    v.transform(Number),
    v.maxValue(2147483647, 'eine ganze Zahl bis 2147483647'),
  ),
  text: v.pipe(
    v.string(),
    v.trim(),
    v.normalize('NFC'),
    v.minLength(1, 'ein Text'),
    v.check((value) => !value.includes('\0'), 'ein Text ohne NUL'),
  ),
  boolean: v.pipe(
    v.string(),
    v.trim(),
    v.toLowerCase(),
    v.picklist(['true', 'false', '1', '0'], 'true oder false'),
    v.transform((value) => value === 'true' || value === '1'),
  ),
};

/** A column that may be empty (null) or missing. */
export const optional = <S extends v.GenericSchema<string, unknown>>(schema: S) =>
  v.union(
    [
      v.pipe(
        v.string(),
        v.trim(),
        v.literal(''),
        v.transform(() => null),
      ),
      schema,
    ],
    (issue) => {
      return v.safeParse(schema, issue.input).issues?.[0].message ?? '';
    },
  );

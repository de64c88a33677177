// CSV files of any length with a header line; every problem is collected with its file and line, and the reading goes on where it can.
import { isUtf8 } from 'node:buffer';
import { createReadStream } from 'node:fs';
import { basename } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { CsvError, parse } from 'csv-parse';
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

/** A file of millions of wrong lines must not fill the memory. */
export const keptProblems = 10_000;
/** The same for a list that goes into a file. */
export const keptProblemsOfFile = 1_000_000;

/** The first problems of a file, and how many there are. */
export class ProblemList {
  readonly file: string;
  readonly kept: Problem[] = [];
  readonly limit: number;
  total = 0;
  constructor(file: string, limit: number) {
    this.file = file;
    this.limit = limit;
  }

  add(line: number, message: string): void {
    this.total++;
    if (this.kept.length < this.limit) this.kept.push({ file: this.file, line, message });
  }

  /** Adds the first problems that somebody else found, and how many those are. */
  merge(found: { line: number; message: string }[], total: number): void {
    for (const { line, message } of found) this.kept.push({ file: this.file, line, message });
    this.sort();
    this.kept.splice(this.limit);
    this.total += total;
  }

  /** Into the order of the file, when what was done for several lines at once has added some. */
  sort(): void {
    this.kept.sort((a, b) => a.line - b.line);
  }
}

// More than any record that POST would take: twelve fields of 64 KiB. A quote that is never closed ends here.
const maxRecordBytes = 2 * 1024 * 1024;
const chunkBytes = 256 * 1024;
const lineFeed = 10;

/**
 * Reads a CSV file. What is another kind of file, no UTF-8 or no CSV goes to `problems`; after the latter nothing more is read, because
 * nobody can tell any more what is inside quotes.
 * @param report told after each piece how many bytes were read
 * @returns records, each with the line where it begins
 */
export async function* streamCsv(
  path: string,
  problems: ProblemList,
  report: (bytes: number) => void = () => {},
): AsyncGenerator<{ line: number; fields: string[] }> {
  const parser = parse({
    bom: true,
    info: true,
    relax_column_count: true,
    skip_empty_lines: true,
    record_delimiter: ['\r\n', '\n', '\r'],
    max_record_size: maxRecordBytes,
  });
  const fed = pipeline(checkBytes(path, problems, report), parser);
  // An error of either side reaches the loop below through the parser.
  fed.catch(() => {});
  // The parser counts lines up to the end of a record, and CR LF inside quotes twice.
  let ended = 0;
  let surplus = 0;
  try {
    for await (const { record, info } of parser as AsyncIterable<{ record: string[]; info: { lines: number } }>) {
      let line = info.lines;
      if (line !== ended + 1) line -= countIn(record, /[\r\n]/g);
      yield { line: line - surplus, fields: record };
      if (line !== info.lines) surplus += countIn(record, /\r\n/g);
      ended = info.lines;
    }
    await fed;
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const unclosed = error.code === 'CSV_QUOTE_NOT_CLOSED' || error.code === 'CSV_MAX_RECORD_SIZE';
    problems.add(
      ended - surplus + 1,
      `Die Zeile ist kein gültiges CSV; ${unclosed ? 'ein Anführungszeichen wird nicht geschlossen' : 'Anführungszeichen werden verdoppelt'}`,
    );
  }
}

const countIn = (fields: string[], pattern: RegExp) =>
  fields.reduce((sum, field) => sum + (field.match(pattern)?.length ?? 0), 0);

// Hands the file on in whole lines, so that a letter of several bytes is never cut.
async function* checkBytes(path: string, problems: ProblemList, report: (bytes: number) => void): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  let line = 1;
  let bytes = 0;
  const check = (piece: Buffer) => {
    const valid = isUtf8(piece);
    for (let at = 0; at < piece.length; line++) {
      const end = piece.indexOf(lineFeed, at);
      const next = end < 0 ? piece.length : end + 1;
      if (!valid && !isUtf8(piece.subarray(at, next))) problems.add(line, 'Die Zeile ist nicht UTF-8');
      at = next;
    }
    return piece;
  };
  for await (const chunk of createReadStream(path, { highWaterMark: chunkBytes }) as AsyncIterable<Buffer>) {
    const foreign = bytes === 0 ? describeForeign(chunk) : null;
    if (foreign !== null) {
      problems.add(1, foreign);
      return;
    }
    bytes += chunk.length;
    report(bytes);
    const data = Buffer.concat([rest, chunk]);
    // A line that goes on and on is handed on as it is: the parser refuses it.
    const end = data.length > maxRecordBytes ? data.length : data.lastIndexOf(lineFeed) + 1;
    rest = data.subarray(end);
    if (end > 0) yield check(data.subarray(0, end));
  }
  if (rest.length > 0) yield check(rest);
}

// What a file is that is no CSV in UTF-8, as far as its first bytes tell; null for what may be one.
function describeForeign(bytes: Buffer): string | null {
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
  const list = new ProblemList(basename(path), Number.POSITIVE_INFINITY);
  const rows = await readRows(path, columns, list, ignoreUnknown);
  problems.push(...list.kept);
  return rows;
}

async function readRows<C extends Columns>(
  path: string,
  columns: C,
  problems: ProblemList,
  ignoreUnknown: boolean,
): Promise<Row<C>[]> {
  const allowed = Object.keys(columns);
  const required = allowed.filter((name) => !v.is(columns[name] as Columns[string], ''));
  const schema = v.object(columns);
  const rows: Row<C>[] = [];
  let names: string[] | null = null;
  for await (const { line, fields } of streamCsv(path, problems)) {
    if (names === null) {
      names = fields.map((name) => name.trim());
      const wrong = listHeaderProblems(names, allowed, required, ignoreUnknown);
      for (const message of wrong) problems.add(line, message);
      if (wrong.length > 0) return [];
      continue;
    }
    if (fields.length !== names.length) {
      problems.add(line, `${fields.length} Felder statt ${names.length}`);
      continue;
    }
    const given = new Map(names.map((name, index) => [name, fields[index]]));
    const result = v.safeParse(schema, Object.fromEntries(allowed.map((name) => [name, given.get(name) ?? ''])));
    if (result.success) rows.push({ line, values: result.output as Row<C>['values'] });
    const named = new Set<string>();
    for (const issue of result.issues ?? []) {
      const name = String(issue.path?.[0]?.key);
      if (named.has(name)) continue;
      named.add(name);
      problems.add(line, describeCell(name, String(issue.path?.[0]?.value), issue.message));
    }
  }
  if (names === null && problems.total === 0) problems.add(1, `Die Kopfzeile fehlt, erwartet: ${allowed.join(',')}`);
  return rows;
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
    (issue) => v.safeParse(schema, issue.input).issues?.[0].message ?? '',
  );

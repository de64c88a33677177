// CSV files with a header line; every problem is collected with its file and line, and the reading goes on where it can.
import { basename } from 'node:path';
import * as v from 'valibot';
import { quoteCell, toCsvCell } from '../guard/csv.ts';
import { shorten, toName } from '../guard/text.ts';
import { streamRecords } from './csv-records.ts';
import { describeCell, type Problem, ProblemList } from './problems.ts';

/** A record of a table that comes in again as it is, without its line end. */
export const toCsvLine = (fields: string[]) => fields.map(quoteCell).join(',');

/** Problems as CSV. */
export function formatProblems(problems: Problem[]): string {
  const rows = problems.map(({ file, line, message }) => [file, line > 0 ? line : null, message]);
  return [['datei', 'zeile', 'fehler'], ...rows].map((row) => `${row.map(toCsvCell).join(',')}\n`).join('');
}

export interface CsvOptions {
  /** Other columns are left out instead of refused. */
  ignoreUnknown?: boolean;
  /** Told after each piece how many bytes were read. */
  report?(bytes: number): void;
  /** Told what was put right, a sentence. */
  warn?(sentence: string): void;
}

const isFilled = (cell: string) => cell.trim() !== '';

/**
 * Reads a CSV file as spreadsheets and programs write it, without the rows and the columns that they leave empty. What can't be read goes
 * to `problems`.
 * @returns the names of the header, then records of as many fields, each with the line where it begins
 */
export async function* streamCsv(
  path: string,
  problems: ProblemList,
  { ignoreUnknown, report, warn }: CsvOptions,
): AsyncGenerator<{ line: number; fields: string[] }> {
  let names: string[] | null = null;
  let width = 0;
  let blank = 0;
  for await (const { line, fields } of streamRecords(path, problems, report)) {
    const end = fields.findLastIndex(isFilled) + 1;
    if (end === 0) blank++;
    else if (names === null) {
      width = fields.length;
      names = fields.slice(0, end).map((name) => name.trim());
      yield { line, fields: names };
    } else {
      const named = names;
      const nameless = fields.findIndex((cell, at) => !named[at] && isFilled(cell));
      if (fields.length < named.length || end > width) problems.add(line, `${fields.length} Felder statt ${named.length}`);
      else if (nameless >= 0 && !ignoreUnknown)
        problems.add(line, `Spalte ${nameless + 1} hat einen Inhalt, aber keinen Namen in der Kopfzeile`);
      else yield { line, fields: fields.slice(0, named.length) };
    }
  }
  if (blank > 0) warn?.(`${problems.file}: ${blank} leere ${blank === 1 ? 'Zeile' : 'Zeilen'} ausgelassen`);
}

/**
 * What is wrong with the names in a header line, one sentence each.
 * @param ignoreUnknown names that are not allowed are no fault
 */
export function listHeaderProblems(names: string[], allowed: string[], required: string[], ignoreUnknown = false): string[] {
  return [
    ...names
      .filter((name, index) => (allowed.includes(name) ? names.indexOf(name) !== index : name !== '' && !ignoreUnknown))
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
 */
export async function readCsv<C extends Columns>(
  path: string,
  columns: C,
  problems: Problem[],
  options: CsvOptions = {},
): Promise<Row<C>[]> {
  const list = new ProblemList(basename(path), Number.POSITIVE_INFINITY);
  const rows = await readRows(path, columns, list, options);
  problems.push(...list.kept);
  return rows;
}

async function readRows<C extends Columns>(
  path: string,
  columns: C,
  problems: ProblemList,
  options: CsvOptions,
): Promise<Row<C>[]> {
  const allowed = Object.keys(columns);
  const required = allowed.filter((name) => !v.is(columns[name] as Columns[string], ''));
  const schema = v.object(columns);
  const rows: Row<C>[] = [];
  let names: string[] | null = null;
  for await (const { line, fields } of streamCsv(path, problems, options)) {
    if (names === null) {
      names = fields;
      const wrong = listHeaderProblems(names, allowed, required, options.ignoreUnknown);
      for (const message of wrong) problems.add(line, message);
      if (wrong.length > 0) return [];
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
  /** As it is looked for; a spreadsheet may have broken it into lines. */
  name: v.pipe(
    v.string(),
    v.transform((value) => toName(value.replace(/\s+/g, ' '))),
    v.minLength(1, 'ein Text'),
    v.check((value) => !value.includes('\0'), 'ein Text ohne NUL'),
  ),
  boolean: v.pipe(
    v.string(),
    v.trim(),
    v.toLowerCase(),
    v.picklist(['true', 'wahr', '1', 'false', 'falsch', '0'], 'true oder false'),
    v.transform((value) => ['true', 'wahr', '1'].includes(value)),
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

// CSV files of any length, record by record. Problems are collected by line, the reading goes on where it can.
import { isUtf8 } from 'node:buffer';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { CsvError, parse } from 'csv-parse';
import { describeForeign, type Problem } from './csv.ts';

export interface CsvRecord {
  /** Where it begins; with line breaks inside quotes it ends later. */
  line: number;
  fields: string[];
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
const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);

/**
 * Reads a CSV file. What is another kind of file, no UTF-8 or no CSV goes to `problems`; after the latter nothing more is read, because
 * nobody can tell any more what is inside quotes.
 * @param report told after each piece how many bytes were read
 */
export async function* streamCsv(
  path: string,
  problems: ProblemList,
  report: (bytes: number) => void,
): AsyncGenerator<CsvRecord> {
  const parser = parse({
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
      if (line !== ended + 1) {
        for (const field of record) {
          line -= field.match(/[\r\n]/g)?.length ?? 0;
        }
      }
      yield { line: line - surplus, fields: record };
      if (line !== info.lines) {
        for (const field of record) {
          surplus += field.match(/\r\n/g)?.length ?? 0;
        }
      }
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
    const first = bytes === 0 && chunk.subarray(0, 3).equals(byteOrderMark) ? 3 : 0;
    bytes += chunk.length;
    report(bytes);
    const data = Buffer.concat([rest, chunk.subarray(first)]);
    // A line that goes on and on is handed on as it is: the parser refuses it.
    const end = data.length > maxRecordBytes ? data.length : data.lastIndexOf(lineFeed) + 1;
    rest = data.subarray(end);
    if (end > 0) yield check(data.subarray(0, end));
  }
  if (rest.length > 0) yield check(rest);
}

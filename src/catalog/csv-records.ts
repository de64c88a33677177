// The records of a CSV file of any length, in whatever encoding and with whatever separators spreadsheets write them.
import { isAscii } from 'node:buffer';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { CsvError, parse } from 'csv-parse';
import type { ProblemList } from './problems.ts';

// More than any record that POST would take: twelve fields of 64 KiB. A quote that is never closed ends here.
const maxRecordBytes = 2 * 1024 * 1024;
const chunkBytes = 256 * 1024;
const advice = 'in Excel: Speichern unter, „CSV UTF-8 (durch Trennzeichen getrennt)“';

/**
 * Reads the records, each with the line where it begins: separated by commas, semicolons or tabs, with any line ends, in UTF-8, UTF-16 with
 * its mark or Windows-1252. What is wrong goes to `problems`; after what is no CSV nothing more is read, because nobody can tell any more
 * what is inside quotes.
 * @param report told after each piece how many bytes were read
 */
export async function* streamRecords(
  path: string,
  problems: ProblemList,
  report: (bytes: number) => void = () => {},
): AsyncGenerator<{ line: number; fields: string[] }> {
  const [head = Buffer.alloc(0)] = await createReadStream(path, { end: chunkBytes - 1, highWaterMark: chunkBytes }).toArray();
  const foreign = describeForeign(head);
  if (foreign !== null) {
    problems.add(1, `${foreign}, nötig ist CSV; ${advice}`);
    return;
  }
  const text = new Decoder();
  const { delimiter, firstLine } = findDelimiter(new Decoder().decode(head).toString());
  const parser = parse({
    bom: true,
    info: true,
    relax_column_count: true,
    skip_empty_lines: true,
    record_delimiter: ['\r\n', '\n', '\r'],
    max_record_size: maxRecordBytes,
    delimiter,
    from_line: firstLine,
  });
  const fed = pipeline(
    createReadStream(path, { highWaterMark: chunkBytes }),
    async function* (chunks: AsyncIterable<Buffer>) {
      let bytes = 0;
      for await (const chunk of chunks) {
        bytes += chunk.length;
        report(bytes);
        yield text.decode(chunk);
      }
      text.end();
    },
    parser,
  );
  // An error of either side reaches the loop below through the parser.
  fed.catch(() => {});
  // The parser counts lines up to the end of a record, and CR LF inside quotes twice.
  let ended = 0;
  let surplus = 0;
  try {
    for await (const { record, info } of parser as AsyncIterable<{ record: string[]; info: { lines: number } }>) {
      let line = info.lines;
      if (line !== ended + 1) line -= countIn(record, /[\r\n]/g);
      if (record.some((cell) => text.isBroken(cell))) problems.add(line - surplus, `Die Zeile ist nicht ${text.name}; ${advice}`);
      yield { line: line - surplus, fields: record };
      if (line !== info.lines) surplus += countIn(record, /\r\n/g);
      ended = info.lines;
    }
    await fed;
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const unclosed = error.code === 'CSV_QUOTE_NOT_CLOSED' || error.code === 'CSV_MAX_RECORD_SIZE';
    // Behind the records before it, of which some are still on their way here.
    const line = unclosed ? ended - surplus + 1 : Number(error.lines);
    problems.add(
      line,
      `Die Zeile ist kein gültiges CSV; ${unclosed ? 'ein Anführungszeichen wird nicht geschlossen' : 'Anführungszeichen werden verdoppelt'}`,
    );
  }
}

const countIn = (fields: string[], pattern: RegExp) =>
  fields.reduce((sum, field) => sum + (field.match(pattern)?.length ?? 0), 0);

// UTF-16 that says so, else UTF-8, else Windows-1252 as a German Excel has it: decided where the first letter is that ASCII has not.
class Decoder {
  name: 'UTF-8' | 'UTF-16' | 'Windows-1252' = 'UTF-8';
  #isDecided = false;
  #isValid = true;
  #utf8 = new TextDecoder('utf-8', { fatal: true });
  #other: InstanceType<typeof TextDecoder> | null = null;

  decode(chunk: Buffer): Buffer | string {
    if (!this.#isDecided && !isAscii(chunk)) {
      this.#isDecided = true;
      const mark = chunk.toString('latin1', 0, 2);
      if (mark === '\xff\xfe' || mark === '\xfe\xff') this.#set('UTF-16', mark === '\xff\xfe' ? 'utf-16le' : 'utf-16be');
      // What has letters of UTF-8 is that, though some lines are not.
      else if (!this.#isUtf8(chunk) && !/[\xc2\xc3][\x80-\xbf]/.test(chunk.toString('latin1')))
        this.#set('Windows-1252', 'windows-1252');
    } else if (this.#other === null && this.#isValid) this.#isUtf8(chunk);
    // The parser reads UTF-8 itself.
    return this.#other?.decode(chunk, { stream: true }) ?? chunk;
  }

  #set(name: Decoder['name'], label: string): void {
    this.name = name;
    this.#other = new TextDecoder(label);
  }

  /** Nothing comes after it: a letter that is not whole has no other part. */
  end(): void {
    if (this.#other === null && this.#isValid) this.#isUtf8(Buffer.alloc(0), false);
  }

  #isUtf8(chunk: Buffer, stream = true): boolean {
    try {
      this.#utf8.decode(chunk, { stream });
    } catch {
      this.#isValid = false;
    }
    return this.#isValid;
  }

  /** Whether a cell holds what can't be meant: another encoding, to be told before it is stored as other letters. */
  isBroken(cell: string): boolean {
    if (this.name === 'Windows-1252') return notWindows.test(cell);
    return !(this.name === 'UTF-8' && this.#isValid) && cell.includes('\ufffd');
  }
}

// Letters of UTF-8 read as Windows-1252, codes that it lacks, and what umlauts of a Mac or of DOS look like in the middle of a word.
const notWindows = /[ÂÃ][\u00a0-\u00bf\u0152-\u2122]|[\u0080-\u009f]|\p{L}[ŠšŽŸ„”€†§]\p{Ll}/u;

// What a file is that is no CSV, as far as its first bytes tell; null for what may be one.
function describeForeign(head: Buffer): string | null {
  const begin = head.toString('latin1', 0, 4);
  if (begin === 'PK\x03\x04') return 'Die Datei ist eine Arbeitsmappe (.xlsx, .ods) oder ein ZIP-Archiv';
  if (begin === '\xd0\xcf\x11\xe0') return 'Die Datei ist eine Arbeitsmappe von Excel (.xls)';
  return null;
}

// By the header, where names seldom hold any of them; or by a line of its own before it, as Excel reads one.
function findDelimiter(text: string): { delimiter: string; firstLine: number } {
  const [, named] = /^\ufeff?sep=([,;\t])[\r\n]/i.exec(text) ?? [];
  if (named !== undefined) return { delimiter: named, firstLine: 2 };
  const lines = text.replace(/"[^"]*"/g, 'x').split(/[\r\n]+/);
  const header = lines.find((line) => /\w/.test(line)) ?? '';
  const countOf = (delimiter: string) => header.split(delimiter).length;
  const [delimiter = ','] = [',', ';', '\t'].sort((a, b) => countOf(b) - countOf(a));
  return { delimiter, firstLine: 1 };
}

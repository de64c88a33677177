// Files of CSV as people have them: from Excel on Windows and elsewhere, with what such programs leave in them.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { column, formatProblems, optional, readCsv } from '../../src/catalog/csv.ts';
import { describeProblems, type Problem } from '../../src/catalog/problems.ts';
import { withFile } from '../support/import.ts';

const columns = { id: column.id, name: column.text, ort: optional(column.text), sensibel: optional(column.boolean) };

/** What a file holds: its rows, its problems by line, and what was put right. */
function read(content: string | Buffer, ignoreUnknown = false) {
  return withFile('arten.csv', content, async (path) => {
    const problems: Problem[] = [];
    const hints: string[] = [];
    const rows = await readCsv(path, columns, problems, { ignoreUnknown, warn: (sentence) => hints.push(sentence) });
    return {
      rows: rows.map(({ line, values: { id, name, ort, sensibel } }) => [line, id, name, ort, sensibel]),
      problems: problems.map(({ line, message }) => `${line}: ${message}`),
      hints,
    };
  });
}

const rows = [
  [2, 1, 'Grünspecht', 'Köln; Süd', null],
  [3, 2, 'Gänsesäger', 'A,B', true],
  [4, 3, 'Weißstorch', null, false],
];
const cells = [
  ['id', 'name', 'ort', 'sensibel'],
  ['1', 'Grünspecht', 'Köln; Süd', ''],
  ['2', 'Gänsesäger', 'A,B', 'true'],
  ['3', 'Weißstorch', '', 'falsch'],
];
const quote = (cell: string, always: boolean) => (always || /[,;\t"]/.test(cell) ? `"${cell}"` : cell);
const write = (delimiter: string, ends: [header: string, rows: string], always = false) =>
  cells.map((row, index) => row.map((cell) => quote(cell, always)).join(delimiter) + ends[index === 0 ? 0 : 1]).join('');

const windows1252 = (text: string) => Buffer.from(text, 'latin1');
const utf16 = (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le');

describe('a table', () => {
  const crlf: [string, string] = ['\r\n', '\r\n'];
  const files: [what: string, content: string | Buffer][] = [];
  for (const [what, ends] of [
    ['lines that end in LF', ['\n', '\n']],
    ['lines that end in CR LF', crlf],
    ['lines that end in CR', ['\r', '\r']],
    ['CR LF behind the header only', ['\r\n', '\n']],
    ['CR LF behind the rows only', ['\n', '\r\n']],
    ['CR behind the header only', ['\r', '\n']],
  ] as [string, [string, string]][]) {
    files.push([what, write(',', ends)], [`${what}, all cells in quotes`, write(',', ends, true)]);
    files.push([`${what}, semicolons`, write(';', ends)]);
  }
  files.push(
    ['„CSV (Trennzeichen-getrennt)“ of a German Excel', windows1252(write(';', crlf))],
    ['„CSV UTF-8“ of a German Excel', `\ufeff${write(';', crlf)}`],
    ['„CSV UTF-8“ of an English Excel', `\ufeff${write(',', crlf)}`],
    ['„Unicode Text“ of Excel', utf16(write('\t', crlf))],
    ['the same in big endian', utf16(write('\t', crlf)).swap16()],
    ['tabs', write('\t', crlf)],
    ['no end of its last line', write(';', crlf).trimEnd()],
  );
  for (const [what, content] of files) {
    it(`is read with ${what}`, async () => assert.deepEqual(await read(content), { rows, problems: [], hints: [] }));
  }

  it('is read behind a first line that names its separator, which counts as a line', async () => {
    const later = rows.map(([line, ...values]) => [Number(line) + 1, ...values]);
    for (const content of [`\ufeffsep=;\r\n${write(';', crlf)}`, windows1252(`sep=;\r\n${write(';', crlf)}`)])
      assert.deepEqual(await read(content), { rows: later, problems: [], hints: [] });
  });

  it('may hold the sign of a letter that was lost before', async () => {
    assert.deepEqual((await read('id,name\n1,Gr\ufffdnspecht\n')).rows, [[2, 1, 'Gr\ufffdnspecht', null, null]]);
  });

  it('keeps its letters where the file is read in pieces', async () => {
    const many = Array.from({ length: 40_000 }, (_, index) => `${index};${index % 3 ? 'Ö' : 'ö'}kosystem;;`);
    const text = `id;name;ort;sensibel\r\n${many.join('\r\n')}\r\n`;
    for (const content of [text, windows1252(text), utf16(text)]) {
      const { rows: found, problems } = await read(content);
      assert.deepEqual(problems, []);
      assert.equal(found.length, many.length);
      assert.ok(found.every(([line, index, name]) => line === Number(index) + 2 && /^[Öö]kosystem$/.test(String(name))));
    }
  });

  it('tells its problems by the right line, whatever ends lines and whatever is in quotes', async () => {
    for (const end of ['\n', '\r\n', '\r']) {
      const content = ['id;name', '1;"zwei', 'Zeilen"', '', 'x;Amsel', ' ; ', '"y";"a', '', 'b"', 'z;Uhu'].join(end);
      const { problems, hints } = await read(content);
      assert.deepEqual(
        problems.map((problem) => problem.slice(0, 14)),
        ['5: id ist „x“,', '7: id ist „y“,', '10: id ist „z“'],
      );
      assert.deepEqual(hints, ['arten.csv: 1 leere Zeile ausgelassen']);
    }
  });
});

describe('letters that are no UTF-8', () => {
  const files: [what: string, content: Buffer, problem: string][] = [
    [
      'in a file whose other lines are',
      Buffer.concat([Buffer.from('id,name\n1,Grünspecht\n2,'), windows1252('Gänsesäger\n')]),
      '3: Die Zeile ist nicht UTF-8',
    ],
    [
      'before lines that are',
      Buffer.concat([windows1252(`id,name\n${'1,Gänsesäger\n'.repeat(40_000)}`), Buffer.from('2,Grünspecht\n')]),
      '40002: Die Zeile ist nicht Windows-1252',
    ],
    ['at its end', windows1252('id,name\n1,Amsel ä'), '2: Die Zeile ist nicht UTF-8'],
    ['but those of a Mac', Buffer.from('id;name\r1;Gr\x9fnspecht\r', 'latin1'), '2: Die Zeile ist nicht Windows-1252'],
    ['but those of DOS', Buffer.from('id;name\r\n1;Gr\x81nspecht\r\n', 'latin1'), '2: Die Zeile ist nicht Windows-1252'],
  ];
  for (const [what, content, problem] of files) {
    it(`${what} are refused, with what to do`, async () => {
      const { problems } = await read(content);
      assert.deepEqual(problems.slice(0, 2), [
        `${problem}; in Excel: Speichern unter, „CSV UTF-8 (durch Trennzeichen getrennt)“`,
      ]);
    });
  }
});

describe('what spreadsheets leave behind', () => {
  it('is left out and counted: rows without content', async () => {
    const blank = `${',,,\n'.repeat(40)}${' ,\u00a0,\t, \n'.repeat(40)}`;
    const { rows, problems, hints } = await read(`${blank}id,name,ort,sensibel\n${blank}1,Amsel,,\n${blank}`);
    assert.deepEqual([rows, problems], [[[162, 1, 'Amsel', null, null]], []]);
    assert.deepEqual(hints, ['arten.csv: 240 leere Zeilen ausgelassen']);
  });

  it('is harmless: columns without name and content', async () => {
    const some = 'id,name,,ort,, \n1,Amsel,,Trier,,\n2,Uhu, ,Trier\n3,Star,,,,,,,\n';
    assert.deepEqual((await read(some)).rows, [
      [2, 1, 'Amsel', 'Trier', null],
      [3, 2, 'Uhu', 'Trier', null],
      [4, 3, 'Star', null, null],
    ]);
  });

  it('is told where it holds something, once for all rows', async () => {
    const { rows, problems } = await read(`id,name,,\n${'1,Amsel,,x\n'.repeat(50)}2,Uhu\n`);
    assert.equal(rows.length, 1);
    const [first] = problems;
    assert.equal(first, '2: Spalte 4 hat einen Inhalt, aber keinen Namen in der Kopfzeile');
    assert.deepEqual([problems.length, new Set(problems.map((problem) => problem.slice(problem.indexOf(':')))).size], [50, 1]);
    assert.equal((await read(`id,name,,\n${'1,Amsel,,x\n'.repeat(50)}`, true)).rows.length, 50);
    // Beyond its header a row has an unquoted comma too many.
    assert.deepEqual((await read('id,name\n1,Amsel, Drossel\n2\n')).problems, ['2: 3 Felder statt 2', '3: 1 Felder statt 2']);
  });
});

it('a cause that hits many rows is told once, with its count', () => {
  const problems = Array.from({ length: 90 }, (_, index) => ({
    file: index < 60 ? 'arten.csv' : 'stadien.csv',
    line: index + 2,
    message: index % 2 ? 'id ist leer' : 'name ist leer',
  }));
  assert.deepEqual(describeProblems(problems), [
    'arten.csv:2: name ist leer (ebenso in 29 weiteren Zeilen)',
    'arten.csv:3: id ist leer (ebenso in 29 weiteren Zeilen)',
    'stadien.csv:62: name ist leer (ebenso in 14 weiteren Zeilen)',
    'stadien.csv:63: id ist leer (ebenso in 14 weiteren Zeilen)',
  ]);
  assert.deepEqual(describeProblems([{ file: 'a.csv', line: 0, message: 'Diese Datei fehlt' }]), ['a.csv: Diese Datei fehlt']);
});

it('problems are a table of their own, in which a spreadsheet computes nothing', () => {
  const written = formatProblems([
    { file: '=1.csv', line: 3, message: 'art ist „a, "b"“' },
    { file: 'a.csv', line: 0, message: '-1' },
  ]);
  assert.equal(written, `datei,zeile,fehler\n'=1.csv,3,"art ist „a, ""b""“"\na.csv,,'-1\n`);
});

it('a line that is no CSV is told by its number, however far it stands', async () => {
  for (const at of [2, 50, 500]) {
    const lines = Array.from({ length: 600 }, (_, index) =>
      index + 1 === at ? '5" Rohr,2' : index === 0 ? 'id,name' : `${index},a`,
    );
    const { problems } = await read(lines.join('\n'));
    assert.deepEqual(problems, [`${at}: Die Zeile ist kein gültiges CSV; Anführungszeichen werden verdoppelt`]);
  }
});

it('letters of a Mac are told, and not read as others', async () => {
  for (const word of ['M\x9awe', 'L\x9affler', 'Gro\xa7e']) {
    const { problems } = await read(Buffer.from(`id,name\n1,${word}\n`, 'latin1'));
    assert.match(problems.join(), /^2: Die Zeile ist nicht Windows-1252; in Excel: Speichern unter/);
  }
});

// No regular expression of the service takes more than a time that grows with the length of its text (H4): found in its source,
// run on texts that make such ones slow, and looked at by a checker.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { Worker } from 'node:worker_threads';
import { type Node, parse } from 'acorn';
import { checkSync } from 'recheck';
import { root } from '../support/child.ts';
import { onPostgres } from '../support/database.ts';

interface Pattern {
  file: string;
  source: string;
  flags: string;
}

/** Regular expressions in a text of TypeScript: literals, and those made of one text. */
function listPatterns(file: string, text: string): { patterns: Pattern[]; made: string[] } {
  const code = file.endsWith('.ts') ? stripTypeScriptTypes(text) : text;
  const patterns: Pattern[] = [];
  // Put together from parts: their text is not in the source.
  const made: string[] = [];
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) for (const each of node) visit(each);
    if (typeof node !== 'object' || node === null || !('type' in node)) return;
    const {
      type,
      regex,
      callee,
      arguments: args,
    } = node as Node & {
      regex?: { pattern: string; flags: string };
      callee?: { name?: string };
      arguments?: { type: string; value?: unknown; start: number; end: number }[];
    };
    if (type === 'Literal' && regex) patterns.push({ file, source: regex.pattern, flags: regex.flags });
    if ((type === 'NewExpression' || type === 'CallExpression') && callee?.name === 'RegExp') {
      const [source] = args ?? [];
      if (typeof source?.value === 'string') patterns.push({ file, source: source.value, flags: '' });
      else if (source) made.push(`${file}: ${code.slice(source.start, source.end).replace(/\s+/g, ' ')}`);
    }
    for (const value of Object.values(node)) visit(value);
  };
  visit(parse(code, { ecmaVersion: 'latest', sourceType: 'module' }));
  return { patterns, made };
}

// Pieces that patterns repeat, and an end that makes them look again.
const pieces = [...'1a .,-/ä\u0301\n"\\<', '%41', 'a.', 'a:', '0,', 'a=', '; ', '::', 'x@', '0f'];
const ends = ['', 'x', '!', '\u0000', ' ', '1', '"', '\n'];

let found: Pattern[];
const unique = () => [...new Map(found.map((pattern) => [`${pattern.source}/${pattern.flags}`, pattern])).values()];
let made: string[];
before(() => {
  const all = globSync('src/**/*.{ts,js}', { cwd: root })
    .sort()
    .map((file) => listPatterns(file, readFileSync(join(root, file), 'utf8')));
  found = all.flatMap(({ patterns }) => patterns);
  made = all.flatMap((each) => each.made);
});

// They know no database, and take half a minute.
describe('the regular expressions of the service', { skip: onPostgres && 'the same as without DATABASE_URL' }, () => {
  it('are found, and those that are put together are the ones looked at by hand', () => {
    assert.ok(found.length > 60, String(found.length));
    // A route, which the source gives.
    assert.deepEqual(
      made.map((each) => each.split(':', 1)[0]),
      ['src/http/http-rules.ts'],
    );
  });

  it('take no longer for a long text than for several short ones, whatever is in it', { timeout: 120_000 }, async () => {
    const slow: string[] = [];
    const patterns = unique();
    // In a thread of its own, that can be ended: a pattern that backtracks ends neither by itself nor by a clock.
    const runFrom = (first: number) =>
      new Promise<number>((resolve, reject) => {
        const worker = new Worker(
          `const { workerData: { patterns, pieces, ends }, parentPort } = require('node:worker_threads');
           for (const { source, flags } of patterns) {
             const pattern = new RegExp(source, flags);
             for (const piece of pieces) for (const end of ends) {
               const text = piece.repeat(Math.ceil(16000 / piece.length)) + end;
               for (const subject of [text, 'x' + text, '1' + text]) { pattern.lastIndex = 0; subject.replace(pattern, ''); }
             }
             parentPort.postMessage('done');
           }`,
          { eval: true, workerData: { patterns: patterns.slice(first), pieces, ends } },
        );
        let next = first;
        // About 500 texts of 16 kB: 50 ms together for a pattern that looks at each character once; minutes otherwise.
        const timer = setTimeout(() => worker.terminate(), 20_000);
        worker.on('message', () => {
          next++;
          timer.refresh();
        });
        worker.on('error', reject);
        worker.on('exit', () => {
          clearTimeout(timer);
          resolve(next);
        });
      });
    for (let next = await runFrom(0); next < patterns.length; next = await runFrom(next + 1)) {
      const { file, source, flags } = patterns[next] as Pattern;
      slow.push(`${file}: /${source}/${flags}`);
    }
    assert.deepEqual(slow, []);
  });

  it('are no danger in the eyes of a checker', { timeout: 120_000 }, () => {
    // Where it has found nothing by then it finds nothing in five seconds either.
    const vulnerable = unique().flatMap(({ file, source, flags }) => {
      const result = checkSync(source, flags, { timeout: 2500, checker: 'automaton' });
      return result.status === 'vulnerable' ? [`${file}: /${source}/${flags} ${result.complexity.type}`] : [];
    });
    assert.deepEqual(vulnerable, []);
  });

  it('would be noticed otherwise', () => {
    const { patterns } = listPatterns('x.ts', 'const a: RegExp = /^(\\d+\\.?\\d*|\\.\\d+)$/;');
    assert.equal(patterns.length, 1);
    const [{ source, flags } = { source: '', flags: '' }] = patterns;
    assert.equal(checkSync(source, flags).status, 'vulnerable');
  });
});

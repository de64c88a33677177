// What must never happen has a row, and each row a test whose name begins with its number.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';

/** How many rows each chapter has. */
const chapters = { S1: 11, S2: 6, S3: 10, S4: 3, S5: 11 };
const rows = [
  ...Object.entries(chapters).flatMap(([chapter, count]) => Array.from({ length: count }, (_, n) => `${chapter}.${n + 1}`)),
  'S6',
];

/** The numbers that names of tests begin with. */
function listNumbers(source: string): string[] {
  return [...source.matchAll(/\b(?:it|test)\(\s*(['"`])(S\d(?:\.\d+)?) (?!\1)/g)].map(([, , number]) => number as string);
}

it('the number of a test is what its name begins with', () => {
  assert.deepEqual(
    listNumbers(`
      it('S1.1 forty boxes', () => {});
      it(\`S1.7 \${name}\`, () => {});
      test("S6 an analyst", () => {});
      it(
        'S3.10 headers', () => {});
      it('forty boxes (S1.2)', () => {});
      it('S1.3: a colon', () => {});
      it('S1.4 ', () => {});
      describe('S1.5 a group', () => {});`),
    ['S1.1', 'S1.7', 'S6', 'S3.10'],
  );
});

it('every row has a test, and every number is that of a row', () => {
  const root = fileURLToPath(new URL('..', import.meta.url));
  const files = globSync('**/*.test.ts', { cwd: root, exclude: ['**/node_modules', 'safety/rows.test.ts'] });
  const shown = new Set(files.flatMap((file) => listNumbers(readFileSync(`${root}/${file}`, 'utf8'))));
  assert.deepEqual(
    rows.filter((row) => !shown.has(row)),
    [],
    'rows without a test',
  );
  assert.deepEqual(
    [...shown].filter((number) => !rows.includes(number)),
    [],
    'numbers of no row',
  );
});

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { formatBounds } from '../support/bounds.ts';

it('the README’s table of bounds is what the code enforces', () => {
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
  const expected = formatBounds();
  assert.ok(readme.includes(expected), `the table under "Bounds" must be:\n\n${expected}\n`);
});

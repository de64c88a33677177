import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { formatBounds } from '../support/bounds.ts';

it('the table of bounds in docs/operations.md is what the code enforces', () => {
  const operations = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8');
  const expected = formatBounds();
  assert.ok(operations.includes(expected), `the table under "Bounds" must be:\n\n${expected}\n`);
});

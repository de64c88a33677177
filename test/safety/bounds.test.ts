import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { formatBounds } from '../support/bounds.ts';

it('the table of bounds in docs/operations/bounds.md is what the code enforces', () => {
  const page = readFileSync(new URL('../../docs/operations/bounds.md', import.meta.url), 'utf8');
  const expected = formatBounds();
  assert.ok(page.includes(expected), `the table must be:\n\n${expected}\n`);
});

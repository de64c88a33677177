// The breakages of npm run mutants still have their place in the SQL.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readCode } from '../src/db/code.ts';
import { breakCode, mutants } from './support/mutants.ts';

it('S1.11 each breakage of masking finds its place in sql/code once', () => {
  const code = readCode(fileURLToPath(new URL('../sql/code/', import.meta.url)));
  assert.ok(mutants.length >= 20);
  assert.equal(new Set(mutants.map(({ name }) => name)).size, mutants.length);
  for (const mutant of mutants) assert.notDeepEqual(breakCode(code, mutant), code, mutant.name);
});

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { describeStartError } from '../../src/observe/fault.ts';

it('an error of the database ends a command with its own sentence and code, not with the statement and a stack', () => {
  const refused = Object.assign(new Error('permission denied for schema public'), { code: '42501', severity: 'ERROR' });
  const wrapped = new Error('Failed query: create table …\nparams: ', { cause: refused });
  for (const error of [refused, wrapped])
    assert.equal(describeStartError(error), 'Die Datenbank hat das abgelehnt (42501): permission denied for schema public');
  assert.match(describeStartError(new TypeError('x is undefined')), /^TypeError: x is undefined\n {4}at /);
});

// What faults are called, and what an outage leaves in the log, of requests and of what the service does by itself.
import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { it, mock } from 'node:test';
import { StorageError } from '../../src/media/storage.ts';
import { codeOfFault, describeStartError } from '../../src/observe/fault.ts';
import type { Log } from '../../src/observe/log.ts';
import { watchFaults, watchOutages } from '../../src/observe/seldom.ts';

it('an error of the database ends a command with its own sentence and code, not with the statement and a stack', () => {
  const refused = Object.assign(new Error('relation "x" does not exist'), { code: '42P01', severity: 'ERROR' });
  const wrapped = new Error('Failed query: create table …\nparams: ', { cause: refused });
  for (const error of [refused, wrapped])
    assert.equal(describeStartError(error), 'Die Datenbank hat das abgelehnt (42P01): relation "x" does not exist');
  assert.match(describeStartError(new TypeError('x is undefined')), /^TypeError: x is undefined\n {4}at /);
});

it('the code of a fault is its own, and that of its cause where it has none', () => {
  const cause = Object.assign(new Error('no space left'), { code: 'ENOSPC' });
  assert.equal(codeOfFault(new StorageError('the media directory does not work (ENOSPC)', { cause })), 'STORAGE');
  assert.equal(codeOfFault(new Error('Failed query', { cause })), 'ENOSPC');
  assert.equal(codeOfFault(cause), 'ENOSPC');
  assert.equal(codeOfFault(new Error('x')), undefined);
  assert.match(describeStartError(new StorageError('x')), /^Die Ablage der Dateien \(MEDIA_URL\) geht nicht: x$/);
});

it('a missing right comes with the setting that has it, in the database and for a file', () => {
  const refused = Object.assign(new Error('permission denied for function create_nutzer'), { code: '42501', severity: 'ERROR' });
  assert.equal(
    describeStartError(refused),
    'Die Datenbank hat das abgelehnt (42501): permission denied for function create_nutzer. Befehle und Migrationen brauchen in MIGRATE_DATABASE_URL die Rolle, der die Datenbank gehört.',
  );
  const closed = Object.assign(new Error('EACCES: permission denied, mkdir'), { code: 'EACCES', path: 'bilder/neu' });
  assert.equal(
    describeStartError(closed),
    `Kein Zugriff auf ${resolve('bilder/neu')} (EACCES); dieser Benutzer braucht die Rechte an der Datei und ihrem Verzeichnis.`,
  );
  const port = Object.assign(new Error('listen EACCES'), { code: 'EACCES', port: 80 });
  assert.match(describeStartError(port), /^Kein Zugriff auf eine Datei oder einen Port \(EACCES\)/);
});

it('tells of a cause at once, of how many more came every minute, and of nothing when it is over', () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  const lines: unknown[] = [];
  const note = watchOutages({ warn: (about: object) => void lines.push(about) } as unknown as Log, 60_000);
  const full = { code: 'STORAGE', route: '/a', reason: 'S3 answers 403 AccessDenied' };
  for (let n = 0; n < 100; n++) note(full);
  note({ ...full, route: '/b' });
  assert.deepEqual(lines.splice(0), [
    { ...full, refused: 1 },
    { ...full, route: '/b', refused: 1 },
  ]);
  mock.timers.tick(60_000);
  assert.deepEqual(lines.splice(0), [{ ...full, refused: 99 }]);
  note(full);
  mock.timers.tick(60_000);
  assert.deepEqual(lines.splice(0), [{ ...full, refused: 1 }]);
  mock.timers.tick(600_000);
  assert.deepEqual(lines.splice(0), []);
  note(full);
  assert.deepEqual(lines.splice(0), [{ ...full, refused: 1 }]);
  mock.timers.reset();
});

it('tells of faults of what goes on by itself in the same way, with their code and where, never their message', () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  const lines: { [name: string]: unknown }[] = [];
  const log = { warn: ({ frames, ...about }: { frames: unknown[] }, message: string) => lines.push({ ...about, message }) };
  const note = watchFaults(log as unknown as Log, 'queue', 60_000);
  const lost = () => Object.assign(new Error('connect ECONNREFUSED 10.0.0.1:5432'), { code: 'ECONNREFUSED' });
  for (let n = 0; n < 100; n++) note(lost(), { queue: 'mail' });
  note(lost(), { queue: 'medien' });
  const line = { name: 'Error', code: 'ECONNREFUSED', message: 'queue' };
  assert.deepEqual(lines.splice(0), [
    { ...line, queue: 'mail', times: 1 },
    { ...line, queue: 'medien', times: 1 },
  ]);
  mock.timers.tick(60_000);
  assert.deepEqual(lines.splice(0), [{ ...line, queue: 'mail', times: 99 }]);
  mock.timers.reset();
});

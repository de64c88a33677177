// What an outage leaves in the log, of requests and of what the service does by itself.
import assert from 'node:assert/strict';
import { it, mock } from 'node:test';
import type { Log } from '../../src/observe/log.ts';
import { watchFaults, watchOutages } from '../../src/observe/seldom.ts';

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

// What an outage leaves in the log.
import assert from 'node:assert/strict';
import { it, mock } from 'node:test';
import type { Log } from '../../src/observe/log.ts';
import { watchOutages } from '../../src/observe/outages.ts';

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

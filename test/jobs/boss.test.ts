// What the queue tells of itself.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ensureQueue, startBoss } from '../../src/jobs/boss.ts';
import { openTestDatabase } from '../support/database.ts';

it('tells what fails between the queue and the database as an error with its code, and in which queue', async (t) => {
  const database = await openTestDatabase();
  const told: [error: unknown, queue: string | undefined][] = [];
  const boss = await startBoss(database, (error, { queue }) => told.push([error, queue]), { supervise: false, mayChange: true });
  t.after(() => boss.stop());
  await ensureQueue(boss.boss, 'probe', {});
  await boss.boss.work('probe', { pollingIntervalSeconds: 0.5 }, async () => {});
  await database.sql`alter schema pgboss rename to pgboss_anders`;
  for (let waited = 0; told.length === 0; waited++) {
    assert.ok(waited < 100, 'nothing was told for ten seconds');
    await sleep(100);
  }
  await database.sql`alter schema pgboss_anders rename to pgboss`;
  const [[error, queue] = []] = told;
  assert.ok(error instanceof Error);
  assert.deepEqual([error.name, (error as { code?: string }).code, queue], ['PostgresError', '42P01', 'probe']);
});

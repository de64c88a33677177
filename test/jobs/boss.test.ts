// The queue's connections, where pg-boss sends whole transactions as one text; and what the queue tells of its faults.
import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import type { Database } from '../../src/db/client.ts';
import { ensureQueue, startBoss } from '../../src/jobs/boss.ts';
import { closeAtEnd, openTestDatabase } from '../support/database.ts';
import { waitFor } from '../support/wait.ts';

let database: Database;
before(async () => {
  database = await openTestDatabase();
});

it('a transaction of the queue that fails leaves no connection behind in it', async () => {
  const boss = await startBoss(database, () => {}, { supervise: false, mayChange: true });
  closeAtEnd(() => boss.stop());
  const db = boss.boss.getDb();
  for (let n = 0; n < 4; n++) {
    await assert.rejects(db.executeSql('BEGIN;\nselect 1 / 0;\nCOMMIT', []), { code: '22012' });
  }
  for (let n = 0; n < 4; n++) {
    const results = await Promise.all([1, 2, 3].map(() => db.executeSql('BEGIN;\nselect 1 as one;\nCOMMIT', [])));
    assert.deepEqual(
      results.map(({ rows }) => rows),
      [1, 2, 3].map(() => [{ one: 1 }]),
    );
    assert.equal((await db.executeSql('select $1::integer as two', [2])).rows.length, 1);
  }
});

it('tells what fails between the queue and the database as an error with its code, and in which queue', async (t) => {
  const told: [error: unknown, queue: string | undefined][] = [];
  const boss = await startBoss(database, (error, { queue }) => told.push([error, queue]), { supervise: false, mayChange: true });
  t.after(() => boss.stop());
  await ensureQueue(boss.boss, 'probe', {});
  await boss.boss.work('probe', { pollingIntervalSeconds: 0.5 }, async () => {});
  await database.sql`alter schema pgboss rename to pgboss_anders`;
  // The queue as a whole may be told of too.
  const ofProbe = () => told.find(([, queue]) => queue === 'probe');
  await waitFor('the word of it', () => ofProbe() !== undefined);
  await database.sql`alter schema pgboss_anders rename to pgboss`;
  const [error] = ofProbe() ?? [];
  assert.ok(error instanceof Error);
  assert.deepEqual([error.name, (error as { code?: string }).code], ['PostgresError', '42P01']);
});

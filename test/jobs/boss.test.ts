// The queue's connections: pg-boss sends whole transactions as one text.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { startBoss } from '../../src/jobs/boss.ts';
import { closeAtEnd, openTestDatabase } from '../support/database.ts';

it('a transaction of the queue that fails leaves no connection behind in it', async () => {
  const database = await openTestDatabase();
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

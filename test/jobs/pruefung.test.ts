// The clock of the review: every night all reasons anew, and soon after each change (test/jobs/raster.test.ts has that clock).
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { startBoss } from '../../src/jobs/boss.ts';
import { workPruefung } from '../../src/jobs/pruefung.ts';
import { createLog } from '../../src/observe/log.ts';
import { openTestDatabase } from '../support/database.ts';
import { closeAtEnd } from '../support/end.ts';
import { makeRecord } from '../support/records.ts';
import { waitFor } from '../support/wait.ts';

const database = await openTestDatabase();
const { sql } = database;

it('finds out why a record is odd soon after it was published, and all anew at night', async () => {
  const boss = await startBoss(database, (error) => assert.fail(String(error)), { supervise: true, mayChange: true });
  closeAtEnd(() => boss.stop());
  const end = await workPruefung(boss, database.work, createLog('silent'), (error) => assert.fail(String(error)));
  closeAtEnd(end);
  const schedules = await boss.boss.getSchedules();
  assert.deepEqual(
    schedules.flatMap(({ name, cron, timezone }) => (name === 'pruefgruende' ? [[cron, timezone]] : [])),
    [['27 2 * * *', 'Europe/Berlin']],
  );

  const id = await makeRecord(sql, { bereich: 'oeffentlich' });
  const codes = async () =>
    (await sql`select to_json(codes) as codes from portal.pruefgrund where sichtbeobachtung_id = ${id}`)[0]?.codes;
  await waitFor('the reasons of a new record', async () => (await codes()) !== undefined);
  assert.deepEqual(await codes(), ['zu_wenige_vergleiche']);

  await sql`update portal.pruefgrund set codes = '{}'`;
  await boss.boss.send('pruefgruende', {});
  await waitFor('the night', async () => (await codes())?.length === 1);
});

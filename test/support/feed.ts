// The feed waits for every transaction on the server, also those of other tests' databases.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Sql } from '../../src/db/client.ts';

/** Waits until all that is committed can be read in the feed. */
export async function settleFeed(sql: Sql): Promise<void> {
  for (let waited = 0; waited < 30_000; waited += 10) {
    await sql`select api.set_abgleich_verlauf()`;
    const [row] = await sql<{ pending: boolean }[]>`select k.pending from api.get_abgleich_kopf() k`;
    if (row?.pending === false) return;
    await sleep(10);
  }
  assert.fail('a transaction goes on that the feed waits for');
}

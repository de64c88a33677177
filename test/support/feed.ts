// The feed for mirrors, as tests read it.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Sql } from '../../src/db/client.ts';
import type { Json, TestService } from './service.ts';

/** Waits until all that is committed can be read: the feed waits for every transaction on the server, also in other tests' databases. */
export async function settleFeed(sql: Sql): Promise<void> {
  for (let waited = 0; waited < 30_000; waited += 10) {
    await sql`select api.set_abgleich_verlauf()`;
    const [row] = await sql<{ pending: boolean }[]>`select k.pending from api.get_abgleich_kopf() k`;
    if (row?.pending === false) return;
    await sleep(10);
  }
  assert.fail('a transaction goes on that the feed waits for');
}

export interface FollowOptions {
  /** What is asked for beside the place, with its `&`. */
  query?: string;
  host?: string;
  /** Whether to wait until all that is committed can be read; true unless said otherwise. */
  isSettled?: boolean;
}

/** All that a mirror is told from a cursor on, and the cursor that it ends at. */
export async function followFeed(
  service: TestService,
  cursor: string | null,
  { query = '', host = 'n.test', isSettled = true }: FollowOptions = {},
): Promise<{ told: Json[]; cursor: string }> {
  if (isSettled) await settleFeed(service.database.sql);
  const told: Json[] = [];
  for (let pages = 0; pages < 1000; pages++) {
    const path = `/abgleich/v1/sichtbeobachtungen?limit=7${query}${cursor === null ? '' : `&seit=${cursor}`}`;
    const { status, json, text } = await service.request(path, { below: '', host });
    assert.equal(status, 200, text);
    told.push(...json.result);
    cursor = json.cursor as string;
    if (!json.weitere) return { told, cursor };
    assert.ok(json.result.length <= 7);
  }
  assert.fail('the feed does not end');
}

/** The records that a mirror was told of; negative: gone. */
export const idsOf = (told: Json[]): number[] => told.map(({ id, geloescht }) => (geloescht ? -id : id));

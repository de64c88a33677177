// The list first walks back from the newest record; with as few records as a test has, that finds everything. To see that
// what comes after it agrees, the walks are made short.
import assert from 'node:assert/strict';
import type { Sql } from '../../src/db/client.ts';

const walks = [
  { name: 'list_id_by_walk', depths: 'array[500, 500 + 80 * f.row_limit]' },
  { name: 'list_id_by_walk_of_reader', depths: 'array[250, 250 + 40 * f.row_limit]' },
  { name: 'list_id_of_filters', depths: 'array[1000, 30000 + 100 * f.row_limit]' },
];

/** From now on the lists of this database walk over a few records only before they turn to other indexes. */
export async function shortenWalks(sql: Sql): Promise<void> {
  for (const { name, depths } of walks) {
    const [row] = await sql<{ code: string }[]>`
      select pg_get_functiondef(p.oid) as code from pg_proc p where p.proname = ${name} and p.pronamespace = 'private'::regnamespace`;
    const parts = row?.code.split(depths) ?? [];
    assert.equal(parts.length, 2, `${depths} in private.${name}`);
    await sql.unsafe(parts.join('array[2, 5]'));
  }
}

// Lists first walk over the newest records, or look what there is by place; with as few records as a test has, that finds everything.
// To see that what comes after it agrees, these are made short.
import assert from 'node:assert/strict';
import type { Sql } from '../../src/db/client.ts';

const walks = [
  { name: 'private.list_id_by_walk', part: 'array[500, 500 + 80 * f.row_limit]', short: 'array[2, 5]' },
  { name: 'private.list_id_by_walk_of_reader', part: 'array[250, 250 + 40 * f.row_limit]', short: 'array[2, 5]' },
  { name: 'private.list_id_of_filters', part: 'array[1000, 30000 + 100 * f.row_limit]', short: 'array[2, 5]' },
  { name: 'ausgabe.list_sichtbeobachtung_zeile', part: 'integer := 20000', short: 'integer := 2' },
  { name: 'ausgabe.list_sichtbeobachtung_zeile_of_box', part: 'ceil(600 * sqrt(v_rest))', short: '2' },
  { name: 'ausgabe.list_sichtbeobachtung_zeile_of_box', part: '4 * v_rest', short: 'v_rest' },
  { name: 'ausgabe.list_sichtbeobachtung_zeile_of_box', part: 'offset 1000', short: 'offset 2' },
  { name: 'ausgabe.render_sichtbeobachtung_zeile', part: 'integer := 128', short: 'integer := 2' },
];

/**
 * From now on the lists of this database look at a few records only before they turn to other indexes.
 * @param only in these parts of them; in all without it
 */
export async function shortenWalks(sql: Sql, only?: readonly string[]): Promise<void> {
  for (const { name, part, short } of walks.filter((walk) => only?.includes(walk.part) ?? true)) {
    // Not the form of the last release, which hands on to it.
    const [row] = await sql<{ code: string }[]>`
      select pg_get_functiondef(p.oid) as code from pg_proc p
      where concat(p.pronamespace::regnamespace, '.', p.proname) = ${name} and strpos(p.prosrc, ${part}) > 0`;
    const parts = row?.code.split(part) ?? [];
    assert.equal(parts.length, 2, `${part} in ${name}`);
    await sql.unsafe(parts.join(short));
  }
}

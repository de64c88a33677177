// What the planner is told of tables that grow.
import type { Sql } from './client.ts';
import { oneValue } from './row.ts';

/** Those that have something for each record, by which lists, maps and the feed are made. */
const tables: { name: string; analyze: (sql: Sql) => PromiseLike<unknown> }[] = [
  { name: 'portal.sichtbeobachtung', analyze: (sql) => sql`analyze portal.sichtbeobachtung` },
  { name: 'portal.mandant_sichtbeobachtung', analyze: (sql) => sql`analyze portal.mandant_sichtbeobachtung` },
  { name: 'portal.sichtbeobachtung_gezeigt', analyze: (sql) => sql`analyze portal.sichtbeobachtung_gezeigt` },
  { name: 'portal.sichtbeobachtung_exakt', analyze: (sql) => sql`analyze portal.sichtbeobachtung_exakt` },
  { name: 'portal.abgleich', analyze: (sql) => sql`analyze portal.abgleich` },
];

// What the planner expects of a table of which it knows nothing.
const leastPages = 10;

/**
 * Makes new statistics of the tables of records. Not of one that holds little: what is known as empty is read from end to end, and a statement keeps
 * its plan until there are other statistics, which the embedded database never makes by itself. In a portal that was empty when its catalogue came,
 * every page read all records for each of its own; 10 000 features of 5 700 records took 2.5 s.
 */
export async function analyzeRecords(sql: Sql): Promise<void> {
  for (const { name, analyze } of tables) {
    const holdsMuch = await oneValue<boolean>(sql`
      select pg_relation_size(${name}::text::regclass) >= ${leastPages}::integer * current_setting('block_size')::integer`);
    if (holdsMuch) await analyze(sql);
  }
}

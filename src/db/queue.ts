// The queue as operators see it. Its tables are pg-boss's own.
import type { Sql } from './client.ts';

/** What waits in a queue, for its time or for a worker. */
export interface QueueState {
  name: string;
  /** How many, up to 10 000. */
  jobs: number;
  /** Since when the oldest of them is there. */
  oldestSeconds: number;
  /** How long ago the first of them should have been begun. */
  overdueSeconds: number;
}

/** Each queue in which anything may wait. Reads the first 10 000 jobs of each, by an index of pg-boss's. */
export async function listQueue(sql: Sql): Promise<QueueState[]> {
  return [
    ...(await sql<QueueState[]>`
      select q.name, w.jobs, w.oldest as "oldestSeconds", w.overdue as "overdueSeconds"
      from pgboss.queue q
      cross join lateral (
        select count(*)::integer as jobs,
          coalesce(extract(epoch from now() - min(j.created_on)), 0)::float8 as oldest,
          greatest(coalesce(extract(epoch from now() - min(j.start_after)), 0), 0)::float8 as overdue
        from (
          select n.created_on, n.start_after
          from pgboss.job n
          where n.name = q.name and n.state < 'active' and not n.blocked
          order by n.priority desc, n.created_on
          limit 10000
        ) j
      ) w
      order by q.name`),
  ];
}

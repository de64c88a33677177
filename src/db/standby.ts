// A commit that no synchronous standby confirms waits for ever, by the server's own will: no time limit ends it.
import type { Database } from './client.ts';

/**
 * Tells once when a statement of this role waits for a synchronous standby: a start or a migration would stand still without a word.
 * @returns ends the watch
 */
export function watchStandby(database: Database, report: (line: string) => void, everyMs = 10_000): () => void {
  if (database.kind !== 'postgres') return () => {};
  let isEnded = false;
  const end = () => {
    isEnded = true;
    clearInterval(timer);
  };
  const timer = setInterval(async () => {
    // Where even this can't be asked, whoever starts hears of that.
    const waits = await database.sql`
      select 1 from pg_stat_activity where usename = current_user and datname = current_database() and wait_event = 'SyncRep'`.catch(
      () => [],
    );
    if (waits.length === 0 || isEnded) return;
    end();
    report(
      'Die Datenbank bestätigt eine Änderung erst, wenn ein synchroner Standby sie hat, und keiner antwortet (synchronous_standby_names); gewartet wird, bis einer antwortet …',
    );
  }, everyMs);
  timer.unref();
  return end;
}

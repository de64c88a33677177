// GET /health/live, GET /health/ready: what supervisors ask.
import { setTimeout as sleep } from 'node:timers/promises';
import { Hono } from 'hono';
import { isReadOnly } from '../../db/check.ts';
import { isMigrated } from '../../db/migrate.ts';
import type { Deps, Env } from '../context.ts';

const replicaMs = 1000;

export function healthRoutes({ sql, drain, replicas }: Pick<Deps, 'sql' | 'drain' | 'replicas'>): Hono<Env> {
  return new Hono<Env>()
    .get('/health/live', (c) => c.text('ok'))
    .get('/health/ready', async (c) => {
      if (drain?.active) return c.text('Der Dienst wird beendet.', 503);
      const answers = isMigrated(sql).catch(() => false);
      // Who asks does not wait for a primary that hangs.
      const ready = await (replicas ? Promise.race([answers, sleep(replicaMs, false, { ref: false })]) : answers);
      // Whoever only reads is answered still.
      if (!ready && replicas?.some(({ leftOut }) => leftOut === null))
        return c.text('ok, aber nur zum Lesen: Die primäre Datenbank antwortet nicht');
      if (!ready) return c.text('Die Datenbank antwortet nicht oder ist nicht migriert.', 503);
      // Reads go on: an instance that is taken out of service would answer none.
      return c.text((await isReadOnly(sql).catch(() => false)) ? 'ok, aber die Datenbank ist schreibgeschützt' : 'ok');
    });
}

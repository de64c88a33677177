// GET /health/live, GET /health/ready: what supervisors ask.
import { Hono } from 'hono';
import { isMigrated } from '../../db/migrate.ts';
import { isReadOnly } from '../../db/requirements.ts';
import type { Deps, Env } from '../context.ts';

export function healthRoutes({ sql, drain }: Pick<Deps, 'sql' | 'drain'>): Hono<Env> {
  return new Hono<Env>()
    .get('/health/live', (c) => c.text('ok'))
    .get('/health/ready', async (c) => {
      if (drain?.active) return c.text('Der Dienst wird beendet.', 503);
      const ready = await isMigrated(sql).catch(() => false);
      if (!ready) return c.text('Die Datenbank antwortet nicht oder ist nicht migriert.', 503);
      // Reads go on: an instance that is taken out of service would answer none.
      return c.text((await isReadOnly(sql).catch(() => false)) ? 'ok, aber die Datenbank ist schreibgeschützt' : 'ok');
    });
}

// GET /pruefung/v1/hinweise: what would be odd about a report, to ask while the form is filled (O6.3).
import { Hono } from 'hono';
import * as v from 'valibot';
import { listHinweis } from '../../../db/pruefung.ts';
import { felder } from '../../../sichtbeobachtung-felder.ts';
import { type Deps, type Env, tenantMiddleware } from '../../context.ts';
import * as field from '../../wire/fields.ts';
import { send } from '../../wire/reply.ts';
import { queryReader } from '../output-query.ts';

const { lat, lon, srid, anzahl } = felder;
// As a report has them.
const readReport = queryReader({
  art: field.id,
  lat: field.double(lat.allowed),
  lon: field.double(lon.allowed),
  srid: v.optional(field.emptyAs(field.oneOf(srid.words), srid.empty), ''),
  datum: v.optional(field.orEmpty(field.date), ''),
  anzahl: v.optional(field.emptyAs(field.integer(anzahl.min, anzahl.max), anzahl.empty), ''),
  stadium_id: v.optional(field.orEmpty(field.id), ''),
  aktivitaet_id: v.optional(field.orEmpty(field.id), ''),
});

export function hinweisRoutes(deps: Deps): Hono<Env> {
  return new Hono<Env>().get('/pruefung/v1/hinweise', tenantMiddleware(deps), async (c) => {
    const report = readReport(c);
    const gruende = await listHinweis(deps.reads, c.get('tenant').id, {
      ...report,
      srid: Number(report.srid.slice('EPSG:'.length)),
    });
    // The address says where somebody is about to report.
    c.header('Cache-Control', 'no-store');
    return send(c, { body: JSON.stringify({ gruende }), type: 'application/json; charset=utf-8', status: 200 });
  });
}

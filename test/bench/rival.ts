// What the service is compared with, as a process of its own on the same HTTP stack: a constant body, and the naive way.
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { openDatabase } from '../../src/db/client.ts';
import type { NaivePage } from './calls.ts';

const [port = '', databaseUrl = ''] = process.argv.slice(2);
const { sql } = await openDatabase({ databaseUrl, dataDir: '' });

let constant = '';

const app = new Hono()
  .get('/constant', (c) => c.body(constant, 200, { 'Content-Type': 'application/json; charset=utf-8' }))
  .put('/constant', async (c) => {
    constant = await c.req.text();
    return c.body(null, 204);
  })
  // The same choice of records, the same fields and the same masking; the rows come as rows and are made JSON here.
  .get('/naive', async (c) => {
    const { tenant, artId, bbox } = JSON.parse(c.req.query('page') ?? '') as NaivePage;
    const rows = await sql`
      select s.id, s.guid, s.bereich, s.status, s.anzahl, st_y(k.place) as lat, st_x(k.place) as lon, s.datum,
        coalesce(am.name_deutsch, a.name_deutsch) as titel_deutsch,
        coalesce(am.name_wissenschaftlich, a.name_wissenschaftlich) as titel_wissenschaftlich,
        s.foto, s.foto_2, s.foto_3, s.biotopfoto, s.audio, s.bemerkung, coalesce(st.phaenogramm, true) as phaenogramm,
        am.art_id, am.legacy_regional_art_id, g.is_animal, k.is_rasterized,
        s.sensible_art or coalesce(am.sensibel, false) as sensible_art, s.sensibel
      from unnest(private.list_id(private.to_listenfilter(
        ${tenant}::integer, null,
        (${JSON.stringify({ bereich: 'oeffentlich', art_id: artId ?? undefined, bbox: bbox ?? undefined })}::text)::jsonb, null, 101))) with ordinality o (id, position)
      join portal.sichtbeobachtung s on s.id = o.id
      join portal.art a on a.id = s.art
      join portal.artengruppe g on g.id = s.gid
      left join portal.stadium st on st.id = s.stadium_id
      left join portal.art_mandant am on am.mandant_id = ${tenant}::integer and am.art = s.art
      cross join lateral (
        select m.masked as is_rasterized, case when m.masked then s.raster_point else s.point end as place
        from (select private.is_masked(s.schutz, am.sensibel, s.nutzer_id, null, false) as masked) m
      ) k
      order by o.position`;
    const result = rows.slice(0, 100).map((row) => ({
      ...row,
      bereich: row.bereich === 'oeffentlich' ? 'Öffentliche Meldungen' : 'Persönliche Erfassungen',
      status: 'Freigegeben',
      anzahl: String(row.anzahl),
      datum: (row.datum as Date).toISOString().slice(0, 10).split('-').reverse().join('.'),
    }));
    return c.json({ result, ...(rows.length > 100 && { next: `${c.req.url}&cursor=${rows[99]?.id}` }) });
  });

serve({ fetch: app.fetch, hostname: '127.0.0.1', port: Number(port) });

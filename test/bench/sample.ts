// Generated rows against the triggers: a load that derives otherwise would measure another service.
import assert from 'node:assert/strict';
import type { Sql } from '../../src/db/client.ts';

const sampleSize = 400;

/**
 * Deletes some generated sightings and reports them again through the triggers, in a transaction that is rolled back.
 * Protected ones and those near borders are among them.
 * @returns how many were compared
 * @throws AssertionError when a row, its tenants or its log entries differ
 */
export async function checkSample(sql: Sql, size: number): Promise<number> {
  const rows = await sql<{ id: number }[]>`
    (select s.id from portal.sichtbeobachtung s where s.schutz = 2 limit 60)
    union (select s.id from portal.sichtbeobachtung s where s.schutz = 1 limit 60)
    union (
      select l.sichtbeobachtung_id from portal.mandant_sichtbeobachtung l
      where not l.exakt order by l.sichtbeobachtung_id limit 60)
    union (
      select 1 + floor(bench.unit(n, 900) * ${size}::bigint)::bigint from generate_series(1, ${sampleSize}::integer) n)`;
  const ids = `{${rows.map((row) => row.id)}}`;
  const back = new Error('rolled back');
  await sql
    .begin(async (tx) => {
      // bench.unit and others are the benchmark's own; the times of the logs are the only thing that may differ.
      const read = async () => {
        const [state] = await tx<{ records: string; links: string; protokoll: string; qs: string }[]>`
          select
            (select json_agg(to_jsonb(s) order by s.id) from portal.sichtbeobachtung s where s.id = any (${ids}::bigint[]))::text as records,
            (select json_agg(l order by l.mandant_id, l.sichtbeobachtung_id)
              from portal.mandant_sichtbeobachtung l where l.sichtbeobachtung_id = any (${ids}::bigint[]))::text as links,
            (select json_agg(p.sichtbeobachtung_id order by p.sichtbeobachtung_id)
              from portal.protokoll p where p.sichtbeobachtung_id = any (${ids}::bigint[]) and p.audit = 'CREATE')::text as protokoll,
            (select json_agg(to_jsonb(q) - '{id,zeitpunkt}'::text[] order by q.sichtbeobachtung_id)
              from portal.qs q where q.sichtbeobachtung_id = any (${ids}::bigint[]))::text as qs`;
        return state;
      };
      const generated = await read();
      await tx`create temporary table sample on commit drop as select * from portal.sichtbeobachtung where id = any (${ids}::bigint[])`;
      await tx`delete from portal.sichtbeobachtung where id = any (${ids}::bigint[])`;
      await tx`delete from portal.protokoll where sichtbeobachtung_id = any (${ids}::bigint[])`;
      await tx`delete from portal.qs where sichtbeobachtung_id = any (${ids}::bigint[])`;
      await tx`
        insert into portal.sichtbeobachtung (
          id, nutzer_id, art, anzahl, sensibel, datum, bereich, status, point, stadium_id, aktivitaet_id, bemerkung,
          bemerkung_experte, experte_id, foto, angelegt)
        overriding system value
        select id, nutzer_id, art, anzahl, sensibel, datum, bereich, status, point, stadium_id, aktivitaet_id, bemerkung,
          bemerkung_experte, experte_id, foto, angelegt
        from sample`;
      const triggered = await read();
      assert.ok(JSON.parse(generated?.records ?? 'null').length === rows.length, 'the sample is read');
      assert.deepEqual(triggered, generated, 'generated sightings differ from what the triggers make');
      throw back;
    })
    .catch((error) => {
      if (error !== back) throw error;
    });
  return rows.length;
}

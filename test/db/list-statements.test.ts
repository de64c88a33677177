// What the statements of lists read.
import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import type { Sql } from '../../src/db/client.ts';
import { startTestService } from '../support/service.ts';

let sql: Sql;
before(async () => {
  sql = (await startTestService()).database.connect({ settings: { plan_cache_mode: 'force_generic_plan' } }); // as requests have it
});

it('a page of own records reads no more than a page, also where another index looks as good', async () => {
  const [{ reader } = {}] = await sql`select min(id) as reader from portal.nutzer`;
  await sql`
    insert into portal.sichtbeobachtung (nutzer_id, art, point, datum, bereich)
    select ${reader}, a.id, st_setsrid(st_makepoint(420000 + n, 5500000), 25832), '2020-01-01'::date + n % 1000,
      (case when n % 2 = 0 then 'privat' else 'oeffentlich' end)::portal.bereich
    from generate_series(1, 20000) n, (select min(id) as id from portal.art) a`;
  // As with many accounts, after many changes and no vacuum: of no page is known what an index would tell alone.
  await sql`alter table portal.sichtbeobachtung alter column nutzer_id set (n_distinct = 1000)`;
  await sql`analyze portal.sichtbeobachtung`;
  for (const bereich of ['persoenlich', 'privat']) {
    const call = `api.list_sichtbeobachtung(1, ${reader}, '{"bereich":"${bereich}"}', null, 10)`;
    const read = async () => {
      const [row] = await sql.unsafe(`explain (analyze, buffers, format json) select * from ${call}`);
      const plan = row?.['QUERY PLAN'][0].Plan;
      return plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
    };
    // The second time plans are there.
    await read();
    const blocks = await read();
    assert.ok(blocks < 400, `${bereich}: ${blocks} blocks`);
  }
});

// Which lists have a statement of their own in the database, and which are put together there: the latter get a small share of the
// connections, so both sides must agree on them.
import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import type { Sql } from '../../src/db/client.ts';
import { listSichtbeobachtung, mayComputeLong, type SichtbeobachtungFilter } from '../../src/db/sichtbeobachtung.ts';
import { startTestService } from '../support/service.ts';

let sql: Sql;
before(async () => {
  sql = (await startTestService()).database.connect();
});

/** Whether the database put the statement of this list together. */
async function isPutTogether(filter: SichtbeobachtungFilter): Promise<boolean> {
  return sql.begin(async (tx) => {
    await tx`set local track_functions = 'pl'`;
    // With what transactions before left unreported.
    const count = async () => {
      const [row] = await tx<{ calls: number }[]>`
        select coalesce(sum(calls), 0)::integer as calls from pg_stat_xact_user_functions
        where funcname = 'list_id_of_filters'`;
      return row?.calls ?? Number.NaN;
    };
    const before = await count();
    await listSichtbeobachtung(tx as unknown as Sql, 1, null, filter, null, 100);
    return (await count()) > before;
  });
}

it('the service and the database mean the same lists by those that are put together', async () => {
  const [names] = await sql`
    select m.kuerzel, am.name_deutsch, g.id as gid from portal.art_mandant am join portal.mandant m on m.id = am.mandant_id
    join portal.art a on a.id = am.art join portal.artengruppe g on g.id = a.gid
    where am.mandant_id = 1 and am.name_deutsch is not null order by am.art limit 1`;
  const kinds: Partial<SichtbeobachtungFilter>[] = [
    { titel_deutsch: names?.name_deutsch },
    { artengruppe_id: names?.gid },
    { jahr: 2024 },
    { datum_von: '2024-01-01' },
    { mandant: names?.kuerzel },
    { bbox: [400_000, 5_500_000, 410_000, 5_510_000] },
  ];
  const wrong: string[] = [];
  for (let subset = 0; subset < 2 ** kinds.length; subset++) {
    const chosen = Object.assign({}, ...kinds.filter((_, n) => subset & (1 << n))) as Partial<SichtbeobachtungFilter>;
    const filter: SichtbeobachtungFilter = { bereich: 'oeffentlich', ...chosen };
    if (mayComputeLong(filter) !== (await isPutTogether(filter))) wrong.push(Object.keys(chosen).join('+'));
  }
  assert.deepEqual(wrong, []);
});

it('days and years of a large box have the small share too, though the database has a walk for boxes', () => {
  const of = (sideKm: number, more: Partial<SichtbeobachtungFilter>) =>
    mayComputeLong({
      bereich: 'oeffentlich',
      bbox: [300_000, 5_300_000, 300_000 + sideKm * 1000, 5_300_000 + sideKm * 1000],
      ...more,
    });
  for (const dated of [{ jahr: 2015 }, { datum_von: '2015-06-03' }, { datum_bis: '2015-06-03' }]) {
    assert.equal(of(200, dated), false);
    assert.equal(of(201, dated), true);
  }
  assert.equal(of(800, {}), false);
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
  // As requests have them.
  await sql`set plan_cache_mode = force_generic_plan`;
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

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

// Pages: those of a box hold what is shown in it, each record once, in one order, whatever the system, and wherever its edges cut cells (O2.2);
// those of own records read no more than they show.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { Database, Sql } from '../../src/db/client.ts';
import { arten } from '../support/catalogue.ts';
import { openTestDatabase } from '../support/database.ts';
import { makeDice } from '../support/dice.ts';
import { shortenWalks } from '../support/walks.ts';

let database: Database;
let sql: Sql;
const systems = [25832, 4326, 3857, 3035] as const;
const dice = makeDice(932);
const { below, pick, chance } = dice;

before(async () => {
  database = await openTestDatabase();
  sql = database.sql;
  // Two crowded cells among others, places on the sides and corners of cells, and masked ones everywhere.
  await sql`
    insert into portal.sichtbeobachtung (nutzer_id, art, point, datum, bereich, status, sensibel)
    select (select min(id) from portal.nutzer), case when i % 3 = 0 then ${arten.uhu}::integer else ${arten.amsel} end,
      st_setsrid(case
        when i % 4 = 0 then st_makepoint(415000 + (i * 7919 % 4000), 5505000 + (i * 6007 % 9000))
        when i % 4 = 1 then st_makepoint(400000 + i % 8 * 5000, 5490000 + i % 7 * 5000 + i % 2 * (i * 31 % 5000))
        else st_makepoint(400000 + (i * 7907 % 40000), 5490000 + (i * 6101 % 35000)) end, 25832),
      date '2001-01-01' + i % 3000, 'oeffentlich', 'freigegeben', i % 5 = 0
    from generate_series(1, 900) i`;
});

interface Box {
  sides: number[];
  srid: number;
}

/** A box of 10 m to 60 km, in every second case along the sides of cells. */
async function makeBox(): Promise<Box> {
  const srid = pick([...systems]);
  const onGrid = chance(0.5);
  const place = (from: number, width: number) => (onGrid ? from + below(width / 5000) * 5000 : from + below(width));
  const [x, y] = [place(390_000, 50_000), place(5_480_000, 45_000)];
  const side = () => (onGrid ? below(8) * 5000 : 10 ** (1 + below(3770) / 1000));
  const [row] = await sql<{ sides: number[] }[]>`
    select to_json(array[st_xmin(g), st_ymin(g), st_xmax(g), st_ymax(g)]) as sides
    from (select st_transform(st_setsrid(st_envelope(st_makeline(
      st_makepoint(${x}::float8, ${y}::float8), st_makepoint(${x + side()}::float8, ${y + side()}::float8))), 25832), ${srid}::integer)) t (g)`;
  return { sides: row?.sides ?? [], srid };
}

/** @param walked by its cells also where so few records match that they would be sorted */
async function readPages(
  { sides, srid }: Box,
  filter: { art: number | null; von: string | null },
  limit: number,
  walked = false,
) {
  const found: number[] = [];
  for (let after: string | null = null; ; ) {
    const [row]: { ids: number[]; key: string }[] = await sql`
      select
        to_json(array(
          select s.id from unnest(p.zeile) with ordinality u (zeile, n) join gis.sichtbeobachtung s on s.zeile = u.zeile order by u.n)) as ids, (
        select array[s.cell_x, s.cell_y, s.id]::text from gis.sichtbeobachtung s where s.zeile = p.zeile[${limit}::integer]) as key
      from (
        select case when ${walked} then ausgabe.list_sichtbeobachtung_zeile_of_box(
          case when ${filter.art}::integer is not null then array[${filter.art}::integer] end, coalesce(${filter.von}::date, '-infinity'),
          'infinity', null, ${`{${sides.join()}}`}::float8[], ${srid}::integer, ${after}::bigint[], ${limit}::integer, null)
        else ausgabe.list_sichtbeobachtung_zeile(
          ${filter.art}::integer, null, ${filter.von}::date, null, null, ${`{${sides.join()}}`}::float8[], ${srid}::integer,
          ${after}::bigint[], ${limit}::integer, null) end) p (zeile)`;
    found.push(...(row?.ids ?? []));
    if (!row?.key) return found;
    after = row.key;
  }
}

describe('pages of a box', () => {
  it('O2.2 hold what is shown in it, in the order of cells', async () => {
    let records = 0;
    for (let n = 0; n < 180; n++) {
      // As where columns hold many, and then as where cells do.
      if (n === 60) await shortenWalks(sql, ['offset 1000']);
      if (n === 120) await shortenWalks(sql, ['ceil(600 * sqrt(v_rest))', '4 * v_rest']);
      const box = await makeBox();
      const filter = { art: chance(0.3) ? arten.uhu : null, von: chance(0.3) ? '2003-01-01' : null };
      const expected = await sql<{ id: number }[]>`
        select s.id from gis.sichtbeobachtung s
        where ausgabe.is_shown_in(s.place, s.unschaerfe_m, ausgabe.to_envelope(${`{${box.sides.join()}}`}::float8[], ${box.srid}::integer),
            ausgabe.to_area(${`{${box.sides.join()}}`}::float8[], ${box.srid}::integer))
          and (${filter.art}::integer is null or s.art = ${filter.art}) and s.datum >= coalesce(${filter.von}::date, '-infinity')
        order by s.cell_x, s.cell_y, s.id`;
      const limit = pick([3, 40, 1000]);
      for (const walked of [false, true]) {
        assert.deepEqual(
          await readPages(box, filter, limit, walked),
          expected.map(({ id }) => id),
          JSON.stringify({ ...box, ...filter, limit, walked }),
        );
      }
      records += expected.length;
    }
    assert.ok(records > 7500, String(records));
  });

  it('end for boxes without width, and for all the world', async () => {
    const all = { art: null, von: null };
    const [row] = await sql`select count(*)::integer as n from gis.sichtbeobachtung`;
    for (const { sides, srid } of [
      { sides: [-1e9, -1e9, 1e9, 1e9], srid: 25832 },
      { sides: [-180, -90, 180, 90], srid: 4326 },
      { sides: [-2e7, -2e7, 2e7, 2e7], srid: 3857 },
      { sides: [0, 0, 1e7, 1e7], srid: 3035 },
    ]) {
      assert.equal((await readPages({ sides, srid }, all, 100)).length, row?.n, String(srid));
    }
    const onLine = await readPages({ sides: [420_000, -1e9, 420_000, 1e9], srid: 25832 }, all, 100);
    const [line] = await sql`
      select count(*)::integer as n from gis.sichtbeobachtung
      where case when unschaerfe_m > 0 then st_x(place) in (417500, 422500) else st_x(place) = 420000 end`;
    assert.equal(onLine.length, line?.n);
    assert.ok(onLine.length > 10);
  });
});

it('O2 pages of features come in pieces, each a page of its own to who reads no further; a long one ends early', async () => {
  const readPieces = async (after: string | null, limit: number) => {
    const rows = await sql<{ features: string; key: string | null; returned: number }[]>`
      select p.features, p.last_key as key, p.returned
      from ausgabe.list_sichtbeobachtung(
        null, null, null, null, null, null, null, ${after && `{${after}}`}::bigint[], 0, ${limit}::integer, 4326, false, null) p`;
    return rows.map(({ features, key, returned }) => {
      const ids = JSON.parse(`[${features}]`).map(({ id }: { id: number }) => id) as number[];
      assert.equal(ids.length, returned);
      return { ids, key };
    });
  };
  const all = (await sql<{ id: number }[]>`select id from gis.sichtbeobachtung order by id desc`).map(({ id }) => id);
  const pieces = await readPieces(null, 1000);
  assert.ok(pieces.length > 3);
  assert.deepEqual(
    pieces.flatMap(({ ids }) => ids),
    all,
  );
  assert.equal(pieces.at(-1)?.key, null);
  for (const { ids, key } of pieces.slice(0, -1)) {
    const [next] = await readPieces(key, 1);
    assert.deepEqual(next?.ids, [all[all.indexOf(ids.at(-1) ?? 0) + 1]]);
  }
  const cut = await readPieces(null, 200);
  assert.equal(cut.at(-1)?.key, String(all[199]));

  const [row] = await sql`select pg_get_functiondef('ausgabe.get_max_bytes'::regproc) as code`;
  await sql.unsafe(row?.code.replace('16777216', '150000'));
  const found: number[] = [];
  for (let after: string | null = null, pages = 0; ; pages++) {
    const page = await readPieces(after, 1000);
    found.push(...page.flatMap(({ ids }) => ids));
    after = page.at(-1)?.key ?? null;
    if (after === null) {
      assert.ok(pages > 1);
      break;
    }
  }
  assert.deepEqual(found, all);
  await sql.unsafe(row?.code);
});

it('a page of own records reads no more than a page, also where another index looks as good', async () => {
  // As requests have it.
  const requests = database.connect({ settings: { plan_cache_mode: 'force_generic_plan' } });
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
      const [row] = await requests.unsafe(`explain (analyze, buffers, format json) select * from ${call}`);
      const plan = row?.['QUERY PLAN'][0].Plan;
      return plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
    };
    // The second time plans are there.
    await read();
    const blocks = await read();
    assert.ok(blocks < 400, `${bereich}: ${blocks} blocks`);
  }
});

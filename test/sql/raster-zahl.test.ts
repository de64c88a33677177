// O2.3: counts by squares agree with counting the records, after every kind of change, counted anew or not.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Sql, Transaction } from '../../src/db/client.ts';
import { completeRaster, countRaster } from '../../src/db/raster.ts';
import { arten } from '../support/catalogue.ts';
import { onPostgres, openTestDatabase } from '../support/database.ts';
import { makeDice } from '../support/dice.ts';
import { takeBack } from '../support/records.ts';

let sql: Sql;
before(async () => {
  sql = (await openTestDatabase()).sql;
});

/** Stores so many released records, a metre apart. */
const insert = (tx: Sql | Transaction, x: number, count = 1, art: number = arten.gelbflechte) => tx`
  insert into portal.sichtbeobachtung (nutzer_id, art, point, datum, bereich, status)
  select (select min(id) from portal.nutzer), ${art}, st_setsrid(st_makepoint(${x}::integer + i, 5534999), 25832), '2004-02-03',
    'oeffentlich', 'freigegeben' from generate_series(0, ${count - 1}::integer) i
  returning id`;
/** Without records, and counted. */
const clear = async () => {
  await sql`delete from portal.sichtbeobachtung`;
  await countRaster(sql);
};

const grids = ['5km', 'eea10', 'mtb', 'mtbq'] as const;

/** Squares of a grid by counting what analysts see, with the numbers of squares from where they lie. */
const naive: Record<(typeof grids)[number], string> = {
  '5km': "floor(st_x(place) / 5000) || '/' || floor(st_y(place) / 5000)",
  eea10: "'10kmE' || floor(st_x(st_transform(place, 3035)) / 10000) || 'N' || floor(st_y(st_transform(place, 3035)) / 10000)",
  mtb: 'left(private.to_tk(place)::text, -1)',
  mtbq: "left(private.to_tk(place)::text, -1) || '/' || right(private.to_tk(place)::text, 1)",
};

async function countNaively(grid: (typeof grids)[number], where: string) {
  const rows = await sql.unsafe(`
    select ${naive[grid]} as code, count(*)::integer as meldungen, count(distinct art)::integer as arten, min(jahr) as erstes_jahr,
      max(jahr) as letztes_jahr, (count(*) filter (where unschaerfe_m > 0))::integer as verschleiert
    from gis.sichtbeobachtung where ${where} group by 1 having ${naive[grid]} is not null`);
  return rows.map((row) => ({ ...row, code: String(row.code) }));
}

const byCode = (a: { code: string }, b: { code: string }) => (a.code < b.code ? -1 : 1);

async function readCounts(grid: string, filter: { art?: number; gid?: number; von?: number; bis?: number } = {}) {
  const rows: { code: string; meldungen: number }[] = await sql`
    select code, meldungen::integer as meldungen, arten::integer as arten, erstes_jahr, letztes_jahr, verschleiert::integer as verschleiert
    from ausgabe.list_raster(${grid}, ${filter.art ?? null}, ${filter.gid ?? null}, ${filter.von ?? null}, ${filter.bis ?? null}, null, null, 100000)`;
  return rows.map((row) => ({ ...row, code: String(row.code) })).sort(byCode);
}

/** The same, page by page, of the squares that a box meets. */
async function readPages(grid: string, filter: { art?: number; gid?: number; von?: number }, box: number[], limit: number) {
  const codes: string[] = [];
  for (let after: string | null = null; ; after = codes.at(-1) ?? null) {
    const rows: { code: string }[] = await sql`
      select code from ausgabe.list_raster(${grid}, ${filter.art ?? null}, ${filter.gid ?? null}, ${filter.von ?? null}, null,
        st_makeenvelope(${box[0] ?? 0}, ${box[1] ?? 0}, ${box[2] ?? 0}, ${box[3] ?? 0}, 25832), ${after}, ${limit})`;
    codes.push(...rows.map(({ code }) => code));
    if (rows.length < limit) return codes.sort();
  }
}

/** Compares every grid, without a filter and with each, and the larger squares. */
async function checkAll(what: string): Promise<void> {
  for (const grid of grids) {
    const pad = grid === 'mtb' || grid === 'mtbq';
    const gid = await gidOf(arten.uhu);
    const check = async (where: string, filter: Parameters<typeof readCounts>[1]) => {
      const expected = await countNaively(grid, where);
      // Numbers of sheets have four digits.
      const padded = expected.map((row) => (pad ? { ...row, code: row.code.replace(/^\d+/, (n) => n.padStart(4, '0')) } : row));
      padded.sort(byCode);
      assert.deepEqual(await readCounts(grid, filter), padded, `${what}: ${grid} ${where}`);
    };
    await check('true', {});
    await check(`art = ${arten.uhu}`, { art: arten.uhu });
    await check(`gid = ${gid}`, { gid });
    await check('jahr between 2001 and 2003', { von: 2001, bis: 2003 });
    await check(`art = ${arten.gelbflechte} and jahr >= 2002`, { art: arten.gelbflechte, von: 2002 });
    // Everything lies in it.
    const box = [300_000, 5_400_000, 600_000, 5_700_000];
    for (const filter of [{}, { art: arten.uhu }, { gid }, { von: 2002 }]) {
      const all = (await readCounts(grid, filter)).map(({ code }) => code);
      assert.deepEqual(await readPages(grid, filter, box, 4), all.sort(), `${what}: ${grid} in pages ${JSON.stringify(filter)}`);
    }
    assert.deepEqual(await readPages(grid, { von: 2002 }, [1, 1, 2, 2], 4), []);
  }
  // The page of all species is put together of what is kept; to another system it is made square by square.
  for (const grid of grids) {
    const read = (srid: number, after: string | null, limit: number) => sql<Page[]>`
      select features, last_key from ausgabe.list_raster_feature(
        ${grid}, null, null, null, null, null, null, ${after}, 1, ${limit}, ${srid}, false)`;
    for (let after: string | null = null; ; ) {
      const [kept]: Page[] = await read(4326, after, 4);
      const [made]: Page[] = await read(25832, after, 4);
      const expected: { feature: string }[] = await sql.unsafe(`
        select ausgabe.to_raster_feature(z.code, z.meldungen, z.arten, z.erstes_jahr, z.letztes_jahr, z.verschleiert, z.cell, 4326, false) as feature
        from ausgabe.list_raster('${grid}', null, null, null, null, null, ${after === null ? 'null' : `'${after}'`}, 5) z offset 1`);
      assert.deepEqual(kept?.features, expected.map(({ feature }) => feature).join(',\n'), `${what}: ${grid} behind ${after}`);
      assert.equal(kept?.last_key, made?.last_key, `${what}: ${grid} behind ${after}`);
      after = kept?.last_key ?? null;
      if (after === null) break;
    }
  }
  for (const stufe of [0, 1, 3, 6, 9]) {
    const side = 5000 * 2 ** stufe;
    const count = (where: string) =>
      sql.unsafe(`
      select floor(st_x(place) / ${side})::integer as x, floor(st_y(place) / ${side})::integer as y, count(*)::integer as meldungen,
        count(distinct art)::integer as arten, (count(*) filter (where unschaerfe_m > 0))::integer as verschleiert
      from gis.sichtbeobachtung where ${where} group by 1, 2 order by 1, 2`);
    const kept = await sql`
      select x, y, meldungen::integer as meldungen, arten::integer as arten, verschleiert::integer as verschleiert
      from ausgabe.list_raster_karte(${stufe}, st_makeenvelope(300000, 5400000, 600000, 5700000, 25832)) order by x, y`;
    assert.deepEqual([...kept], [...(await count('true'))], `${what}: ${side} m`);
    const filters: [number | null, number | null][] = [
      [null, 1000],
      [null, 2002],
      [arten.uhu, null],
    ];
    for (const [art, von] of filters) {
      const counted = await sql`
        select x, y, meldungen::integer as meldungen, arten::integer as arten
        from ausgabe.list_raster_auswahl(${stufe}, ${art}, null, ${von}, null, null)`;
      const expected = await count(art === null ? `jahr >= ${von}` : `art = ${art}`);
      assert.deepEqual(
        [...counted],
        expected.map(({ verschleiert: _, ...row }) => row),
        `${what}: ${side} m of ${art} from ${von}`,
      );
    }
  }
}

interface Page {
  features: string;
  last_key: string | null;
}

async function gidOf(art: number): Promise<number> {
  const [row] = await sql`select gid from gis.art where id = ${art}`;
  return row?.gid;
}

describe('counts by squares', () => {
  it('leave a square alone whose counts are what they were, and one without records out', async () => {
    const read = () => sql`select gitter, x, y, meldungen, xmin::text from portal.raster_zahl order by 1, 2, 3`;
    const write = (status: string) => sql`update portal.sichtbeobachtung set status = ${status} where bemerkung = 'hin und her'`;
    await sql`
      insert into portal.sichtbeobachtung (nutzer_id, art, point, datum, bereich, status, bemerkung)
      select (select min(id) from portal.nutzer), ${arten.amsel}, st_setsrid(st_makepoint(410000, 5510000), 25832), date '2001-05-01',
        'oeffentlich', 'freigegeben', 'hin und her'`;
    await countRaster(sql);
    const counted = await read();
    assert.equal(counted.length, grids.length);
    await write('hinweis');
    await write('freigegeben');
    await countRaster(sql);
    assert.deepEqual(await read(), counted);
    await write('hinweis');
    const steps: string[] = [];
    await countRaster(
      sql,
      () => steps.push('begun') > 0,
      async (squares, tookMs) => {
        await sleep(50);
        steps.push(`${squares} rested ${tookMs > 0}`);
      },
    );
    assert.equal((await read()).length, 0);
    assert.deepEqual(steps, ['begun', `${grids.length} rested true`, 'begun']);
    await sql`delete from portal.sichtbeobachtung where bemerkung = 'hin und her'`;
  });

  it('O2.3 are those of the records, whatever was written, and whether it was counted since', async () => {
    const dice = makeDice(2023);
    const kinds = [arten.uhu, arten.gelbflechte, arten.hornisse, arten.amsel];
    const { pick, below, chance } = dice;
    const place = () => `st_setsrid(st_makepoint(${400_000 + below(30_000)}, ${5_500_000 + below(30_000)}), 25832)`;
    const day = () => `date '2000-01-01' + ${below(2000)}`;
    // One record takes another way than many.
    const some = (share: number) =>
      chance(0.4)
        ? `id = (select id from portal.sichtbeobachtung where status = 'freigegeben' order by id desc offset ${below(20)} limit 1)`
        : `id % 97 < ${Math.floor(share * 97)} and id % 7 = ${below(7)}`;
    const changes: (() => string)[] = [
      () =>
        `insert into portal.sichtbeobachtung (nutzer_id, art, point, datum, bereich, status, anzahl, sensibel)
         select (select min(id) from portal.nutzer), ${pick(kinds)}, st_translate(${place()}, i, i * 17), ${day()} + i, 'oeffentlich',
           ${chance(0.7) ? "'freigegeben'" : "'pruefung'"}, i, i % 5 = 0 from generate_series(1, ${below(60)}) i`,
      () =>
        `update portal.sichtbeobachtung set point = st_translate(${place()}, id % 5000, id), datum = ${day()} where ${some(0.3)}`,
      () => `update portal.sichtbeobachtung set art = ${pick(kinds)} where ${some(0.5)}`,
      () =>
        `update portal.sichtbeobachtung set bereich = 'oeffentlich', status = ${pick(["'freigegeben'", "'hinweis'"])} where ${some(0.5)}`,
      () => `update portal.sichtbeobachtung set bereich = 'privat', status = 'pruefung' where ${some(0.3)}`,
      () => `update portal.sichtbeobachtung set sensibel = not sensibel where ${some(0.4)}`,
      () => `update portal.sichtbeobachtung set anzahl = anzahl + 1 where ${some(0.4)}`,
      () => `delete from portal.sichtbeobachtung where ${some(0.2)}`,
      () => `update portal.art_mandant set sensibel = not sensibel where art = ${pick(kinds)}`,
    ];
    for (let round = 0; round < 40; round++) {
      const change = pick(changes)();
      await sql.unsafe(change);
      if (chance(0.2)) await countRaster(sql);
      // Of some of the squares only.
      if (chance(0.3)) await sql`select api.set_raster_zahl(row_limit => 1)`;
      if (round % 4 === 3) await checkAll(`round ${round}, ${change}`);
    }
    await countRaster(sql);
    const [open] = await sql`select count(*)::integer as n from portal.raster_offen`;
    assert.equal(open?.n, 0);
    await checkAll('all counted');
    // As where there are many: neither squares nor records are few.
    await sql.unsafe(`
      create or replace function ausgabe.get_raster_limits() returns table (squares integer, page_records integer, map_records integer)
      language sql immutable rows 1 as 'select 0, 0, 0'`);
    await checkAll('squares walked through');
    await sql.unsafe(`
      create or replace function ausgabe.get_raster_limits() returns table (squares integer, page_records integer, map_records integer)
      language sql immutable rows 1 as 'select 0, 1000000, 1000000'`);
    await checkAll('records counted');
  });

  it('O2.3 stay right while several write and several count', {
    skip: onPostgres ? false : 'the embedded database runs one transaction at a time',
  }, async () => {
    let isWriting = true;
    const write = async (writer: number) => {
      const dice = makeDice(writer);
      for (let n = 0; n < 60; n++) {
        await sql
          .begin(async (tx) => {
            await tx`
              insert into portal.sichtbeobachtung (nutzer_id, art, point, datum, bereich, status)
              select (select min(id) from portal.nutzer), ${arten.amsel},
                st_setsrid(st_makepoint(${410_000 + dice.below(20_000)}::float8 + i, ${5_510_000 + dice.below(20_000)}::float8), 25832),
                date '1950-01-01' + ${writer * 1000 + n}::integer, 'oeffentlich', 'freigegeben' from generate_series(1, 4) i`;
            await tx`
              delete from portal.sichtbeobachtung where id in (
                select id from portal.sichtbeobachtung where id % 6 = ${writer}::integer order by random() limit 3)`;
            if (dice.chance(0.2)) throw new Error('taken back');
          })
          .catch((error: Error) => assert.equal(error.message, 'taken back'));
      }
    };
    const count = async () => {
      while (isWriting) await countRaster(sql);
    };
    const counting = [count(), count()];
    await Promise.all([0, 1, 2, 3, 4, 5].map(write));
    await checkAll('at the end');
    isWriting = false;
    await Promise.all(counting);
    await countRaster(sql);
    await checkAll('all counted');
  });

  it('of a species that came after the others are told in larger squares too', async () => {
    await sql`
      insert into portal.art (id, name_deutsch, name_wissenschaftlich, gid, eu_guid)
      select 990000 + i, 'Prüfart ' || i, 'Specimen ' || i, (select min(id) from portal.artengruppe), null from generate_series(1, 300) i`;
    await sql`
      insert into portal.sichtbeobachtung (nutzer_id, art, point, datum, bereich, status)
      select (select min(id) from portal.nutzer), 990000 + i, st_setsrid(st_makepoint(405000 + i, 5505000), 25832), date '2004-02-03',
        'oeffentlich', 'freigegeben' from generate_series(1, 300) i`;
    await checkAll('three hundred species more');
    await countRaster(sql);
    await checkAll('and counted');
  });

  it('O0.4 tell nothing of squares in which a record was before it was protected', async () => {
    const squares = async () => (await sql`select distinct gitter, code from gis.raster_feld where gitter <> '5km'`).length;
    await sql`delete from portal.sichtbeobachtung`;
    await sql`update portal.art_mandant set sensibel = false where art = ${arten.gelbflechte}`;
    const [row] = await insert(sql, 420001);
    const codes = async () =>
      (await sql`select distinct code from gis.raster_feld where gitter = 'mtbq'`).map(({ code }) => code);
    const before_ = await codes();
    assert.equal(await squares(), 3);
    await countRaster(sql);
    await sql`update portal.sichtbeobachtung set sensibel = true where id = ${row?.id}`;
    assert.equal(await squares(), 3);
    const held = await sql`select gitter, x, y from gis.raster_besetzt where gitter <> '5km' order by gitter`;
    const counted = await sql`select gitter, x, y from gis.raster_zahl where gitter <> '5km' order by gitter`;
    assert.deepEqual([...held], [...counted]);
    assert.equal(held.length, 3);
    assert.notDeepEqual(await codes(), before_, 'the place was chosen so that the middle of its cell lies in another quadrant');
    // What the views leave out, a condition that fails on it would tell: after the next counting it is not there.
    await countRaster(sql);
    const kept = await sql`
      select f.gitter, f.code from portal.raster_feld f
      where not exists (select from gis.raster_feld g where g.gitter = f.gitter and g.code = f.code)
      union all
      select k.gitter, k.x || '/' || k.y from portal.raster_zahl k
      where not exists (select from gis.raster_besetzt g where g.gitter = k.gitter and g.x = k.x and g.y = k.y)`;
    assert.deepEqual([...kept], []);
    assert.equal((await sql`select from portal.raster_offen`).length, 0);
    assert.equal(await squares(), 3);
  });

  it('lose a square that is empty only while nobody writes', {
    skip: onPostgres ? false : 'the embedded database runs one transaction at a time',
  }, async () => {
    await sql`delete from portal.sichtbeobachtung`;
    await insert(sql, 420001);
    await countRaster(sql);
    const squares = async () => (await sql`select from portal.raster_feld`).length;
    assert.equal(await squares(), 3);
    await sql`delete from portal.sichtbeobachtung`;
    await sql.begin(async (tx) => {
      // Finds its squares there, and does not make them.
      await insert(tx, 420001);
      await countRaster(sql);
      assert.equal(await squares(), 3);
    });
    await checkAll('written meanwhile');
    await countRaster(sql);
    await checkAll('and counted');
    await clear();
    assert.equal(await squares(), 0);
  });

  it('of squares that are not empty are kept on while somebody writes', {
    skip: onPostgres ? false : 'the embedded database runs one transaction at a time',
  }, async () => {
    const count = async () => (await sql`select api.set_raster_zahl(row_limit => 1000) as squares`)[0]?.squares;
    const named = async () => (await sql`select from portal.raster_offen`).length;
    await insert(sql, 420001);
    await countRaster(sql);
    await sql`delete from portal.sichtbeobachtung`;
    await insert(sql, 440001);
    await sql.begin(async (tx) => {
      await insert(tx, 440002);
      assert.ok((await count()) > 0, 'others were counted');
      assert.equal(await named(), 1, 'the empty ones are named still');
      assert.equal(await count(), 0, 'and alone are no reason to go on');
    });
    await countRaster(sql);
    assert.equal(await named(), 0);
    await checkAll('at the end');
    await clear();
  });

  it('of squares that changed are counted by who reads up to a hundred thousand records, and are those of before beyond', async () => {
    const [few, many, empty] = [400_001, 440_001, 480_001];
    const withdraw = (x: number) => sql`
      update portal.sichtbeobachtung set status = 'hinweis' where st_x(point) between ${x}::integer and ${x}::integer + 100`;
    const read = async (grid: string) => (await readCounts(grid)).map(({ meldungen }) => meldungen).sort((a, b) => a - b);
    await sql`delete from portal.sichtbeobachtung`;
    for (const x of [few, many, empty]) await insert(sql, x, 2);
    await countRaster(sql);
    // As though there had been so many when they were counted.
    await sql`update portal.raster_zahl set meldungen = 90000 where meldungen = 2`;
    for (const x of [few, many]) await insert(sql, x + 50);
    for (const grid of grids)
      assert.deepEqual(await read(grid), [3, 90_000, 90_000], `${grid}: one counted, one as before, one untouched`);
    await withdraw(empty);
    for (const grid of grids) assert.deepEqual(await read(grid), [3, 90_000], `${grid}: what is empty is left out`);
    await countRaster(sql);
    await checkAll('all counted');
    await clear();
  });

  it('go through what is named once, also by a plan that was made while nothing was', async () => {
    await sql`
      insert into portal.sichtbeobachtung (nutzer_id, art, point, datum, bereich, status)
      select (select min(id) from portal.nutzer), ${arten.amsel}, st_setsrid(st_makepoint(400000 + 10000 * i, 5500000), 25832), '2004-02-03',
        'oeffentlich', 'freigegeben' from generate_series(1, 20) i`;
    await countRaster(sql);
    interface Node {
      'Relation Name'?: string;
      'CTE Name'?: string;
      'Actual Loops': number;
      Plans?: Node[];
    }
    const loopsOf = ({ Plans = [], ...node }: Node): number[] => [
      ...([node['Relation Name'], node['CTE Name']].some((name) => name === 'raster_offen' || name === 'offen')
        ? [node['Actual Loops']]
        : []),
      ...Plans.flatMap(loopsOf),
    ];
    for (const view of ['raster_zahl', 'raster_besetzt', 'raster_feature', 'raster_grob']) {
      for (const grid of grids) {
        await sql`vacuum analyze portal.raster_offen`;
        await takeBack(sql, async (tx) => {
          await tx`set local plan_cache_mode = force_generic_plan`;
          await tx.unsafe(
            `prepare counted as select x, y from gis.${view} where ${view === 'raster_grob' ? 'stufe = 3' : `gitter = '${grid}'`}`,
          );
          await tx`execute counted`;
          await tx`
              insert into portal.raster_offen (cell_x, cell_y, eea10, tk) select g.cell_x, g.cell_y, g.eea10, g.tk
              from portal.sichtbeobachtung_gezeigt g order by g.id limit 5`;
          const [row] = await tx`explain (analyze, timing off, format json) execute counted`;
          await tx`deallocate counted`;
          const loops = loopsOf(row?.['QUERY PLAN'][0].Plan);
          assert.ok(loops.length > 0 && loops.every((n) => n <= 1), `${view} of ${grid}: ${loops}`);
        });
      }
    }
    await clear();
  });

  it('are made for the records of a database from before', async () => {
    await sql`
      insert into portal.sichtbeobachtung (nutzer_id, art, point, datum, bereich, status)
      select (select min(id) from portal.nutzer), ${arten.amsel}, st_setsrid(st_makepoint(400000 + 777 * i, 5500000 + 333 * i), 25832),
        date '2004-02-03' + i, 'oeffentlich', 'freigegeben' from generate_series(1, 100) i`;
    await sql`update portal.installation set has_raster_lage = false`;
    await sql`update portal.sichtbeobachtung_gezeigt set eea10 = null, tk = null`;
    await sql`truncate portal.raster_zahl, portal.raster_grob, portal.raster_offen, portal.raster_feld`;
    await completeRaster(sql, () => {});
    const [left] = await sql`select count(*)::integer as n from portal.sichtbeobachtung_gezeigt where eea10 is null`;
    assert.equal(left?.n, 0);
    await checkAll('filled');
  });

  it('are those of before while a database from before has none for tiles, which the first step makes', async () => {
    await clear();
    await sql`
      insert into portal.sichtbeobachtung (nutzer_id, art, point, datum, bereich, status, sensibel)
      select (select min(id) from portal.nutzer), ${arten.amsel}, st_setsrid(st_makepoint(400000 + 777 * i, 5500000 + 333 * i), 25832),
        date '2004-02-03' + i, 'oeffentlich', 'freigegeben', i % 3 = 0 from generate_series(1, 100) i`;
    await countRaster(sql);
    const yetToWrite = async () =>
      (
        await sql`
        select from portal.raster_grob where meldungen is null union all select from portal.raster_zahl where feature is null`
      ).length;
    assert.equal(await yetToWrite(), 0);
    await sql`truncate portal.raster_grob`;
    await sql`update portal.raster_zahl set feature = null`;
    await sql.unsafe(readFileSync('sql/code/existing.sql', 'utf8'));
    assert.ok((await yetToWrite()) > 0);
    await checkAll('before the first step');
    await sql`delete from portal.sichtbeobachtung where id in (select id from portal.sichtbeobachtung order by id desc limit 50)`;
    await checkAll('and written meanwhile');
    await countRaster(sql);
    assert.equal(await yetToWrite(), 0);
    await checkAll('and counted');
    await clear();
    assert.equal((await sql`select from portal.raster_grob`).length, 0);
  });
});

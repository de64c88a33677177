// What analysts read: which records, at which place, by whomever they were written; and the views as a contract.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { Sql } from '../../src/db/client.ts';
import { arten } from '../support/catalogue.ts';
import { openTestDatabase } from '../support/database.ts';
import { makeRecord, setSensibel } from '../support/records.ts';
import { listWrong } from '../support/truth.ts';

let sql: Sql;
before(async () => {
  sql = (await openTestDatabase()).sql;
});

// Easting of a place at northing 5 530 123; see test/support/catalogue.ts.
const places = { inN: 420456, borderS: 453456, inW: 320456, outside: 380456 };
const centres = { inN: 422500, borderS: 452500, inW: 322500, outside: 382500 };

/** Stores a released record, unless said otherwise. */
const make = (fields: Parameters<typeof makeRecord>[1] = {}) =>
  makeRecord(sql, { x: places.inN, y: 5530123, bereich: 'oeffentlich', status: 'freigegeben', bemerkung: 'am Horst', ...fields });

/** The record as a view shows it: `420456 0 am Horst`, or null when it is not in it. */
async function shownOf(id: number): Promise<string | null> {
  const [row] = await sql`
    select concat_ws(' ', st_x(place), unschaerfe_m, bemerkung) as shown from gis.sichtbeobachtung where id = ${id}`;
  return row?.shown ?? null;
}
async function exactOf(id: number): Promise<string | null> {
  const [row] = await sql`
    select concat_ws(' ', st_x(place), geschuetzt, bemerkung) as shown from gis.sichtbeobachtung_exakt where id = ${id}`;
  return row?.shown ?? null;
}

const set = (id: number, change: string) => sql.unsafe(`update portal.sichtbeobachtung set ${change} where id = ${id}`);
describe('gis.sichtbeobachtung', () => {
  const states = ['pruefung', 'hinweis', 'abgelehnt'].flatMap((status) => [
    ['privat', status],
    ['oeffentlich', status],
  ]);
  for (const [bereich, status] of states) {
    it(`S6 does not have what is ${bereich} and ${status}, and neither has gis.sichtbeobachtung_exakt`, async () => {
      const id = await make({ bereich, status, art: arten.uhu });
      assert.equal(await shownOf(id), null);
      assert.equal(await exactOf(id), null);
    });
  }

  const table: [art: keyof typeof arten, place: keyof typeof places, sensibel: boolean, isMasked: boolean][] = [
    ['amsel', 'inN', false, false],
    ['amsel', 'inN', true, true],
    ['uhu', 'inN', false, true],
    ['wanderfalke', 'borderS', false, true],
    // Only S protects it, and S is far: exact under N's domain, but some tenant protects it.
    ['wanderfalke', 'inN', false, true],
    ['wanderfalke', 'outside', false, true],
    ['gelbflechte', 'outside', false, false],
  ];
  for (const [art, place, sensibel, isMasked] of table) {
    const name = `${art} ${place}${sensibel ? ', marked by its recorder,' : ''}`;
    it(`S6 has ${name} at its ${isMasked ? 'cell, without the remark' : 'true place, with the remark'}`, async () => {
      const id = await make({ art: arten[art], x: places[place], sensibel });
      assert.equal(await shownOf(id), isMasked ? `${centres[place]} 3536` : `${places[place]} 0 am Horst`);
      assert.equal(await exactOf(id), `${places[place]} ${isMasked ? 't' : 'f'} am Horst`);
    });
  }

  it('says how far off a place is: never more than unschaerfe_m', async () => {
    const id = await make({ art: arten.uhu, x: 420000.001 });
    await set(id, 'point = st_setsrid(st_makepoint(420000.001, 5530000.001), 25832)');
    const [row] = await sql`
      select max(st_distance(v.place, s.point)) filter (where v.unschaerfe_m > 0) as off,
        bool_and(st_distance(v.place, s.point) <= v.unschaerfe_m) as within
      from gis.sichtbeobachtung v join portal.sichtbeobachtung s using (id)`;
    assert.equal(row?.within, true);
    assert.ok(row?.off > 3535, `${row?.off}`);
  });

  it('S1.5 follows a record through release, mark, remark, move and rejection', async () => {
    const id = await make({ status: 'pruefung' });
    const steps: [change: string, shown: string | null, exact: string | null][] = [
      ["status = 'freigegeben'", '420456 0 am Horst', '420456 f am Horst'],
      ["bemerkung = 'im Park', anzahl = 3", '420456 0 im Park', '420456 f im Park'],
      ['sensibel = true', '422500 3536', '420456 t im Park'],
      ["bemerkung = 'am Horst'", '422500 3536', '420456 t am Horst'],
      ['point = st_translate(point, 5000, 0)', '427500 3536', '425456 t am Horst'],
      ['sensibel = false', '425456 0 am Horst', '425456 f am Horst'],
      [`art = ${arten.uhu}`, '427500 3536', '425456 t am Horst'],
      [`art = ${arten.amsel}, bemerkung = null`, '425456 0', '425456 f'],
      ["status = 'abgelehnt'", null, null],
      ["status = 'freigegeben'", '425456 0', '425456 f'],
      ["status = 'pruefung', bereich = 'privat'", null, null],
    ];
    for (const [change, shown, exact] of steps) {
      await set(id, change);
      assert.deepEqual([await shownOf(id), await exactOf(id)], [shown, exact], change);
    }
    await set(id, "bereich = 'oeffentlich', status = 'freigegeben'");
    await sql`delete from portal.sichtbeobachtung where id = ${id}`;
    assert.deepEqual([await shownOf(id), await exactOf(id)], [null, null]);
  });

  it('S1.5 masks its old rows at once when any tenant protects the species, and shows them when none does any more', async () => {
    const ids = [await make({ art: arten.hornisse }), await make({ art: arten.hornisse, x: places.inW })];
    const shown = () => Promise.all(ids.map(shownOf));
    const open = [`${places.inN} 0 am Horst`, `${places.inW} 0 am Horst`];
    await setSensibel(sql, 'S', arten.hornisse, true);
    assert.deepEqual(await shown(), [`${centres.inN} 3536`, `${centres.inW} 3536`]);
    await setSensibel(sql, 'W', arten.hornisse, true);
    await setSensibel(sql, 'S', arten.hornisse, false);
    assert.deepEqual(await shown(), [`${centres.inN} 3536`, `${centres.inW} 3536`]);
    await setSensibel(sql, 'W', arten.hornisse, false);
    assert.deepEqual(await shown(), open);
  });

  it('uses the general names, and the ones that a species has today', async () => {
    const id = await make({ art: arten.tagpfauenauge });
    const names = async () => {
      const [row] = await sql`
        select name_deutsch, name_wissenschaftlich, artengruppe, gid, is_animal, jahr, stadium, aktivitaet
        from gis.sichtbeobachtung where id = ${id}`;
      return { ...row };
    };
    await set(id, 'stadium_id = 2, aktivitaet_id = 1');
    const general = {
      name_deutsch: 'Tagpfauenauge',
      name_wissenschaftlich: 'Aglais io',
      artengruppe: 'Tagfalter',
      gid: 2,
      is_animal: true,
      jahr: 2001,
      stadium: 'Raupe',
      aktivitaet: 'ruhend',
    };
    assert.deepEqual(await names(), general);
    await sql`update portal.art set name_deutsch = 'Pfauenauge', gid = 1 where id = ${arten.tagpfauenauge}`;
    assert.deepEqual(await names(), { ...general, name_deutsch: 'Pfauenauge', gid: 1, artengruppe: 'Vögel' });
    await sql`update portal.art set name_deutsch = 'Tagpfauenauge', gid = 2 where id = ${arten.tagpfauenauge}`;
  });
});

describe('the rows that analysts read', () => {
  /** Where the row lies on disk and who wrote it: what a write that changes nothing leaves alone. */
  const versionOf = async (id: number) => {
    const [row] = await sql`select ctid::text || ' ' || xmin as version from portal.sichtbeobachtung_gezeigt where id = ${id}`;
    return row?.version;
  };

  it('S6 are not even written anew when a protected record moves within its cell, or a column changes that they lack', async () => {
    const id = await make({ art: arten.uhu });
    const version = await versionOf(id);
    await set(id, 'point = st_translate(point, 1000, 1000)');
    await set(id, "bemerkung = 'woanders', bemerkung_experte = 'ja', foto = md5('x') || '.jpg'");
    await setSensibel(sql, 'S', arten.uhu, false);
    await setSensibel(sql, 'S', arten.uhu, true);
    assert.equal(await versionOf(id), version);
    assert.equal(await exactOf(id), '421456 t woanders');
    await set(id, 'anzahl = 2');
    assert.notEqual(await versionOf(id), version);
  });

  it('S6 are the same in two databases that differ only inside cells', async () => {
    const rows = () => sql`select ctid::text, g.* from portal.sichtbeobachtung_gezeigt g where unschaerfe_m > 0 order by ctid`;
    const before_ = [...(await rows())];
    assert.ok(before_.length > 5);
    await sql`
      update portal.sichtbeobachtung s
      set point = st_setsrid(st_makepoint(s.cell_x * 5000 + 17.5, s.cell_y * 5000 + 23.5), 25832) where s.schutz > 0`;
    assert.deepEqual([...(await rows())], before_);
  });

  it('are brought in line with what a database holds already, and that changes nothing where the triggers were at work', async () => {
    assert.deepEqual(await listWrong(sql), []);
    const rows = () => sql`
      select xmin, g.* from portal.sichtbeobachtung_gezeigt g order by id`;
    const kept = [...(await rows())];
    await sql`select private.set_gezeigt_all()`;
    assert.deepEqual([...(await rows())], kept);

    await sql`delete from portal.sichtbeobachtung_gezeigt where id % 3 = 0`;
    await sql`update portal.sichtbeobachtung_gezeigt set unschaerfe_m = 1 - sign(unschaerfe_m), anzahl = 7 where id % 3 = 1`;
    await sql`update portal.sichtbeobachtung_exakt set id = id + 100000 where id % 2 = 0`;
    await sql`
      insert into portal.sichtbeobachtung_gezeigt (id, guid, art, anzahl, datum, unschaerfe_m, cell_x, cell_y, place)
      select 900000, guid, art, anzahl, datum, 0, cell_x, cell_y, point from portal.sichtbeobachtung limit 1`;
    assert.notDeepEqual(await listWrong(sql), []);
    await sql`select private.set_gezeigt_all()`;
    assert.deepEqual(await listWrong(sql), []);
  });
});

describe('the other views', () => {
  it('S1.4 gis.raster_5km counts every public released record once, in its cell', async () => {
    await make({ art: arten.uhu, x: 420100 });
    await make({ art: arten.uhu, x: 424900, sensibel: true });
    await make({ art: arten.uhu, status: 'pruefung' });
    const [row] = await sql`
      select (select sum(meldungen) from gis.raster_5km) = (select count(*) from gis.sichtbeobachtung) as all_counted,
        (select count(*) = count(distinct id) from gis.raster_5km) as unique_ids,
        (select bool_and(st_contains(r.cell, s.place)) from gis.raster_5km r join gis.sichtbeobachtung s using (cell_x, cell_y)) as inside,
        (select bool_and(st_area(cell) = 25000000) from gis.raster_5km) as squares`;
    assert.deepEqual({ ...row }, { all_counted: true, unique_ids: true, inside: true, squares: true });
    const counted = await sql`
      select id, meldungen::integer, individuen::integer, name_deutsch, artengruppe from gis.raster_5km
      where art = ${arten.uhu} and cell && st_makeenvelope(421000, 5531000, 422000, 5532000, 25832)`;
    const expected = await sql`
      select count(*)::integer as meldungen, sum(anzahl)::integer as individuen from portal.sichtbeobachtung
      where art = ${arten.uhu} and cell_x = 84 and cell_y = 1106 and status = 'freigegeben'`;
    assert.deepEqual(
      counted.map((line) => ({ ...line })),
      [{ id: `84/1106/${arten.uhu}/2001`, ...expected[0], name_deutsch: 'Uhu', artengruppe: 'Vögel' }],
    );
  });

  it('gis.raster_5km has the cells of a service area that an operator widens', async () => {
    await sql`update portal.installation set x_min = -12000`;
    const id = await make({ x: -11000 });
    const [row] = await sql`select meldungen::integer, st_xmin(cell) as x from gis.raster_5km where cell_x = -3`;
    assert.deepEqual({ ...row }, { meldungen: 1, x: -15000 });
    await sql`delete from portal.sichtbeobachtung where id = ${id}`;
    await sql`update portal.installation set x_min = 0`;
  });

  it('gis.mandant has the boundaries with their source and date', async () => {
    await sql`update portal.mandant set quelle = 'VG250', stand = '2026-01-01'`;
    const rows =
      await sql`select kuerzel, name, quelle, stand::date::text as stand, st_xmin(boundary) as x from gis.mandant order by kuerzel limit 2`;
    assert.deepEqual(
      rows.map((row) => ({ ...row })),
      [
        { kuerzel: 'N', name: 'Nordland', quelle: 'VG250', stand: '2026-01-01', x: 400000 },
        { kuerzel: 'S', name: 'Südland', quelle: 'VG250', stand: '2026-01-01', x: 452000 },
      ],
    );
  });

  it('gis.art names the tenants that protect a species', async () => {
    const rows = await sql`select name_deutsch, array_to_json(sensibel_in) as tenants from gis.art where id < 5 order by id`;
    assert.deepEqual(
      rows.map((row) => [row.name_deutsch, row.tenants.join(' ')]),
      [
        ['Uhu', 'N S W'],
        ['Amsel', ''],
        ['Wanderfalke', 'S'],
        ['Rotmilan', 'W'],
      ],
    );
  });

  it('gis.protokoll and gis.qs are the logs, in words', async () => {
    const id = await make();
    await sql`delete from portal.sichtbeobachtung where id = ${id}`;
    const entries = await sql`select audit from gis.protokoll where sichtbeobachtung_id = ${id} order by id`;
    assert.deepEqual(
      entries.map((row) => row.audit),
      ['CREATE', 'DELETE'],
    );
    const reviews = await sql`select status, art from gis.qs where sichtbeobachtung_id = ${id}`;
    assert.deepEqual({ ...reviews[0] }, { status: 'freigegeben', art: arten.amsel });
  });
});

describe('the views as a contract', () => {
  // Analysts' own views and QGIS projects stand on these: columns are added at the end, and nothing else changes.
  const head =
    'id bigint, guid uuid, art integer, name_deutsch text, name_wissenschaftlich text, gid integer, artengruppe text, is_animal boolean, datum date, jahr integer, anzahl integer, stadium text, aktivitaet text, bemerkung text';
  const grid =
    'id text, code text, art integer, name_deutsch text, name_wissenschaftlich text, gid integer, artengruppe text, jahr integer, meldungen bigint, individuen bigint, cell geometry(Polygon,25832)';
  const columns: Record<string, string> = {
    art: 'id integer, eu_guid text, name_deutsch text, name_wissenschaftlich text, gid integer, artengruppe text, is_animal boolean, sensibel_in text[]',
    mandant:
      'id integer, kuerzel text, name text, quelle text, stand timestamp with time zone, boundary geometry(MultiPolygon,25832), lizenz text, herausgeber text, kontakt text, titel text, beschreibung text',
    mandant_teil: 'id integer, mandant_id integer, teil geometry(Polygon,25832)',
    mandant_zelle: 'mandant_id integer, cell_x integer, cell_y integer, ganz boolean',
    medium: 'sichtbeobachtung_id bigint, nummer smallint, name text, lizenz text, urheber text',
    protokoll: 'id bigint, audit text, sichtbeobachtung_id bigint, zeitpunkt timestamp with time zone',
    qs: 'id bigint, sichtbeobachtung_id bigint, nutzer_id bigint, art integer, datum_beobachtung date, status text, experte_id bigint, zeitpunkt timestamp with time zone',
    raster_eea10: grid,
    raster_mtb: grid,
    raster_mtbq: grid,
    raster_5km:
      'id text, cell_x integer, cell_y integer, art integer, name_deutsch text, name_wissenschaftlich text, gid integer, artengruppe text, jahr integer, meldungen bigint, individuen bigint, cell geometry(Polygon,25832)',
    raster_besetzt: 'gitter text, x integer, y integer',
    raster_feld: 'x integer, y integer, gitter text, code text, cell geometry(Polygon,25832)',
    raster_zahl:
      'gitter text, x integer, y integer, meldungen bigint, arten integer, verschleiert bigint, erstes_jahr integer, letztes_jahr integer, artenmenge bit varying, ist_neu boolean',
    raster_grob:
      'stufe integer, x integer, y integer, meldungen bigint, arten integer, verschleiert bigint, cell geometry(Polygon,3857)',
    raster_feature:
      'gitter text, x integer, y integer, meldungen bigint, arten integer, verschleiert bigint, erstes_jahr integer, letztes_jahr integer, feature text',
    sichtbeobachtung_raster:
      'id bigint, art integer, datum date, unschaerfe_m integer, cell_x integer, cell_y integer, eea10 integer, tk integer, stadium_id integer, place geometry(Point,25832), zeile tid',
    stadium: 'id integer, name text, phaenogramm boolean',
    sichtbeobachtung: `${head}, unschaerfe_m integer, cell_x integer, cell_y integer, place geometry(Point,25832), phaenogramm boolean, geaendert date, zeile tid`,
    sichtbeobachtung_exakt: `${head}, geschuetzt boolean, cell_x integer, cell_y integer, place geometry(Point,25832)`,
  };

  it('have these columns, in this order, and there are no other objects in the schema', async () => {
    const rows = await sql`
      select c.relname as view, string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod), ', ' order by a.attnum) as columns
      from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
      where c.relnamespace = 'gis'::regnamespace and c.relkind = 'v' group by c.relname`;
    assert.deepEqual(Object.fromEntries(rows.map((row) => [row.view, row.columns])), columns);
    const others = await sql`
      select relname from pg_class where relnamespace = 'gis'::regnamespace and relkind <> 'v'
      union all select proname from pg_proc where pronamespace = 'gis'::regnamespace`;
    assert.deepEqual([...others], []);
  });

  it('say of every view and every column what it is', async () => {
    const rows = await sql`
      select c.relname || coalesce('.' || a.attname, '') as name,
        coalesce(case when a.attnum is null then obj_description(c.oid, 'pg_class') else col_description(c.oid, a.attnum) end, '') as comment
      from pg_class c
      left join (
        select attrelid, attnum, attname from pg_attribute where attnum > 0
        union all select oid, null, null from pg_class) a on a.attrelid = c.oid
      where c.relnamespace = 'gis'::regnamespace
      order by 1`;
    assert.ok(rows.length > 60, `${rows.length} names`);
    assert.deepEqual(
      rows.filter((row) => row.comment.length < 8).map((row) => row.name),
      [],
    );
  });

  it('S6 call no function of the project: it would run with the rights of whoever reads', async () => {
    const rows = await sql`
      select distinct r.ev_class::regclass::text as view, d.refobjid::regprocedure::text as function
      from pg_rewrite r
      join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid and d.refclassid = 'pg_proc'::regclass
      where (select c.relnamespace from pg_class c where c.oid = r.ev_class) = 'gis'::regnamespace
        and not exists (
          select from pg_depend e where e.classid = 'pg_proc'::regclass and e.objid = d.refobjid and e.deptype = 'e')`;
    assert.deepEqual([...rows], []);
  });

  it('S6 read only tables that hold nothing their readers may not see', async () => {
    const rows = await sql`
      select r.ev_class::regclass::text as view, string_agg(distinct c.relname, ' ' order by c.relname) as tables
      from pg_rewrite r
      join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid and d.refclassid = 'pg_class'::regclass
      join pg_class c on c.oid = d.refobjid and c.relkind = 'r'
      where (select c.relnamespace from pg_class c where c.oid = r.ev_class) = 'gis'::regnamespace
      group by 1`;
    assert.deepEqual(Object.fromEntries(rows.map((row) => [row.view, row.tables])), {
      'gis.art': 'art art_mandant artengruppe mandant',
      'gis.mandant': 'mandant',
      'gis.mandant_teil': 'mandant_teil',
      'gis.mandant_zelle': 'mandant_zelle',
      'gis.medium': 'medium_gezeigt',
      'gis.protokoll': 'protokoll',
      'gis.qs': 'qs',
      'gis.stadium': 'stadium',
      'gis.raster_5km': 'art artengruppe raster_zelle sichtbeobachtung_gezeigt',
      'gis.raster_eea10': 'art artengruppe raster_feld sichtbeobachtung_gezeigt',
      'gis.raster_mtb': 'art artengruppe raster_feld sichtbeobachtung_gezeigt',
      'gis.raster_mtbq': 'art artengruppe raster_feld sichtbeobachtung_gezeigt',
      // Squares that hold nothing any more are left out by the view.
      'gis.raster_feld': 'raster_feld raster_zelle sichtbeobachtung_gezeigt',
      'gis.raster_besetzt': 'raster_offen raster_zahl sichtbeobachtung_gezeigt',
      'gis.raster_grob': 'raster_grob raster_offen',
      'gis.raster_feature': 'raster_offen raster_zahl',
      'gis.raster_zahl': 'art_platz raster_offen raster_zahl sichtbeobachtung_gezeigt',
      'gis.sichtbeobachtung_raster': 'sichtbeobachtung_gezeigt',
      'gis.sichtbeobachtung': 'aktivitaet art artengruppe sichtbeobachtung_gezeigt stadium',
      'gis.sichtbeobachtung_exakt': 'aktivitaet art artengruppe sichtbeobachtung_exakt sichtbeobachtung_gezeigt stadium',
    });
  });

  it('appear to a GIS with type and coordinate system', async () => {
    const rows = await sql`
      select f_table_name || '.' || f_geometry_column || ' ' || type || ' ' || srid as layer
      from geometry_columns where f_table_schema = 'gis' order by 1`;
    assert.deepEqual(
      rows.map((row) => row.layer),
      [
        'mandant.boundary MULTIPOLYGON 25832',
        'mandant_teil.teil POLYGON 25832',
        'raster_5km.cell POLYGON 25832',
        'raster_eea10.cell POLYGON 25832',
        'raster_feld.cell POLYGON 25832',
        'raster_grob.cell POLYGON 3857',
        'raster_mtb.cell POLYGON 25832',
        'raster_mtbq.cell POLYGON 25832',
        'sichtbeobachtung.place POINT 25832',
        'sichtbeobachtung_exakt.place POINT 25832',
        'sichtbeobachtung_raster.place POINT 25832',
      ],
    );
  });
});

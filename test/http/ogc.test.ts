// OGC API – Features at /ogc (O2): who is in it, where, and what may be asked for.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { toCsvCell } from '../../src/guard/csv.ts';
import { arten } from '../support/catalogue.ts';
import { askOgc, idsOf, sorted, walkOgc } from '../support/ogc.ts';
import { type Answer, assertProblem, type Json, type RequestOptions, startTestService } from '../support/service.ts';

const ids: Record<string, number> = {};
const service = await startTestService();
const { sql } = service.database;
ids.exact = await service.makeReleased({ lat: '5531000', lon: '421000', bemerkung: 'am "Bach", dann rechts' });
ids.exactOfSouth = await service.makeReleased({ lat: '5531000', lon: '471000', datum: '30.6.2021' });
ids.marked = await service.makeReleased({ lat: '5532111', lon: '431222', sensibel: 'true', bemerkung: 'an der alten Eiche' });
// Sensitive at S only: the general view masks them all.
ids.falconOfSouth = await service.makeReleased({ art: String(arten.wanderfalke), lat: '5533111', lon: '471222' });
ids.falconOfNorth = await service.makeReleased({ art: String(arten.wanderfalke), lat: '5533111', lon: '411222' });
ids.owl = await service.makeReleased({ art: String(arten.uhu), lat: '5534111', lon: '411222' });
// In a cell that the border of N and S cuts, on the side of N; its centre lies in S.
ids.owlAtBorder = await service.makeReleased({ art: String(arten.uhu), lat: '5534111', lon: '450100' });
const ofButterfly = { art: String(arten.tagpfauenauge), datum: '31.12.2020' };
ids.butterfly = await service.makeReleased({ ...ofButterfly, lat: '5535000', lon: '421500' });
ids.private = await service.makeSichtbeobachtung({ lat: '5536000', bereich: 'privat' });
ids.waiting = await service.makeSichtbeobachtung({ lat: '5537000', bereich: 'oeffentlich' });
ids.deleted = await service.makeReleased({ lat: '5538000' });
await sql`delete from portal.sichtbeobachtung where id = ${ids.deleted}`;

const ask = (path: string, options?: RequestOptions): Promise<Answer> => askOgc(service, path, options);
const epsg25832 = 'http://www.opengis.net/def/crs/EPSG/0/25832';
const items = '/collections/sichtbeobachtung/items';
const listed = async (query: string) => sorted(idsOf((await ask(`${items}${query}`)).json.features));
const featureOf = async (id: number | undefined, query = ''): Promise<Json> => (await ask(`${items}/${id}${query}`)).json;
const some = (...names: string[]) => sorted(names.map((name) => ids[name] ?? -1));

describe('sightings of /ogc', () => {
  it('O2 are those that everybody may see, each as gis.sichtbeobachtung has it', async () => {
    const rows = await sql<Json[]>`
      select id, row_to_json(g)::text as properties, st_asgeojson(st_transform(
        case when unschaerfe_m > 0 then st_forcepolygonccw(st_makeenvelope(cell_x * 5000, cell_y * 5000, cell_x * 5000 + 5000, cell_y * 5000 + 5000, 25832))
          else place end, 4326), 7) as geometry
      from gis.sichtbeobachtung g order by id desc`;
    const features = await walkOgc(service, `${items}?limit=3`);
    assert.deepEqual(idsOf(features), idsOf(rows));
    for (const [index, { properties, geometry }] of features.entries()) {
      const { place: _, zeile: __, ...expected } = JSON.parse(rows[index]?.properties);
      assert.deepEqual(properties, expected);
      const { type, coordinates } = JSON.parse(rows[index]?.geometry);
      assert.equal(geometry.type, type);
      if (type === 'Point') assert.deepEqual(geometry.coordinates, coordinates);
      // The same ring may begin at another corner.
      else assert.deepEqual(cornersOf(geometry), cornersOf({ coordinates }));
    }
  });

  it('O0.2 show a masked record as the square of its cell, without its remark, to everybody alike', async () => {
    for (const name of ['marked', 'falconOfSouth', 'falconOfNorth', 'owl', 'owlAtBorder']) {
      for (const [host, as] of [
        ['n.test', null],
        ['s.test', null],
        ['elsewhere.example', null],
        ['n.test', 'melder'],
        ['n.test', 'admin'],
      ] as const) {
        const { json, text } = await ask(`${items}/${ids[name]}?crs=${epsg25832}`, { host, as });
        assert.equal(json.geometry.type, 'Polygon', name);
        const [ring] = json.geometry.coordinates;
        for (const [x, y] of ring) assert.deepEqual([x % 5000, y % 5000], [0, 0], name);
        assert.deepEqual([json.properties.unschaerfe_m, json.properties.bemerkung], [3536, null], name);
        // The guid is of random digits.
        assert.doesNotMatch(text.replaceAll(json.properties.guid, ''), /Eiche|111\b|222\b/, name);
      }
    }
    const { geometry, properties } = await featureOf(ids.exact, `?crs=${epsg25832}`);
    assert.deepEqual([geometry, properties.unschaerfe_m], [{ type: 'Point', coordinates: [421000, 5531000] }, 0]);
  });

  it('O2 are not there for those that nobody released, deleted ones, and what is no number', async () => {
    const strange = [999999999, '0', '-1', 'x', '1e3', '99999999999999999999', '%00', '%2F'];
    for (const id of [ids.private, ids.waiting, ids.deleted, ...strange]) {
      assertProblem(await ask(`${items}/${id}`), 404);
    }
  });

  it('O2 are chosen by species, group, year, tenant and days', async () => {
    const falcons = some('falconOfNorth', 'falconOfSouth');
    const all = await listed('');
    for (const [query, expected] of [
      [`?art=${arten.wanderfalke}`, falcons],
      [`?artengruppe_id=2`, some('butterfly')],
      [`?artengruppe_id=2&art=${arten.uhu}`, []],
      ['?jahr=2021', some('exactOfSouth')],
      ['?jahr=2020&datetime=2021-01-01/..', []],
      ['?mandant=s', some('exactOfSouth', 'falconOfSouth', 'owlAtBorder')],
      [`?mandant=N&art=${arten.uhu}`, some('owl')],
      ['?mandant=W', []],
      ['?datetime=2021-06-30', some('exactOfSouth')],
      ['?datetime=2020-12-31/2021-06-30', some('butterfly', 'exactOfSouth')],
      ['?datetime=../2020-12-31', some('butterfly')],
      // In Berlin the year has begun already; and has not.
      ['?datetime=2020-12-30T23:00:00Z/2020-12-30T23:30:00Z', some('butterfly')],
      ['?datetime=2020-12-31T23:00:00Z/2020-12-31T23:30:00Z', []],
      ['?datetime=2021-06-30T00:30:00%2B02:00', some('exactOfSouth')],
      ['?datetime=../..', all],
      ['?datetime=/..', all],
      // In Berlin these are days of the year 10000, and of the year 99: no date of the database has five digits.
      ['?datetime=9999-12-31T23:59:60Z', []],
      ['?datetime=9999-12-31T23:59:59-23:59', []],
      ['?datetime=../9999-12-31T23:59:60Z', all],
      ['?datetime=2020-12-31/9999-12-31T23:59:59.999Z', all],
      ['?datetime=9999-12-31T23:59:60Z/..', []],
      ['?datetime=0100-01-01T00:00:00%2B23:59/..', all],
      ['?datetime=../0100-01-01T00:00:00%2B23:59', []],
      ['?datetime=0001-01-01T00:00:00%2B23:59/..', all],
    ] as [string, number[]][])
      assert.deepEqual(await listed(query), expected, query);
  });

  it('O2 are chosen by the shown place: a point, or a square that meets the box', async () => {
    for (const [box, expected] of [
      ['420999.99,5530999.99,421000.01,5531000.01', some('exact')],
      ['421000,5531000,421000,5531000', some('exact')],
      ['421000.01,5531000,421001,5531001', []],
      // The true place, a corner of the square, and just beside it.
      ['434999,5530001,435001,5530002', some('marked')],
      ['435000,5535000,435001,5535001', some('marked')],
      ['435000.1,5530001,435002,5530002', []],
      ['400000,5500000,0,500000,5560000,100', await listed('')],
    ] as [string, number[]][])
      assert.deepEqual(await listed(`?bbox=${box}&bbox-crs=${epsg25832}`), expected, box);
  });

  it('O2 are found in a box of every system, with the axes as it defines them', async () => {
    for (const [crs, srid, flip] of [
      ['OGC/1.3/CRS84', 4326, false],
      ['EPSG/0/4326', 4326, true],
      ['EPSG/0/25832', 25832, false],
      ['EPSG/0/3857', 3857, false],
      ['EPSG/0/3035', 3035, true],
    ] as const) {
      const uri = `http://www.opengis.net/def/crs/${crs}`;
      const [row] = await sql<Json[]>`
        select st_x(t.p) as x, st_y(t.p) as y
        from gis.sichtbeobachtung g cross join lateral (select st_transform(g.place, ${srid}::integer) as p) t where g.id = ${ids.exact ?? 0}`;
      const digits = srid === 4326 ? 7 : 2;
      const shown = [row.x, row.y].map((value) => Number(value.toFixed(digits)));
      if (flip) shown.reverse();
      const answer = await ask(`${items}/${ids.exact}?crs=${uri}`);
      assert.deepEqual(answer.json.geometry.coordinates, shown, uri);
      assert.equal(answer.headers.get('content-crs'), `<${uri}>`);
      const step = 10 ** -digits;
      const [first = 0, second = 0] = shown;
      const box = [first - step, second - step, first + step, second + step].map((value) => value.toFixed(digits));
      assert.deepEqual(await listed(`?bbox=${box}&bbox-crs=${uri}`), some('exact'), uri);
      const everywhere = srid === 4326 ? [-90, -90, 90, 90] : [-1e7, -1e7, 1e7, 1e7];
      assert.deepEqual(await listed(`?bbox=${everywhere}&bbox-crs=${uri}`), await listed(''), uri);
    }
    assert.deepEqual(await listed('?bbox=-170,-80,-160,80'), []);
    assert.deepEqual(await listed('?bbox=-180,-90,180,90'), await listed(''));
  });

  it('O2.13 are found in a box that goes beyond the earth, or once more around it', async () => {
    const all = await listed('');
    const west = await listed('?bbox=7.5,49,8.2,51');
    assert.ok(west.length > 0 && west.length < all.length);
    const mercator = 'bbox-crs=http://www.opengis.net/def/crs/EPSG/0/3857';
    const northFirst = 'bbox-crs=http://www.opengis.net/def/crs/EPSG/0/4326';
    for (const [query, expected] of [
      ['bbox=-259,-70,400,90.1', all],
      ['bbox=-180.0000000001,-90,180.0000000001,90', all],
      ['bbox=-1e308,-1e308,1e308,1e308', all],
      ['bbox=365,49,370,51', await listed('?bbox=5,49,10,51')],
      ['bbox=367.5,49,368.2,51', west],
      ['bbox=-352.5,49,-351.8,51', west],
      ['bbox=727.5,49,-1,728.2,51,1', west],
      ['bbox=190,49,368.2,95', west],
      ['bbox=-300,49,8.2,51', west],
      ['bbox=368.2,49,540,51', await listed('?bbox=8.2,49,180,51')],
      ['bbox=1e308,49,1e308,51', []],
      ['bbox=179,49,190,51', []],
      [`${northFirst}&bbox=49,367.5,90.1,368.2`, west],
      [`${mercator}&bbox=40909913,6.27e6,40987836,6.6e6`, west],
      [`${mercator}&bbox=-3e7,-3e7,3e7,3e7`, all],
    ] as [string, number[]][])
      assert.deepEqual(await listed(`?${query}`), expected, query);
    const grid = '/collections/raster_5km/items';
    assert.deepEqual(
      idsOf(await walkOgc(service, `${grid}?bbox=367.5,49,368.2,51`)),
      idsOf(await walkOgc(service, `${grid}?bbox=7.5,49,8.2,51`)),
    );
  });

  it('O2 come page by page, also those of a box, and none twice while others are written', async () => {
    const queries = ['?limit=1', '?limit=2&mandant=N', '?limit=1&bbox=-180,-90,180,90', `?limit=1&art=${arten.wanderfalke}`];
    for (const query of queries) {
      const expected = sorted(idsOf(await walkOgc(service, `${items}${query.replace(/limit=\d/, 'limit=1000')}`)));
      assert.deepEqual(sorted(idsOf(await walkOgc(service, `${items}${query}`))), expected, query);
    }
    const all = idsOf(await walkOgc(service, items));
    for (const [list, query] of [
      [items, ''],
      [items, '&bbox=-180,-90,180,90'],
      ['/collections/raster_5km/items', ''],
      ['/collections/mandant/items', ''],
    ] as const) {
      const expected = idsOf(await walkOgc(service, `${list}?limit=1000${query}`));
      assert.deepEqual(idsOf(await walkOgc(service, `${list}?limit=1&offset=2${query}`)), expected.slice(2), list + query);
    }
    assert.equal(all.length, 8);
    const first = await ask(`${items}?limit=2`);
    const next = first.json.links.find(({ rel }: Json) => rel === 'next').href as string;
    assert.match(first.headers.get('link') ?? '', /rel="next"/);
    const late = await service.makeReleased({ lat: '5539000' });
    const rest = idsOf(await walkOgc(service, next.slice(next.indexOf('/ogc') + 4)));
    assert.ok(!rest.includes(late) && !rest.some((id) => idsOf(first.json.features).includes(id)));
    await sql`delete from portal.sichtbeobachtung where id = ${late}`;
  });
});

describe('points and squares of /ogc apart', () => {
  const kinds = [
    ['sichtbeobachtung_punkt', 'Point'],
    ['sichtbeobachtung_quadrat', 'Polygon'],
  ] as const;

  it('O2.14 are the features of the mixed collection of that kind, whatever is asked for', async () => {
    const queries = [
      '',
      `art=${arten.wanderfalke}`,
      'artengruppe_id=1',
      'jahr=2021',
      'datetime=2020-12-31/2021-06-30',
      'mandant=S',
    ].concat([
      'bbox=7.5,49,8.2,51',
      `mandant=N&bbox=7.5,49,8.2,51`,
      `bbox=-180,-90,180,90&art=${arten.uhu}`,
      `crs=${epsg25832}`,
      'offset=2',
    ]);
    for (const query of queries) {
      // Skipped are those of the collection that is asked.
      const mixed = await walkOgc(service, `${items}?${query.replace(/offset=\d/, '')}`);
      for (const [name, type] of kinds) {
        const expected = mixed.filter(({ geometry }) => geometry.type === type).slice(query === 'offset=2' ? 2 : 0);
        for (const limit of [1, 2, 1000])
          assert.deepEqual(
            await walkOgc(service, `/collections/${name}/items?limit=${limit}&${query}`),
            expected,
            `${name} ${query}`,
          );
      }
    }
  });

  it('O2.14 have a feature in one of them alone', async () => {
    for (const { id, geometry } of await walkOgc(service, items))
      for (const [name, type] of kinds) {
        const answer = await ask(`/collections/${name}/items/${id}`);
        if (geometry.type === type) assert.deepEqual(answer.json.geometry, geometry);
        else assertProblem(answer, 404);
      }
    for (const [name] of kinds)
      for (const id of [ids.private, ids.waiting, ids.deleted, 'x'])
        assertProblem(await ask(`/collections/${name}/items/${id}`), 404);
  });

  it('O2.14 have a record elsewhere as soon as it is protected, and no more', async () => {
    const id = ids.butterfly ?? 0;
    const whereIs = async () => {
      const found = await Promise.all(kinds.map(async ([name]) => idsOf(await walkOgc(service, `/collections/${name}/items`))));
      return found.map((each) => each.includes(id));
    };
    assert.deepEqual(await whereIs(), [true, false]);
    await sql`update portal.sichtbeobachtung set sensibel = true where id = ${id}`;
    assert.deepEqual(await whereIs(), [false, true]);
    await sql`update portal.sichtbeobachtung set sensibel = false where id = ${id}`;
    assert.deepEqual(await whereIs(), [true, false]);
  });

  it('O2.14 come as table and page too, and know no cursor of another walk', async () => {
    for (const [name, type] of kinds) {
      const { text } = await ask(`/collections/${name}/items?f=csv`);
      assert.deepEqual([text.includes('POINT ('), text.includes('POLYGON (')], [type === 'Point', type === 'Polygon']);
      assert.equal((await ask(`/collections/${name}/items?f=html`)).status, 200);
      assertProblem(await ask(`/collections/${name}/items?cursor=1_2_3`), 400, 'cursor');
    }
  });
});

it('O0.5 wrong requests to /ogc are told what was wrong', async () => {
  const crs = 'http://www.opengis.net/def/crs/EPSG/0/4326';
  for (const [query, parameter] of [
    ['?bbox=1,2,3', 'bbox'],
    ['?bbox=1,2,3,x', 'bbox'],
    ['?bbox=3,2,1,4', 'bbox'],
    ['?bbox=170,50,-170,60', 'bbox'],
    ['?bbox=1,2,3,4,5,6,7', 'bbox'],
    ['?bbox=', 'bbox'],
    ['?bbox=5,100,6,101', 'bbox'],
    [`?bbox=100,5,101,6&bbox-crs=${crs}`, 'bbox'],
    ['?bbox=1,2,3,NaN', 'bbox'],
    ['?bbox-crs=http://example.org/crs', 'bbox-crs'],
    ['?crs=EPSG:4326', 'crs'],
    ['?datetime=2021', 'datetime'],
    ['?datetime=2021-02-30', 'datetime'],
    ['?datetime=0000-01-01T00:00:00%2B23:59', 'datetime'],
    ['?datetime=2021-02-02/2021-02-01', 'datetime'],
    ['?datetime=..', 'datetime'],
    ['?datetime=2021-01-01/2021-01-02/2021-01-03', 'datetime'],
    ['?limit=0', 'limit'],
    ['?limit=-1', 'limit'],
    ['?limit=x', 'limit'],
    ['?limit=1.5', 'limit'],
    ['?f=xml', 'f'],
    ['?art=x', 'art'],
    ['?jahr=0', 'jahr'],
    ['?mandant=unbekannt', 'mandant'],
    ['?cursor=x', 'cursor'],
    ['?cursor=1_2_3', 'cursor'],
    ['?unbekannt=1', 'unbekannt'],
    ['?limit=1&limit=2', 'limit'],
  ] as [string, string][]) {
    assertProblem(await ask(`${items}${query}`), 400, parameter);
  }
  const paths = ['/x', '/collections/x', '/collections/x/items', '/collections/x/items/1', '/collections/raster_5km/items/x'];
  for (const path of paths) assert.equal((await ask(path)).status, 404, path);
  for (const method of ['POST', 'PUT', 'DELETE']) {
    const { status, headers } = await ask(items, { method });
    assert.deepEqual([status, headers.get('allow')], [405, 'GET'], method);
  }
});

const grids = ['raster_5km', 'raster_eea10', 'raster_mtb', 'raster_mtbq'];

describe('counts of /ogc', () => {
  it('O2 are those of the grid, of all and of a filter', async () => {
    for (const grid of grids) {
      for (const [query, where] of [
        ['', 'true'],
        [`&art=${arten.wanderfalke}`, `art = ${arten.wanderfalke}`],
        ['&artengruppe_id=1', 'gid = 1'],
        ['&jahr_von=2021&jahr_bis=2021', 'jahr = 2021'],
        ['&datetime=2020-05-01/2021-02-01', 'jahr between 2020 and 2021'],
        ['&datetime=2020-05-01/2021-02-01&jahr_von=2021', 'jahr = 2021'],
        ['&datetime=2021-05-01/9999-12-31T23:59:60Z', 'jahr >= 2021'],
        ['&jahr_von=1&jahr_bis=9999', 'true'],
      ] as [string, string][]) {
        const code = grid === 'raster_5km' ? `cell_x || '/' || cell_y` : 'code';
        const rows = await sql.unsafe<Json[]>(`
          select ${code} as code, sum(meldungen)::integer as meldungen, count(distinct art)::integer as arten, min(jahr) as erstes_jahr,
            max(jahr) as letztes_jahr
          from gis.${grid} where ${where} group by 1 order by 1`);
        const features = await walkOgc(service, `/collections/${grid}/items?limit=2${query}`);
        const found = features.map(({ properties: { verschleiert: _, ...others } }) => others);
        assert.deepEqual(
          found.sort((a, b) => (a.code < b.code ? -1 : 1)),
          [...rows].map((row) => ({ ...row })).sort((a, b) => (a.code < b.code ? -1 : 1)),
          `${grid} ${query}`,
        );
      }
    }
  });

  it('O2 of one square are found by its code', async () => {
    for (const grid of grids) {
      const [feature] = await walkOgc(service, `/collections/${grid}/items`);
      const { status, json } = await ask(`/collections/${grid}/items/${encodeURIComponent(feature.id)}`);
      assert.equal(status, 200, feature.id);
      const { links: _, ...same } = json;
      assert.deepEqual(same, feature);
    }
  });

  it('O2.15 with a slash in their code are found without escapes, and without the slash', async () => {
    for (const grid of ['raster_5km', 'raster_mtbq']) {
      const [feature] = await walkOgc(service, `/collections/${grid}/items`);
      assert.match(feature.id, /\//);
      for (const fid of [
        feature.id,
        feature.id.replace('/', '-'),
        feature.id.replace('/', '%2F'),
        feature.id.replace('/', '%2f'),
      ]) {
        const { json } = await ask(`/collections/${grid}/items/${fid}`);
        assert.deepEqual([json.id, json.properties], [feature.id, feature.properties], fid);
      }
      for (const fid of [
        feature.id.replace('/', '//'),
        `${feature.id}/`,
        `/${feature.id}`,
        `${feature.id}-1`,
        feature.id.replace('/', '--'),
      ])
        assertProblem(await ask(`/collections/${grid}/items/${fid}`), 404);
      // What pages lead to passes every proxy.
      const { text } = await ask(`/collections/${grid}/items?f=html`);
      assert.doesNotMatch(text, /%2F/i);
      const [, path = ''] = /href="[^"]*?\/ogc(\/collections\/[^"]*\/items\/[^"]*)"/.exec(text) ?? [];
      assert.equal((await ask(path)).status, 200, path);
    }
    await sql`update portal.mandant set kuerzel = 'W/1' where kuerzel = 'W'`;
    for (const fid of ['W/1', 'w%2F1']) assert.equal((await ask(`/collections/mandant/items/${fid}`)).json.id, 'W/1');
    assertProblem(await ask('/collections/mandant/items/W-1'), 404);
    await sql`update portal.mandant set kuerzel = 'W' where kuerzel = 'W/1'`;
  });

  it('O2 go on behind a square that holds nothing any more, and know no other cursors', async () => {
    const page = async (collection: string, cursor: string) => {
      const { status, json } = await ask(`/collections/${collection}/items?limit=3&cursor=${encodeURIComponent(cursor)}`);
      return status === 200 ? json.features.map(({ id }: { id: string }) => id) : status;
    };
    for (const [collection, empty, wrong] of [
      ['raster_5km', '9999/9999', '9999'],
      ['raster_eea10', '10kmE999N999', 'nonsense'],
      ['raster_mtb', '9999', '99'],
      ['raster_mtbq', '9999/4', '9999/5'],
    ] as const) {
      assert.deepEqual([await page(collection, empty), await page(collection, wrong)], [[], 400], collection);
      const { json } = await ask(`/collections/${collection}/items?limit=3`);
      const [first, second] = json.features;
      assert.deepEqual((await page(collection, first.id))[0], second?.id, collection);
    }
  });

  it('O2 of a box are those of the squares that meet it', async () => {
    const box = `420500,5530500,420600,5530600&bbox-crs=${epsg25832}`;
    for (const grid of grids) {
      const features = await walkOgc(service, `/collections/${grid}/items?bbox=${box}`);
      assert.equal(features.length, 1, grid);
    }
    assert.deepEqual(idsOf(await walkOgc(service, `/collections/raster_5km/items?bbox=${box}`)), ['84/1106']);
  });
});

describe('species by square of /ogc', () => {
  const path = '/collections/verbreitung_eea10/items';

  it('O5.7 are those of the view of the grid, of all and of a filter, page by page', async () => {
    const [limits] = await sql`select pg_get_functiondef('ausgabe.get_raster_limits'::regproc) as definition`;
    // All ways of counting: a few records as a whole, and square by square.
    for (const few of ['60000', '-1']) {
      await sql.unsafe(limits?.definition.replace('60000', few));
      for (const [query, where] of [
        ['', 'true'],
        [`&art=${arten.wanderfalke}`, `art = ${arten.wanderfalke}`],
        ['&artengruppe_id=1', 'gid = 1'],
        [`&artengruppe_id=2&art=${arten.wanderfalke}`, 'false'],
        ['&jahr_von=2021&jahr_bis=2021', 'jahr = 2021'],
        ['&datetime=2020-05-01/2021-02-01', 'jahr between 2020 and 2021'],
      ] as [string, string][]) {
        const rows = await sql.unsafe<Json[]>(`
          select code || '-' || art as id, code, art, name_deutsch, name_wissenschaftlich, gid, artengruppe, sum(meldungen)::integer as meldungen,
            min(jahr) as erstes_jahr, max(jahr) as letztes_jahr,
            (select count(*)::integer from gis.sichtbeobachtung g where g.art = v.art and g.unschaerfe_m > 0
              and private.to_eea10(g.place) = substring(v.code, 'E(\\d+)')::integer * 1000 + substring(v.code, 'N(\\d+)')::integer
              and ${where}) as verschleiert
          from gis.raster_eea10 v where ${where} group by 1, 2, 3, 4, 5, 6, 7 order by code, art`);
        for (const limit of [1, 2, 1000]) {
          const features = await walkOgc(service, `${path}?limit=${limit}${query}`);
          assert.deepEqual(
            features.map(({ properties }) => properties),
            rows.map((row) => ({ ...row })),
            `${few} ${limit} ${query}`,
          );
          assert.deepEqual(idsOf(features), idsOf(rows));
        }
      }
    }
    await sql.unsafe(limits?.definition);
  });

  it('O5.7 are squares, one of which is found by its id', async () => {
    const [feature] = await walkOgc(service, path);
    assert.match(feature.id, /^10kmE\d{3}N\d{3}-\d+$/);
    assert.equal(feature.geometry.type, 'Polygon');
    const { status, json } = await ask(`${path}/${feature.id}`);
    const { links: _, ...same } = json;
    assert.deepEqual([status, same], [200, feature]);
    const [square] = await walkOgc(service, '/collections/raster_eea10/items');
    assert.deepEqual(feature.geometry, square.geometry);
    const code = feature.properties.code;
    for (const fid of ['x', code, `${code}-`, `${code}-999`, `${code}-9999999999`, `${code}-x`, '10kmE999N999-1'])
      assertProblem(await ask(`${path}/${fid}`), 404);
  });

  it('O5.7 of a box are those of the squares that meet it; a page begins behind whatever its cursor names', async () => {
    const all = await walkOgc(service, path);
    const box = `420500,5530500,420600,5530600&bbox-crs=${epsg25832}`;
    for (const query of ['', `&art=${arten.wanderfalke}`, '&artengruppe_id=2']) {
      const [code] = idsOf(await walkOgc(service, `/collections/raster_eea10/items?bbox=${box}${query}`));
      const expected = (await walkOgc(service, `${path}?limit=1${query}`)).filter(({ properties }) => properties.code === code);
      assert.deepEqual(await walkOgc(service, `${path}?limit=1&bbox=${box}${query}`), expected, query);
    }
    assert.deepEqual(await walkOgc(service, `${path}?bbox=0,0,1,1`), []);
    const page = async (cursor: string) => {
      const { status, json } = await ask(`${path}?cursor=${encodeURIComponent(cursor)}`);
      return status === 200 ? json.features : status;
    };
    const [first] = all;
    assert.deepEqual(await page(first.id), all.slice(1));
    assert.deepEqual(await page(`${first.properties.code}-0`), all);
    assert.deepEqual(
      await page(`${first.properties.code}-9999999999`),
      all.filter(({ properties }) => properties.code !== first.properties.code),
    );
    assert.deepEqual(await page('10kmE999N999-1'), []);
    for (const wrong of ['10kmE999N999', '1', "10kmE1N1-1' or"]) assert.equal(await page(wrong), 400);
  });
});

it('O2 tenants of /ogc are there with their boundaries, by abbreviation, page by page and in a box', async () => {
  const features = await walkOgc(service, '/collections/mandant/items?limit=1');
  assert.deepEqual(idsOf(features), ['N', 'S', 'W']);
  assert.deepEqual(features[0].geometry.type, 'MultiPolygon');
  assert.deepEqual(Object.keys(features[0].properties), ['id', 'kuerzel', 'name', 'quelle', 'stand']);
  assert.match(features[0].properties.stand, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  const box = `bbox=452000,5500000,452001,5500001&bbox-crs=${epsg25832}`;
  assert.deepEqual(idsOf(await walkOgc(service, `/collections/mandant/items?${box}`)), ['N', 'S']);
  assert.equal((await ask('/collections/mandant/items/n')).json.properties.name, 'Nordland');
});

describe('formats of /ogc', () => {
  it('O2 are chosen by f, else by Accept', async () => {
    for (const [path, accept, type] of [
      [items, undefined, 'application/geo+json'],
      [items, '*/*', 'application/geo+json'],
      [items, 'application/json', 'application/geo+json'],
      [items, 'text/html,application/xhtml+xml,*/*;q=0.8', 'text/html; charset=UTF-8'],
      [items, 'text/csv, */*;q=0.1', 'text/csv; charset=utf-8; header=present'],
      [`${items}?f=csv`, 'text/html', 'text/csv; charset=utf-8; header=present'],
      [`${items}?f=json`, 'text/html', 'application/geo+json'],
      ['', 'text/*', 'text/html; charset=UTF-8'],
      ['', 'text/html;q=0.4, application/json;q=0.5', 'application/json'],
      ['/api', 'application/vnd.oai.openapi+json;version=3.0', 'application/vnd.oai.openapi+json;version=3.0'],
      ['/api', 'application/json', 'application/vnd.oai.openapi+json;version=3.0'],
      ['/api?f=html', undefined, 'text/html; charset=UTF-8'],
    ] as [string, string | undefined, string][]) {
      const { status, headers } = await ask(path, accept ? { headers: { accept } } : {});
      assert.deepEqual([status, headers.get('content-type')?.toLowerCase()], [200, type.toLowerCase()], `${path} ${accept}`);
      assert.match(headers.get('vary') ?? '', /\bAccept\b/);
    }
    assert.equal((await ask('', { headers: { accept: 'image/png' } })).status, 406);
    assert.equal((await ask('/collections/mandant?f=csv')).status, 400);
  });

  it('O2 as CSV have a row for each feature, with its geometry', async () => {
    const { text } = await ask(`${items}?f=csv&art=${arten.amsel}&crs=${epsg25832}`);
    const [head, ...lines] = text.split('\r\n');
    assert.match(head ?? '', /^id,guid,art,.*,unschaerfe_m,cell_x,cell_y,phaenogramm,geaendert,geometrie$/);
    assert.equal(lines.length, 4);
    assert.match(
      text,
      new RegExp(`^${ids.exact},.*,"am ""Bach"", dann rechts",0,84,1106,true,[\\d-]+,POINT \\(421000 5531000\\)\r$`, 'm'),
    );
    assert.match(text, /3536,86,1106,true,[\d-]+,"POLYGON \(\(430000 5530000, /);
  });

  it('O2 as CSV have no cell of text that a spreadsheet computes; numbers stay numbers', async () => {
    const remarks = [
      '=HYPERLINK("http://example.org";"x")',
      '@SUM(1)',
      '+49 631 1234',
      '\t=1',
      '-1+1',
      '＝1',
      '\r=1',
      'a=1',
      '1-2',
    ];
    const [before] = await sql`select bemerkung from portal.sichtbeobachtung where id = ${ids.exact ?? 0}`;
    for (const bemerkung of remarks) {
      await sql`update portal.sichtbeobachtung set bemerkung = ${bemerkung} where id = ${ids.exact ?? 0}`;
      const { text } = await ask(`${items}?f=csv&art=${arten.amsel}&crs=${epsg25832}`);
      const shown = /^[a-z1]/.test(bemerkung) ? bemerkung : `'${bemerkung}`;
      const cell = /[",\r]/.test(shown) ? `"${shown.replaceAll('"', '""')}"` : shown;
      assert.ok(
        text.replaceAll(/\d{4}-\d\d-\d\d,POINT/g, 'POINT').includes(`,${cell},0,84,1106,true,POINT (421000 5531000)\r\n`),
        text,
      );
    }
    await sql`update portal.sichtbeobachtung set bemerkung = ${before?.bemerkung} where id = ${ids.exact ?? 0}`;
    assert.deepEqual([-1.5, -2, true, null, '-2'].map(toCsvCell), ['-1.5', '-2', 'true', '', "'-2"]);
  });

  it('O2 as pages load nothing, and escape what people wrote', async () => {
    await sql`update portal.sichtbeobachtung set bemerkung = '<script>alert(1)</script>' where id = ${ids.butterfly ?? 0}`;
    const pages = ['', '/api', '/conformance', '/collections', '/collections/sichtbeobachtung', '/collections/mandant/items/N'];
    for (const path of [...pages, items, `${items}/${ids.butterfly}`, '/collections/raster_mtb/items']) {
      const { status, headers, text } = await ask(`${path}?f=html`);
      assert.equal(status, 200, path);
      assert.match(headers.get('content-security-policy') ?? '', /^default-src 'none'/);
      assert.doesNotMatch(text, /<script|\bsrc=|@import|url\(/i, path);
      assert.match(text, /<html lang="de">/);
    }
    const { text } = await ask(`${items}?f=html&limit=3`);
    assert.match(text, /<svg .*<circle/s);
    assert.match(text, /rel="next"/);
    assert.match((await ask(`${items}/${ids.owl}?f=html`)).text, /<path .*Rasterzellen/s);
  });

  it('O0.5 have an ETag that holds until somebody sees a change', async () => {
    for (const path of ['', '/api', '/collections', items, `${items}?f=html`, `${items}/${ids.exact}`]) {
      const first = await ask(path);
      const tag = first.headers.get('etag') ?? '';
      assert.match(tag, /^W\/"/);
      assert.equal(first.headers.get('cache-control'), 'no-cache');
      for (const known of [tag, '*']) {
        const { status, text, headers } = await ask(path, { headers: { 'if-none-match': known } });
        assert.deepEqual([status, text, headers.get('etag'), headers.get('content-type')], [304, '', tag, null], path);
      }
    }
    for (const [path, status] of [
      [`${items}/99999999`, 404],
      [`${items}?limit=abc`, 400],
    ] as const)
      assert.equal((await ask(path, { headers: { 'if-none-match': '*' } })).status, status, path);
    const tag = (await ask(items)).headers.get('etag') ?? '';
    await sql`update portal.sichtbeobachtung set anzahl = anzahl + 1 where id = ${ids.exact ?? 0}`;
    assert.equal((await ask(items, { headers: { 'if-none-match': tag } })).status, 200);
  });

  it('O2 have links on the host that was asked, also when it is no tenant’s', async () => {
    for (const host of ['n.test', 'elsewhere.example:8080']) {
      for (const path of ['', '/conformance', '/collections', items, `${items}/${ids.exact}`]) {
        const { json } = await ask(path, { host });
        for (const { href } of json.links) assert.ok(href.startsWith(`http://${host}/ogc`), href);
        assert.equal(json.links.find(({ rel }: Json) => rel === 'self').href, `http://${host}/ogc${path}`);
      }
    }
  });

  it('O0.5 answer HEAD and OPTIONS, and other origins', async () => {
    const head = await ask(items, { method: 'HEAD' });
    assert.deepEqual([head.status, head.text], [200, '']);
    assert.equal(head.headers.get('access-control-allow-origin'), '*');
    assert.match(head.headers.get('access-control-expose-headers') ?? '', /Content-Crs/);
    assert.equal((await ask(items, { method: 'OPTIONS' })).status, 204);
  });
});

const cornersOf = ({ coordinates }: Json) => new Set(coordinates[0].map(String));

// Vector tiles (O3.1): exact places as points, masked records as squares, counts below zoom 10.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { canPackTiles, getTile, listTile } from '../../src/db/ausgabe-tiles.ts';
import { maxTileBytes, packTile } from '../../src/http/outputs/tiles.ts';
import { arten } from '../support/catalogue.ts';
import { onPostgres } from '../support/database.ts';
import { assertProblem, type Json, pluck, startTestService } from '../support/service.ts';
import { decodeTile, type Layers } from '../support/tile.ts';

const service = await startTestService();
const { sql } = service.database;
// In one cell, at places of their own.
const exact = await service.makeReleased({ lat: '5530000', lon: '420000' });
await service.makeReleased({ lat: '5530100', lon: '420100', sensibel: 'true' });
await service.makeReleased({ lat: '5530200', lon: '420200', art: String(arten.uhu) });
await service.makeReleased({ lat: '5530300', lon: '420300', art: String(arten.rotmilan) });
const old = await service.makeReleased({ lat: '5530400', lon: '420400', datum: '1.6.2001', art: String(arten.hornisse) });
await service.makeSichtbeobachtung({ lat: '5530500', lon: '420500' });
await service.makeSichtbeobachtung({ lat: '5530600', lon: '420600', bereich: 'oeffentlich' });
const deleted = await service.makeReleased({ lat: '5530700', lon: '420700' });
await sql`delete from portal.sichtbeobachtung where id = ${deleted}`;

const below = '/tiles/v1/';
const get = (path: string, init: RequestInit = {}, host = 'n.test') =>
  service.app.request(`http://${host}${below}${path}`, { ...init, headers: { host, ...init.headers } });

async function read(path: string): Promise<Layers> {
  const response = await get(path);
  assert.equal(response.status, 200, `${path}: ${response.status}`);
  assert.equal(response.headers.get('content-type'), 'application/vnd.mapbox-vector-tile');
  return decodeTile(new Uint8Array(await response.arrayBuffer()));
}

/** The tile of a place in EPSG:25832, and the place in it. */
async function tileOf(x: number, y: number, z: number) {
  const [row] = await sql<{ x: number; y: number }[]>`
    select st_x(p) as x, st_y(p) as y from st_transform(st_setsrid(st_makepoint(${x}::float8, ${y}::float8), 25832), 3857) p`;
  assert.ok(row);
  const side = 40075016.6855784 / 2 ** z;
  const across = (row.x + 20037508.3427892) / side;
  const down = (20037508.3427892 - row.y) / side;
  return {
    path: `${z}/${Math.floor(across)}/${Math.floor(down)}.mvt`,
    tile: { z, x: Math.floor(across), y: Math.floor(down) },
    i: (across % 1) * 4096,
    j: (down % 1) * 4096,
    scale: 4096 / side,
  };
}

const isWithin = (coordinate = Number.NaN) => coordinate >= 0 && coordinate < 4096;
const pointsOf = (layers: Layers) =>
  (layers.sichtbeobachtung ?? []).map(({ properties }) => properties.id).sort((a, b) => Number(a) - Number(b));

describe('a tile from zoom 10', () => {
  for (const z of [10, 13, 16]) {
    it(`of zoom ${z} has exact records at their place and no other record at all`, async () => {
      const { path, i, j } = await tileOf(420000, 5530000, z);
      const { sichtbeobachtung = [], raster } = await read(path);
      assert.equal(raster, undefined);
      const [feature] = sichtbeobachtung.filter(({ properties }) => properties.id === exact);
      assert.deepEqual(feature?.properties, { id: exact });
      const [[point] = []] = feature?.rings ?? [];
      assert.ok(Math.abs((point?.x ?? 0) - i) <= 1 && Math.abs((point?.y ?? 0) - j) <= 1, `${point?.x} ${point?.y}: ${i} ${j}`);
    });
  }

  it('has no point for masked, private, unreviewed and deleted records', async () => {
    // One that has the whole cell, and one that has its middle alone.
    const whole = await tileOf(420000, 5530000, 10);
    assert.deepEqual(pointsOf(await read(whole.path)), [exact, old]);
    const middle = await tileOf(422500, 5532500, 14);
    assert.deepEqual(pointsOf(await read(middle.path)), []);
  });

  it('has the square of the cell for masked ones, with their number and nothing more', async () => {
    const { path } = await tileOf(422500, 5532500, 12);
    const { zelle = [] } = await read(path);
    const found = zelle.map(({ properties, type }) => [properties, type]);
    assert.deepEqual(found, [[{ meldungen: 3 }, 3]]);
    // Its corners are those of the cell, wherever the records are.
    for (const [x, y] of [
      [420000, 5530000],
      [425000, 5535000],
    ] as const) {
      const corner = await tileOf(x, y, 16);
      const [square] = (await read(corner.path)).zelle ?? [];
      assert.ok(square?.rings[0]?.some((p) => Math.abs(p.x - corner.i) <= 1 && Math.abs(p.y - corner.j) <= 1));
    }
  });

  it('has a record within one tile only, however tiles meet', async () => {
    const { z, x, y } = (await tileOf(420000, 5530000, 15)).tile;
    const all: unknown[] = [];
    for (const across of [-1, 0, 1])
      for (const down of [-1, 0, 1]) {
        const { sichtbeobachtung = [] } = await read(`${z}/${x + across}/${y + down}.mvt`);
        const within = sichtbeobachtung.filter(({ rings }) => isWithin(rings[0]?.[0]?.x) && isWithin(rings[0]?.[0]?.y));
        all.push(...pluck(within, 'properties').map(({ id }) => id));
      }
    assert.deepEqual(all.sort(), [exact, old].sort());
  });

  it('O3.4 repeats what lies at most 8 pixels beside it, so that a circle can be drawn whole tile by tile', async () => {
    const { x, y } = (await tileOf(440000, 5520000, 14)).tile;
    // Pixels of 256 from the north-western corner of the tile.
    const make = async (right: number, down: number, more: Record<string, string> = {}) => {
      const [place] = await sql<{ x: number; y: number }[]>`
        select st_x(p) as x, st_y(p) as y
        from (select st_transform(st_translate(st_setsrid(st_makepoint(st_xmin(t), st_ymax(t)), 3857), ${right}::float8 * m, -${down}::float8 * m), 25832)
          from (select t, (st_xmax(t) - st_xmin(t)) / 256 from st_tileenvelope(14, ${x}, ${y}) t) e (t, m)) q (p)`;
      return service.makeReleased({ lat: String(place?.y), lon: String(place?.x), ...more });
    };
    const made = {
      right: await make(0.5, 100),
      left: await make(-0.5, 120),
      near: await make(7.5, 140),
      far: await make(8.5, 160),
      corner: await make(3, -4),
      masked: await make(0.5, 180, { sensibel: 'true' }),
    };
    const here = Object.values(made);
    const idsIn = async (across: number, down: number) =>
      pointsOf(await read(`14/${x + across}/${y + down}.mvt`)).filter((id) => here.includes(Number(id)));
    assert.deepEqual(await idsIn(0, 0), [made.right, made.left, made.near, made.far, made.corner]);
    assert.deepEqual(await idsIn(-1, 0), [made.right, made.left, made.near, made.corner]);
    assert.deepEqual(await idsIn(0, -1), [made.corner]);
    // It holds nothing of its own.
    assert.deepEqual(await idsIn(-1, -1), [made.corner]);
    const { sichtbeobachtung = [] } = await read(`14/${x - 1}/${y}.mvt`);
    const places = sichtbeobachtung.map(({ properties, rings }) => [properties.id, Math.round(rings[0]?.[0]?.x ?? 0)]);
    assert.deepEqual(new Map(places as [number, number][]).get(made.right), 4096 + 8);
    for (const id of here) await sql`delete from portal.sichtbeobachtung where id = ${id}`;
  });

  it('filters by species, group and years', async () => {
    const { path } = await tileOf(420200, 5530200, 11);
    const cases: [query: string, points: (number | undefined)[], masked: number | undefined][] = [
      [`art=${arten.amsel}`, [exact], 1],
      [`art=${arten.uhu}`, [], 1],
      [`art=${arten.hornisse}`, [old], undefined],
      ['artengruppe_id=1', [exact], 3],
      ['artengruppe_id=2', [old], undefined],
      ['jahr_von=2002', [exact], 3],
      ['jahr_bis=2001', [old], undefined],
      ['jahr_von=2002&jahr_bis=2003', [], undefined],
      ['art=4711', [], undefined],
      // No calendar has a year 0: it is before all others.
      [`jahr_von=0&art=${arten.amsel}`, [exact], 1],
      ['jahr_von=0&jahr_bis=2001', [old], undefined],
      ['jahr_von=0&jahr_bis=0', [], undefined],
      ['jahr_bis=9999&artengruppe_id=1', [exact], 3],
    ];
    for (const [query, points, masked] of cases) {
      const layers = await read(`${path}?${query}`);
      assert.deepEqual(pointsOf(layers), points, query);
      assert.equal(layers.zelle?.[0]?.properties.meldungen, masked, query);
    }
  });
});

describe('a tile up to zoom 9', () => {
  it('has counts by square, twice as wide at each level', async () => {
    let width = 0;
    for (const z of [9, 8, 7, 6]) {
      const { path, scale } = await tileOf(422500, 5532500, z);
      const { raster = [], sichtbeobachtung, zelle } = await read(path);
      assert.deepEqual([sichtbeobachtung, zelle], [undefined, undefined]);
      assert.deepEqual(pluck(raster, 'properties'), [{ meldungen: 5, arten: 4 }], path);
      const across = raster[0]?.rings[0]?.map(({ x }) => x / scale) ?? [];
      const wide = Math.max(...across) - Math.min(...across);
      // Some of it may lie in the next tile.
      assert.ok(wide < 2.2 * 8000 * 2 ** (9 - z), `${path}: ${wide}`);
      width = Math.max(width, wide);
    }
    assert.ok(width > 20_000);
    for (const z of [5, 3, 0]) assert.equal((await read((await tileOf(422500, 5532500, z)).path)).raster?.length, 1);
  });

  it('filters counts', async () => {
    const { path } = await tileOf(422500, 5532500, 9);
    const counts = async (query: string) => (await read(`${path}?${query}`)).raster?.map(({ properties }) => properties);
    assert.deepEqual(await counts(`art=${arten.amsel}`), [{ meldungen: 2, arten: 1 }]);
    assert.deepEqual(await counts('jahr_bis=2001'), [{ meldungen: 1, arten: 1 }]);
    assert.equal(await counts('jahr_bis=2000'), undefined);
    for (const query of ['jahr_von=0', 'jahr_von=0&jahr_bis=9999', 'jahr_bis=9999'])
      assert.deepEqual(await counts(query), [{ meldungen: 5, arten: 4 }], query);
    assert.deepEqual(await counts(`jahr_von=0&art=${arten.amsel}`), [{ meldungen: 2, arten: 1 }]);
    assert.equal(await counts('jahr_bis=0'), undefined);
  });
});

it('boundaries are in every tile that one crosses, with abbreviation and name', async () => {
  const { path } = await tileOf(452000, 5530000, 8);
  const { mandant = [] } = await read(path);
  assert.deepEqual(
    pluck(mandant, 'properties'),
    [
      { kuerzel: 'N', name: 'Nordland' },
      { kuerzel: 'S', name: 'Südland' },
      { kuerzel: 'W', name: 'Westland' },
    ].filter(({ kuerzel }) => mandant.some(({ properties }) => properties.kuerzel === kuerzel)),
  );
  assert.ok(mandant.length >= 2);
  // Of tiles, outer rings are those with a positive area.
  for (const { rings } of mandant) assert.ok(areaOf(rings[0] ?? []) > 0);
});

const areaOf = (ring: { x: number; y: number }[]) =>
  ring.reduce((sum, { x, y }, index) => {
    const next = ring[(index + 1) % ring.length] ?? { x, y };
    return sum + x * next.y - next.x * y;
  }, 0);

describe('what is asked for', () => {
  it('must be a tile of the pyramid, written as it is there; everything else is 404', async () => {
    const wrong = [
      ...['17/0/0.mvt', '0/1/0.mvt', '0/0/1.mvt', '3/8/0.mvt', '3/0/8.mvt', '-1/0/0.mvt', '03/1/1.mvt', '3/01/1.mvt'],
      ...['3/1/01.mvt', '3/1/1', '3/1/1.pbf', '3/1/1.mvt/', '3/1/1.mvt.mvt', '3/1/x.mvt', '3/1/1.5.mvt', '3/1/+1.mvt'],
      ...['3/1/1e0.mvt', '3/1/.mvt', '3/1/9999999999999999999999.mvt', 'tiles', '3/1', '3/1/1%2Emvt/x'],
    ];
    for (const path of wrong) assertProblem(await service.request(path, { below }), 404);
    for (const path of ['0/0/0.mvt', '16/65535/65535.mvt', '1/0/0.mvt', '1/1/1.mvt', '4/15/15.mvt', '10/0/511.mvt', '5/16/0.mvt'])
      await read(path);
  });

  it('has known parameters with values that can be, else 400 with their name', async () => {
    for (const [query, name] of [
      ['art=x', 'art'],
      ['art=', 'art'],
      ['art=1&art=2', 'art'],
      ['artengruppe_id=1.5', 'artengruppe_id'],
      ['jahr_von=20000', 'jahr_von'],
      ['jahr_bis=-1', 'jahr_bis'],
      ['jahr=2020', 'jahr'],
    ]) {
      assertProblem(await service.request(`3/4/2.mvt?${query}`, { below }), 400, name);
    }
    assert.equal((await get('tiles.json?art=1')).status, 400);
  });

  it('is read with GET and HEAD from anywhere, at any host', async () => {
    const path = '9/268/173.mvt';
    assert.equal((await get(path, {}, 'niemand.test')).status, 200);
    const head = await get(path, { method: 'HEAD' });
    assert.deepEqual([head.status, await head.text()], [200, '']);
    assert.equal(head.headers.get('access-control-allow-origin'), '*');
    assert.equal((await get(path, { method: 'OPTIONS' })).status, 204);
    assert.equal((await get(path, { method: 'POST' })).status, 405);
  });

  it('has a tag that holds until somebody sees a change', async () => {
    const { path } = await tileOf(422500, 5532500, 12);
    const first = await get(path);
    assert.equal(first.headers.get('cache-control'), 'no-cache');
    const tag = first.headers.get('etag') ?? '';
    const again = () => get(path, { headers: { 'if-none-match': tag } });
    assert.equal((await again()).status, 304);
    await service.makeSichtbeobachtung({ lat: '5530800', bereich: 'oeffentlich' });
    assert.equal((await again()).status, 304);
    // Kept, and sent again as it was.
    const bytes = [await (await get(path)).arrayBuffer(), await (await get(path)).arrayBuffer()].map((b) => Buffer.from(b));
    assert.ok(bytes[0]?.equals(bytes[1] ?? Buffer.alloc(0)));
    // In another block of 80 km, then here.
    await service.makeReleased({ lat: '5530900', lon: '480000' });
    assert.equal((await again()).status, 304);
    await service.makeReleased({ lat: '5530900', lon: '420000' });
    assert.equal((await again()).status, 200);
  });
});

it('tiles.json describes the tiles at the host that was asked', async () => {
  for (const host of ['n.test', 'niemand.test:8080']) {
    const response = await get('tiles.json', {}, host);
    assert.equal(response.status, 200);
    const document = (await response.json()) as Json;
    assert.deepEqual(document.tiles, [`http://${host}/tiles/v1/{z}/{x}/{y}.mvt`]);
    assert.deepEqual([document.tilejson, document.minzoom, document.maxzoom], ['3.0.0', 0, 16]);
    assert.deepEqual(
      document.vector_layers.map(({ id, fields }: Json) => [id, Object.keys(fields)]),
      [
        ['raster', ['meldungen', 'arten']],
        ['sichtbeobachtung', ['id']],
        ['zelle', ['meldungen']],
        ['mandant', ['kuerzel', 'name']],
      ],
    );
    const [west, south, east, north] = document.bounds;
    assert.ok(west > 6 && west < 7 && south > 49 && south < 50 && east > 8.9 && east < 9.1 && north > 50 && north < 50.5);
  }
});

describe('the two ways to pack a tile', { skip: onPostgres ? false : 'the embedded database packs none' }, () => {
  it('give the same features', async () => {
    assert.equal(await canPackTiles(sql), true);
    const filter = { art: null, artengruppeId: null, jahrVon: null, jahrBis: null, teilung: 128 };
    for (const zoom of [0, 5, 8, 9, 10, 12, 16]) {
      const query = { ...filter, ...(await tileOf(422500, 5532500, zoom)).tile };
      const packed = decodeTile((await getTile(sql, query)).value);
      assert.ok(Object.keys(packed).length > 0);
      assert.deepEqual(decodeTile(packTile((await listTile(sql, query)).value)), packed);
    }
  });
});

it('a dense tile stays small: one record for each small square, that with the lowest id, every time', async () => {
  await sql`
    insert into portal.sichtbeobachtung (nutzer_id, art, datum, point, bereich, status, experte_id, sensibel)
    select (select id from portal.nutzer where loginname = 'melder'), ${arten.amsel}, date '2020-01-01' + i,
      st_setsrid(st_makepoint(440000 + 0.01 * i, 5540000 + (i % 100) * 30), 25832), 'oeffentlich', 'freigegeben',
      (select id from portal.nutzer where loginname = 'expertin'), i % 10 = 0
    from generate_series(1, 2000) i`;
  const { path, tile } = await tileOf(440000, 5541000, 10);
  const query = { ...tile, art: null, artengruppeId: null, jahrVon: null, jahrBis: null };
  const list = async (teilung: number) =>
    (await listTile(sql, { ...query, teilung })).value.filter(({ layer }) => layer === 'sichtbeobachtung');
  const all = await list(128);
  const thin = await list(16);
  assert.ok(all.length > 1000 && thin.length > 2 && thin.length <= 16 * 16, `${all.length}, ${thin.length}`);
  assert.deepEqual(await list(16), thin);
  const masked = new Set((await sql`select id from portal.sichtbeobachtung where sensibel`).map(({ id }) => Number(id)));
  const exposed = [...all, ...thin].filter(({ properties }) => masked.has(Number(properties.id)));
  assert.deepEqual(exposed, [], 'no point for what is masked');
  const lowest = all[0]?.properties.id;
  assert.ok(thin.some(({ properties }) => properties.id === lowest));
  const response = await get(path);
  assert.ok((await response.arrayBuffer()).byteLength <= maxTileBytes);
});

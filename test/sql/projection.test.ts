// Reprojection, the service area and the 5 km grid, as sql/code/raum/projection.sql and raum/raster.sql promise them.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import fc from 'fast-check';
import type { Sql } from '../../src/db/client.ts';
import { openTestDatabase } from '../support/database.ts';

let sql: Sql;
before(async () => {
  sql = (await openTestDatabase()).sql;
});

type Srid = 25832 | 4326 | 3857;
interface Position {
  lat: number;
  lon: number;
  srid: Srid;
}
interface Place {
  x: number;
  y: number;
}

/** private.project or private.to_point of many positions in one call; null where the function gives null. */
async function projectAll(positions: Position[], name: 'project' | 'to_point' = 'project'): Promise<(Place | null)[]> {
  const rows = await sql.unsafe<{ x: number | null; y: number | null }[]>(
    `select st_x(p) as x, st_y(p) as y
    from unnest($1::float8[], $2::float8[], $3::integer[]) with ordinality t (lat, lon, srid, position),
      lateral (select private.${name}(t.lat, t.lon, t.srid) as p) k
    order by position`,
    [list(positions, 'lat'), list(positions, 'lon'), list(positions, 'srid')],
  );
  return rows.map(({ x, y }) => (x === null || y === null ? null : { x, y }));
}

/** ST_Transform of PostGIS between any two systems. */
async function transformAll(positions: Position[], to: Srid): Promise<Place[]> {
  return sql.unsafe<Place[]>(
    `select st_x(p) as x, st_y(p) as y
    from unnest($1::float8[], $2::float8[], $3::integer[]) with ordinality t (lat, lon, srid, position),
      lateral (select st_transform(st_setsrid(st_makepoint(t.lon, t.lat), t.srid), $4::integer) as p) k
    order by position`,
    [list(positions, 'lat'), list(positions, 'lon'), list(positions, 'srid'), to],
  );
}

const list = (positions: Position[], key: keyof Position) => `{${positions.map((position) => position[key])}}`;

/** SQLSTATE and column of private.to_point's error; null when it takes the position. */
async function errorOf(lat: number, lon: number, srid: number): Promise<{ code: string; column: string } | null> {
  try {
    await sql`select private.to_point(${lat}::float8, ${lon}::float8, ${srid}::integer)`;
    return null;
  } catch (error) {
    const { code, column_name: column } = error as { code: string; column_name: string };
    return { code, column };
  }
}

/** Germany with a margin, every quarter of a degree, off the round numbers. */
const germany: Position[] = [];
for (let lat = 47.0123456; lat < 55.3; lat += 0.25) {
  for (let lon = 5.5012345; lon < 15.5; lon += 0.25) germany.push({ lat, lon, srid: 4326 });
}

const isHundredth = (value: number) => Number(value.toFixed(2)) === value;

describe('private.project', () => {
  it('agrees with what is known without PostGIS: 50° N on the central meridian, in degrees and in EPSG:3857', async () => {
    // The meridian arc to 50° N on GRS80 is 5 540 847.042 m, times the scale 0.9996 of UTM.
    assert.deepEqual(
      await projectAll([
        { lat: 50, lon: 9, srid: 4326 },
        { lat: 6446275.841, lon: 1001875.417, srid: 3857 },
      ]),
      [
        { x: 500000, y: 5538630.7 },
        { x: 500000, y: 5538630.7 },
      ],
    );
  });

  for (const srid of [4326, 3857] as const) {
    it(`agrees with ST_Transform to a centimetre from EPSG:${srid} all over Germany, rounded to 0.01 m`, async () => {
      const places = await transformAll(germany, srid);
      const positions = places.map(({ x, y }) => ({ lat: y, lon: x, srid }));
      const expected = await transformAll(positions, 25832);
      const projected = await projectAll(positions);
      assert.equal(projected.length, germany.length);
      for (const [index, place] of projected.entries()) {
        const { x, y } = expected[index] ?? { x: Number.NaN, y: Number.NaN };
        assert.ok(place, `${JSON.stringify(positions[index])} has a place`);
        assert.ok(Math.abs(place.x - x) <= 0.00501, `x of ${JSON.stringify(positions[index])}: ${place.x}, expected ${x}`);
        assert.ok(Math.abs(place.y - y) <= 0.00501, `y of ${JSON.stringify(positions[index])}: ${place.y}, expected ${y}`);
        assert.ok(isHundredth(place.x) && isHundredth(place.y), `${place.x} ${place.y} is rounded to 0.01 m`);
      }
    });
  }

  it('leaves positions in EPSG:25832 as they are, bit by bit', async () => {
    const number = fc.double({ min: -1e9, max: 1e9, noNaN: true });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(number, number), { minLength: 50, maxLength: 200 }), async (pairs) => {
        const positions = pairs.map(([lat, lon]) => ({ lat: lat + 0, lon: lon + 0, srid: 25832 as const }));
        const expected = positions.map(({ lat, lon }) => ({ x: lon, y: lat }));
        assert.deepEqual(await projectAll(positions), expected);
      }),
      { numRuns: 10 },
    );
  });

  it('gives a place or null for every number, and never raises', async () => {
    const number = fc.oneof(
      fc.double(),
      fc.double({ min: -200, max: 200, noNaN: true }),
      fc.double({ min: -3e7, max: 3e7, noNaN: true }),
      fc.constantFrom(0, -0, 90, -90, 89, -89, -51, 69, 180, 2e7, -2e7, 7.7e6, -5.7e6, 1e9, Number.MAX_VALUE, 5e-324),
    );
    const position = fc.record({ lat: number, lon: number, srid: fc.constantFrom<Srid>(25832, 4326, 3857) });
    await fc.assert(
      fc.asyncProperty(fc.array(position, { minLength: 100, maxLength: 400 }), async (positions) => {
        for (const [index, place] of (await projectAll(positions)).entries()) {
          const finite = place === null || (Number.isFinite(place.x) && Number.isFinite(place.y));
          assert.ok(finite, `${JSON.stringify(positions[index])} became ${JSON.stringify(place)}`);
        }
      }),
      { numRuns: 20 },
    );
  });

  it('knows no other system', async () => {
    const [row] = await sql`select private.project(50, 9, 31467) as a, private.project(50, 9, 0) as b`;
    assert.deepEqual({ ...row }, { a: null, b: null });
  });
});

describe('private.to_point', () => {
  it('gives the same point as private.project inside the service area', async () => {
    assert.deepEqual(await projectAll(germany, 'to_point'), await projectAll(germany));
  });

  it('takes the edge of the service area and refuses what lies a millimetre outside', async () => {
    for (const [lat, lon] of [
      [5000000, 0],
      [6300000, 1200000],
      [5000000, 1200000],
      [6300000, 0],
    ] as const) {
      assert.equal(await errorOf(lat, lon, 25832), null, `${lat} ${lon}`);
    }
    for (const [lat, lon] of [
      [4999999.999, 600000],
      [6300000.001, 600000],
      [5500000, -0.001],
      [5500000, 1200000.001],
    ] as const) {
      assert.deepEqual(await errorOf(lat, lon, 25832), { code: 'GBIET', column: 'lat' }, `${lat} ${lon}`);
    }
  });

  // Each with the reason and the field that the user is told.
  const refused: [what: string, lat: number, lon: number, srid: number, code: string, column: string][] = [
    ['lat and lon swapped in degrees', 9, 50, 4326, 'GBTAU', 'lat'],
    ['lat and lon swapped in EPSG:25832', 420000, 5530000, 25832, 'GBTAU', 'lat'],
    ['lat and lon swapped in EPSG:3857', 1001875, 6446275, 3857, 'GBTAU', 'lat'],
    ['a place in Spain', 40, -3, 4326, 'GBIET', 'lat'],
    ['a place in Australia', -33, 151, 4326, 'GBIET', 'lat'],
    ['the pole', 90, 9, 4326, 'GBIET', 'lat'],
    ['the origin of EPSG:25832', 0, 0, 25832, 'GBIET', 'lat'],
    ['degrees sent as metres', 50, 9, 25832, 'GBIET', 'lat'],
    ['metres sent as degrees', 5530000, 420000, 4326, 'WERTB', 'lat'],
    ['a latitude above 90', 90.0001, 9, 4326, 'WERTB', 'lat'],
    ['a latitude below -90', -90.0001, 9, 4326, 'WERTB', 'lat'],
    ['a longitude above 180', 50, 180.0001, 4326, 'WERTB', 'lon'],
    ['a longitude below -180', 50, -180.0001, 4326, 'WERTB', 'lon'],
    ['a northing outside the square of EPSG:3857', 20037509, 1001875, 3857, 'WERTB', 'lat'],
    ['an easting outside the square of EPSG:3857', 6446275, -20037509, 3857, 'WERTB', 'lon'],
    ['a huge northing', 1e300, 420000, 25832, 'WERTB', 'lat'],
    ['a huge easting', 5530000, -1e300, 25832, 'WERTB', 'lon'],
    ...([25832, 4326, 3857] as const).flatMap((srid) => {
      const [lat, lon] = { 25832: [5530000, 420000], 4326: [50, 9], 3857: [6446275, 1001875] }[srid] as [number, number];
      return [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY].flatMap((value): typeof refused => [
        [`${value} as lat`, value, lon, srid, 'WERTB', 'lat'],
        [`${value} as lon`, lat, value, srid, 'WERTB', 'lon'],
      ]);
    }),
  ];
  for (const [what, lat, lon, srid, code, column] of refused) {
    it(`refuses ${what} (EPSG:${srid}) with ${code} at ${column}`, async () => {
      assert.deepEqual(await errorOf(lat, lon, srid), { code, column });
    });
  }

  it('answers every pair of numbers with a point in the area or with WERTB, GBTAU or GBIET, never with XX000', async () => {
    const number = fc.oneof(
      fc.double(),
      fc.double({ min: -200, max: 200, noNaN: true }),
      fc.double({ min: -3e7, max: 3e7, noNaN: true }),
    );
    await fc.assert(
      fc.asyncProperty(number, number, fc.constantFrom(25832, 4326, 3857), async (lat, lon, srid) => {
        const error = await errorOf(lat, lon, srid);
        if (error === null) return;
        assert.ok(['WERTB', 'GBTAU', 'GBIET'].includes(error.code), `${lat} ${lon} ${srid}: ${error.code}`);
        assert.ok(['lat', 'lon'].includes(error.column));
      }),
      { numRuns: 300 },
    );
  });
});

describe('the 5 km grid', () => {
  const cellsOf = async (values: number[]): Promise<number[]> => {
    const rows = await sql<{ cell: number }[]>`
      select private.to_cell(v) as cell from unnest(${`{${values}}`}::float8[]) with ordinality t (v, position) order by position`;
    assert.equal(Object.keys(rows).length, values.length);
    return rows.map((row) => row.cell);
  };

  it('S1.4 has half-open cells: a border belongs to the cell above it, below zero too', async () => {
    const table: [number, number][] = [
      [0, 0],
      [-0, 0],
      [4999.999999, 0],
      [5000, 1],
      [5000.000001, 1],
      [-0.000001, -1],
      [-5000, -1],
      [-5000.000001, -2],
      [404552, 80],
      [5480386.14, 1096],
      [1e9, 200000],
      [-1e9, -200000],
      [2147483647 * 5000, 2147483647],
      [-2147483648 * 5000, -2147483648],
    ];
    assert.deepEqual(
      await cellsOf(table.map(([value]) => value)),
      table.map(([, cell]) => cell),
    );
  });

  it('S1.4 has a cell for the smallest numbers above and below zero', async () => {
    assert.deepEqual(await cellsOf([5e-324, 1e-320, -5e-324, -1e-320]), [0, 0, -1, -1]);
  });

  it('S1.4 puts every coordinate into exactly the cell whose half-open range holds it', async () => {
    // Numbers next to zero have a test of their own.
    const coordinate = fc.oneof(
      fc.double({ min: -1e9, max: 1e9, noNaN: true }).filter((value) => value === 0 || Math.abs(value) > 1e-300),
      fc.double({ min: 1e-6, max: 20000, noNaN: true }).map((value) => -value),
      fc.integer({ min: -200000, max: 200000 }).map((index) => index * 5000),
      fc.tuple(fc.integer({ min: -2000, max: 2000 }), fc.constantFrom(-1e-6, 1e-6)).map(([index, e]) => index * 5000 + e),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(coordinate, { minLength: 100, maxLength: 300 }), async (values) => {
        for (const [index, cell] of (await cellsOf(values)).entries()) {
          const value = values[index] as number;
          assert.ok(cell * 5000 <= value && value < (cell + 1) * 5000, `${value} is in cell ${cell}`);
        }
      }),
      { numRuns: 20 },
    );
  });

  it('shows the centre of the cell, and its square is 5 km wide', async () => {
    const [row] = await sql`
      select st_astext(private.to_raster_point(80, 1096)) as centre, st_srid(private.to_raster_point(80, 1096)) as srid,
        st_astext(private.to_raster_point(-1, -1)) as negative,
        st_equals(st_centroid(private.to_cell_polygon(80, 1096)), private.to_raster_point(80, 1096)) as is_middle,
        st_area(private.to_cell_polygon(80, 1096)) as area, st_xmin(private.to_cell_polygon(80, 1096)) as x_min`;
    assert.deepEqual(
      { ...row },
      {
        centre: 'POINT(402500 5482500)',
        srid: 25832,
        negative: 'POINT(-2500 -2500)',
        is_middle: true,
        area: 25e6,
        x_min: 400000,
      },
    );
  });

  it('shows a point that lies in its own cell, for every cell', async () => {
    const index = fc.integer({ min: -200000, max: 200000 });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(index, index), { minLength: 100, maxLength: 200 }), async (cells) => {
        const rows = await sql`
          select private.to_cell(st_x(p)) = x and private.to_cell(st_y(p)) = y
            and st_x(p) = x * 5000.0::float8 + 2500 and st_y(p) = y * 5000.0::float8 + 2500 as same
          from unnest(${`{${cells.map(([x]) => x)}}`}::integer[], ${`{${cells.map(([, y]) => y)}}`}::integer[]) t (x, y),
            lateral (select private.to_raster_point(x, y) as p) k`;
        assert.ok(rows.length === cells.length && rows.every((row) => row.same));
      }),
      { numRuns: 5 },
    );
  });

  it('S1.4 puts a place into the same cell in all three systems, but for a hundredth of a metre at an edge', async () => {
    const place = fc.record({
      x: fc.double({ min: 200000, max: 1000000, noNaN: true }),
      // Next to the edges, where it matters.
      y: fc.oneof(
        fc.double({ min: 5200000, max: 6200000, noNaN: true }),
        fc
          .tuple(fc.integer({ min: 1040, max: 1240 }), fc.double({ min: -0.05, max: 0.05, noNaN: true }))
          .map(([i, e]) => i * 5000 + e),
      ),
    });
    let compared = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(place, { minLength: 100, maxLength: 200 }), async (places) => {
        const metric = places.map(({ x, y }) => ({ lat: y, lon: x, srid: 25832 as const }));
        const cells = await cellsOf(places.flatMap(({ x, y }) => [x, y]));
        for (const srid of [4326, 3857] as const) {
          const sent = (await transformAll(metric, srid)).map(({ x, y }) => ({ lat: y, lon: x, srid }));
          const back = await projectAll(sent);
          const same = await cellsOf(back.flatMap((p) => (p ? [p.x, p.y] : [Number.NaN, Number.NaN])));
          for (const [index, value] of places.flatMap(({ x, y }) => [x, y]).entries()) {
            if (Math.abs(value - Math.round(value / 5000) * 5000) <= 0.01) continue;
            compared++;
            assert.equal(same[index], cells[index], `${value} sent in EPSG:${srid}`);
          }
        }
      }),
      { numRuns: 10 },
    );
    assert.ok(compared > 1000);
  });
});

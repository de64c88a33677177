import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { countCrossings, maxCrossings } from '../../src/guard/geometry.ts';
import { openTestDatabase } from '../support/database.ts';

const circle = (corners: number, turn = 1): number[][] => {
  const at = (n: number): number[] => [
    4e5 + 1e5 * Math.cos((2 * Math.PI * n * turn) / corners),
    55e5 + 1e5 * Math.sin((2 * Math.PI * n * turn) / corners),
  ];
  return [...Array.from({ length: corners }, (_, n) => at(n)), at(0)];
};
const bowTie = [
  [0, 0],
  [1, 1],
  [1, 0],
  [0, 1],
  [0, 0],
];

describe('a boundary that is not valid', () => {
  const cases: [name: string, coordinates: unknown, repairable: boolean][] = [
    ['a ring of a hundred thousand corners', [circle(100_000)], true],
    ['a bow-tie', [bowTie], true],
    ['a hundred bow-ties', Array.from({ length: 100 }, (_, n) => [bowTie.map(([x = 0, y = 0]) => [x + 2 * n, y])]), true],
    ['three hundred bow-ties', Array.from({ length: 300 }, (_, n) => [bowTie.map(([x = 0, y = 0]) => [x + 2 * n, y])]), false],
    ['two parts that share an edge', [[circle(4)], [circle(4)]], true],
    ['a star of 401 corners', [circle(401, 200)], false],
    ['two million corners', [circle(2_000_000)], false],
    ['lines that all lie over each other', [Array.from({ length: 20_000 }, (_, n) => [n % 2, n])], false],
    ['no coordinates', 'x', true],
    ['lists without end', JSON.parse('['.repeat(1000) + ']'.repeat(1000)), true],
    ['positions that are none', [[[0, 'x'], [null, 1], [1]]], true],
  ];
  for (const [name, coordinates, repairable] of cases) {
    it(`${repairable ? 'is' : 'is not'} repaired when it is ${name}`, () => {
      assert.equal(countCrossings(coordinates) <= maxCrossings, repairable);
    });
  }

  it('is refused by the database when it may not be repaired, and taken when it is valid', async () => {
    const { sql } = await openTestDatabase();
    const check = (coordinates: number[][], repairable: boolean) => {
      const geojson = JSON.stringify({ type: 'Polygon', coordinates: [coordinates] });
      return sql`select private.to_boundary(${geojson}::text, 25832, ${repairable}::boolean) is not null as taken`;
    };
    const crossed = bowTie.map(([x = 0, y = 0]) => [4e5 + 1e4 * x, 55e5 + 1e4 * y]);
    await assert.rejects(check(crossed, false), { code: 'GRENZ' });
    assert.equal((await check(crossed, true))[0]?.taken, true);
    assert.equal((await check(circle(8), false))[0]?.taken, true);
  });
});

// Pages of /ogc in a box whose edge cuts cells: what lies there is found by place where little does, and by id where much does (O2.10).
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { arten } from '../support/catalogue.ts';
import { makeDice } from '../support/dice.ts';
import { idsOf, walkOgc } from '../support/ogc.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { shortenWalks } from '../support/walks.ts';

const seed = 11;
const boxCount = 40;
const corner = { x: 420_000, y: 5_530_000 };
const crs = 'http://www.opengis.net/def/crs/EPSG/0/25832';

let service: TestService;
before(async () => {
  service = await startTestService();
  const dice = makeDice(seed);
  // Most of them in one cell, the others in those around it; every fifth masked.
  for (let n = 0; n < 60; n++) {
    const reach = n % 3 === 0 ? 9999 : 4999;
    const place = { lon: String(corner.x + dice.below(reach)), lat: String(corner.y + dice.below(reach)) };
    await service.makeReleased({
      ...place,
      art: String(n % 5 === 0 ? arten.uhu : arten.tagpfauenauge),
      datum: `1.1.${2015 + (n % 6)}`,
    });
  }
});

// What is asked for, as the view has it.
async function expectIds([x1, y1, x2, y2]: number[], since = '1900-01-01'): Promise<number[]> {
  const rows = await service.database.sql<{ id: number }[]>`
    select g.id::integer
    from gis.sichtbeobachtung g
    where g.datum >= ${since}::date
      and case when g.unschaerfe_m > 0
        then g.cell_x * 5000 <= ${x2 ?? 0}::integer and g.cell_x * 5000 + 5000 >= ${x1 ?? 0}::integer
          and g.cell_y * 5000 <= ${y2 ?? 0}::integer and g.cell_y * 5000 + 5000 >= ${y1 ?? 0}::integer
        else st_x(g.place) between ${x1 ?? 0}::integer and ${x2 ?? 0}::integer
          and st_y(g.place) between ${y1 ?? 0}::integer and ${y2 ?? 0}::integer end
    order by g.cell_x, g.cell_y, g.id`;
  return rows.map(({ id }) => id);
}

function checkAll(): void {
  for (const limit of [1, 7, 1000]) {
    it(`O2.10 come by cell and then by id, each once, ${limit} a page`, async () => {
      const dice = makeDice(seed + limit);
      let found = 0;
      for (let n = 0; n < boxCount; n++) {
        const [x, y] = [corner.x - 500 + dice.below(8000), corner.y - 500 + dice.below(8000)];
        const box = [x, y, x + 1 + dice.below(6000), y + 1 + dice.below(6000)];
        const since = dice.chance(0.5) ? '2018-01-01' : undefined;
        const expected = await expectIds(box, since);
        const path = `/collections/sichtbeobachtung/items?limit=${limit}&bbox=${box}&bbox-crs=${crs}${since ? `&datetime=${since}/..` : ''}`;
        assert.deepEqual(idsOf(await walkOgc(service, path)), expected, path);
        found += expected.length;
      }
      assert.ok(found > 5 * boxCount, 'boxes hold records');
    });
  }
}

describe('sightings of a box', checkAll);

describe('sightings of a box that holds too many to be found by place', () => {
  before(() => shortenWalks(service.database.sql));
  checkAll();
});

// Protected places (D4): who sees what, in every format and by every filter.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { type Account, arten } from '../support/catalogue.ts';
import { startTestService, type TestService } from '../support/service.ts';

// A place in the cell 450 000 … 455 000, which the border of N and S at 452 000 cuts; the point lies in S.
const place = { lat: '5531234.5', lon: '454321.25' };
const exact = { lat: 5531234.5, lon: 454321.25 };
const centre = { lat: 5532500, lon: 452500 };

let service: TestService;
before(async () => {
  service = await startTestService();
});

const readers: { as: Account | null; exempt: boolean }[] = [
  { as: null, exempt: false },
  { as: 'nachbarin', exempt: false },
  { as: 'melder', exempt: true },
  { as: 'expertin', exempt: true },
  { as: 'vogelexperte', exempt: true },
  { as: 'admin', exempt: true },
];

const cases = [
  { name: 'nobody protects it', art: arten.amsel, sensibel: 'false', masked: { n: false, s: false, w: false }, sensibleArt: '' },
  {
    name: 'the recorder marked it',
    art: arten.hornisse,
    sensibel: 'true',
    masked: { n: true, s: true, w: true },
    sensibleArt: '',
  },
  {
    name: 'every tenant protects the species',
    art: arten.uhu,
    sensibel: 'false',
    masked: { n: true, s: true, w: true },
    sensibleArt: 'nsw',
  },
  {
    name: 'a touched tenant protects the species',
    art: arten.wanderfalke,
    sensibel: 'false',
    masked: { n: true, s: true, w: true },
    sensibleArt: 'nsw',
  },
  {
    name: 'only a tenant far away protects the species',
    art: arten.rotmilan,
    sensibel: 'false',
    masked: { n: false, s: false, w: true },
    sensibleArt: 'w',
  },
  {
    name: 'mark and species',
    art: arten.uhu,
    sensibel: 'true',
    masked: { n: true, s: true, w: true },
    sensibleArt: 'nsw',
    lon: '454321.5',
  },
] as const;

describe('a record is shown at its cell to everyone but owner, experts and administrators', () => {
  for (const item of cases) {
    it(item.name, async () => {
      const fields = { ...place, ...('lon' in item && { lon: item.lon }), art: String(item.art), sensibel: item.sensibel };
      const id = await service.makeReleased(fields, { host: 's.test' });
      const trueLon = Number(fields.lon);
      for (const tenant of ['n', 's', 'w'] as const) {
        for (const { as, exempt } of readers) {
          const masked = item.masked[tenant] && !exempt;
          const shown = masked ? centre : { lat: exact.lat, lon: trueLon };
          const where = `${tenant}.test as ${as}`;
          const host = `${tenant}.test`;

          const detail = (await service.request(`/sichtbeobachtungen/${id}`, { as, host })).json.result[0];
          const list = (await service.request('/sichtbeobachtungen?limit=1', { as, host })).json.result[0];
          for (const record of [detail, list]) {
            assert.equal(record.id, id, where);
            assert.deepEqual({ lat: record.lat, lon: record.lon }, shown, where);
            assert.equal(record.is_rasterized, masked, where);
            assert.equal(record.sensible_art, (item.sensibleArt as string).includes(tenant), where);
            assert.equal(record.sensibel, item.sensibel === 'true', where);
          }
          assert.deepEqual(
            detail.mandanten.map((mandant: { kuerzel: string }) => mandant.kuerzel),
            masked ? ['N', 'S'] : ['S'],
            where,
          );

          const xml = await service.request(`/sichtbeobachtungen/${id}?format=xml&restrict=lat,lon,is_rasterized`, { as, host });
          assert.ok(
            xml.text.includes(
              `<lat>${shown.lat}</lat><lon>${shown.lon}</lon><is_rasterized>${masked ? 'TRUE' : 'FALSE'}</is_rasterized>`,
            ),
            `${where}: ${xml.text}`,
          );
          const jsonp = await service.request(`/sichtbeobachtungen?limit=1&callback=f&restrict=lat,lon`, { as, host });
          assert.ok(jsonp.text.startsWith(`f({"result":[{"lat":${shown.lat},"lon":${shown.lon}}]`), `${where}: ${jsonp.text}`);

          // The true point is found by a box of one metre only where it is shown; the centre likewise.
          const found = async (lon: number, lat: number) => {
            const bbox = [lon - 0.5, lat - 0.5, lon + 0.5, lat + 0.5].join(',');
            const answer = await service.request(`/sichtbeobachtungen?restrict=id&bbox=${bbox}`, { as, host });
            return answer.json.result.some((record: { id: number }) => record.id === id);
          };
          assert.equal(await found(trueLon, exact.lat), !masked, `box on the point, ${where}`);
          assert.equal(await found(centre.lon, centre.lat), masked, `box on the centre, ${where}`);

          const inTenant = async (kuerzel: string) => {
            const answer = await service.request(`/sichtbeobachtungen?restrict=id&mandant=${kuerzel}`, { as, host });
            return answer.json.result.some((record: { id: number }) => record.id === id);
          };
          assert.equal(await inTenant('S'), true, `mandant=S, ${where}`);
          assert.equal(await inTenant('N'), masked, `mandant=N, ${where}`);
          assert.equal(await inTenant('W'), false, `mandant=W, ${where}`);
        }
      }
    });
  }
});

it('S1.1 a binary search with 40 boxes ends at the cell', async () => {
  const id = await service.makeReleased({ ...place, art: String(arten.uhu), lat: '5531777.7' }, { host: 's.test' });
  let box = [440000, 5520000, 460000, 5540000] as [number, number, number, number];
  for (let step = 0; step < 40; step++) {
    const [left, bottom, right, top] = box;
    const vertical = step % 2 === 0;
    const half: typeof box = vertical ? [left, bottom, (left + right) / 2, top] : [left, bottom, right, (bottom + top) / 2];
    const answer = await service.request(`/sichtbeobachtungen?restrict=id&limit=1000&bbox=${half.join(',')}`);
    const inHalf = answer.json.result.some((record: { id: number }) => record.id === id);
    box = inHalf ? half : vertical ? [(left + right) / 2, bottom, right, top] : [left, (bottom + top) / 2, right, top];
  }
  assert.ok(Math.abs(box[0] - centre.lon) < 0.1 && Math.abs(box[1] - centre.lat) < 0.1, `found ${box}`);
});

describe('private records', () => {
  it('are seen by their author alone, not by experts or administrators', async () => {
    const id = await service.makeSichtbeobachtung({ lon: '433333' });
    for (const { as } of readers) {
      const own = as === 'melder';
      const answer = await service.request(`/sichtbeobachtungen/${id}`, { as });
      assert.equal(answer.status, own ? 200 : 404, `as ${as}`);
      if (as === null) continue;
      for (const bereich of ['privat', 'persoenlich', 'oeffentlich']) {
        const list = await service.request(`/sichtbeobachtungen?bereich=${bereich}&restrict=id`, { as });
        const seen = list.json.result.some((record: { id: number }) => record.id === id);
        assert.equal(seen, own && bereich !== 'oeffentlich', `${bereich} as ${as}`);
      }
    }
  });

  it('published but unreleased ones are seen by everyone who is logged in', async () => {
    const id = await service.makeSichtbeobachtung({ lon: '433334', bereich: 'oeffentlich' });
    for (const { as } of readers) {
      const answer = await service.request(`/sichtbeobachtungen/${id}`, { as });
      assert.equal(answer.status, as === null ? 404 : 200, `as ${as}`);
      const list = await service.request('/sichtbeobachtungen?restrict=id', { as });
      assert.equal(
        list.json.result.some((record: { id: number }) => record.id === id),
        as !== null,
        `as ${as}`,
      );
    }
  });
});

// Protected places (D4): who sees what, in every format and by every filter.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Transaction } from '../../src/db/client.ts';
import { type Account, arten } from '../support/catalogue.ts';
import { idsIn, pluck, type RequestOptions, startTestService } from '../support/service.ts';

// A place in the cell 450 000 … 455 000, which the border of N and S at 452 000 cuts; the point lies in S.
const place = { lat: '5531234.5', lon: '454321.25' };
const exact = { lat: 5531234.5, lon: 454321.25 };
const centre = { lat: 5532500, lon: 452500 };

const service = await startTestService();
const { sql } = service.database;

const readers: { as: Account | null; exempt: boolean }[] = [
  { as: null, exempt: false },
  { as: 'nachbarin', exempt: false },
  { as: 'melder', exempt: true },
  { as: 'expertin', exempt: true },
  { as: 'vogelexperte', exempt: true },
  { as: 'admin', exempt: true },
];

/** What protects a record, and the tenants that mask it and that hold its species to be sensitive, by their first letters. */
const cases: [name: string, art: number, masked: string, sensibleArt: string, more?: Record<string, string>][] = [
  ['nobody protects it', arten.amsel, '', ''],
  ['the recorder marked it', arten.hornisse, 'nsw', '', { sensibel: 'true' }],
  ['every tenant protects the species', arten.uhu, 'nsw', 'nsw'],
  ['a touched tenant protects the species', arten.wanderfalke, 'nsw', 'nsw'],
  ['only a tenant far away protects the species', arten.rotmilan, 'w', 'w'],
  ['mark and species', arten.uhu, 'nsw', 'nsw', { sensibel: 'true', lon: '454321.5' }],
];

describe('a record is shown at its cell to everyone but owner, experts and administrators', () => {
  for (const [name, art, maskedAt, sensibleArt, more] of cases) {
    it(`S1.6 under every domain: ${name}`, async () => {
      const fields = { ...place, art: String(art), sensibel: 'false', ...more };
      const id = await service.makeReleased(fields, { host: 's.test' });
      const trueLon = Number(fields.lon);
      for (const tenant of ['n', 's', 'w'] as const) {
        for (const { as, exempt } of readers) {
          const masked = maskedAt.includes(tenant) && !exempt;
          const shown = masked ? centre : { lat: exact.lat, lon: trueLon };
          const where = `${tenant}.test as ${as}`;
          const host = `${tenant}.test`;

          const detail = (await service.request(`/sichtbeobachtungen/${id}`, { as, host })).json.result[0];
          const list = (await service.request('/sichtbeobachtungen?limit=1', { as, host })).json.result[0];
          for (const record of [detail, list]) {
            assert.equal(record.id, id, where);
            assert.deepEqual({ lat: record.lat, lon: record.lon }, shown, where);
            assert.equal(record.is_rasterized, masked, where);
            assert.equal(record.sensible_art, sensibleArt.includes(tenant), where);
            assert.equal(record.sensibel, fields.sensibel === 'true', where);
          }
          assert.deepEqual(pluck(detail.mandanten, 'kuerzel'), masked ? ['N', 'S'] : ['S'], where);

          const xml = await service.request(`/sichtbeobachtungen/${id}?format=xml&restrict=lat,lon,is_rasterized`, { as, host });
          const [place, isMasked] = [`<lat>${shown.lat}</lat><lon>${shown.lon}</lon>`, String(masked).toUpperCase()];
          assert.ok(xml.text.includes(`${place}<is_rasterized>${isMasked}</is_rasterized>`), `${where}: ${xml.text}`);
          const jsonp = await service.request(`/sichtbeobachtungen?limit=1&callback=f&restrict=lat,lon`, { as, host });
          assert.ok(jsonp.text.startsWith(`f({"result":[{"lat":${shown.lat},"lon":${shown.lon}}]`), `${where}: ${jsonp.text}`);

          // The true point is found by a box of one metre only where it is shown; the centre likewise.
          const found = async (lon: number, lat: number) => (await listAround(lon, lat, { as, host })).includes(id);
          assert.equal(await found(trueLon, exact.lat), !masked, `box on the point, ${where}`);
          assert.equal(await found(centre.lon, centre.lat), masked, `box on the centre, ${where}`);

          const inTenant = async (kuerzel: string) => {
            const answer = await service.request(`/sichtbeobachtungen?restrict=id&mandant=${kuerzel}`, { as, host });
            return idsIn(answer).includes(id);
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
    const inHalf = idsIn(answer).includes(id);
    box = inHalf ? half : vertical ? [(left + right) / 2, bottom, right, top] : [left, (bottom + top) / 2, right, top];
  }
  assert.ok(Math.abs(box[0] - centre.lon) < 0.1 && Math.abs(box[1] - centre.lat) < 0.1, `found ${box}`);
  assert.deepEqual(await listAround(Number(place.lon), 5531777.7), [], 'a box of one metre on the true point');
  assert.ok((await listAround(centre.lon, centre.lat)).includes(id), 'a box of one metre on the centre');
});

/** The ids that a stranger finds in a box of one metre around a place. */
async function listAround(lon: number, lat: number, options: RequestOptions = {}): Promise<number[]> {
  const bbox = [lon - 0.5, lat - 0.5, lon + 0.5, lat + 0.5].join(',');
  const answer = await service.request(`/sichtbeobachtungen?restrict=id&limit=1000&bbox=${bbox}`, options);
  assert.equal(answer.status, 200, answer.text);
  return idsIn(answer);
}

it('S1.2 a record whose cell a border cuts lies in both tenants, by filter and in detail, in every format', async () => {
  const id = await service.makeReleased({ ...place, art: String(arten.uhu), datum: '2.9.2026' }, { host: 's.test' });
  for (const [form, asId, kuerzel] of [
    ['format=json', `"id":${id}`, (name: string) => `{"kuerzel":"${name}"`],
    ['callback=f', `"id":${id}`, (name: string) => `{"kuerzel":"${name}"`],
    ['format=xml', `<id>${id}</id>`, (name: string) => `<kuerzel>${name}</kuerzel>`],
  ] as const) {
    const detail = (await service.request(`/sichtbeobachtungen/${id}?${form}`)).text;
    for (const name of ['N', 'S']) assert.ok(detail.includes(kuerzel(name)), `${name} in ${form}: ${detail}`);
    assert.ok(!detail.includes(kuerzel('W')), detail);
    for (const [name, isThere] of [
      ['N', true],
      ['S', true],
      ['W', false],
    ] as const) {
      const { text } = await service.request(`/sichtbeobachtungen?limit=1000&mandant=${name}&${form}`);
      assert.equal(text.includes(asId), isThere, `mandant=${name}&${form}`);
    }
  }
  // What analysts export has no tenants, and a place that says nothing about them.
  const [row] = await sql`select st_astext(place) as place, to_jsonb(s) as row from gis.sichtbeobachtung s where id = ${id}`;
  assert.equal(row?.place, `POINT(${centre.lon} ${centre.lat})`);
  assert.ok(!Object.keys(row?.row).some((name) => name.startsWith('mandant')), Object.keys(row?.row).join());
});

it('S1.4 a record on a border or corner of cells is found once, at the centre of the cell above, however it was sent', async () => {
  for (const [n, [lon, lat, x, y]] of [
    [405000, 5505000, 407500, 5507500],
    [405000, 5507000, 407500, 5507500],
    [406000, 5505000, 407500, 5507500],
    [404999.99, 5504999.99, 402500, 5502500],
  ].entries() as ArrayIterator<[number, [number, number, number, number]]>) {
    const form = { art: String(arten.uhu), lon: String(lon), lat: String(lat), datum: `${n + 1}.8.2026` };
    const id = await service.makeReleased(form);
    const found = [-5000, 0, 5000].flatMap((dx) => [-5000, 0, 5000].map((dy) => [x + dx, y + dy] as const));
    for (const [cx, cy] of found) {
      const count = (await listAround(cx, cy)).filter((other) => other === id).length;
      assert.equal(count, cx === x && cy === y ? 1 : 0, `${lon},${lat} at ${cx},${cy}`);
    }
    assert.ok(!(await listAround(lon, lat)).includes(id), `${lon},${lat} at its true place`);
  }
  // One place inside a cell, in the three systems, as gdaltransform has it.
  for (const [n, [srid, lon, lat]] of [
    ['EPSG:25832', '391390.56', '5484122.01'],
    ['EPSG:4326', '7.5', '49.5'],
    ['EPSG:3857', '834896.18', '6360130.74'],
  ].entries() as ArrayIterator<[number, [string, string, string]]>) {
    const id = await service.makeReleased({ art: String(arten.uhu), srid, lon, lat, datum: `${n + 1}.7.2026` });
    const [record] = (await service.request(`/sichtbeobachtungen/${id}`)).json.result;
    assert.deepEqual([record.lon, record.lat], [392500, 5482500], srid);
  }
});

it('S1.5 a marked record that goes to and fro between private, published and released is never exact for others', async () => {
  const at = { lon: 433210.5, lat: 5533210.5 };
  const id = await service.makeSichtbeobachtung({ lon: String(at.lon), lat: String(at.lat), sensibel: 'true' });
  const put = async (form: Record<string, string>) => assert.equal((await service.put(id, form)).status, 200);
  const mark = async (tx: Transaction) => {
    for (const sensibel of [false, true]) await tx`update portal.sichtbeobachtung set sensibel = ${sensibel} where id = ${id}`;
  };
  const withdraw = async (tx: Transaction) => {
    await tx`update portal.sichtbeobachtung set bereich = 'privat', status = 'pruefung' where id = ${id}`;
    await tx`update portal.sichtbeobachtung set bereich = 'oeffentlich', status = 'freigegeben' where id = ${id}`;
  };
  const steps: [what: string, () => Promise<unknown>][] = [
    ['published', () => put({ bereich: 'oeffentlich' })],
    ['released', () => sql`update portal.sichtbeobachtung set status = 'freigegeben' where id = ${id}`],
    ['rejected', () => sql`update portal.sichtbeobachtung set status = 'abgelehnt' where id = ${id}`],
    ['withdrawn', () => put({ bereich: 'privat' })],
    ['unmarked while nobody sees it', () => put({ sensibel: 'false' })],
    ['marked again', () => put({ sensibel: 'true' })],
    ['published again', () => put({ bereich: 'oeffentlich' })],
    ['released again', () => sql`update portal.sichtbeobachtung set status = 'freigegeben' where id = ${id}`],
    ['unmarked and marked by SQL', () => sql.begin(mark)],
    ['withdrawn and released by SQL', () => sql.begin(withdraw)],
  ];
  for (const [what, change] of steps) {
    await change();
    for (const as of [null, 'nachbarin'] as const) {
      const detail = await service.request(`/sichtbeobachtungen/${id}`, { as });
      const list = await service.request('/sichtbeobachtungen?limit=1000', { as });
      // Twice: an answer that is kept from before the change would show now.
      const again = await service.request('/sichtbeobachtungen?limit=1000', { as });
      for (const { text } of [detail, list, again]) assert.doesNotMatch(text, /433210|5533210/, `${what}, ${as}`);
      assert.ok(!(await listAround(at.lon, at.lat, { as })).includes(id), `${what}, ${as}: found at its true place`);
    }
  }
});

it('S1.6 a species that the addressed tenant does not define, or that the author corrects, is masked as D4 says', async () => {
  // Nobody but N defines the lichen; at S a record of it lies in a cell that N touches.
  const lichen = await service.makeReleased({ ...place, art: String(arten.gelbflechte), lon: '452100' });
  const shown = async (id: number, host: string) => {
    const [record] = (await service.request(`/sichtbeobachtungen/${id}`, { host })).json.result;
    return [record.lon, record.is_rasterized];
  };
  for (const host of ['n.test', 's.test', 'w.test']) assert.deepEqual(await shown(lichen, host), [452100, false], host);
  await sql`update portal.art_mandant set sensibel = true where art = ${arten.gelbflechte}`;
  for (const host of ['n.test', 's.test', 'w.test']) assert.deepEqual(await shown(lichen, host), [centre.lon, true], host);
  await sql`update portal.art_mandant set sensibel = false where art = ${arten.gelbflechte}`;
  assert.deepEqual(await shown(lichen, 's.test'), [452100, false]);

  const id = await service.makeSichtbeobachtung({ ...place, lon: '453111' });
  for (const [art, expected] of [
    [arten.uhu, [centre.lon, true]],
    [arten.amsel, [453111, false]],
    [arten.wanderfalke, [centre.lon, true]],
  ] as const) {
    const answer = await service.put(id, { art: String(art) });
    assert.equal(answer.status, 200, answer.text);
    await sql`update portal.sichtbeobachtung set bereich = 'oeffentlich', status = 'freigegeben' where id = ${id}`;
    assert.deepEqual(await shown(id, 'n.test'), expected, String(art));
    await sql`update portal.sichtbeobachtung set bereich = 'privat', status = 'pruefung' where id = ${id}`;
  }
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
        assert.equal(idsIn(list).includes(id), own && bereich !== 'oeffentlich', `${bereich} as ${as}`);
      }
    }
  });

  it('published but unreleased ones are seen by everyone who is logged in', async () => {
    const id = await service.makeSichtbeobachtung({ lon: '433334', bereich: 'oeffentlich' });
    for (const { as } of readers) {
      const answer = await service.request(`/sichtbeobachtungen/${id}`, { as });
      assert.equal(answer.status, as === null ? 404 : 200, `as ${as}`);
      const list = await service.request('/sichtbeobachtungen?restrict=id', { as });
      assert.equal(idsIn(list).includes(id), as !== null, `as ${as}`);
    }
  });
});

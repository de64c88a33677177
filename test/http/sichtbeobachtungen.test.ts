import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { arten } from '../support/catalogue.ts';
import { countRows, startTestService, type TestService } from '../support/service.ts';

let service: TestService;
before(async () => {
  service = await startTestService();
});

describe('POST /sichtbeobachtungen', () => {
  it('stores a position in EPSG:4326 where PostGIS projects it to, and logs CREATE', async () => {
    const { database, request } = service;
    const form = { art: String(arten.amsel), lat: '49.9', lon: '8.1', srid: 'EPSG:4326', datum: '2.9.2026' };
    const created = await request('/sichtbeobachtungen', { as: 'melder', form });
    assert.equal(created.status, 201, created.text);
    const [{ id, guid, url }] = created.json.result;
    assert.equal(created.headers.get('location'), url);
    assert.equal(url, `http://n.test/api/v2/sichtbeobachtungen/${id}`);

    const read = await request(`/sichtbeobachtungen/${id}`, { as: 'melder' });
    const [record] = read.json.result;
    const [expected] = await database.sql`
      select st_x(p) as x, st_y(p) as y from st_transform(st_setsrid(st_makepoint(8.1, 49.9), 4326), 25832) p`;
    assert.ok(Math.abs(record.lon - expected?.x) <= 0.01, `lon ${record.lon} instead of ${expected?.x}`);
    assert.ok(Math.abs(record.lat - expected?.y) <= 0.01, `lat ${record.lat} instead of ${expected?.y}`);
    assert.equal(record.guid, guid);
    assert.equal(record.status, 'In Prüfung');
    assert.equal(record.bereich, 'Persönliche Erfassungen');

    const list = await request('/sichtbeobachtungen?bereich=persoenlich', { as: 'melder' });
    assert.equal(list.json.result[0].id, id);
    const log = await database.sql`select audit from portal.protokoll where sichtbeobachtung_id = ${id}`;
    assert.deepEqual([...log], [{ audit: 'CREATE' }]);
  });

  it('gives a position in EPSG:25832 back unchanged', async () => {
    const id = await service.makeSichtbeobachtung({ lat: '5530000.123456', lon: '420000.7' });
    const { json } = await service.request(`/sichtbeobachtungen/${id}?restrict=lat,lon`, { as: 'melder' });
    assert.deepEqual(json.result, [{ lat: 5530000.123456, lon: 420000.7 }]);
  });

  it('takes today in Europe/Berlin when no date is sent', async () => {
    const id = await service.makeSichtbeobachtung({ datum: undefined, lon: '420001' });
    const { json } = await service.request(`/sichtbeobachtungen/${id}?restrict=datum`, { as: 'melder' });
    const [today] = await service.database.sql`select to_char(now() at time zone 'Europe/Berlin', 'DD.MM.YYYY') as text`;
    assert.equal(json.result[0].datum, today?.text);
  });

  it('refuses the same species, place and date of the same user with 409 and the id it has', async () => {
    const id = await service.makeSichtbeobachtung({ lon: '421000' });
    const form = { art: String(arten.amsel), lat: '5530000', lon: '421000.0001', datum: '01.09.2026' };
    const again = await service.request('/sichtbeobachtungen', { as: 'melder', form });
    assert.equal(again.status, 409);
    assert.equal(again.json.error.code, 'doppelte_meldung');
    assert.equal(again.json.error.fields.id, id);
    const other = await service.request('/sichtbeobachtungen', { as: 'nachbarin', form });
    assert.equal(other.status, 201);
  });

  it('S4.1 stores one of 50 equal requests at the same moment', async () => {
    const form = { art: String(arten.amsel), lat: '5530000', lon: '422000', datum: '01.09.2026' };
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => service.request('/sichtbeobachtungen', { as: 'melder', form })),
    );
    const statuses = answers.map((answer) => answer.status).sort();
    assert.deepEqual(statuses, [201, ...Array.from({ length: 49 }, () => 409)]);
  });

  it('wants a login, and stores nothing without one', async () => {
    const before = await countRows(service);
    const form = { art: '2', lat: '5530000', lon: '420000' };
    assert.equal((await service.request('/sichtbeobachtungen', { form })).status, 401);
    assert.equal(await countRows(service), before);
  });
});

describe('GET /sichtbeobachtungen', () => {
  it('refuses a cursor of other filters or another tenant', async () => {
    for (let n = 0; n < 2; n++) await service.makeReleased({ lon: String(440000 + n) });
    const { json } = await service.request('/sichtbeobachtungen?is_animal=true&limit=1');
    const cursor = new URL(json.next).searchParams.get('cursor');
    const good = await service.request(`/sichtbeobachtungen?is_animal=true&limit=7&cursor=${cursor}`);
    assert.equal(good.status, 200);
    for (const [path, host] of [
      [`/sichtbeobachtungen?is_animal=false&cursor=${cursor}`, 'n.test'],
      [`/sichtbeobachtungen?is_animal=true&cursor=${cursor}`, 's.test'],
      [`/sichtbeobachtungen?is_animal=true&cursor=A${cursor?.slice(1)}B`, 'n.test'],
      ['/sichtbeobachtungen?cursor=', 'n.test'],
    ] as const) {
      const bad = await service.request(path, { host });
      assert.equal(bad.status, 400, path);
      assert.ok(bad.json.error.fields.cursor, path);
    }
  });
});

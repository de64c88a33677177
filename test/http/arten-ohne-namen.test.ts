// Species without a German name, as a quarter of all that people report are: null wherever the interface shows a name.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { type Json, startTestService, type TestService } from '../support/service.ts';

describe('a species without a German name', () => {
  let service: TestService;
  let id: number;
  before(async () => {
    service = await startTestService();
    const { sql } = service.database;
    await sql`insert into portal.art (id, gid, name_wissenschaftlich) values (8, 2, 'Udea ferrugalis')`;
    await sql`
      insert into portal.art_mandant (mandant_id, art, art_id, name_deutsch)
      select m.id, 8, '8', case m.kuerzel when 'S' then 'Rostfarbener Zünsler' end from portal.mandant m`;
    id = await service.makeReleased({ art: '8' });
  });
  const read = async (path: string, host = 'n.test') => {
    const { status, text, json } = await service.request(path, { host });
    assert.equal(status, 200, text);
    return (json as Json).result;
  };

  it('is null in lists and details of sightings, and has its name where a tenant gave it one', async () => {
    for (const path of [`/sichtbeobachtungen/${id}`, '/sichtbeobachtungen']) {
      const [record] = await read(path);
      assert.deepEqual([record.titel_deutsch, record.titel_wissenschaftlich], [null, 'Udea ferrugalis'], path);
      const [southern] = await read(path, 's.test');
      assert.equal(southern.titel_deutsch, 'Rostfarbener Zünsler', path);
    }
    const xml = await service.request(`/sichtbeobachtungen/${id}?format=xml`);
    assert.match(xml.text, /<titel_deutsch\s*\/>|<titel_deutsch><\/titel_deutsch>/);
  });

  it('is null in lists and details of species', async () => {
    const species = (await read('/arten')).find((each: Json) => each.id === 8);
    assert.deepEqual([species.name_deutsch, species.name_wissenschaftlich], [null, 'Udea ferrugalis']);
    const [detail] = await read('/arten/8');
    assert.equal(detail.name_deutsch, null);
  });

  it('is found by its scientific name, and by no German one', async () => {
    const ids = async (path: string, host?: string) => (await read(path, host)).map((each: Json) => each.id);
    assert.deepEqual(await ids('/arten?name_regexp_ci=^udea'), [8]);
    assert.deepEqual(await ids('/arten?name_regexp_ci=null'), []);
    assert.deepEqual(await ids('/sichtbeobachtungen?titel_wissenschaftlich=udea%25'), [id]);
    assert.deepEqual(await ids('/sichtbeobachtungen?titel_deutsch=%25'), []);
    assert.deepEqual(await ids('/sichtbeobachtungen?titel_deutsch=rost%25', 's.test'), [id]);
  });

  it('is null for analysts', async () => {
    const rows = await service.database
      .sql`select name_deutsch, name_wissenschaftlich from gis.sichtbeobachtung where id = ${id}`;
    assert.deepEqual([...rows], [{ name_deutsch: null, name_wissenschaftlich: 'Udea ferrugalis' }]);
  });
});

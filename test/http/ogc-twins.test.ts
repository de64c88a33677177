// S1.10 for /ogc: two services that differ only in places within cells answer alike, whatever is asked.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { makeDice } from '../support/dice.ts';
import { isProtected, startTwins, type TwinRecord, type Twins, tenants } from '../support/twins.ts';

const dice = makeDice(Number(process.env.EIGENSCHAFT_SAAT ?? 15));
// The general view masks what any tenant protects.
const isHidden = (record: TwinRecord) => tenants.some((tenant) => isProtected(record, tenant));

let twins: Twins;
before(async () => {
  twins = await startTwins(dice);
  await twins.arrange(isHidden);
});

const systems = ['OGC/1.3/CRS84', 'EPSG/0/4326', 'EPSG/0/25832', 'EPSG/0/3857', 'EPSG/0/3035'];
const collections = ['sichtbeobachtung', 'raster_5km', 'raster_eea10', 'raster_mtb', 'raster_mtbq', 'mandant'];

function makeBox(): string {
  const record = dice.pick(twins.records);
  const { x, y } = dice.pick(record.places);
  const size = dice.pick([0, 0.01, 1, 100, 2500, 5000, 60_000]);
  return `bbox=${[x - size, y - size, x + size, y + size]}&bbox-crs=http://www.opengis.net/def/crs/EPSG/0/25832`;
}

function makePath(): string {
  const collection = dice.pick(collections);
  const path = `/ogc/collections/${collection}/items`;
  if (collection === 'sichtbeobachtung' && dice.pick([true, false, false])) return `${path}/${dice.pick(twins.records).id}`;
  const filters =
    collection === 'sichtbeobachtung'
      ? ['art=1', 'art=3', 'artengruppe_id=1', 'jahr=2022', 'mandant=N', 'mandant=S', 'datetime=2021-06-01/..']
      : collection === 'mandant'
        ? ['datetime=2021-06-01/..']
        : ['art=1', 'art=3', 'artengruppe_id=1', 'jahr_von=2022', 'jahr_bis=2022', 'datetime=2021-06-01/..'];
  const query = [
    dice.pick(['', makeBox(), makeBox()]),
    dice.pick(['', ...filters]),
    `limit=${dice.pick([1, 3, 100, 10_000])}`,
    `crs=http://www.opengis.net/def/crs/${dice.pick(systems)}`,
    `f=${dice.pick(['json', 'json', 'html', 'csv'])}`,
  ];
  return `${path}?${query.filter((part) => part !== '').join('&')}`;
}

async function ask(path: string): Promise<[string, string]> {
  const answers = await Promise.all([twins.first, twins.second].map((service) => service.request(path, { below: '' })));
  const bytes = answers.map(({ status, text, headers }) =>
    [
      status,
      headers.get('link'),
      headers.get('content-crs'),
      text.replace(/"timeStamp":"[^"]+"/, '').replace(/"stand":"[^"]+"/g, ''),
    ]
      .join('\n')
      // When a boundary was set is another time in each.
      .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, ''),
  );
  return bytes as [string, string];
}

describe('/ogc of two services that differ within cells', () => {
  it('S1.10 answers alike', async () => {
    let found = 0;
    for (let request = 0; request < 400; request++) {
      const path = makePath();
      const [first, second] = await ask(path);
      assert.equal(second, first, path);
      if (first.startsWith('200') && first.length > 2000) found++;
    }
    assert.ok(found > 50, `${found} answers with features`);
    for (const path of ['/ogc', '/ogc/api', '/ogc/conformance', '/ogc/collections', '/ogc/collections/raster_mtb']) {
      const [first, second] = await ask(path);
      assert.equal(second, first, path);
    }
  });

  it('would be seen to differ where a place is shown', async () => {
    const open = twins.records.find((record) => !isHidden(record) && record.stage === 'freigegeben');
    assert.ok(open);
    await twins.second.database.sql`update portal.sichtbeobachtung set point = st_translate(point, 1, 0) where id = ${open.id}`;
    const [first, second] = await ask(`/ogc/collections/sichtbeobachtung/items/${open.id}`);
    assert.notEqual(second, first);
  });
});

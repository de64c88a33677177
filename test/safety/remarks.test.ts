// A tenant may keep back what describes the place of a protected record (D6.5).
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { type Account, arten } from '../support/catalogue.ts';
import { isInLists, keptBack } from '../support/felder.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
let protectedId = 0;
let openId = 0;
const [hiddenPhoto, openPhoto] = [keptBack.biotopfoto?.hidden ?? '', keptBack.biotopfoto?.open ?? ''];
const foto = `${'c'.repeat(32)}.jpg`;

before(async () => {
  service = await startTestService();
  const { sql } = service.database;
  protectedId = await service.makeReleased({ art: String(arten.uhu) });
  openId = await service.makeReleased({ art: String(arten.amsel) });
  const valuesOf = (which: 'hidden' | 'open') =>
    Object.fromEntries(Object.entries(keptBack).map(([column, values]) => [column, values[which]]));
  await sql`update portal.sichtbeobachtung set ${sql({ ...valuesOf('hidden'), foto })} where id = ${protectedId}`;
  await sql`update portal.sichtbeobachtung set ${sql(valuesOf('open'))} where id = ${openId}`;
  for (const name of [hiddenPhoto, openPhoto, foto]) await service.media.storage.put(name, Buffer.from(name), 'image/jpeg');
  await sql`update portal.mandant set bemerkung_geschuetzter = 'verbergen' where kuerzel = 'S'`;
});

const readers: { as: Account | null; mayRead: boolean }[] = [
  { as: null, mayRead: false },
  { as: 'nachbarin', mayRead: false },
  { as: 'melder', mayRead: true },
  { as: 'expertin', mayRead: true },
  { as: 'vogelexperte', mayRead: true },
  { as: 'admin', mayRead: true },
];

for (const { as, mayRead } of readers) {
  describe(`${as ?? 'anonymous'}`, () => {
    for (const [host, isHiding] of [
      ['s.test', true],
      ['n.test', false],
    ] as const) {
      const isShown = mayRead || !isHiding;
      for (const format of ['json', 'xml', 'jsonp'] as const) {
        it(`what may be kept back is ${isShown ? '' : 'not '}shown at ${host}, in list and detail, ${format}`, async () => {
          const query = format === 'json' ? '' : format === 'xml' ? 'format=xml' : 'callback=f';
          for (const path of [`/sichtbeobachtungen?${query}`, `/sichtbeobachtungen/${protectedId}?${query}`]) {
            const { status, text } = await service.request(path, { as, host });
            assert.equal(status, 200);
            assert.ok(text.includes(foto), 'the other photo stays');
            const isList = !path.includes(`/${protectedId}`);
            for (const [column, { hidden, open }] of Object.entries(keptBack)) {
              if (isList && !isInLists(column)) continue;
              assert.equal(text.includes(hidden), isShown, `${column} ${path}`);
              if (isList) assert.ok(text.includes(open), column);
            }
          }
        });
      }

      it(`the photo itself is ${isShown ? 'there' : 'not there'} at ${host}, by the address that was given`, async () => {
        const { json } = await service.request(`/sichtbeobachtungen/${protectedId}`, { as, host });
        const address: string | null = json.result[0].biotopfoto;
        assert.equal(address !== null, isShown);
        if (address !== null) {
          const path = address.slice(address.indexOf('/api/v2') + '/api/v2'.length);
          assert.equal((await service.request(path, { host })).status, 200);
          // Signed for those who see more than everybody.
          assert.equal(path.includes('signatur'), isHiding);
        }
        const plain = await service.request(`/medien/${hiddenPhoto}`, { as, host });
        assert.equal(plain.status, isHiding ? 404 : 200);
        assert.equal((await service.request(`/medien/${openPhoto}`, { as, host })).status, 200);
      });
    }
  });
}

it('a signature for one who must not see it opens nothing', async () => {
  // A neighbour's signed address of a record that waits for its review, whose photo the tenant keeps back then.
  const id = await service.makeSichtbeobachtung({ art: String(arten.uhu), bereich: 'oeffentlich', lon: '421000' });
  const name = `${'d'.repeat(32)}.jpg`;
  await service.database.sql`update portal.sichtbeobachtung set biotopfoto = ${name} where id = ${id}`;
  await service.media.storage.put(name, Buffer.from('x'), 'image/jpeg');
  const { json } = await service.request(`/sichtbeobachtungen/${id}`, { as: 'nachbarin', host: 'n.test' });
  const address: string = json.result[0].biotopfoto;
  const path = address.slice(address.indexOf('/api/v2') + '/api/v2'.length);
  assert.equal((await service.request(path, { host: 'n.test' })).status, 200);
  assert.equal((await service.request(path, { host: 's.test' })).status, 404);
});

it('a change of the tenant’s mind changes what is kept and its ETag at once', async () => {
  const { sql } = service.database;
  const path = `/sichtbeobachtungen/${protectedId}`;
  const read = (tag?: string | null) => service.request(path, { host: 'n.test', headers: tag ? { 'if-none-match': tag } : {} });
  for (let times = 0; times < 3; times++) await read();
  const before = await read();
  await sql`update portal.mandant set bemerkung_geschuetzter = 'verbergen' where kuerzel = 'N'`;
  const after = await read(before.headers.get('etag'));
  assert.equal(after.status, 200);
  for (const column of Object.keys(keptBack)) assert.equal(after.json.result[0][column], null, column);
  await assert.rejects(sql`update portal.mandant set bemerkung_geschuetzter = 'vielleicht' where kuerzel = 'N'`, {
    code: '23514',
  });
});

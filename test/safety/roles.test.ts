// Who sees the place of a record: every role, every kind of protection, own and others' records, list and detail, each format.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { type Account, arten } from '../support/catalogue.ts';
import { isInLists, keptBack } from '../support/felder.ts';
import { startTestService, type TestService } from '../support/service.ts';

// The cell of these places is cut by the border of N and S: where masked, both are named.
const centre = { lat: 5532500, lon: 452500 };
const roles: Record<string, Account | null> = {
  'an anonymous reader': null,
  'a recorder': 'melder',
  'another recorder': 'nachbarin',
  'an expert': 'expertin',
  'an expert of birds': 'vogelexperte',
  'an administrator': 'admin',
};
const seesAll: (Account | null)[] = ['expertin', 'vogelexperte', 'admin'];
const recorders = Object.values(roles).filter((account) => account !== null);
const protections = {
  species: { art: String(arten.uhu), sensibel: 'false' },
  mark: { art: String(arten.tagpfauenauge), sensibel: 'true' },
  both: { art: String(arten.uhu), sensibel: 'true' },
  none: { art: String(arten.amsel), sensibel: 'false' },
};
type Protection = keyof typeof protections;

interface Stored {
  id: number;
  recorder: Account;
  protection: Protection;
  lat: number;
  lon: number;
}

let service: TestService;
const records: Stored[] = [];
before(async () => {
  service = await startTestService();
  for (const recorder of recorders) {
    for (const protection of Object.keys(protections) as Protection[]) {
      const [lat, lon] = [5531234.5, 453000.25 + records.length];
      const form = { ...protections[protection], lat: String(lat), lon: String(lon) };
      records.push({ id: await service.makeReleased(form, { as: recorder, host: 's.test' }), recorder, protection, lat, lon });
    }
  }
});

const formats: Record<string, { query: string; read(text: string): Record<string, unknown>[] }> = {
  json: { query: 'format=json', read: (text) => JSON.parse(text).result },
  jsonp: { query: 'callback=f', read: (text) => JSON.parse(text.slice(2, -2)).result },
  xml: {
    query: 'format=xml',
    read: (text) =>
      text
        .split(/<row><id>/)
        .slice(1)
        .map((row) => {
          const textOf = (name: string) => new RegExp(`<${name}>([^<]*)</${name}>`).exec(row)?.[1];
          const [lat, lon] = [Number(textOf('lat')), Number(textOf('lon'))];
          return { id: Number.parseInt(row, 10), lat, lon, is_rasterized: textOf('is_rasterized') === 'TRUE' };
        }),
  },
};

describe('the place of a record', () => {
  for (const [role, as] of Object.entries(roles)) {
    for (const protection of Object.keys(protections) as Protection[]) {
      it(`S1.7 protected by ${protection}, for ${role}: own and others', list and detail, each format`, async () => {
        for (const { query, read } of Object.values(formats)) {
          const list = read((await service.request(`/sichtbeobachtungen?limit=1000&${query}`, { as })).text);
          for (const record of records.filter((stored) => stored.protection === protection)) {
            const isMasked = protection !== 'none' && !seesAll.includes(as) && record.recorder !== as;
            const expected = { ...(isMasked ? centre : { lat: record.lat, lon: record.lon }), is_rasterized: isMasked };
            const [detail] = read((await service.request(`/sichtbeobachtungen/${record.id}?${query}`, { as })).text);
            const listed = list.find(({ id }) => id === record.id);
            for (const [where, shown] of Object.entries({ detail, listed })) {
              const { lat, lon, is_rasterized } = shown ?? {};
              assert.deepEqual({ lat, lon, is_rasterized }, expected, `${where}, ${query}, recorded by ${record.recorder}`);
            }
          }
        }
      });
    }
  }
});

describe('what a tenant keeps back of a protected record (D6.5)', () => {
  let protectedId = 0;
  let openId = 0;
  const [hiddenPhoto, openPhoto] = [keptBack.biotopfoto?.hidden ?? '', keptBack.biotopfoto?.open ?? ''];
  const foto = `${'c'.repeat(32)}.jpg`;

  before(async () => {
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

  for (const [role, as] of Object.entries(roles)) {
    // Whose record it is, too.
    const mayRead = as === 'melder' || seesAll.includes(as);
    describe(`from ${role}`, () => {
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
});

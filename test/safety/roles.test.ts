// Who sees the place of a record: every role, every kind of protection, own and others' records, list and detail, each format.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { type Account, arten } from '../support/catalogue.ts';
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

// Who is in charge of a record decides on it and sees its true place (D3.3, D4.8): roles, restrictions to groups and tenants, the setting,
// own and other records, protected or not, all with each other.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { arten } from '../support/catalogue.ts';
import { makeRecord } from '../support/records.ts';
import { startTestService } from '../support/service.ts';

const service = await startTestService();
const { sql } = service.database;
const reader = 'käfer anna';

/** Lower left corner of a cell, a place in it, the tenant of that place and all that the cell touches. */
const places = {
  N: { corner: { x: 420000, y: 5530000 }, x: 420001, tenant: 'N', touches: ['N'] },
  S: { corner: { x: 480000, y: 5530000 }, x: 480001, tenant: 'S', touches: ['S'] },
  border: { corner: { x: 450000, y: 5530000 }, x: 450001, tenant: 'N', touches: ['N', 'S'] },
  W: { corner: { x: 320000, y: 5530000 }, x: 320001, tenant: 'W', touches: ['W'] },
};
interface Meldung {
  id: number;
  gid: number;
  place: (typeof places)['N'];
  masked: boolean;
  own: boolean;
}
const meldungen: Meldung[] = [];

before(async () => {
  await sql`update portal.nutzer set anonymisiert = 1 where loginname = 'melder'`;
  for (const art of [arten.amsel, arten.tagpfauenauge])
    for (const place of Object.values(places))
      for (const masked of [true, false])
        for (const own of [true, false]) {
          const nutzer = own ? reader : 'melder';
          const id = await makeRecord(sql, {
            ...{ art, x: place.x, y: place.corner.y + 1, sensibel: masked, nutzer },
            ...{ bereich: 'oeffentlich', status: 'pruefung' },
          });
          meldungen.push({ id, gid: art === arten.amsel ? 1 : 2, place, masked, own });
        }
});

interface Case {
  rolle: 'expert' | 'administrator' | null;
  gruppen: number[];
  mandanten: string[];
  nurZustaendig: boolean;
}
const cases: Case[] = [null, 'expert' as const, 'administrator' as const].flatMap((rolle) =>
  [[], [1]].flatMap((gruppen) =>
    [[], ['S'], ['S', 'W']].flatMap((mandanten) =>
      [false, true].map((nurZustaendig) => ({ rolle, gruppen, mandanten, nurZustaendig })),
    ),
  ),
);

/** The tests' own reading of the rule. */
function judge({ rolle, gruppen, mandanten, nurZustaendig }: Case, { gid, place, masked, own }: Meldung) {
  const belongsTo = masked ? place.touches : [place.tenant];
  const inTenants = mandanten.length === 0 || belongsTo.some((tenant) => mandanten.includes(tenant));
  const inGroups = gruppen.length === 0 || gruppen.includes(gid);
  const isExpert = rolle === 'expert' && inTenants;
  const sees = rolle === 'administrator' || (isExpert && (inGroups || !nurZustaendig));
  const decides = !own && (rolle === 'administrator' || (isExpert && inGroups));
  return { sees, decides, shown: masked && !own && !sees ? 'cell' : 'place' };
}
const pointOf = ({ place: { corner, x } }: Meldung, shown: string) =>
  shown === 'cell' ? { x: corner.x + 2500, y: corner.y + 2500 } : { x, y: corner.y + 1 };

for (const each of cases) {
  const { rolle, gruppen, mandanten, nurZustaendig } = each;
  const name = `${rolle ?? 'no role'}, groups ${gruppen.join() || 'all'}, tenants ${mandanten.join() || 'all'}${nurZustaendig ? ', EXPERTEN_NUR_ZUSTAENDIG' : ''}`;
  describe(name, () => {
    before(async () => {
      await sql`select api.set_experten_nur_zustaendig(${nurZustaendig})`;
      await sql.begin(async (tx) => {
        const [account] = await tx<{ id: number }[]>`select id from portal.nutzer where loginname = ${reader}`;
        const id = account?.id ?? 0;
        await tx`delete from portal.nutzer_rolle where nutzer_id = ${id}`;
        await tx`delete from portal.nutzer_artengruppe where nutzer_id = ${id}`;
        await tx`delete from portal.nutzer_mandant where nutzer_id = ${id}`;
        if (rolle) await tx`insert into portal.nutzer_rolle values (${id}, ${rolle})`;
        await tx`insert into portal.nutzer_artengruppe select ${id}, g from unnest(${`{${gruppen}}`}::integer[]) g`;
        await tx`
          insert into portal.nutzer_mandant select ${id}, m.id from portal.mandant m where m.kuerzel = any (${`{${mandanten}}`}::text[])`;
      });
    });

    const list = async (query = '') => {
      const answer = await service.request(`/sichtbeobachtungen?limit=1000&${query}`, { as: reader });
      assert.equal(answer.status, 200, answer.text);
      return answer;
    };

    it('sees true places, and names, where it is in charge', async () => {
      const rows = new Map((await list()).json.result.map((row: { id: number }) => [row.id, row]));
      const xml = (await list('format=xml')).text;
      for (const meldung of meldungen) {
        const { shown, sees } = judge(each, meldung);
        const { x, y } = pointOf(meldung, shown);
        const row = rows.get(meldung.id) as { lon: number; lat: number; is_rasterized: boolean; erfasser: string };
        const expected = { lon: x, lat: y, is_rasterized: shown === 'cell' };
        const say = JSON.stringify(meldung);
        assert.deepEqual({ lon: row.lon, lat: row.lat, is_rasterized: row.is_rasterized }, expected, say);
        assert.equal(row.erfasser === 'Max Muster', !meldung.own && sees, say);
        const { json } = await service.request(`/sichtbeobachtungen/${meldung.id}`, { as: reader });
        assert.deepEqual([json.result[0].lon, json.result[0].lat], [x, y], say);
        assert.ok(xml.includes(`<id>${meldung.id}</id>`));
      }
      for (const { place, ...rest } of meldungen.filter((meldung) => judge(each, meldung).shown === 'cell')) {
        const alike = meldungen.some((m) => m.place === place && judge(each, m).shown === 'place');
        if (!alike) assert.ok(!xml.includes(`<lon>${place.x}</lon>`), JSON.stringify(rest));
      }
    });

    it('is given records by the place that it is shown: box, tenant, next page', async () => {
      for (const place of Object.values(places)) {
        const there = meldungen.filter((meldung) => meldung.place === place);
        for (const shown of ['cell', 'place']) {
          const [first] = there;
          assert.ok(first);
          const { x, y } = pointOf(first, shown);
          const expected = there.filter((meldung) => judge(each, meldung).shown === shown).map(({ id }) => id);
          const box = `bbox=${x - 1},${y - 1},${x + 1},${y + 1}`;
          const ids = async (query: string) => (await list(query)).json.result.map(({ id }: { id: number }) => id).sort();
          assert.deepEqual(await ids(box), expected.sort(), `${box} of ${place.tenant}`);
          // The newest of a box are found by another way than all of it.
          const newest = [...expected].sort((a, b) => b - a);
          for (const limit of [1, 2, 3].filter((count) => count < newest.length)) {
            const { json } = await service.request(`/sichtbeobachtungen?limit=${limit}&${box}`, { as: reader });
            assert.deepEqual(
              json.result.map(({ id }: { id: number }) => id),
              newest.slice(0, limit),
              `${limit} of ${box}`,
            );
          }
          const birds = there.filter(({ gid }) => gid === 1).map(({ id }) => id);
          assert.deepEqual(await ids(`${box}&artengruppe_id=1`), expected.filter((id) => birds.includes(id)).sort());
        }
      }
      for (const tenant of ['N', 'S', 'W']) {
        const expected = meldungen.filter((meldung) =>
          judge(each, meldung).shown === 'cell' ? meldung.place.touches.includes(tenant) : meldung.place.tenant === tenant,
        );
        const walked: number[] = [];
        let next = `/sichtbeobachtungen?limit=5&mandant=${tenant}`;
        while (next) {
          const { json } = await service.request(next, { as: reader });
          walked.push(...json.result.map(({ id }: { id: number }) => id));
          next = json.next ? json.next.slice(json.next.indexOf('/sichtbeobachtungen')) : '';
        }
        assert.deepEqual(walked.sort(), expected.map(({ id }) => id).sort(), `mandant=${tenant}`);
      }
    });

    it('decides where it is in charge, never on its own records', async () => {
      for (const meldung of meldungen) {
        const { status, text } = await service.request(`/sichtbeobachtungen/${meldung.id}`, {
          method: 'PUT',
          as: reader,
          form: { status: 'pruefung' },
        });
        assert.equal(status, judge(each, meldung).decides ? 200 : 403, `${JSON.stringify(meldung)}: ${text}`);
      }
    });

    it('reads the QS log of what it is in charge of', async () => {
      const { status, json } = await service.request('/qs?limit=1000', { as: reader });
      if (rolle === null) {
        assert.equal(status, 403);
        return;
      }
      const expected = meldungen.filter((meldung) => judge(each, meldung).sees).map(({ id }) => id);
      const ids = json.result.map(({ id }: { id: number }) => id).sort();
      assert.deepEqual(ids, expected.sort());
    });
  });
}

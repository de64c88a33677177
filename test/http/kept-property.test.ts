// Kept answers (D2.21): whatever is released, changed, moved, withdrawn or imported, what is kept is what would be made now; and what lies
// elsewhere stays kept.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { arten } from '../support/catalogue.ts';
import { makeDice } from '../support/dice.ts';
import { makeRecord, setBorders, setSensibel } from '../support/records.ts';
import { startTestService, testConfig } from '../support/service.ts';

const keeping = await startTestService();
const making = await startTestService({ config: { ...testConfig, answerCacheBytes: 0 } }, keeping.database);
const { sql } = keeping.database;
const list = '/api/v2/sichtbeobachtungen';

/** Three places in blocks of their own, and one on the line between two. */
const places = [
  { x: 420_000, y: 5_530_000 },
  { x: 490_000, y: 5_530_000 },
  { x: 420_000, y: 5_610_000 },
  { x: 479_990, y: 5_530_000 },
];
const tileOf = async ({ x, y }: { x: number; y: number }, z: number) => {
  const [tile] = await sql<{ x: number; y: number }[]>`
    select floor((st_x(p) + 20037508.342789244) / 40075016.68557849 * 2 ^ ${z}::integer)::integer as x,
      floor((20037508.342789244 - st_y(p)) / 40075016.68557849 * 2 ^ ${z}::integer)::integer as y
    from st_transform(st_setsrid(st_makepoint(${x}::float8, ${y}::float8), 25832), 3857) p`;
  return `/tiles/v1/${z}/${tile?.x}/${tile?.y}.mvt`;
};
const boxAround = ({ x, y }: { x: number; y: number }, half: number) =>
  `${list}?bbox=${[x - half, y - half, x + half, y + half]}`;

async function ask(service: typeof keeping, path: string, known?: string) {
  const response = await service.app.request(`http://n.test${path}`, { headers: known ? { 'if-none-match': known } : {} });
  return {
    status: response.status,
    tag: response.headers.get('etag') ?? '',
    body: Buffer.from(await response.arrayBuffer()).toString('latin1'),
  };
}

it('are what would be made now, after each of many changes', async () => {
  const dice = makeDice(20261130);
  const ids: number[] = [];
  const make = async (fields: Parameters<typeof makeRecord>[1] = {}) => {
    const { x, y } = dice.pick(places);
    const art = dice.pick([arten.amsel, arten.uhu, arten.tagpfauenauge]);
    const place = { x: x + dice.below(6000) - 3000, y: y + dice.below(6000) - 3000 };
    ids.push(await makeRecord(sql, { bereich: 'oeffentlich', nutzer: 'melder', art, ...place, ...fields }));
  };
  for (let n = 0; n < 30; n++) await make({ status: 'freigegeben', sensibel: n % 3 === 0 });
  const paths = [
    list,
    ...places.flatMap((place) => [boxAround(place, 5000), boxAround(place, 45_000)]),
    `${list}?mandant=N`,
    `${list}?mandant=S`,
    ...ids.map((id) => `${list}/${id}`),
    ...(await Promise.all(places.flatMap((place) => [10, 12, 14].map((z) => tileOf(place, z))))),
    await tileOf(places[0] as (typeof places)[0], 8),
  ];
  const change = async () => {
    const id = dice.pick(ids);
    const { x, y } = dice.pick(places);
    const step = dice.below(11);
    if (step === 0) await make({ status: 'freigegeben' });
    else if (step === 1) await make();
    else if (step === 2) await sql`update portal.sichtbeobachtung set status = 'freigegeben' where id = ${id}`;
    else if (step === 3) await sql`update portal.sichtbeobachtung set status = 'pruefung' where id = ${id}`;
    else if (step === 4) await sql`update portal.sichtbeobachtung set anzahl = anzahl + 1 where id = ${id}`;
    else if (step >= 9 || step === 5)
      await sql`
        update portal.sichtbeobachtung set point = st_setsrid(st_makepoint(${x}::float8 + ${dice.below(1800) - 900}, ${y}::float8), 25832)
        where id = ${id}`;
    else if (step === 6) await sql`update portal.sichtbeobachtung set sensibel = not sensibel where id = ${id}`;
    else if (step === 7) await sql`delete from portal.sichtbeobachtung where id = ${id}`;
    else if (dice.chance(0.5)) await setSensibel(sql, 'N', arten.uhu, dice.chance(0.5));
    else await setBorders(sql, 'S', 440_000 + dice.below(20_000), 500_000);
  };
  const tags = new Map<string, string>();
  for (let round = 0; round < 30; round++) {
    await change();
    for (const path of paths) {
      // Twice: an answer is kept when it was the same twice.
      for (let turn = 0; turn < 2; turn++) {
        const [kept, made] = [await ask(keeping, path), await ask(making, path)];
        assert.deepEqual(kept, made, `round ${round}, ${path}`);
      }
      const known = tags.get(path);
      const { status, tag, body } = await ask(making, path);
      if (known !== undefined && status === 200) {
        const again = await ask(keeping, path, known);
        assert.equal(again.status, tag === known ? 304 : 200, path);
        if (again.status === 200) assert.equal(again.body, body);
      }
      tags.set(path, tag);
    }
  }
});

it('stay kept when something is released elsewhere', async () => {
  const [here, far] = places as [(typeof places)[0], (typeof places)[0]];
  const id = await makeRecord(sql, { bereich: 'oeffentlich', nutzer: 'melder', status: 'freigegeben', ...here });
  const paths = [boxAround(here, 5000), `${list}/${id}`, await tileOf(here, 12)];
  const tagsOf = () => Promise.all(paths.map(async (path) => (await ask(keeping, path)).tag));
  const before = await tagsOf();
  await makeRecord(sql, { bereich: 'oeffentlich', nutzer: 'melder', status: 'freigegeben', ...far });
  assert.deepEqual(await tagsOf(), before);
  await makeRecord(sql, { bereich: 'oeffentlich', nutzer: 'melder', status: 'freigegeben', ...here });
  assert.deepEqual(
    (await tagsOf()).map((tag, at) => tag === before[at]),
    [false, false, false],
  );
});

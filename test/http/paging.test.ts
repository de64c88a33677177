// Following `next` to the end while others write (S4.3): who was there throughout is seen once, nobody twice.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { arten } from '../support/catalogue.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
let lasting: number[];
let fickle: number[];
const count = 1000;

before(async () => {
  service = await startTestService();
  const { sql } = service.database;
  const [melder] = await sql<{ id: number }[]>`select id from portal.nutzer where loginname = 'melder'`;
  const rows = Array.from({ length: count }, (_, n) => ({
    nutzer_id: melder?.id,
    art: [arten.amsel, arten.uhu, arten.rotmilan][n % 3],
    lon: 400100 + n * 50,
    lat: 5500000 + ((n * 7919) % 60000),
    datum: '2026-05-01',
    bereich: 'oeffentlich',
    status: 'freigegeben',
  }));
  await sql`select api.create_sichtbeobachtungen(rows => ${JSON.stringify(rows)}::text)`;
  const ids = (await sql<{ id: number }[]>`select id from portal.sichtbeobachtung order by id desc`).map((row) => row.id);
  // Every fifth record is withdrawn, deleted or released anew on the way.
  fickle = ids.filter((_, n) => n % 5 === 0);
  lasting = ids.filter((_, n) => n % 5 !== 0);
});

let made = 0;
async function disturb(step: number): Promise<void> {
  const { sql } = service.database;
  const [first, second, third] = fickle.slice(3 * step, 3 * step + 3);
  if (first) await sql`delete from portal.sichtbeobachtung where id = ${first}`;
  if (second) await sql`update portal.sichtbeobachtung set status = 'hinweis' where id = ${second}`;
  if (third) await sql`update portal.sichtbeobachtung set bemerkung = 'neu' where id = ${third}`;
  await service.makeReleased({ lon: String(430000 + ++made), lat: '5520000', art: String(arten.amsel) });
}

describe('next, followed to the end over 1 000 records while others insert, delete and publish', () => {
  for (const [name, query] of [
    ['the newest', ''],
    ['a box', 'bbox=400000,5500000,460000,5560000'],
    ['a tenant', 'mandant=N'],
    ['a group', 'artengruppe_id=1'],
    ['a range of days', 'datum_von=1.5.2026&datum_bis=1.9.2026'],
  ] as const) {
    it(`S4.3 ${name}: nobody is skipped, nobody is seen twice`, async () => {
      const seen: number[] = [];
      let path = `/sichtbeobachtungen?restrict=id&limit=70&${query}`;
      for (let step = 0; path; step++) {
        const { json } = await service.request(path);
        seen.push(...json.result.map((record: { id: number }) => record.id));
        await disturb(step);
        path = json.next ? json.next.slice(json.next.indexOf('/sichtbeobachtungen')) : '';
      }
      assert.equal(new Set(seen).size, seen.length, 'somebody twice');
      const missing = new Set(lasting);
      for (const id of seen) missing.delete(id);
      assert.deepEqual([...missing], [], 'somebody skipped');
      assert.deepEqual(
        seen,
        [...seen].sort((a, b) => b - a),
      );
    });
  }
});

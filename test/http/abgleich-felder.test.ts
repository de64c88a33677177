// Whatever is shown of a record is told when it changes: by a new ETag and in the feed. For every column, those too that no test knows yet.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { mediumFields } from '../../src/db/sichtbeobachtung.ts';
import { listFeld } from '../../src/sichtbeobachtung-felder.ts';
import { arten } from '../support/catalogue.ts';
import { followFeed, idsOf } from '../support/feed.ts';
import { keptBack, twoOf } from '../support/felder.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
before(async () => {
  service = await startTestService();
});

/** Columns that answers show, and values of them that no record made here has. */
const shown: [column: string, value: unknown][] = [
  ...listFeld().flatMap(([name, feld]): [string, unknown][] => (feld.shown ? [[name, twoOf(feld).change[1]]] : [])),
  ...mediumFields.map((name, index): [string, unknown] => [name, `${String(index).repeat(32)}.jpg`]),
  ['anzahl', 17],
  ['datum', '2024-02-29'],
  ['art', arten.hornisse],
];

const set = (id: number, column: string, value: unknown) => {
  const { sql } = service.database;
  return sql`
    update portal.sichtbeobachtung s
    set ${sql(column)} = (jsonb_populate_record(s, ${JSON.stringify({ [column]: value })}::text::jsonb)).${sql(column)}
    where s.id = ${id}`;
};
const setTenants = (wish: 'zeigen' | 'verbergen', kuerzel = '') =>
  service.database.sql`update portal.mandant set bemerkung_geschuetzter = ${wish} where ${kuerzel} in ('', kuerzel)`;
const read = (id: number, tag?: string | null) =>
  service.request(`/sichtbeobachtungen/${id}`, { headers: tag ? { 'if-none-match': tag } : {} });
/** The records that a mirror hears of when this is done. */
const heardOf = async (change: () => Promise<unknown>) => {
  const { cursor } = await followFeed(service, null);
  await change();
  return idsOf((await followFeed(service, cursor)).told).sort((a, b) => a - b);
};

describe('a change of a column that is shown has a new ETag, a new answer and an entry in the feed', () => {
  for (const [index, [column, value]] of shown.entries()) {
    it(column, async () => {
      const id = await service.makeReleased({ lat: '5541000', lon: String(421000 + index) });
      for (let times = 0; times < 3; times++) await read(id);
      const kept = await read(id);
      assert.equal((await read(id, kept.headers.get('etag'))).status, 304);
      assert.deepEqual(await heardOf(() => set(id, column, value)), [id]);
      const changed = await read(id, kept.headers.get('etag'));
      assert.equal(changed.status, 200);
      assert.notEqual(changed.headers.get('etag'), kept.headers.get('etag'));
      assert.notEqual(changed.text, kept.text);
    });
  }
});

describe('what a tenant may keep back of a protected record', () => {
  /** A protected record for each column, which has nothing but that. */
  const records: { id: number; column: string }[] = [];
  before(async () => {
    // Two records can't name the same file.
    await service.database.sql`delete from portal.sichtbeobachtung`;
    for (const [index, [column, value]] of shown.entries()) {
      const id = await service.makeReleased({ art: String(arten.uhu), lat: '5542000', lon: String(421000 + index) });
      if (column !== 'art') await set(id, column, keptBack[column]?.hidden ?? value);
      records.push({ id, column });
    }
  });
  const idsOfKeptBack = () => records.flatMap(({ id, column }) => (column in keptBack ? [id] : []));

  it('is told in the feed when the tenant changes its mind, and only that', async () => {
    const textsOf = async () => Promise.all(records.map(async ({ id }) => (await read(id)).text));
    const before = await textsOf();
    assert.deepEqual(await heardOf(() => setTenants('verbergen', 'N')), idsOfKeptBack());
    const after = await textsOf();
    // Those that are kept back indeed, and no others.
    const found = records.flatMap(({ id }, index) => (before[index] === after[index] ? [] : [id]));
    assert.deepEqual(found, idsOfKeptBack());
    assert.deepEqual(await heardOf(() => setTenants('zeigen', 'N')), idsOfKeptBack());
    assert.deepEqual(await textsOf(), before);
  });

  it('is told when it changes as long as one tenant shows it, else not', async () => {
    for (const { id, column } of records.filter((record) => record.column in keptBack)) {
      await setTenants('verbergen');
      assert.deepEqual(await heardOf(() => set(id, column, null)), [], column);
      await setTenants('zeigen', 'W');
      assert.deepEqual(await heardOf(() => set(id, column, keptBack[column]?.hidden)), [id], column);
    }
  });
});

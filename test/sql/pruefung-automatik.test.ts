// Automatic release (O6.14): what is released without a person, and how a run is taken back.
import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { countPruefung, listPruefLauf, releaseAutomatisch, undoPruefLauf } from '../../src/db/pruefung.ts';
import { arten } from '../support/catalogue.ts';
import { openTestDatabase } from '../support/database.ts';
import { makeRecord } from '../support/records.ts';

const { sql } = await openTestDatabase();
const experienced = { bereich: 'oeffentlich', nutzer: 'melder' };
let photos = 0;
async function make(fields: Parameters<typeof makeRecord>[1] = {}, photo = true): Promise<number> {
  const id = await makeRecord(sql, { ...experienced, ...fields });
  if (photo) await sql`update portal.sichtbeobachtung set foto = ${`${String(++photos).padStart(32, '0')}.jpg`} where id = ${id}`;
  return id;
}
const statusOf = async (id: number) => (await sql`select status::text from portal.sichtbeobachtung where id = ${id}`)[0]?.status;
const qsOf = async (id: number) =>
  (await sql`select status::text, lauf, experte_id from portal.qs where sichtbeobachtung_id = ${id} order by id`).map((row) => ({
    ...row,
  }));
async function setRule(art: number, kuerzel: string, zwei = false): Promise<void> {
  await sql`
    insert into portal.pruefregel (art, mandant_id, automatisch, zwei_personen)
    select ${art}, m.id, true, ${zwei} from portal.mandant m where m.kuerzel = ${kuerzel}`;
}

before(async () => {
  // Enough of the species and of the group that nothing is odd, released.
  await sql`
    insert into portal.sichtbeobachtung (nutzer_id, art, point, datum, bereich, status)
    select u.id, a.art, st_setsrid(st_makepoint(a.x + n, 5530000), 25832), date '2001-01-01' + n, 'oeffentlich', 'freigegeben'
    from portal.nutzer u, (values (2, 420000), (2, 480000), (3, 420000), (5, 420000)) a (art, x), generate_series(1, 400) n
    where u.loginname = 'melder'`;
  await countPruefung(sql);
});

it('does nothing unless a rule says so', async () => {
  const id = await make();
  await countPruefung(sql);
  assert.equal(await releaseAutomatisch(sql), null);
  assert.equal(await statusOf(id), 'pruefung');
  assert.deepEqual(await listPruefLauf(sql), []);
});

it('releases what nothing speaks against, and nothing else', async () => {
  await setRule(arten.amsel, 'N');
  await setRule(arten.tagpfauenauge, 'N', true);
  await sql`
    insert into portal.pruefregel (art, mandant_id, anzahl_max) select ${arten.amsel}, m.id, 50 from portal.mandant m where m.kuerzel = 'S'`;
  const good = await make();
  const others = {
    'without a photo': await make({}, false),
    marked: await make({ sensibel: true }),
    'of a tenant whose rule does not say so': await make({ x: 480000 }),
    'of a novice': await make({ nutzer: 'nachbarin' }),
    'far away': await make({ x: 401000, y: 5558000 }),
    'of two persons': await make({ art: arten.tagpfauenauge }),
    'of a species without a rule': await make({ art: arten.wanderfalke }),
    asked: await make({ status: 'hinweis' }),
    private: await make({ bereich: 'privat' }),
  };
  await countPruefung(sql);
  const run = await releaseAutomatisch(sql);
  // The record of the test above is released too.
  assert.deepEqual(run, { lauf: 1, anzahl: 2 });
  assert.equal(await statusOf(good), 'freigegeben');
  assert.deepEqual(await qsOf(good), [
    { status: 'pruefung', lauf: null, experte_id: null },
    { status: 'freigegeben', lauf: 1, experte_id: null },
  ]);
  for (const [why, id] of Object.entries(others)) assert.notEqual(await statusOf(id), 'freigegeben', why);
});

it('a run of 500 is taken back by its number; what somebody decided since stays, and no run takes it again', async () => {
  await sql`
    insert into portal.sichtbeobachtung (nutzer_id, art, point, datum, bereich, foto)
    select u.id, 2, st_setsrid(st_makepoint(421000 + n, 5530500), 25832), '2002-06-01', 'oeffentlich', lpad((100000 + n)::text, 32, '0') || '.jpg'
    from portal.nutzer u, generate_series(1, 500) n where u.loginname = 'melder'`;
  await countPruefung(sql);
  const run = await releaseAutomatisch(sql);
  assert.deepEqual(run, { lauf: 2, anzahl: 500 });
  const [some] = await sql<
    { id: number }[]
  >`select id from portal.sichtbeobachtung where datum = '2002-06-01' order by id limit 1`;
  const decided = some?.id ?? 0;
  await sql`
    update portal.sichtbeobachtung set status = 'abgelehnt', experte_id = (select id from portal.nutzer where loginname = 'expertin')
    where id = ${decided}`;
  await sql`
    update portal.sichtbeobachtung set status = 'freigegeben' where id = ${decided}`;

  const steps: number[] = [];
  assert.equal(await undoPruefLauf(sql, 2, (done) => steps.push(done)), 499);
  assert.equal(steps.at(-1), 499);
  const rows = await sql`
    select status::text, count(*)::integer as n from portal.sichtbeobachtung where datum = '2002-06-01' group by 1 order by 1`;
  assert.deepEqual(
    rows.map(({ status, n }) => [status, n]),
    [
      ['freigegeben', 1],
      ['pruefung', 499],
    ],
  );
  const [log] = await sql`
    select count(*)::integer as n from portal.qs where datum_beobachtung = '2002-06-01' and status = 'pruefung' and lauf = 2`;
  assert.equal(log?.n, 499);
  const [latest] = await listPruefLauf(sql);
  assert.deepEqual([latest?.id, latest?.anzahl, latest?.zurueckgenommen !== null], [2, 500, true]);
  await countPruefung(sql);
  assert.equal(await releaseAutomatisch(sql), null);
  assert.equal(await undoPruefLauf(sql, 2, () => {}), 0);
  await assert.rejects(
    undoPruefLauf(sql, 99, () => {}),
    { code: 'NFUND' },
  );
});

// Photos and sound files that may be passed on (O5.4, O5.5): whose licence counts, what is never there, and which change withholds files (O5.2).
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Sql } from '../../src/db/client.ts';
import { onPostgres, openTestDatabase } from '../support/database.ts';
import { makeRecord } from '../support/records.ts';

const sql: Sql = (await openTestDatabase()).sql;
let nutzer = 0;
before(async () => {
  const [row] = await sql`select min(id)::integer as id from portal.nutzer`;
  nutzer = row?.id;
  await sql`
    update portal.mandant set lizenz = 'CC-BY-4.0', herausgeber = 'h', kontakt = 'k@example.org', titel = 't', beschreibung = 'b'
    where kuerzel in ('N', 'S')`;
});

const setNutzer = (change: string) => sql.unsafe(`update portal.nutzer set ${change} where id = ${nutzer}`);
const set = (id: number, change: string) => sql.unsafe(`update portal.sichtbeobachtung set ${change} where id = ${id}`);
async function make(fields: Parameters<typeof makeRecord>[1] = {}, lizenz: string | null = null): Promise<number> {
  const id = await makeRecord(sql, { bereich: 'oeffentlich', status: 'pruefung', ...fields });
  const name = id.toString(16).padStart(32, '0');
  await sql`
    update portal.sichtbeobachtung set foto = ${`${name}.jpg`}, audio = ${`${name}.mp3`}, medien_lizenz = ${lizenz}
    where id = ${id}`;
  await set(id, "status = 'freigegeben'");
  return id;
}
/** `1 CC0-1.0 Vorname Nachname` for each file. */
async function listPassedOn(id: number): Promise<string[]> {
  const rows = await sql`
    select concat_ws(' ', nummer, lizenz, urheber) as file from gis.medium where sichtbeobachtung_id = ${id} order by nummer`;
  return rows.map((row) => row.file);
}
/** Tenants whose files are withheld by what this does. */
async function withheldBy(work: () => Promise<unknown>): Promise<string[]> {
  await sql`delete from portal.export_ungueltig`;
  await work();
  const rows = await sql`
    select distinct m.kuerzel from portal.export_ungueltig u join portal.mandant m on m.id = u.mandant_id order by 1`;
  return rows.map((row) => row.kuerzel);
}

it('a licence given while a record is deleted leaves none of its files', {
  skip: !onPostgres && 'needs two connections',
}, async () => {
  await setNutzer('medien_lizenz = null');
  const id = await make();
  let gone: Promise<unknown> | undefined;
  await sql.begin(async (tx) => {
    await tx`update portal.nutzer set medien_lizenz = 'CC-BY-4.0' where id = ${nutzer}`;
    gone = sql`delete from portal.sichtbeobachtung where id = ${id}`.then(() => {});
    await Promise.race([gone, sleep(300)]);
  });
  await gone;
  assert.deepEqual(await listPassedOn(id), []);
});

describe('gis.medium', () => {
  const licences = [null, 'CC0-1.0', 'CC-BY-NC-4.0'];
  const table = licences.flatMap((account) =>
    [null, '', 'CC-BY-4.0'].flatMap((report) => [0, 1].map((anonymisiert) => ({ account, report, anonymisiert }))),
  );
  for (const { account, report, anonymisiert } of table) {
    const expected = (report ?? account) || null;
    const name = `account ${account}, report ${report === '' ? 'none' : report}${anonymisiert ? ', anonymised' : ''}`;
    it(`has the files of a shown record under ${expected ?? 'no licence: none of them'}: ${name}`, async () => {
      await sql`
        update portal.nutzer set medien_lizenz = ${account}, anonymisiert = ${anonymisiert}, vorname = 'Anna', nachname = 'Muster'
        where id = ${nutzer}`;
      const author = anonymisiert ? '' : ' Anna Muster';
      const files = expected === null ? [] : [`1 ${expected}${author}`, `2 ${expected}${author}`];
      const id = await make({}, report);
      assert.deepEqual(await listPassedOn(id), files);
      // What nobody is shown, and what is masked, never.
      await set(id, "status = 'pruefung'");
      assert.deepEqual(await listPassedOn(id), []);
      await set(id, "status = 'freigegeben'");
      assert.deepEqual(await listPassedOn(id), files);
      await set(id, 'sensibel = true');
      assert.deepEqual(await listPassedOn(id), []);
    });
  }

  it('S1.5 loses the files of a species with the catalogue that protects it', async () => {
    await setNutzer("medien_lizenz = 'CC0-1.0', anonymisiert = 0");
    const id = await make();
    const [row] = await sql`select art from portal.sichtbeobachtung where id = ${id}`;
    await sql`update portal.art_mandant set sensibel = true where art = ${row?.art}`;
    assert.deepEqual(await listPassedOn(id), []);
    await sql`update portal.art_mandant set sensibel = false where art = ${row?.art}`;
    assert.equal((await listPassedOn(id)).length, 2);
  });
});

describe('files to publish', () => {
  it('are withheld from the commit of what narrows a licence or a name, not of what widens it', async () => {
    await setNutzer('medien_lizenz = null, anonymisiert = 0');
    const id = await make();
    const own = await make({}, 'CC-BY-4.0');
    const steps: [withheld: boolean, work: () => Promise<unknown>][] = [
      [false, () => setNutzer("medien_lizenz = 'CC-BY-NC-4.0'")],
      [false, () => setNutzer("email = 'neu@example.org'")],
      [true, () => setNutzer("medien_lizenz = 'CC-BY-4.0'")],
      [true, () => setNutzer("vorname = 'Berta'")],
      [true, () => setNutzer('anonymisiert = 1')],
      [true, () => setNutzer('medien_lizenz = null')],
      [false, () => set(id, "medien_lizenz = 'CC0-1.0'")],
      [true, () => set(id, "medien_lizenz = ''")],
      [true, () => set(own, 'medien_lizenz = null')],
      [false, () => setNutzer("medien_lizenz = 'CC0-1.0'")],
      [true, () => set(own, 'audio = null')],
      [true, () => set(own, 'foto = null')],
      [true, () => sql`delete from portal.sichtbeobachtung where id = ${own}`],
    ];
    for (const [index, [withheld, work]] of steps.entries())
      assert.deepEqual(await withheldBy(work), withheld ? ['N'] : [], `step ${index + 1}`);
  });

  // A cell inside N, and one that N and S share: in whose files a masked record of it stands is not known to a change.
  const cells = { N: 421000, 'N S': 451000 };
  const changes: Record<string, (ids: string) => Promise<unknown>> = {
    'another count': (ids) => sql.unsafe(`update portal.sichtbeobachtung set anzahl = 7 where id in (${ids})`),
    'a mark': (ids) => sql.unsafe(`update portal.sichtbeobachtung set sensibel = true where id in (${ids})`),
    'a withdrawal': (ids) => sql.unsafe(`update portal.sichtbeobachtung set status = 'pruefung' where id in (${ids})`),
    'a deletion': (ids) => sql.unsafe(`delete from portal.sichtbeobachtung where id in (${ids})`),
  };
  for (const [what, change] of Object.entries(changes))
    it(`are withheld by ${what}, of one record and of several, at each tenant that the cell touches`, async () => {
      for (const [expected, x] of Object.entries(cells))
        for (const count of [1, 3]) {
          const ids: number[] = [];
          for (let n = 0; n < count; n++) ids.push(await makeRecord(sql, { x, bereich: 'oeffentlich', status: 'freigegeben' }));
          assert.equal((await withheldBy(() => change(ids.join()))).join(' '), expected, `${count} at ${x}`);
        }
    });

  it('are withheld by another licence of their tenant', async () => {
    const change = () => sql`update portal.mandant set lizenz = 'CC-BY-NC-4.0' where kuerzel = 'S'`;
    assert.deepEqual(await withheldBy(change), ['S']);
  });
});

// Everything of an account as one zip (D7.1): what is in it, what never is, and that it is read in pages.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parse } from 'csv-parse/sync';
import { writeAuskunft } from '../../src/auskunft/archive.ts';
import { listAuskunftProtokoll } from '../../src/db/auskunft.ts';
import type { Sql } from '../../src/db/client.ts';
import { type Account, arten } from '../support/catalogue.ts';
import { idOf } from '../support/import.ts';
import { makeJpeg } from '../support/photo.ts';
import { type Json, pluck, startTestService } from '../support/service.ts';
import { readZip } from '../support/zip.ts';

const service = await startTestService();
const { sql } = service.database;

async function archiveOf(account: Account, from: Sql = sql) {
  const chunks: Uint8Array[] = [];
  const output = new WritableStream<Uint8Array>({ write: (chunk) => void chunks.push(chunk) });
  const archived = await writeAuskunft(
    { sql: from, storage: service.media.storage },
    { nutzerId: await idOf(service.database, account), zugangsstand: null },
    output,
  );
  const files = await readZip(Buffer.concat(chunks));
  const json = (name: string): Json => JSON.parse(files.get(name)?.toString() ?? 'null');
  return { archived, files, json };
}

describe('the archive of an account', () => {
  it('has the account without anything that lets somebody in, all sightings as their owner sees them, and their files', async () => {
    const photo = new Blob([await makeJpeg({ width: 64, height: 48 })]);
    const fields = { art: String(arten.uhu), lat: '5530001', lon: '420002', bemerkung: '=1+1; "Uhu"' };
    const secret = await service.makeSichtbeobachtung({ ...fields, foto: photo });
    const released = await service.makeReleased({ lat: '5530100', bemerkung: 'am Zaun' });
    await service.makeSichtbeobachtung({ lat: '5530200' }, { as: 'nachbarin' });
    const token = await service.tokenOf('melder');

    const { archived, files, json } = await archiveOf('melder');
    assert.deepEqual(archived, { saetze: 2, dateien: 1, fehlend: 0 });
    const sheets = ['sichtbeobachtungen.json', 'sichtbeobachtungen.csv', 'qs.json', 'entscheidungen.json', 'nachrichten.json'];
    assert.deepEqual([...files.keys()], ['LIESMICH.txt', 'konto.json', ...sheets, `dateien/${secret}_foto.jpg`]);
    const konto = json('konto.json');
    const [account] = pluck([konto], 'loginname', 'email', 'vorname', 'nachname', 'passwort_gesetzt');
    assert.deepEqual(account, ['melder', '3@example.org', 'Max', 'Muster', true]);
    assert.equal(konto.zugangsschluessel.length, 1);
    assert.equal(konto.netze.length, 1);

    const [uhu, amsel] = json('sichtbeobachtungen.json');
    assert.deepEqual([uhu.id, uhu.lat, uhu.lon, uhu.srid, uhu.is_rasterized], [secret, 5530001, 420002, 'EPSG:25832', false]);
    const [told] = pluck([uhu], 'titel_deutsch', 'bereich', 'foto');
    assert.deepEqual(told, ['Uhu', 'Persönliche Erfassungen', `dateien/${secret}_foto.jpg`]);
    assert.deepEqual(pluck(uhu.protokoll, 'audit'), ['CREATE']);
    assert.deepEqual([amsel.id, amsel.status, amsel.experte], [released, 'Freigegeben', 'Vera expertin']);
    // With all that the owner is shown by the interface, but for what a tenant says and addresses.
    const shown = (await service.request(`/sichtbeobachtungen/${released}`, { as: 'melder' })).json.result[0];
    for (const name of Object.keys(shown)) assert.ok(name in amsel, name);
    assert.deepEqual([...(files.get(`dateien/${secret}_foto.jpg`)?.subarray(0, 2) ?? [])], [0xff, 0xd8]);

    const rows = parse<Record<string, string>>(files.get('sichtbeobachtungen.csv') ?? '', { columns: true, bom: true });
    assert.deepEqual(pluck(rows, 'id'), [String(secret), String(released)]);
    assert.equal(rows[0]?.bemerkung, `'=1+1; "Uhu"`, 'a spreadsheet must not compute it');
    assert.equal(uhu.bemerkung, '=1+1; "Uhu"');

    assert.deepEqual(pluck(json('qs.json'), 'status'), ['In Prüfung', 'Freigegeben']);
    assert.deepEqual(json('entscheidungen.json'), []);
    const decided = (await archiveOf('expertin')).json('entscheidungen.json');
    assert.deepEqual(pluck(decided, 'sichtbeobachtung_id'), [released]);

    // Neither what is stored of password and keys, nor others' records.
    const [row] = await sql`
      select u.password_hash, encode(t.hash, 'hex') as hash from portal.nutzer u join portal.token t on t.nutzer_id = u.id
      where u.loginname = 'melder'`;
    const all = [...files]
      .filter(([name]) => !name.startsWith('dateien/'))
      .map(([, bytes]) => bytes.toString())
      .join('\n');
    for (const secretText of [token, row?.password_hash, row?.hash, 'argon2', 'Ödön'])
      assert.ok(!all.includes(secretText as string), `the archive holds ${secretText}`);
    for (const name of [...files.keys()].slice(1))
      assert.match(files.get('LIESMICH.txt')?.toString() ?? '', new RegExp(name.split('/')[0] as string));
  });

  it('names files that are not there any more, and has the rest', async () => {
    const id = await service.makeReleased({ lat: '5531000' }, { as: 'nachbarin' });
    const name = `${'ab'.repeat(16)}.jpg`;
    await sql`update portal.sichtbeobachtung set foto_2 = ${name} where id = ${id}`;
    const { archived, files } = await archiveOf('nachbarin');
    assert.equal(archived.fehlend, 1);
    assert.equal(files.get('fehlende-dateien.txt')?.toString(), `dateien/${id}_foto_2.jpg\n`);
  });

  it('takes no remark for a file of somebody else', async () => {
    const id = await service.makeReleased({ lat: '5531900' }, { as: 'nachbarin' });
    const name = `${'cd'.repeat(16)}.jpg`;
    await service.media.storage.put(name, Buffer.from('x'), 'image/jpeg');
    for (const sign of ['\u0001', '\u007f', '\u0085', '']) {
      const remark = `${sign}+${name}`;
      await sql`update portal.sichtbeobachtung set bemerkung = ${remark} where id = ${id}`;
      const { files, json } = await archiveOf('nachbarin');
      assert.equal(json('sichtbeobachtungen.json').at(-1).bemerkung, remark);
      assert.ok(!files.has(`dateien/${id}_bemerkung.jpg`));
    }
  });

  it('has every sighting once, however many pages they are read in; and none of an account without any', async () => {
    await sql`
      insert into portal.sichtbeobachtung (nutzer_id, art, point, datum)
      select ${await idOf(service.database, 'käfer anna')}, ${arten.amsel}::integer, st_setsrid(st_makepoint(410000 + n, 5531000), 25832), date '2026-09-01'
      from generate_series(1, 450) n`;
    const { json, files } = await archiveOf('käfer anna');
    assert.equal(new Set(json('sichtbeobachtungen.json').map(({ id }: Json) => id)).size, 450);
    assert.equal(json('sichtbeobachtungen.json').length, 450);
    assert.equal(parse(files.get('sichtbeobachtungen.csv') ?? '', { bom: true }).length, 451);
    const empty = await archiveOf('admin');
    assert.deepEqual(empty.json('sichtbeobachtungen.json'), []);
    assert.equal(empty.files.get('sichtbeobachtungen.csv')?.toString(), '\ufeffid\r\n');
  });

  it('has every entry of the change log, and no row of the database holds more than some of them', async () => {
    const nutzerId = await idOf(service.database, 'expertin');
    const made = await sql<{ id: number }[]>`
      insert into portal.sichtbeobachtung (nutzer_id, art, point, datum)
      select ${nutzerId}, ${arten.amsel}::integer, st_setsrid(st_makepoint(412000 + n, 5531000), 25832), date '2026-09-01'
      from generate_series(1, 6) n
      returning id`;
    const ids = made.map(({ id }) => id).sort((a, b) => a - b);
    // Beside the one of its making: just what comes with a record, one more, and what ends with a page and within one.
    const counts = [0, 18, 19, 20, 1019, 5000];
    for (const [index, id] of ids.entries())
      await sql`
        insert into portal.protokoll (audit, sichtbeobachtung_id, zeitpunkt)
        select 'UPDATE', ${id}, timestamptz '2026-09-02 00:00:00Z' + n * interval '1 second'
        from generate_series(1, ${counts[index] ?? 0}::integer) n`;

    const rows: string[] = [];
    const watched = new Proxy(sql, {
      apply: async (target, self, args) => {
        const result = await Reflect.apply(target, self, args);
        for (const row of result) rows.push(JSON.stringify(row));
        return result;
      },
    });
    const { json, files } = await archiveOf('expertin', watched);
    const records: Json[] = json('sichtbeobachtungen.json');
    for (const [index, id] of ids.entries()) {
      const { protokoll } = records.find((record) => record.id === id);
      const expected = await sql<{ audit: string; zeitpunkt: string }[]>`
        select audit, to_char(zeitpunkt at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as zeitpunkt
        from portal.protokoll where sichtbeobachtung_id = ${id} order by portal.protokoll.id`;
      assert.equal(expected.length, (counts[index] ?? 0) + 1);
      assert.deepEqual(protokoll, [...expected]);
    }
    // As written in one go, whether it was or not.
    const text = `[\n${records.map((record) => JSON.stringify(record)).join(',\n')}\n]\n`;
    assert.equal(files.get('sichtbeobachtungen.json')?.toString(), text);
    assert.ok(rows.length > 0);
    for (const row of rows) assert.ok((row.match(/zeitpunkt/g) ?? []).length <= 1000, `${row.length} characters in one row`);
  });

  it("has no part of the change log of a record that is somebody else's", async () => {
    const id = await service.makeReleased({ lat: '5532000' });
    const countOf = async (account: Account) => {
      const inhaber = { nutzerId: await idOf(service.database, account), zugangsstand: null };
      let count = 0;
      for await (const page of listAuskunftProtokoll(sql, inhaber, id, 0)) count += JSON.parse(page).length;
      return count;
    };
    assert.ok((await countOf('melder')) > 0);
    assert.equal(await countOf('nachbarin'), 0);
  });
});

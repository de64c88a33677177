// Erasing accounts (D7.2): what is left in the database, what everybody sees of it, and what happens when it is broken off.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { finishNutzerLoeschung, type Saetze, setNutzerLoeschung } from '../../src/db/loeschung.ts';
import { setNutzerStatus, setPasswordHash } from '../../src/db/nutzer.ts';
import { sha1OfPlain } from '../../src/guard/password.ts';
import { mailDeadLetter, mailQueue, startBoss } from '../../src/jobs/boss.ts';
import { eraseBegun, eraseNutzer } from '../../src/jobs/loeschung.ts';
import { removeEntfernt } from '../../src/jobs/media.ts';
import type { Account } from '../support/catalogue.ts';
import { closeAtEnd, onPostgres } from '../support/database.ts';
import { followFeed, idsOf } from '../support/feed.ts';
import { makeJpeg } from '../support/photo.ts';
import { takeBack } from '../support/records.ts';
import { headerOf, startTestService, type TestService } from '../support/service.ts';
import { collectMedia } from '../support/storage.ts';

let service: TestService;
before(async () => {
  service = await startTestService();
});

const noMails = { deleteMails: async () => {} };
const sql = () => service.database.sql;
async function makeAccount(loginname: string, vorname: string, nachname: string): Promise<number> {
  const [row] = await sql()<{ id: number }[]>`
    insert into portal.nutzer (loginname, email, vorname, nachname, password_hash, portal_name, portal_url)
    select ${loginname}, ${`${loginname}@example.org`}, ${vorname}, ${nachname}, u.password_hash, 'Naturbund', 'https://example.org'
    from portal.nutzer u where u.loginname = 'melder'
    returning id`;
  return row?.id ?? 0;
}
// The password of each made account is that of melder.
async function enter(loginname: string): Promise<Record<string, string>> {
  const { json } = await service.request(`/login?${new URLSearchParams({ loginname, password: sha1OfPlain('melder') })}`);
  return { 'X-Auth-User': headerOf(loginname), 'X-Auth-Token': json.token };
}
const reportAs = (headers: Record<string, string>, fields: Record<string, string | Blob>) =>
  service.makeSichtbeobachtung(fields as Record<string, string>, { as: null, headers });
const release = (id: number, experte: Account | string = 'expertin') => sql()`
  update portal.sichtbeobachtung set bereich = 'oeffentlich', status = 'freigegeben',
    experte_id = (select u.id from portal.nutzer u where u.loginname = ${experte})
  where id = ${id}`;
const erase = async (id: number, saetze: Saetze) => {
  await setNutzerLoeschung(sql(), id, saetze);
  await eraseNutzer(noMails, sql(), id);
};

/** Where any table, the queue's included, holds one of these texts. */
async function findTexts(texts: string[]): Promise<string[]> {
  const tables = await sql()<{ name: string }[]>`
    select c.oid::regclass::text as name from pg_class c
    where c.relnamespace in (to_regnamespace('portal'), to_regnamespace('pgboss')) and c.relkind in ('r', 'p')`;
  const found: string[] = [];
  for (const { name } of tables) {
    for (const text of texts) {
      const rows = await sql().unsafe(`select 1 from ${name} t where t::text ilike '%' || $1 || '%' limit 1`, [text]);
      if (rows.length > 0) found.push(`${name}: ${text}`);
    }
  }
  return found;
}

describe('an account that is erased with its records kept', () => {
  it('is a number without a name: nothing of the person is in any table, and what was published goes on', async () => {
    const id = await makeAccount('wegwarte', 'Wilma', 'Wegner-Groß');
    const headers = await enter('wegwarte');
    const named = await reportAs(headers, {
      lat: '5530500',
      bemerkung: 'von WILMA  Wegner-Groß (Wegner-Groß, Wilma; wegwarte@example.org). Wilma sah sie. Wilma Wegner-Großmann nicht',
    });
    const plain = await reportAs(headers, { lat: '5530501', bemerkung: 'am Zaun' });
    const secret = await reportAs(headers, { lat: '5530502', bemerkung: 'persönlich' });
    await release(named);
    await release(plain);
    await sql()`
      insert into portal.bemerkung_gekuerzt (sichtbeobachtung_id, bemerkung)
      values (${named}, 'lang, Wilma Wegner-Groß'), (${secret}, 'lang und persönlich')`;
    await sql()`insert into portal.nutzer_rolle values (${id}, 'expert')`;
    await sql()`insert into portal.nutzer_link (nutzer_id, hash) values (${id}, ${Buffer.alloc(32, 7)})`;
    const keys: [zweck: string, schluessel: string][] = [
      [`login netz ${id}`, 'irgendeines'],
      ['login konto', 'wegwarte'],
      ['email konto', String(id)],
      ['dateien konto', String(id)],
      ['mail postfach aller', 'wegwarte@example.org'],
    ];
    for (const [zweck, schluessel] of keys)
      await sql()`
        insert into portal.versuch (zweck, schluessel, anzahl) values (${zweck}, private.to_versuch_key(${zweck}, ${schluessel}), 1)
        on conflict do nothing`;
    const names = ['wegwarte', 'Wegner-Groß,', 'Wilma Wegner-Groß ', 'Naturbund'];
    assert.ok((await findTexts(names)).length > 3);
    const { cursor } = await followFeed(service, null);

    await setNutzerLoeschung(sql(), id, 'behalten');
    // At once, before any record was looked at.
    assert.equal((await service.request('/nutzer', { headers })).status, 401);
    assert.equal((await service.request(`/nutzer/${id}`, { as: 'admin' })).status, 404);
    const all = await service.request('/nutzer?limit=1000', { as: 'admin' });
    assert.ok(!all.text.includes('wegwarte'));
    assert.equal(await setNutzerStatus(sql(), 'wegwarte', 1), false, 'nobody lets it in again');
    assert.equal(await setPasswordHash(sql(), 'wegwarte', 'x'), false);
    await eraseNutzer(noMails, sql(), id);

    assert.deepEqual(await findTexts([...names, 'persönlich']), []);
    const [left] = await sql()`select u.* from portal.nutzer u where id = ${id}`;
    assert.deepEqual(
      Object.entries({ ...left }).filter(([name, value]) => value !== null && !['id', 'angelegt'].includes(name)),
      Object.entries({ anonymisiert: 0, status: 0, registriert: false, loeschung: 'behalten' }),
    );
    for (const [zweck, schluessel] of keys) {
      const counted = await sql()`
        select from portal.versuch where zweck = ${zweck} and schluessel = private.to_versuch_key(${zweck}, ${schluessel})`;
      assert.equal(counted.length, 0, zweck);
    }

    const detail = (await service.request(`/sichtbeobachtungen/${named}`, { as: 'admin' })).json.result[0];
    assert.deepEqual([detail.erfasser, detail.uid], ['', id]);
    assert.equal(detail.bemerkung, 'von […] ([…]; […]). Wilma sah sie. Wilma Wegner-Großmann nicht');
    assert.equal((await service.request(`/sichtbeobachtungen/${plain}`)).json.result[0].bemerkung, 'am Zaun');
    assert.equal((await service.request(`/sichtbeobachtungen/${secret}`, { as: 'admin' })).status, 404);
    // Mirrors hear of the remark that changed, and of nothing else.
    assert.deepEqual(idsOf((await followFeed(service, cursor)).told), [named]);
    assert.equal(
      (
        await service.request('/register', {
          form: { loginname: 'Wegwarte', email: 'wegwarte@example.org', vorname: 'W', nachname: 'W' },
        })
      ).status,
      200,
      'name and address are free',
    );
    assert.equal(service.mails.at(-1)?.kind, 'registrierung');
  });
});

describe('an account that is erased with its records', () => {
  it('leaves no row, its files go, mirrors are told that they are gone, and both logs keep numbers', async () => {
    const id = await makeAccount('distel', 'Dora', 'Distelkamp');
    const headers = await enter('distel');
    const photo = new Blob([await makeJpeg({ width: 64, height: 48 })]);
    const first = await reportAs(headers, { lat: '5531500', foto: photo });
    const second = await reportAs(headers, { lat: '5531501' });
    await reportAs(headers, { lat: '5531502' });
    await release(first);
    await release(second);
    const stored = () => collectMedia(service.media.storage);
    assert.equal((await stored()).length, 1);
    const { cursor } = await followFeed(service, null);
    const before = await service.request('/sichtbeobachtungen');

    await erase(id, 'loeschen');
    await removeEntfernt(sql(), service.media.storage);
    const [left] = await sql()`
      select (select count(*)::integer from portal.nutzer where id = ${id}) as konten,
        (select count(*)::integer from portal.sichtbeobachtung where nutzer_id = ${id}) as saetze,
        (select count(*)::integer from portal.qs where nutzer_id = ${id}) as qs`;
    assert.deepEqual({ ...left }, { konten: 0, saetze: 0, qs: 2 });
    assert.deepEqual(await findTexts(['distel']), []);
    assert.deepEqual(await stored(), []);
    assert.deepEqual(idsOf((await followFeed(service, cursor)).told).sort(), [-first, -second].sort());
    // Kept answers know it.
    const after = await service.request('/sichtbeobachtungen');
    assert.notEqual(after.headers.get('etag'), before.headers.get('etag'));
    assert.ok(!after.json.result.some((record: { id: number }) => record.id === first));
    const protokoll = (await service.request('/protokoll?limit=3')).json.result;
    assert.deepEqual(new Set(protokoll.map((entry: { audit: string }) => entry.audit)), new Set(['DELETE']));
  });

  it('goes on where it was broken off, by whoever comes next; a second time there is nothing to do', async () => {
    const id = await makeAccount('klette', 'Karl', 'Klettmann');
    const headers = await enter('klette');
    for (const lat of ['5532500', '5532501', '5532502']) await reportAs(headers, { lat });
    await setNutzerLoeschung(sql(), id, 'loeschen');
    await sql()`select api.delete_nutzer_saetze(id => ${id}::bigint, after_id => 0, row_limit => 1)`;
    const [begun] = await sql()`select api.delete_nutzer(id => ${id}::bigint) as done`;
    assert.equal(begun?.done, false, 'not while it has records');
    // The command again, by its name.
    await setNutzerLoeschung(sql(), id, 'loeschen');
    await eraseBegun(noMails, sql());
    assert.deepEqual(await findTexts(['klette']), []);
    await finishNutzerLoeschung(sql(), id);
    await assert.rejects(setNutzerLoeschung(sql(), id, 'loeschen'), { code: 'NFUND' });
  });

  it('goes on only when whoever is told of a batch lets it', async () => {
    const id = await makeAccount('malve', 'Maria', 'Malvenberg');
    await reportAs(await enter('malve'), { lat: '5532510' });
    await setNutzerLoeschung(sql(), id, 'loeschen');
    const told: unknown[] = [];
    await finishNutzerLoeschung(sql(), id, async (done, tookMs) => {
      const [left] = await sql()`select count(*)::integer as n from portal.nutzer where id = ${id}`;
      told.push([done, tookMs > 0, left?.n]);
    });
    assert.deepEqual(told, [[50, true, 1]]);
  });

  it('one that fails holds up no other, and is told', async () => {
    const [first, second] = [await makeAccount('distel', 'Dora', 'Distler'), await makeAccount('wicke', 'Willi', 'Wickert')];
    for (const id of [first, second]) await setNutzerLoeschung(sql(), id, 'loeschen');
    const fails = { deleteMails: async (id: number) => (id === first ? assert.fail('no queue') : undefined) };
    await assert.rejects(eraseBegun(fails, sql()), /no queue/);
    assert.deepEqual(await findTexts(['wicke']), []);
    assert.notDeepEqual(await findTexts(['distel']), []);
    await eraseBegun(noMails, sql());
    assert.deepEqual(await findTexts(['distel']), []);
  });

  it('what was being stored when it was shut out goes too', {
    skip: !onPostgres && 'the embedded database has one transaction at a time',
  }, async () => {
    const id = await makeAccount('quecke', 'Quirin', 'Queck');
    const other = service.database.connect();
    await other`begin`;
    await other`
      insert into portal.sichtbeobachtung (nutzer_id, art, point, datum)
      values (${id}, 2, st_setsrid(st_makepoint(420000, 5533500), 25832), date '2026-09-01')`;
    await setNutzerLoeschung(sql(), id, 'loeschen');
    const finished = finishNutzerLoeschung(sql(), id);
    await other`commit`;
    await finished;
    assert.deepEqual(await findTexts(['quecke']), []);
    const [left] = await sql()`select count(*)::integer as n from portal.sichtbeobachtung where nutzer_id = ${id}`;
    assert.equal(left?.n, 0);
  });
});

describe('an expert who is erased', () => {
  it('leaves the decisions, without a name', async () => {
    const id = await makeAccount('ehrenpreis', 'Erna', 'Ehrenpreis');
    const released = await service.makeReleased({ lat: '5534500' });
    await release(released, 'ehrenpreis');
    await erase(id, 'loeschen');
    const detail = (await service.request(`/sichtbeobachtungen/${released}`, { as: 'melder' })).json.result[0];
    assert.deepEqual([detail.experte, detail.erfasser, detail.status], ['', 'Max Muster', 'Freigegeben']);
    assert.deepEqual(await findTexts(['ehrenpreis']), []);
  });
});

describe('the last active administrator', () => {
  it('is neither erased nor blocked, and nothing of it changes; others are', async () => {
    const [admin] = await sql()<{ id: number }[]>`select id from portal.nutzer where loginname = 'admin'`;
    const token = await service.tokenOf('admin');
    await assert.rejects(setNutzerLoeschung(sql(), admin?.id ?? 0, 'loeschen'), { code: 'LADMN' });
    await assert.rejects(setNutzerStatus(sql(), 'admin', 0), { code: 'LADMN' });
    const headers = { 'X-Auth-User': 'admin', 'X-Auth-Token': token };
    assert.equal((await service.request('/nutzer', { headers })).status, 200);
    const id = await makeAccount('zweite', 'Z', 'W');
    await sql()`insert into portal.nutzer_rolle values (${id}, 'administrator')`;
    assert.equal(await setNutzerStatus(sql(), 'admin', 0), true);
    await assert.rejects(erase(id, 'behalten'), { code: 'LADMN' });
    assert.equal(await setNutzerStatus(sql(), 'admin', 1), true);
    await erase(id, 'behalten');
  });

  it('is not needed to block anybody else where there is none', async () => {
    await takeBack(sql(), async (tx) => {
      await tx`delete from portal.nutzer_rolle`;
      const [row] = await tx`select api.set_nutzer_status(loginname => 'nachbarin', status => 0) as found`;
      assert.equal(row?.found, true);
    });
  });
});

describe('mails to an account that is erased', () => {
  it('wait no longer, nor are they kept as given up', async () => {
    const boss = await startBoss(service.database, () => {}, { supervise: false, mayChange: true });
    closeAtEnd(() => boss.stop());
    const about = { origin: 'http://n.test', portal: 'Nordland' };
    await sql().begin(async (tx) => {
      for (const nutzerId of [901, 902]) await boss.enqueueMail(tx, { kind: 'passwort', nutzerId, ...about });
    });
    await boss.boss.send(mailDeadLetter, { kind: 'passwort', nutzerId: 901, ...about });
    await boss.deleteMails(901);
    const left = await sql()<{ name: string; id: string }[]>`
      select name, data ->> 'nutzerId' as id from pgboss.job where name in (${mailQueue}, ${mailDeadLetter})`;
    assert.deepEqual(
      [...left].map((row) => ({ ...row })),
      [{ name: mailQueue, id: '902' }],
    );
  });
});

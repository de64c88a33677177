// What goes by itself: files that nobody names, and what has had its time (D7.4); the clock is moved by the dates in the tables.
import assert from 'node:assert/strict';
import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { NIL } from 'uuid';
import { loadConfig } from '../../src/config.ts';
import { sweepKonto } from '../../src/db/loeschung.ts';
import { mailDeadLetter, mailQueue, startBoss } from '../../src/jobs/boss.ts';
import { removeMails } from '../../src/jobs/mail.ts';
import { removeEntfernt, sweepStorage } from '../../src/jobs/media.ts';
import { sweep } from '../../src/jobs/sweep.ts';
import { makeMediumName } from '../../src/media/name.ts';
import { closeAtEnd, makeDirectory } from '../support/end.ts';
import { makeRecord } from '../support/records.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { listNames, makeWithPhoto } from '../support/storage.ts';

const config = loadConfig({});
const fristen = { tokens: config.tokenTtlDays, ...config.keepDays };

let service: TestService;
let id: number;
before(async () => {
  service = await startTestService();
  const [row] = await service.database.sql<{ id: number }[]>`select id from portal.nutzer where loginname = 'melder'`;
  id = row?.id ?? 0;
});

describe('files that no record names any more, or never did', () => {
  it('S1.9 files of records that SQL deletes or changes are removed; one that another record names stays', async () => {
    const { database, media } = service;
    const deleted = await makeWithPhoto(service);
    const changed = await makeWithPhoto(service);
    const moved = await makeWithPhoto(service);
    const heir = await makeWithPhoto(service);
    await database.sql`delete from portal.sichtbeobachtung where id = ${deleted.id}`;
    await database.sql`update portal.sichtbeobachtung set foto = null where id = ${changed.id}`;
    await database.sql`update portal.sichtbeobachtung set foto = null where id = ${moved.id}`;
    await database.sql`update portal.sichtbeobachtung set foto_2 = ${moved.foto}, bemerkung = 'geerbt' where id = ${heir.id}`;
    assert.equal((await listNames(media.storage)).length, 4);
    await removeEntfernt(database.sql, media.storage);
    assert.deepEqual(await listNames(media.storage), [moved.foto, heir.foto].sort());
    const [left] = await database.sql`select count(*)::integer as n from portal.medium_entfernt`;
    assert.equal(left?.n, 0);
  });

  it('a removal that fails is tried again', async () => {
    const { database, media } = service;
    const { id, foto } = await makeWithPhoto(service);
    const remove = media.storage.remove.bind(media.storage);
    media.storage.remove = async () => Promise.reject(new Error('away'));
    assert.equal((await service.request(`/sichtbeobachtungen/${id}`, { as: 'melder', method: 'DELETE' })).status, 200);
    assert.ok((await listNames(media.storage)).includes(foto));
    await assert.rejects(removeEntfernt(database.sql, media.storage));
    media.storage.remove = remove;
    await removeEntfernt(database.sql, media.storage);
    assert.ok(!(await listNames(media.storage)).includes(foto));
  });

  it('S5.1 what killed uploads left is swept when it is a day old, and nothing else', async () => {
    const { database, media, mediaDirectory } = service;
    const kept = await makeWithPhoto(service);
    const orphan = makeMediumName('jpg');
    await media.storage.put(orphan, new Uint8Array([1]), 'image/jpeg');
    const named = await listNames(media.storage);
    assert.equal(await sweepStorage(database.sql, media.storage, new Date(Date.now() - 3_600_000)), 0);
    assert.deepEqual(await listNames(media.storage), named);
    assert.equal(await sweepStorage(database.sql, media.storage, new Date(Date.now() + 60_000)), 1);
    assert.deepEqual(
      await listNames(media.storage),
      named.filter((name) => name !== orphan),
    );
    assert.ok((await listNames(media.storage)).includes(kept.foto));

    const uploads = join(mediaDirectory, 'uploads');
    await mkdir(uploads, { recursive: true });
    await writeFile(join(uploads, 'alt'), 'x');
    await utimes(join(uploads, 'alt'), 0, 0);
    await writeFile(join(uploads, 'neu'), 'x');
    await media.uploads.removeLeftovers(new Date(Date.now() - 3_600_000));
    assert.deepEqual(await readdir(uploads), ['neu']);
  });
});

/** Days that each kind stays, and a row of it, but for its age, which comes last. */
const kinds: [table: string, days: number, columns: string, row: (n: number) => string][] = [
  ['versuch', config.keepDays.attempts, 'zweck, schluessel, anzahl, seit', (n) => `'test', '${n}', 1`],
  ['token', config.tokenTtlDays, 'hash, nutzer_id, genutzt', (n) => `sha256('${n}'), ${id}`],
  ['nutzer_netz', config.keepDays.networks, 'netz, nutzer_id, zuletzt', (n) => `'${n}', ${id}`],
  ['nutzer_reservierung', 7, 'loginname_key, angelegt', (n) => `'r${n}'`],
  ['nutzer_link', 7, 'hash, nutzer_id, angelegt', (n) => `sha256('${n}'), ${anyone(n)}`],
  ['nutzer_daten_link', 1, 'hash, nutzer_id, angelegt', (n) => `sha256('${n}'), ${anyone(n)}`],
  [
    'sichtbeobachtung_link',
    30,
    'hash, nutzer_id, sichtbeobachtung_id, angelegt',
    (n) => `sha256('${n}'), ${id}, (select min(id) from portal.sichtbeobachtung)`,
  ],
  [
    'nutzer',
    config.keepDays.unconfirmed,
    'loginname, email, registriert, angelegt',
    (n) => `'neu ${n}', 'u${n}@example.org', true`,
  ],
];
const anyone = (n: number) => `(select id from portal.nutzer order by id offset ${n} limit 1)`;
const count = async (table: string) => {
  const [row] = await service.database.sql.unsafe(`select count(*)::integer as n from portal.${table}`);
  return Number(row?.n);
};

describe('the nightly sweep', () => {
  for (const [table, days, columns, row] of kinds) {
    it(`removes rows of ${table} that are older than ${days} days, in as many batches as it takes, and no others`, async () => {
      const before = await count(table);
      for (let n = 0; n <= 3; n++) {
        const age = `${days} days ${n === 0 ? -5 : 5} minutes`;
        await service.database.sql.unsafe(
          `insert into portal.${table} (${columns}) values (${row(n)}, now() - interval '${age}')`,
        );
      }
      assert.equal(await count(table), before + 4);
      await sweepKonto(service.database.sql, fristen, 1);
      assert.equal(await count(table), before + 1);
    });
  }

  it('keeps accounts that wait for a good reason: those made by command, with a role, blocked, confirmed, with records', async () => {
    const { sql } = service.database;
    const make = async (loginname: string, fields: { registriert?: boolean; status?: number; hash?: string }) => {
      const { registriert = true, status = 1, hash = null } = fields;
      const [row] = await sql<{ id: number }[]>`
        insert into portal.nutzer (loginname, registriert, status, password_hash, angelegt)
        values (${loginname}, ${registriert}, ${status}, ${hash}, now() - interval '400 days') returning id`;
      return row?.id ?? 0;
    };
    await make('von Hand', { registriert: false });
    await make('bestätigt', { hash: 'x' });
    await make('ausgesperrt', { status: 0 });
    await sql`insert into portal.nutzer_rolle values (${await make('erwartet', {})}, 'expert')`;
    await sql`
      insert into portal.sichtbeobachtung (nutzer_id, art, point, datum)
      values (${await make('übernommen', {})}, 2, st_setsrid(st_makepoint(420000, 5530000), 25832), date '2026-09-01')`;
    for (let n = 0; n < 4; n++) await make(`vergessen ${n}`, {});
    await sweepKonto(sql, fristen);
    const rows = await sql<{ loginname: string }[]>`
      select loginname from portal.nutzer where angelegt < now() - interval '399 days' order by loginname`;
    assert.deepEqual(
      rows.map(({ loginname }) => loginname).sort(),
      ['ausgesperrt', 'bestätigt', 'erwartet', 'von Hand', 'übernommen'].sort(),
    );
  });

  it('forgets what a mail would have told that was given up, 30 days after it was due, and nothing that waits for its mail', async () => {
    const { sql } = service.database;
    const make = async (age: string, mail: string | null) => {
      const record = await makeRecord(sql, { nutzer: 'melder' });
      await sql`
        insert into portal.mitteilung_offen (sichtbeobachtung_id, nutzer_id, faellig, mail)
        values (${record}, ${id}, now() - ${age}::text::interval, ${mail}::uuid)`;
      return record;
    };
    for (let n = 0; n < 3; n++) await make('30 days 5 minutes', NIL);
    const kept = [await make('29 days 23 hours 55 minutes', NIL), await make('400 days', null), await make('-7 days', null)];
    await sweepKonto(sql, fristen, 1);
    const rows = await sql<{ id: number }[]>`
      select sichtbeobachtung_id::integer as id from portal.mitteilung_offen order by sichtbeobachtung_id`;
    assert.deepEqual(
      rows.map((row) => row.id),
      kept,
    );
  });

  it('removes the long remarks of records that were deleted', async () => {
    const { sql } = service.database;
    const stays = await service.makeReleased({ lat: '5539000' });
    await sql`insert into portal.bemerkung_gekuerzt (sichtbeobachtung_id, bemerkung) values (${stays}, 'bleibt'), (999999, 'geht')`;
    await sweepKonto(sql, fristen);
    const rows = await sql<{ bemerkung: string }[]>`select bemerkung from portal.bemerkung_gekuerzt`;
    assert.deepEqual(
      rows.map(({ bemerkung }) => bemerkung),
      ['bleibt'],
    );
  });

  it('removes mails that are files, by their age, and nothing else from the directory', async () => {
    const directory = await makeDirectory();
    const day = 86_400_000;
    const names = (n: number) => `2026-01-0${n}T00-00-00-000Z-00000000-0000-4000-8000-00000000000${n}`;
    const write = async (name: string, days: number) => {
      await writeFile(join(directory, name), 'x');
      const at = new Date(Date.now() - days * day);
      await utimes(join(directory, name), at, at);
    };
    await write(`${names(1)}.eml`, config.keepDays.mails + 0.01);
    await write(`${names(2)}.eml`, config.keepDays.mails - 0.01);
    await write(`.${names(3)}`, config.keepDays.mails + 1);
    await write('notizen.txt', 400);
    await sweep(service.database.sql, { fristen, mails: { directory, days: config.keepDays.mails } });
    assert.deepEqual((await readdir(directory)).sort(), [`${names(2)}.eml`, 'notizen.txt'].sort());
    await removeMails(join(directory, 'nirgends'), new Date());
  });
});

describe('the queue of mails', () => {
  it('forgets those that were sent and those that were given up after the days of the settings', async () => {
    const { database } = service;
    const queue = await startBoss(database, () => {}, { supervise: true, mayChange: true, keepDays: { mails: 3, deadMails: 5 } });
    closeAtEnd(() => queue.stop());
    const { boss } = queue;
    for (const name of [mailQueue, mailDeadLetter]) for (let n = 0; n < 2; n++) await boss.send(name, { nutzerId: n });
    const { sql } = database;
    await sql`
      update pgboss.job set state = 'completed', completed_on = now() - case data ->> 'nutzerId' when '0' then interval '2 days 23 hours'
        else interval '3 days 1 hour' end
      where name = ${mailQueue}`;
    // As if they had been sent so long ago.
    await sql`
      update pgboss.job
      set keep_until = keep_until - case data ->> 'nutzerId' when '0' then interval '4 days 23 hours' else interval '5 days 1 hour' end
      where name = ${mailDeadLetter}`;
    await sql`update pgboss.queue set maintain_on = null`;
    await boss.supervise();
    const rows = await sql<{ name: string; id: string }[]>`
      select name, data ->> 'nutzerId' as id from pgboss.job where name in (${mailQueue}, ${mailDeadLetter})`;
    assert.deepEqual([...rows].map((row) => `${row.name} ${row.id}`).sort(), [`${mailQueue} 0`, `${mailDeadLetter} 0`].sort());
  });
});

// What goes by itself when its time is over (D7.4); the clock is moved by the dates in the tables.
import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { loadConfig } from '../../src/config.ts';
import { sweepKonto } from '../../src/db/loeschung.ts';
import { mailDeadLetter, mailQueue, startBoss } from '../../src/jobs/boss.ts';
import { removeMails } from '../../src/jobs/mail.ts';
import { sweep } from '../../src/jobs/sweep.ts';
import { closeAtEnd } from '../support/database.ts';
import { startTestService, type TestService } from '../support/service.ts';

const config = loadConfig({});
const fristen = { tokens: config.tokenTtlDays, ...config.keepDays };

let service: TestService;
let id: number;
before(async () => {
  service = await startTestService();
  const [row] = await service.database.sql<{ id: number }[]>`select id from portal.nutzer where loginname = 'melder'`;
  id = row?.id ?? 0;
});

/** Days that each kind stays, and how a row of it is made that is so old. */
const kinds: [table: string, days: number, make: (age: string, n: number) => Promise<unknown>][] = [
  [
    'versuch',
    config.keepDays.attempts,
    (age, n) => service.database.sql`
      insert into portal.versuch (zweck, schluessel, seit, anzahl)
      values ('test', ${Buffer.from(String(n))}, now() - ${age}::text::interval, 1)`,
  ],
  [
    'token',
    config.tokenTtlDays,
    (age, n) => service.database.sql`
      insert into portal.token (hash, nutzer_id, genutzt) values (${Buffer.alloc(32, n)}, ${id}, now() - ${age}::text::interval)`,
  ],
  [
    'nutzer_netz',
    config.keepDays.networks,
    (age, n) => service.database.sql`
      insert into portal.nutzer_netz (nutzer_id, netz, zuletzt)
      values (${id}, ${Buffer.from(String(n))}, now() - ${age}::text::interval)`,
  ],
  [
    'nutzer_reservierung',
    7,
    (age, n) => service.database.sql`
      insert into portal.nutzer_reservierung (loginname_key, angelegt) values (${`r${n}`}, now() - ${age}::text::interval)`,
  ],
  [
    'nutzer_link',
    7,
    (age, n) => service.database.sql`
      insert into portal.nutzer_link (nutzer_id, hash, angelegt)
      select u.id, ${Buffer.alloc(32, n)}::bytea, now() - ${age}::text::interval from portal.nutzer u order by u.id offset ${n} limit 1`,
  ],
  [
    'nutzer_daten_link',
    1,
    (age, n) => service.database.sql`
      insert into portal.nutzer_daten_link (nutzer_id, hash, angelegt)
      select u.id, ${Buffer.alloc(32, n)}::bytea, now() - ${age}::text::interval from portal.nutzer u order by u.id offset ${n} limit 1`,
  ],
  [
    'nutzer',
    config.keepDays.unconfirmed,
    (age, n) => service.database.sql`
      insert into portal.nutzer (loginname, email, registriert, angelegt)
      values (${`unbestaetigt ${n}`}, ${`u${n}@example.org`}, true, now() - ${age}::text::interval)`,
  ],
];
const count = async (table: string) => {
  const [row] = await service.database.sql.unsafe(`select count(*)::integer as n from portal.${table}`);
  return Number(row?.n);
};

describe('the nightly sweep', () => {
  for (const [table, days, make] of kinds) {
    it(`removes rows of ${table} that are older than ${days} days, in as many batches as it takes, and no others`, async () => {
      const before = await count(table);
      await make(`${days} days -5 minutes`, 0);
      for (let n = 1; n <= 3; n++) await make(`${days} days 5 minutes`, n);
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
    const directory = await mkdtemp(join(tmpdir(), 'sighting-sweep-'));
    closeAtEnd(() => rm(directory, { recursive: true }));
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

// The feed for mirrors (O1): each record once, at the place of its last change that an anonymous reader sees.
// Whatever is shown of a record is told when it changes: by a new ETag and in the feed. For every column, those too that no test knows yet.
import assert from 'node:assert/strict';
import crypto, { createSecretKey } from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createApp } from '../../src/app.ts';
import type { Transaction } from '../../src/db/client.ts';
import { mediumFields } from '../../src/db/sichtbeobachtung.ts';
import { feedCursors } from '../../src/http/outputs/feed-cursor.ts';
import { listFeld } from '../../src/sichtbeobachtung-felder.ts';
import { arten } from '../support/catalogue.ts';
import { onPostgres } from '../support/database.ts';
import { type FollowOptions, followFeed, idsOf, settleFeed } from '../support/feed.ts';
import { keptBack, twoOf } from '../support/felder.ts';
import { type Answer, assertProblem, type Json, pluck, type RequestOptions, startTestService } from '../support/service.ts';

const service = await startTestService();
const { sql } = service.database;

const ask = (query: string, options: RequestOptions = {}): Promise<Answer> =>
  service.request(`/abgleich/v1/sichtbeobachtungen${query}`, { below: '', ...options });

const follow = (cursor: string | null, options: FollowOptions = {}) => followFeed(service, cursor, options);
/** What a mirror is told when this is done. */
const toldOf = async (change: () => Promise<unknown>) => {
  const { cursor } = await follow(null);
  await change();
  return (await follow(cursor)).told;
};
const heardOf = async (change: () => Promise<unknown>) => idsOf(await toldOf(change)).sort((a, b) => a - b);
/** A record as the list shows it. */
const findListed = async (id: number) =>
  (await service.request('/sichtbeobachtungen?limit=1000')).json.result.find((row: Json) => row.id === id);

describe('a first copy', () => {
  it('has every released record once, as the list shows it at that host, and nothing else', async () => {
    const hidden = await service.makeSichtbeobachtung({ lat: '5531111' });
    for (let i = 0; i < 17; i++) await service.makeReleased({ lat: String(5530000 + 7 * i), bemerkung: `Nr. ${i}` });
    const sensitive = await service.makeReleased({ art: String(arten.rotmilan), lat: '5532222' });
    const deleted = await service.makeReleased({ lat: '5532000' });
    await sql`delete from portal.sichtbeobachtung where id = ${deleted}`;
    for (const host of ['n.test', 's.test']) {
      const { told } = await follow(null, { host });
      assert.equal(new Set(told.map(({ id }) => id)).size, told.length);
      const list = (await service.request('/sichtbeobachtungen?limit=1000', { host })).json.result;
      const found = told.map((entry) => entry.sichtbeobachtung).sort((a, b) => b.id - a.id);
      assert.deepEqual(found, list);
      assert.ok(!told.some(({ id, geloescht }) => id === hidden || id === deleted || geloescht));
      assert.ok(told.some(({ id }) => id === sensitive));
    }
  });

  it('of an empty feed is empty, and its cursor goes on', async () => {
    const { told } = await follow(null, { query: '&mandant=w' });
    assert.deepEqual(told, []);
  });
});

describe('a change', () => {
  let id: number;
  let masked: number;
  before(async () => {
    id = await service.makeReleased({ lat: '5533000', lon: '421000' });
    masked = await service.makeReleased({ lat: '5533100', lon: '421000', sensibel: 'true' });
  });

  const move = (of: number) => sql`update portal.sichtbeobachtung set point = st_translate(point, 10, 0) where id = ${of}`;

  it('that an anonymous reader sees makes one entry with the record as it is now', async () => {
    for (const [name, change] of [
      ['place', move(id)],
      ['mark', sql`update portal.sichtbeobachtung set sensibel = true where id = ${id}`],
      ['mark taken back', sql`update portal.sichtbeobachtung set sensibel = false where id = ${id}`],
    ] as const) {
      const told = await toldOf(async () => change);
      assert.deepEqual(idsOf(told), [id], name);
      assert.deepEqual(told[0].sichtbeobachtung, await findListed(id), name);
    }
  });

  it('of a place that only some tenants mask makes an entry, also at the host that masks it', async () => {
    const falcon = await service.makeReleased({ art: String(arten.wanderfalke), lat: '5533600', lon: '421000' });
    const told = await toldOf(() => move(falcon));
    assert.deepEqual(idsOf(told), [falcon]);
    assert.equal(told[0].sichtbeobachtung.lon, 421010);
    const masked = await follow(null, { host: 's.test' });
    await move(falcon);
    const [there] = (await follow(masked.cursor, { host: 's.test' })).told;
    assert.deepEqual([there.id, there.sichtbeobachtung.lon], [falcon, 422500]);
  });

  it('that takes a record away makes an entry that says so; released again it is there again', async () => {
    const set = (status: string) => sql`update portal.sichtbeobachtung set status = ${status} where id = ${id}`;
    assert.deepEqual(idsOf(await toldOf(async () => set('hinweis'))), [-id]);
    assert.deepEqual(idsOf(await toldOf(async () => set('freigegeben'))), [id]);
    assert.deepEqual(idsOf(await toldOf(async () => sql`delete from portal.sichtbeobachtung where id = ${id}`)), [-id]);
    id = await service.makeReleased({ lat: '5533200', lon: '421000' });
  });

  it('that no anonymous reader sees makes none', async () => {
    const open = await service.makeSichtbeobachtung({ lat: '5533300' });
    const rollBack = async (tx: Transaction) => {
      await tx`update portal.sichtbeobachtung set anzahl = 99 where id = ${id}`;
      throw new Error('back');
    };
    for (const [name, change] of [
      ['a report', () => service.makeSichtbeobachtung({ lat: '5533400', bereich: 'oeffentlich' })],
      ['a private edit', () => sql`update portal.sichtbeobachtung set anzahl = 3 where id = ${open}`],
      ['a deletion of it', () => sql`delete from portal.sichtbeobachtung where id = ${open}`],
      ['the remark of an expert', () => sql`update portal.sichtbeobachtung set bemerkung_experte = 'gut' where id = ${id}`],
      ['a move inside the cell', () => move(masked)],
      ['the same again', () => sql`update portal.sichtbeobachtung set anzahl = anzahl where id = ${id}`],
      ['a login', () => service.tokenOf('expertin')],
      ['what is rolled back', () => assert.rejects(sql.begin(rollBack), /back/)],
    ] as [string, () => Promise<unknown>][])
      assert.deepEqual(idsOf(await toldOf(change)), [], name);
  });

  it('of the catalogue makes entries for the records that it shows differently', async () => {
    const milan = await service.makeReleased({ art: String(arten.rotmilan), lat: '5533500', lon: '421000' });
    const rows = await sql`
      select s.id from portal.sichtbeobachtung s where s.art = ${arten.rotmilan} and s.status = 'freigegeben' and s.bereich = 'oeffentlich'
      order by s.id`;
    const all = pluck(rows, 'id');
    const protect = () =>
      sql`update portal.art_mandant set sensibel = not sensibel where art = ${arten.rotmilan} and mandant_id = 1`;
    for (const [name, change] of [
      ['a name', sql`update portal.art_mandant set name_deutsch = 'Gabelweihe' where art = ${arten.rotmilan} and mandant_id = 1`],
      ['protection', protect()],
      ['protection taken back', protect()],
    ] as const)
      assert.deepEqual(await heardOf(async () => change), all, name);
    assert.ok(all.includes(milan));
    const same = () => sql`update portal.art_mandant set name_deutsch = name_deutsch`;
    assert.deepEqual(await toldOf(same), []);
  });
});

/** Columns that answers show, and values of them that no record made here has. */
const shown: [column: string, value: unknown][] = [
  ...listFeld().flatMap(([name, feld]): [string, unknown][] => (feld.shown ? [[name, twoOf(feld).change[1]]] : [])),
  ...mediumFields.map((name, index): [string, unknown] => [name, `${String(index).repeat(32)}.jpg`]),
  ['anzahl', 17],
  ['datum', '2024-02-29'],
  ['art', arten.hornisse],
];

const set = (id: number, column: string, value: unknown) => sql`
  update portal.sichtbeobachtung s
  set ${sql(column)} = (jsonb_populate_record(s, ${JSON.stringify({ [column]: value })}::text::jsonb)).${sql(column)}
  where s.id = ${id}`;
const setTenants = (wish: 'zeigen' | 'verbergen', kuerzel = '') =>
  sql`update portal.mandant set bemerkung_geschuetzter = ${wish} where ${kuerzel} in ('', kuerzel)`;
const read = (id: number, tag?: string | null) =>
  service.request(`/sichtbeobachtungen/${id}`, { headers: tag ? { 'if-none-match': tag } : {} });

describe('a change of a column that is shown has a new ETag, a new answer and an entry in the feed', () => {
  for (const [index, [column, value]] of shown.entries()) {
    it(column, async () => {
      const id = await service.makeReleased({ lat: '5541000', lon: String(421000 + index) });
      for (let times = 0; times < 3; times++) await read(id);
      const kept = await read(id);
      assert.equal((await read(id, kept.headers.get('etag'))).status, 304);
      const told = await toldOf(() => set(id, column, value));
      assert.deepEqual(idsOf(told), [id]);
      assert.deepEqual(told[0].sichtbeobachtung, await findListed(id));
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
    await sql`delete from portal.sichtbeobachtung`;
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

it('the feed of one tenant’s records has what its filter lists, and says of what leaves it that it is gone', async () => {
  const north = await service.makeReleased({ lat: '5534000', lon: '421000' });
  const query = '&mandant=N';
  const first = await follow(null, { query });
  assert.ok(idsOf(first.told).includes(north));
  const listed = (await service.request('/sichtbeobachtungen?mandant=N&limit=1000')).json.result;
  const found = first.told.map((entry) => entry.sichtbeobachtung).sort((a, b) => b.id - a.id);
  assert.deepEqual(found, listed);
  // Into S: gone for N, new for S.
  const south = await follow(null, { query: '&mandant=S' });
  await sql`update portal.sichtbeobachtung set point = st_setsrid(st_makepoint(460000, 5534000), 25832) where id = ${north}`;
  assert.deepEqual(idsOf((await follow(first.cursor, { query })).told), [-north]);
  assert.deepEqual(idsOf((await follow(south.cursor, { query: '&mandant=S' })).told), [north]);
  // What was never there is not told to be gone.
  const later = await follow(first.cursor, { query });
  await sql`update portal.sichtbeobachtung set anzahl = 12 where id = ${north}`;
  await sql`delete from portal.sichtbeobachtung where id = ${north}`;
  assert.deepEqual(idsOf((await follow(south.cursor, { query: '&mandant=S' })).told), [-north]);
  assert.deepEqual(idsOf((await follow(later.cursor, { query })).told), [-north]);
  assert.deepEqual(idsOf((await follow(null, { query: '&mandant=W' })).told), []);
});

describe('a cursor', () => {
  it('is refused at another host, with another filter, and when it was altered', async () => {
    const { cursor } = await follow(null);
    for (const [query, options] of [
      [`?seit=${cursor}`, { host: 's.test' }],
      [`?seit=${cursor}&mandant=N`, {}],
      [`?seit=${cursor.slice(0, -2)}${cursor.endsWith('AA') ? 'BB' : 'AA'}`, {}],
      ['?seit=abc', {}],
    ] as [string, RequestOptions][]) {
      assertProblem(await ask(query, options), 400, 'seit');
    }
  });

  it('of another installation, or ahead of this database, says that the mirror has to begin anew', async () => {
    const { deps } = service;
    const [row] = await sql<{ verlauf: number }[]>`select max(nummer) as verlauf from portal.abgleich_verlauf`;
    const verlauf = row?.verlauf ?? 0;
    const place = { verlauf, stelle: 5, teil: 1, id: 5, ab: null };
    const own = feedCursors(deps.secretKey, deps.feed.installation);
    const other = feedCursors(createSecretKey(Buffer.alloc(32, 2)), 'another');
    for (const cursor of [
      other.make(place, 1, null),
      own.make({ ...place, verlauf: verlauf + 1 }, 1, null),
      own.make({ ...place, stelle: 2 ** 50 }, 1, null),
    ]) {
      const { status, json, text } = await ask(`?seit=${cursor}`);
      assert.deepEqual([status, json.code], [410, 'neu_beginnen'], text);
    }
  });

  it('of a change that another server shows already, while this one still waits to, is none of the future', {
    skip: !onPostgres && 'needs two transactions at once',
  }, async () => {
    const { deps } = service;
    const writer = service.database.connect();
    await writer
      .begin(async (tx) => {
        const [row] = await tx<{ verlauf: number; stelle: number }[]>`
          select v.nummer as verlauf, v.versatz + pg_current_xact_id()::text::bigint as stelle
          from portal.abgleich_verlauf v order by v.nummer desc limit 1`;
        const own = feedCursors(deps.secretKey, deps.feed.installation);
        const place = { verlauf: row?.verlauf ?? 0, stelle: row?.stelle ?? 0, teil: 1, id: 5, ab: null };
        const { status, json, text } = await ask(`?seit=${own.make(place, 1, null)}`);
        assert.deepEqual([status, json.result], [200, []], text);
      })
      .finally(() => writer.end());
  });

  it('stays the same while nobody sees a change, whatever else is written', async () => {
    const { cursor } = await follow(null);
    await service.makeSichtbeobachtung({ lat: '5535000' });
    assert.equal((await follow(cursor)).cursor, cursor);
    assert.equal((await follow(null)).cursor, cursor);
  });

  // A replica has what its primary notes of a restore; while that has noted none, it is left out.
  const isReplicaRead = process.env.TEST_REPLICA_URL !== undefined && 'a replica is not told of a restore that is only pretended';
  it('survives a restore elsewhere as far as the backup surely goes, and no further', { skip: isReplicaRead }, async () => {
    const kept = await follow(null);
    await sql`select api.set_abgleich_komplett()`;
    const id = await service.makeReleased({ lat: '5535100' });
    const lost = await follow(kept.cursor);
    assert.deepEqual(idsOf(lost.told), [id]);
    // What a restored database finds: another server than the one that it was written on.
    await sql`update portal.abgleich_verlauf set kennung = 'another', gestartet = 'epoch'`;
    assert.equal((await ask(`?seit=${lost.cursor}`)).status, 410);
    assert.deepEqual(idsOf((await follow(kept.cursor)).told), [id]);
    const next = await service.makeReleased({ lat: '5535200' });
    assert.deepEqual(idsOf((await follow(kept.cursor)).told), [id, next]);
  });
});

/** Until so many clients wait. */
async function untilWaiting(count: number): Promise<void> {
  for (let attempt = 0; attempt < 500 && service.deps.feed.watch.waiting !== count; attempt++) await sleep(10);
  assert.equal(service.deps.feed.watch.waiting, count);
}

describe('waiting', () => {
  it('ends with the first change, and with none when the time is over', async () => {
    const { cursor } = await follow(null);
    const begun = performance.now();
    const nothing = await ask(`?seit=${cursor}&warten=1`);
    assert.deepEqual(nothing.json.result, []);
    assert.ok(performance.now() - begun > 900);
    const answers = Promise.all([1, 2, 3].map(() => ask(`?seit=${cursor}&warten=30`)));
    await untilWaiting(3);
    const id = await service.makeReleased({ lat: '5536000' });
    for (const { json } of await answers) assert.deepEqual(idsOf(json.result), [id]);
    assert.equal(service.deps.feed.watch.waiting, 0);
  });

  it('does not begin when there is something already', async () => {
    const { cursor } = await follow(null);
    const id = await service.makeReleased({ lat: '5536100' });
    await settleFeed(sql);
    assert.deepEqual(idsOf((await ask(`?seit=${cursor}&warten=30`)).json.result), [id]);
  });
});

describe('the feed', () => {
  it('takes nothing that it does not know, and says so', async () => {
    for (const [query, parameter] of [
      ['?limit=0', 'limit'],
      ['?limit=1001', 'limit'],
      ['?warten=31', 'warten'],
      ['?mandant=XX', 'mandant'],
      ['?art=2', 'art'],
      ['?limit=1&limit=2', 'limit'],
    ] as const) {
      const answer = await ask(query);
      assertProblem(answer, 400, parameter);
      assert.match(answer.json.detail, /erlaubt|gibt es/);
    }
    assert.equal((await ask('', { method: 'POST', body: '' })).status, 405);
    assertProblem(await service.request('/abgleich/v1/anderes', { below: '' }), 404);
  });

  it('answers 304 to what the client has, and the same to those who are logged in', async () => {
    const { headers, text } = await ask('?limit=3');
    const again = await ask('?limit=3', { headers: { 'If-None-Match': headers.get('etag') ?? '' } });
    assert.deepEqual([again.status, again.text], [304, '']);
    assert.equal((await ask('?limit=3', { as: 'expertin' })).text, text);
  });

  it('never leads beyond a change that a transaction still has to commit', {
    skip: !onPostgres && 'one transaction at a time',
  }, async () => {
    const early = await service.makeReleased({ lat: '5537000' });
    const late = await service.makeReleased({ lat: '5537100' });
    const { cursor } = await follow(null);
    const other = service.database.connect();
    let open = Promise.resolve<unknown>(undefined);
    const { promise: held, resolve: finish } = Promise.withResolvers<void>();
    await new Promise<void>((resolve) => {
      open = other.begin(async (tx) => {
        await tx`update portal.sichtbeobachtung set anzahl = 41 where id = ${early}`;
        resolve();
        await held;
      });
    });
    await sql`update portal.sichtbeobachtung set anzahl = 42 where id = ${late}`;
    const between = await follow(cursor, { isSettled: false });
    assert.deepEqual([idsOf(between.told), between.cursor], [[], cursor]);
    finish();
    await open;
    assert.deepEqual(idsOf((await follow(cursor)).told), [early, late]);
  });

  it('goes on after many records that came at once', async () => {
    const { cursor } = await follow(null);
    const rows = await sql<{ id: number }[]>`
      insert into portal.sichtbeobachtung (nutzer_id, art, point, datum, bereich, status)
      select (select min(id) from portal.nutzer), ${arten.amsel}, st_setsrid(st_makepoint(420000 + i, 5538000), 25832), '2024-01-01',
        'oeffentlich', 'freigegeben'
      from generate_series(1, 120) i returning id`;
    const ids = rows.map((row) => row.id).sort((a, b) => a - b);
    const changed = ids[50] as number;
    const gone = ids[60] as number;
    await sql`update portal.sichtbeobachtung set anzahl = 3 where id = ${changed}`;
    await sql`update portal.sichtbeobachtung set status = 'abgelehnt' where id = ${gone}`;
    const { told } = await follow(cursor);
    assert.deepEqual(idsOf(told), [...ids.filter((id) => id !== changed && id !== gone), changed, -gone]);
    const tenant = await follow(null, { query: '&mandant=N' });
    assert.ok(ids.filter((id) => id !== gone).every((id) => idsOf(tenant.told).includes(id)));
  });

  it('is made once for all of a network that ask for the same at once, for each host its own', async (t) => {
    const made = t.mock.method(crypto, 'hash');
    syncBuiltinESMExports();
    t.after(() => {
      made.mock.restore();
      syncBuiltinESMExports();
    });
    const hosts = ['n.test', 's.test'];
    const answers = await Promise.all(Array.from({ length: 40 }, (_, n) => ask('', { host: hosts[n % 2] ?? '' })));
    const pages = made.mock.calls.filter(({ arguments: [, data] }) => Buffer.isBuffer(data) && data.includes('"weitere":'));
    assert.ok(pages.length >= 2 && pages.length <= 6, `${pages.length} of 40`);
    for (const [n, { status, text, headers }] of answers.entries()) {
      assert.equal(status, 200);
      assert.equal(text, answers[n % 2]?.text);
      assert.equal(headers.get('etag'), answers[n % 2]?.headers.get('etag'));
    }
    assert.notEqual(answers[0]?.json.cursor, answers[1]?.json.cursor);
  });

  it('ends all waiting when the process is about to end', async () => {
    const { cursor } = await follow(null);
    const { deps } = service;
    const app = createApp(deps);
    const answer = app.request(`http://n.test/abgleich/v1/sichtbeobachtungen?seit=${cursor}&warten=30`, {
      headers: { host: 'n.test' },
    });
    await untilWaiting(1);
    const drain = { active: true };
    Object.assign(deps, { drain });
    deps.feed.watch.release();
    assert.equal((await answer).status, 200);
  });
});

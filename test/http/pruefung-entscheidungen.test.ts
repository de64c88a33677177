// POST /pruefung/v1/entscheidungen: many decisions at once, each on its own; the same key again changes nothing (O6).
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { countPruefung } from '../../src/db/pruefung.ts';
import type { Account } from '../support/catalogue.ts';
import { onPostgres } from '../support/database.ts';
import { makeRecord } from '../support/records.ts';
import { type Json, startTestService } from '../support/service.ts';

const service = await startTestService();
const { sql } = service.database;
const decide = (entscheidungen: unknown, as: Account | null = 'expertin', headers: Record<string, string> = {}) =>
  service.request('/pruefung/v1/entscheidungen', {
    ...{ below: '', method: 'POST', as },
    body: JSON.stringify({ entscheidungen }),
    headers: { 'content-type': 'application/json', ...headers },
  });
const make = (fields: Parameters<typeof makeRecord>[1] = {}) =>
  makeRecord(sql, { bereich: 'oeffentlich', nutzer: 'melder', ...fields });
async function standOf(id: number): Promise<string> {
  const [row] = await sql`select private.to_stand(id, xmin) as stand from portal.sichtbeobachtung where id = ${id}`;
  return row?.stand;
}
const statusOf = async (id: number) => (await sql`select status::text from portal.sichtbeobachtung where id = ${id}`)[0]?.status;
const qsOf = async (id: number) =>
  (await sql`select status::text from portal.qs where sichtbeobachtung_id = ${id} order by id`).map((row) => row.status);

describe('POST /pruefung/v1/entscheidungen', () => {
  it('decides on each', async () => {
    const ids = [await make(), await make(), await make(), await make()];
    const wanted = ['freigegeben', 'hinweis', 'abgelehnt', 'pruefung'];
    const answer = await decide(
      await Promise.all(ids.map(async (id, at) => ({ id, status: wanted[at], bemerkung: `zu ${at}`, stand: await standOf(id) }))),
    );
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(answer.json, { result: ids.map((id) => ({ id, ok: true })), lauf: null });
    assert.deepEqual(await Promise.all(ids.map(statusOf)), wanted);
    assert.deepEqual(await qsOf(ids[0] ?? 0), ['pruefung', 'freigegeben']);
    const [row] = await sql`select bemerkung_experte as text from portal.sichtbeobachtung where id = ${ids[1] ?? 0}`;
    assert.equal(row?.text, 'zu 1');
  });

  it('says of each why it was not done, and does the others', async () => {
    const good = await make();
    const stale = await make();
    const seen = await standOf(stale);
    await sql`update portal.sichtbeobachtung set anzahl = 7 where id = ${stale}`;
    const own = await make({ nutzer: 'expertin' });
    const hidden = await make({ bereich: 'privat' });
    const entries: [unknown, Json][] = [
      [
        { id: stale, status: 'freigegeben', stand: seen },
        { id: stale, ok: false, code: 'veraltet' },
      ],
      [
        { id: own, status: 'freigegeben', stand: await standOf(own) },
        { id: own, ok: false, code: 'nicht_erlaubt' },
      ],
      [
        { id: hidden, status: 'freigegeben', stand: await standOf(hidden) },
        { id: hidden, ok: false, code: 'nicht_gefunden' },
      ],
      [
        { id: 999_999, status: 'freigegeben', stand: `v${'0'.repeat(15)}` },
        { id: 999_999, ok: false, code: 'nicht_gefunden' },
      ],
      [
        { id: good, status: 'freigegeben', stand: await standOf(good) },
        { id: good, ok: true },
      ],
      [
        { id: good, status: 'abgelehnt', stand: await standOf(good) },
        { id: good, ok: false, code: 'ungueltig' },
      ],
      [
        { id: good, status: 'gut', stand: seen },
        { id: good, ok: false, code: 'ungueltig' },
      ],
      [
        { id: good, status: 'freigegeben' },
        { id: good, ok: false, code: 'ungueltig' },
      ],
      [
        { id: '1', status: 'freigegeben', stand: seen },
        { id: null, ok: false, code: 'ungueltig' },
      ],
      [null, { id: null, ok: false, code: 'ungueltig' }],
      [
        { id: good + 1000, status: 'freigegeben', stand: seen, bemerkung: 'x'.repeat(9000) },
        { id: good + 1000, ok: false, code: 'ungueltig' },
      ],
    ];
    const { json } = await decide(entries.map(([entry]) => entry));
    assert.deepEqual(
      json.result,
      entries.map(([, expected]) => expected),
    );
    assert.equal(await statusOf(good), 'freigegeben');
    assert.deepEqual(await Promise.all([stale, own, hidden].map(statusOf)), ['pruefung', 'pruefung', 'pruefung']);
  });

  it('answers the same key with the same bytes, and decides nothing twice', async () => {
    const ids = [await make(), await make()];
    const entries = await Promise.all(ids.map(async (id) => ({ id, status: 'freigegeben', stand: await standOf(id) })));
    entries.push(
      { id: ids[0] ?? 0, status: 'hinweis', stand: 'x' },
      { id: 888_888, status: 'freigegeben', stand: `v${'1'.repeat(15)}` },
    );
    const headers = { 'Idempotency-Key': 'stapel-1' };
    const first = await decide(entries, 'expertin', headers);
    assert.equal(first.json.result.filter(({ ok }: Json) => ok).length, 2);
    // Decided otherwise meanwhile: the answer is that of then.
    await sql`update portal.sichtbeobachtung set status = 'hinweis', experte_id = null where id = ${ids[0] ?? 0}`;
    const before = await qsOf(ids[0] ?? 0);
    const again = await decide(entries, 'expertin', headers);
    assert.equal(again.text, first.text);
    assert.deepEqual(await qsOf(ids[0] ?? 0), before);
    // Another account's key is another one.
    const other = await decide(entries, 'admin', headers);
    assert.notEqual(other.text, first.text);
    const changed = await decide([{ ...entries[0], status: 'abgelehnt' }], 'expertin', headers);
    assert.deepEqual([changed.status, changed.json.code], [422, 'schluessel_vergeben']);
  });

  it('the same key at once decides once', { skip: !onPostgres && 'needs several connections' }, async () => {
    const id = await make();
    const entry = { id, status: 'freigegeben', stand: await standOf(id) };
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => decide([entry], 'expertin', { 'Idempotency-Key': 'zugleich' })),
    );
    assert.deepEqual(
      new Set(answers.map(({ text }) => text)),
      new Set([JSON.stringify({ result: [{ id, ok: true }], lauf: null })]),
    );
    assert.equal((await qsOf(id)).length, 2);
  });

  it('takes remarks as PUT does, and one that is too long stops nothing', async () => {
    const ids = [await make(), await make(), await make()];
    const remarks = ['gut', 'x'.repeat(4001), '   '];
    const { status, json } = await decide(
      await Promise.all(ids.map(async (id, at) => ({ id, status: 'hinweis', bemerkung: remarks[at], stand: await standOf(id) }))),
    );
    assert.equal(status, 200);
    assert.deepEqual(
      json.result.map(({ ok, code }: Json) => code ?? ok),
      [true, 'ungueltig', true],
    );
    const rows = await sql`
      select count(*)::integer as n from portal.nachricht where sichtbeobachtung_id in (${ids[0] ?? 0}, ${ids[1] ?? 0}, ${ids[2] ?? 0})`;
    assert.equal(rows[0]?.n, 1);
    // A remark alone is no question.
    assert.equal((await service.put(ids[0] ?? 0, { bemerkung: 'noch besser' }, 'expertin')).status, 200);
    assert.equal(
      (await sql`select count(*)::integer as n from portal.nachricht where sichtbeobachtung_id = ${ids[0] ?? 0}`)[0]?.n,
      1,
    );
  });

  it('1 000 decisions, 3 stale and 2 of others: 995 are done', async () => {
    await sql`
      insert into portal.sichtbeobachtung (nutzer_id, art, point, datum, bereich)
      select u.id, 2, st_setsrid(st_makepoint(405000 + n, 5530000), 25832), '2020-05-05', 'oeffentlich'
      from portal.nutzer u, generate_series(1, 1000) n where u.loginname = 'melder'`;
    const rows = await sql`
      select id::integer as id, private.to_stand(id, xmin) as stand from portal.sichtbeobachtung where datum = '2020-05-05' order by id`;
    assert.equal(rows.length, 1000);
    const [a, b, c, d, e] = rows.map(({ id }) => id);
    await sql`update portal.sichtbeobachtung set anzahl = 9 where id in (${a}, ${b}, ${c})`;
    await sql`
      update portal.sichtbeobachtung set nutzer_id = (select id from portal.nutzer where loginname = 'expertin') where id in (${d}, ${e})`;
    const entries = rows.map(({ id, stand }) => ({ id, status: 'freigegeben', stand }));
    const first = await decide(entries, 'expertin', { 'Idempotency-Key': 'tausend' });
    assert.equal(first.status, 200, first.text);
    const failed = first.json.result.filter(({ ok }: Json) => !ok);
    assert.deepEqual(
      failed.map(({ id, code }: Json) => [id, code]),
      [...[a, b, c].map((id) => [id, 'veraltet']), ...[d, e].map((id) => [id, 'nicht_erlaubt'])],
    );
    const count = async () =>
      (await sql`select count(*)::integer as n from portal.qs where datum_beobachtung = '2020-05-05'`)[0]?.n;
    const before = await count();
    assert.equal((await decide(entries, 'expertin', { 'Idempotency-Key': 'tausend' })).text, first.text);
    assert.equal(await count(), before);
  });

  it('is for experts and administrators, and says what it takes', async () => {
    const id = await make();
    const entry = { id, status: 'freigegeben', stand: await standOf(id) };
    for (const [as, status] of [
      [null, 401],
      ['melder', 403],
      ['admin', 200],
    ] as const)
      assert.equal((await decide([entry], as)).status, status, `${as}`);
    for (const [body, status] of [
      ['{', 400],
      ['{}', 400],
      [JSON.stringify({ entscheidungen: Array.from({ length: 1001 }, () => entry) }), 400],
      [`{"entscheidungen":["${'x'.repeat(9 * 1024 * 1024)}"]}`, 413],
    ] as const) {
      const answer = await service.request('/pruefung/v1/entscheidungen', { below: '', method: 'POST', as: 'expertin', body });
      assert.equal(answer.status, status, answer.text);
      assert.equal(answer.headers.get('content-type')?.split(';')[0], 'application/problem+json');
    }
    assert.equal((await decide([entry], 'expertin', { 'Idempotency-Key': 'a b' })).status, 400);
  });

  it('O6.13 a species with a rule of two persons is released by the second one, also by PUT; any other decision begins anew', async () => {
    await sql`
      insert into portal.pruefregel (art, mandant_id, zwei_personen)
      select 3, m.id, true from portal.mandant m where m.kuerzel = 'N'`;
    const [first, second, elsewhere] = [
      await make({ art: 3 }),
      await make({ art: 3, x: 421000 }),
      await make({ art: 3, x: 480000 }),
    ];
    const release = async (id: number, as: Account) =>
      (await decide([{ id, status: 'freigegeben', stand: await standOf(id) }], as)).json.result[0];
    const waiting = async (id: number) => {
      await countPruefung(sql);
      const { json } = await service.request('/pruefung/v1/warteschlange?art=3', { below: '', as: 'admin' });
      return json.result.find((row: Json) => row.id === id)?.bestaetigungen;
    };
    assert.equal(await waiting(first), 0);
    assert.deepEqual(await release(first, 'expertin'), { id: first, ok: true });
    assert.deepEqual([await statusOf(first), await waiting(first)], ['pruefung', 1]);
    assert.deepEqual(await release(first, 'expertin'), { id: first, ok: false, code: 'zweite_person' });
    assert.equal((await service.put(first, { status: 'freigegeben' }, 'expertin')).status, 403);
    assert.deepEqual(await release(first, 'admin'), { id: first, ok: true });
    assert.equal(await statusOf(first), 'freigegeben');
    assert.deepEqual(await qsOf(first), ['pruefung', 'freigegeben']);
    // What spoke against it is kept with the decision.
    const [entry] = await sql`
      select to_json(gruende) as gruende from portal.qs where sichtbeobachtung_id = ${first} order by id desc limit 1`;
    assert.deepEqual(entry?.gruende, ['zu_wenige_vergleiche']);

    assert.equal((await service.put(second, { status: 'freigegeben', bemerkung: 'ja' }, 'admin')).status, 200);
    assert.equal((await service.put(second, { status: 'hinweis' }, 'expertin')).status, 200);
    assert.equal((await service.put(second, { status: 'pruefung' }, 'expertin')).status, 200);
    assert.deepEqual(await release(second, 'admin'), { id: second, ok: true });
    assert.equal(await statusOf(second), 'pruefung');
    // What was changed since is looked at by two again.
    const changed = await make({ art: 3, x: 422000 });
    await release(changed, 'expertin');
    await sql`update portal.sichtbeobachtung set anzahl = 5 where id = ${changed}`;
    await release(changed, 'admin');
    assert.equal(await statusOf(changed), 'pruefung');
    // Where the tenant has no such rule one is enough.
    await release(elsewhere, 'expertin');
    assert.equal(await statusOf(elsewhere), 'freigegeben');
  });
});

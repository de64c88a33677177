// GET /pruefung/v1/warteschlange: what waits for a reviewer, what it is searched by, page by page (O6).
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { parse } from 'csv-parse/sync';
import { countPruefung, renewPruefgruende } from '../../src/db/pruefung.ts';
import { quoteCell } from '../../src/guard/csv.ts';
import { type Account, arten } from '../support/catalogue.ts';
import { makeRecord, setBorders } from '../support/records.ts';
import { type Json, startTestService } from '../support/service.ts';

const service = await startTestService();
const { sql } = service.database;
const ask = (query = '', as: Account | null = 'expertin') =>
  service.request(`/pruefung/v1/warteschlange?${query}`, { below: '', as });
const idsOf = async (query = '', as: Account = 'expertin') => {
  const { status, json, text } = await ask(query, as);
  assert.equal(status, 200, text);
  return json.result.map(({ id }: Json) => id);
};
const ids: Record<string, number> = {};
const published = { bereich: 'oeffentlich', nutzer: 'melder' };

before(async () => {
  const make = async (name: string, fields: Parameters<typeof makeRecord>[1]) => {
    ids[name] = await makeRecord(sql, { ...published, ...fields });
  };
  await make('bird', {});
  await make('butterfly', { art: arten.tagpfauenauge });
  await make('south', { x: 480001 });
  await make('masked', { art: arten.uhu, x: 450001, sensibel: true });
  await make('photo', { x: 421000 });
  await make('own', { nutzer: 'expertin' });
  await make('private', { bereich: 'privat' });
  await make('asked', { status: 'hinweis' });
  await make('decided', { x: 422000 });
  await make('released', { status: 'freigegeben' });
  await sql`update portal.sichtbeobachtung set foto = ${`${'a'.repeat(32)}.jpg`} where id = ${ids.photo ?? 0}`;
  await sql`update portal.sichtbeobachtung set angelegt = '2020-05-05' where id = ${ids.bird ?? 0}`;
  await countPruefung(sql);
  // Still kept, and waits no more.
  await sql`update portal.sichtbeobachtung set status = 'abgelehnt' where id = ${ids.decided ?? 0}`;
});
/** As a spreadsheet saves it. */
const stringify = (rows: Record<string, string>[], delimiter: string) =>
  [Object.keys(rows[0] ?? {}), ...rows.map((row) => Object.values(row))]
    .map((cells) =>
      cells.map((cell) => (cell.includes(delimiter) ? `"${cell.replaceAll('"', '""')}"` : quoteCell(cell))).join(delimiter),
    )
    .join('\r\n');
const named = (...names: string[]) => names.map((name) => ids[name]);

describe('GET /pruefung/v1/warteschlange', () => {
  it('has what waits and is the reviewer’s to decide, oldest first', async () => {
    assert.deepEqual(await idsOf(), named('bird', 'butterfly', 'south', 'masked', 'photo'));
    assert.deepEqual(await idsOf('', 'admin'), named('bird', 'butterfly', 'south', 'masked', 'photo', 'own'));
    assert.deepEqual(await idsOf('', 'vogelexperte'), named('bird', 'south', 'masked', 'photo', 'own'));
    // Of a protected record near the border she is in charge too, wherever in its cell it lies.
    assert.deepEqual(await idsOf('', 'südexpertin'), named('south', 'masked'));
  });

  const filters: Record<string, string[]> = {
    'gid=2': ['butterfly'],
    [`art=${arten.uhu}`]: ['masked'],
    'mandant=s': ['south', 'masked'],
    'mandant=W': [],
    'mit_foto=true': ['photo'],
    'mit_foto=false&gid=1': ['bird', 'south', 'masked'],
    'seit=2020-05-06&gid=1': ['south', 'masked', 'photo'],
    'grund=zu_wenige_vergleiche': ['bird', 'butterfly', 'south', 'masked', 'photo'],
    'grund=entfernung': [],
  };
  for (const [query, names] of Object.entries(filters))
    it(`finds ${names.join(', ') || 'nothing'} by ${query}`, async () => {
      assert.deepEqual(await idsOf(query), named(...names));
    });

  it('shows each as the interface does, with stand and reasons; the stand changes with the record', async () => {
    const { json } = await ask('mit_foto=true');
    const [row] = json.result;
    assert.deepEqual(Object.keys(row), [
      'id',
      'stand',
      'sichtbeobachtung',
      'gruende',
      'bestaetigungen',
      'erfahrung',
      'nachrichten',
    ]);
    const detail = (await service.request(`/sichtbeobachtungen/${ids.photo}`, { as: 'expertin' })).json.result[0];
    // Signed until another second.
    assert.deepEqual({ ...row.sichtbeobachtung, foto: '' }, { ...detail, foto: '' });
    assert.match(row.sichtbeobachtung.foto, /^http:\/\/n\.test\/api\/v2\/medien\/a{32}\.jpg\?leser=/);
    assert.deepEqual(
      row.gruende.map(({ code }: Json) => code),
      ['zu_wenige_vergleiche'],
    );
    await sql`update portal.sichtbeobachtung set anzahl = 2 where id = ${ids.photo ?? 0}`;
    assert.notEqual((await ask('mit_foto=true')).json.result[0].stand, row.stand);
  });

  it('says how many of the group its recorder had released, 20 for more', async () => {
    const experience = async () => {
      await renewPruefgruende(sql);
      const { json } = await ask();
      return json.result.map(({ id, erfahrung }: Json) => [id, erfahrung]);
    };
    const [bird, butterfly, south, masked, photo] = named('bird', 'butterfly', 'south', 'masked', 'photo');
    assert.deepEqual(await experience(), [
      [bird, 1],
      [butterfly, 0],
      [south, 1],
      [masked, 1],
      [photo, 1],
    ]);
    const made: number[] = [];
    for (let n = 0; n < 20; n++) made.push(await makeRecord(sql, { ...published, status: 'freigegeben' }));
    await makeRecord(sql, { ...published, nutzer: 'nachbarin', art: arten.tagpfauenauge, status: 'freigegeben' });
    assert.deepEqual(await experience(), [
      [bird, 20],
      [butterfly, 0],
      [south, 20],
      [masked, 20],
      [photo, 20],
    ]);
    await sql`delete from portal.sichtbeobachtung where id in ${sql(made.slice(0, 2))}`;
    assert.deepEqual((await experience())[0], [bird, 19]);
    await sql`delete from portal.sichtbeobachtung where id in ${sql(made.slice(2))}`;
  });

  it('goes on page by page in either order, also behind what was decided meanwhile', async () => {
    await sql`update portal.pruefgrund set auffaelligkeit = sichtbeobachtung_id % 3`;
    for (const sortierung of ['alt', 'auffaellig']) {
      const all = await idsOf(`sortierung=${sortierung}`);
      const walked: number[] = [];
      for (let cursor = ''; ; ) {
        const { json } = await ask(`sortierung=${sortierung}&limit=2${cursor}`);
        walked.push(...json.result.map(({ id }: Json) => id));
        if (!json.cursor) break;
        cursor = `&cursor=${json.cursor}`;
      }
      assert.deepEqual(walked, all);
      assert.equal(new Set(walked).size, 5);
    }
    const odd = (await sql`select sichtbeobachtung_id::integer as id, auffaelligkeit as a from portal.pruefgrund`).map(
      (row) => row,
    );
    const order = await idsOf('sortierung=auffaellig');
    const weight = (id: number) => odd.find((row) => row.id === id)?.a ?? -1;
    assert.deepEqual(
      order,
      [...order].sort((a, b) => weight(b) - weight(a) || a - b),
    );
  });

  it('shows a restricted expert nothing that a border took out of her charge', async () => {
    assert.ok((await idsOf('', 'südexpertin')).includes(ids.south));
    await setBorders(sql, 'S', 452000, 475000);
    assert.ok(!(await idsOf('', 'südexpertin')).includes(ids.south));
    await setBorders(sql, 'S', 452000, 500000);
  });

  it('is for experts and administrators, and says what it takes', async () => {
    for (const [as, status] of [
      [null, 401],
      ['melder', 403],
    ] as const)
      assert.equal((await ask('', as)).status, status);
    for (const query of [
      'limit=201',
      'cursor=x',
      'seit=5.5.2020',
      'grund=x',
      'mandant=XX',
      'sortierung=neu',
      'foo=1',
      'mit_foto=x',
    ]) {
      const answer = await ask(query);
      assert.equal(answer.status, 400, `${query}: ${answer.text}`);
      assert.equal(answer.headers.get('content-type')?.split(';')[0], 'application/problem+json');
    }
  });
});

describe('GET /pruefung/v1/nachrichten/{id}', () => {
  const thread = (id: number | string, as: Account | null) =>
    service.request(`/pruefung/v1/nachrichten/${id}`, { below: '', as });

  it('has the thread of a record after it was decided, for its recorder and who is in charge', async () => {
    const id = await makeRecord(sql, { ...published, status: 'freigegeben' });
    assert.deepEqual((await thread(id, 'expertin')).json, { result: [] });
    await sql`
      insert into portal.nachricht (sichtbeobachtung_id, nutzer_id, text)
      select ${id}, u.id, 'von ' || u.loginname from portal.nutzer u where u.loginname in ('melder', 'expertin')
      order by u.loginname`;
    for (const as of ['melder', 'expertin', 'vogelexperte', 'admin'] as const) {
      const { status, json, text } = await thread(id, as);
      assert.equal(status, 200, text);
      assert.deepEqual(
        json.result.map(({ von, text }: Json) => [von, text]),
        [
          ['experte', 'von expertin'],
          ['erfasser', 'von melder'],
        ],
      );
      assert.deepEqual(Object.keys(json.result[0]), ['von', 'text', 'zeitpunkt']);
    }
    for (const [as, status] of [
      [null, 401],
      ['nachbarin', 403],
      ['südexpertin', 403],
    ] as const)
      assert.equal((await thread(id, as)).status, status, String(as));
    const butterfly = await makeRecord(sql, { ...published, art: arten.tagpfauenauge, status: 'freigegeben' });
    assert.equal((await thread(butterfly, 'vogelexperte')).status, 403);
    for (const unknown of [ids.private ?? 0, 999_999, 'x', '1e3'])
      assert.equal((await thread(unknown, 'expertin')).status, 404, String(unknown));
    assert.equal((await thread(`${id}?x=1`, 'expertin')).status, 400);
  });
});

describe('/pruefung/v1/entscheidungen.csv', () => {
  const send = (body: string, query = '', as: Account | null = 'expertin', headers: Record<string, string> = {}) =>
    service.request(`/pruefung/v1/entscheidungen.csv${query}`, { below: '', method: 'POST', as, body, headers });
  const load = async (query = '', as: Account | null = 'expertin') =>
    service.request(`/pruefung/v1/entscheidungen.csv${query}`, { below: '', as });
  const statusOf = async (name: string) =>
    (await sql`select status::text, bemerkung_experte as text from portal.sichtbeobachtung where id = ${ids[name] ?? 0}`).map(
      (row) => ({
        ...row,
      }),
    )[0];

  it('gives the queue as a table, and takes the same table back', async () => {
    const { status, text, headers } = await load('?gid=1');
    assert.deepEqual([status, headers.get('content-type')], [200, 'text/csv; charset=utf-8']);
    const rows: Record<string, string>[] = parse(text, { bom: true, columns: true });
    assert.deepEqual(
      rows.map(({ id }) => Number(id)),
      named('bird', 'south', 'masked', 'photo'),
    );
    const [bird, south, masked, photo] = rows;
    assert.deepEqual([bird?.titel_deutsch, bird?.erfasser, bird?.status, bird?.bemerkung], ['Amsel', 'Max Muster', '', '']);
    assert.match(bird?.gruende ?? '', /Vergleich/);
    const filled = [
      { ...bird, status: 'freigegeben', bemerkung: 'schön, "sagt"; er' },
      { ...south, status: '' },
      { ...masked, status: 'Abgelehnt ' },
      { ...photo, status: 'gut' },
    ];
    const lines = (delimiter: string) => stringify(filled, delimiter);
    const expected = [
      { id: ids.bird, ok: true },
      { id: ids.masked, ok: true },
      { id: ids.photo, ok: false, code: 'ungueltig' },
    ];
    const before = await statusOf('bird');
    assert.deepEqual((await send(lines(','), '?probe=true')).json, { result: expected, lauf: null });
    assert.deepEqual(await statusOf('bird'), before);
    // As Excel saves it.
    const done = await send(lines(';'), '', 'expertin', { 'Idempotency-Key': 'tabelle' });
    assert.deepEqual(done.json, { result: expected, lauf: null });
    assert.deepEqual(await statusOf('bird'), { status: 'freigegeben', text: 'schön, "sagt"; er' });
    assert.deepEqual(await statusOf('masked'), { status: 'abgelehnt', text: null });
    assert.equal((await send(lines(','), '', 'expertin', { 'Idempotency-Key': 'tabelle' })).text, done.text);
    // Without the key they are stale now.
    assert.deepEqual((await send(lines(','))).json.result[0], { id: ids.bird, ok: false, code: 'veraltet' });
  });

  it('says what is wrong with a table', async () => {
    for (const body of [
      'a,b\n1,2\n',
      'id,stand,status\n"1',
      'id,stand,status\n1\n',
      'id,stand,status,bemerkung\n1,v,hinweis,Stra\ufffde\n',
    ]) {
      const answer = await send(body);
      assert.equal(answer.status, 400, answer.text);
      assert.equal(answer.json.parameter, 'tabelle');
    }
    assert.deepEqual((await send('')).json, { result: [], lauf: null });
    assert.equal((await load('', 'melder')).status, 403);
    assert.equal((await load('', null)).status, 401);
    assert.equal((await load('?limit=1001')).status, 400);
  });
});

// The two logs as endpoints (D3.14, D3.15), and the catalogue's own lists.
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { arten } from '../support/catalogue.ts';
import { idsIn, pluck, startTestService, walkList } from '../support/service.ts';

const service = await startTestService();
const { sql } = service.database;
const [row] = await sql`select to_char(now() at time zone 'Europe/Berlin', 'DD.MM.YYYY') as text`;
const today = row?.text;

describe('GET /protokoll', () => {
  it('S4.2 tells everyone what was created, changed and deleted, newest first', async () => {
    const first = await service.makeSichtbeobachtung({ lon: '412001' });
    const second = await service.makeSichtbeobachtung({ lon: '412002' });
    await service.put(first, { anzahl: '2' });
    await service.request(`/sichtbeobachtungen/${second}`, { method: 'DELETE', as: 'melder' });
    const { json } = await service.request('/protokoll?limit=4');
    assert.deepEqual(pluck(json.result, 'audit', 'id'), [
      ['DELETE', second],
      ['UPDATE', first],
      ['CREATE', second],
      ['CREATE', first],
    ]);
    assert.deepEqual(Object.keys(json.result[0]), ['audit', 'id', 'datum', 'uhrzeit']);
    assert.equal(json.result[0].datum, today);
    assert.match(json.result[0].uhrzeit, /^\d\d:\d\d:\d\d$/);
  });

  it('filters by the day of the change in Europe/Berlin, across the change to summer time', async () => {
    const id = await service.makeSichtbeobachtung({ lon: '412003' });
    await sql`delete from portal.protokoll`;
    for (const [audit, at] of [
      ['CREATE', '2026-03-28 22:59:59+00'],
      ['UPDATE', '2026-03-28 23:00:00+00'],
      ['UPDATE', '2026-03-29 21:59:59+00'],
      ['DELETE', '2026-03-29 22:00:00+00'],
    ] as const) {
      await sql`
        insert into portal.protokoll (audit, sichtbeobachtung_id, zeitpunkt)
        values (${audit}::text::portal.audit, ${id}, ${at}::text::timestamptz)`;
    }
    const read = async (query: string) =>
      (await service.request(`/protokoll?${query}`)).json.result.map(
        (entry: Record<string, string>) => `${entry.datum} ${entry.uhrzeit}`,
      );
    assert.deepEqual(await read('datum_von=29.3.2026&datum_bis=29.3.2026'), ['29.03.2026 23:59:59', '29.03.2026 00:00:00']);
    assert.deepEqual(await read('datum_von=30.3.2026'), ['30.03.2026 00:00:00']);
    assert.deepEqual(await read('datum_bis=28.3.2026'), ['28.03.2026 23:59:59']);
    for (const bad of ['datum_von=30.2.2026', 'datum_bis=x', 'limit=0']) {
      assert.equal((await service.request(`/protokoll?${bad}`)).status, 400, bad);
    }
  });

  it('S4.3 pages to the end, nobody twice, while others write', async () => {
    await sql`delete from portal.protokoll`;
    for (let n = 0; n < 25; n++) await service.makeSichtbeobachtung({ lon: String(413000 + n) });
    const seen: string[] = [];
    let path = '/protokoll?limit=10';
    for (let page = 0; path; page++) {
      const { json } = await service.request(path);
      seen.push(...json.result.map((entry: { id: number }) => String(entry.id)));
      if (page === 0) await service.makeSichtbeobachtung({ lon: '414000' });
      path = json.next ? json.next.slice(json.next.indexOf('/protokoll')) : '';
    }
    assert.equal(seen.length, 25);
    assert.equal(new Set(seen).size, 25);
  });
});

describe('days of a log', () => {
  after(() => sql`truncate portal.protokoll, portal.qs`);

  // Ids and times in another order: what was written for long is committed late. Several of one moment.
  const fill = async () => {
    await sql`truncate portal.protokoll, portal.qs`;
    const days = Array.from({ length: 60 }, (_, n) => `2026-05-${String(1 + ((n * 7) % 12)).padStart(2, '0')} ${n % 3}:00:00+02`);
    await sql`
      insert into portal.protokoll (audit, sichtbeobachtung_id, zeitpunkt)
      select 'UPDATE', u.n, u.t::timestamptz from jsonb_array_elements_text(${JSON.stringify(days)}::text::jsonb) with ordinality u (t, n)`;
    await sql`
      insert into portal.qs (sichtbeobachtung_id, nutzer_id, art, datum_beobachtung, status, zeitpunkt)
      select u.n, 900000 + u.n % 2, 1, '2026-01-01', case when u.n % 3 = 0 then 'hinweis' else 'pruefung' end::portal.status, u.t::timestamptz
      from jsonb_array_elements_text(${JSON.stringify(days)}::text::jsonb) with ordinality u (t, n)`;
    return days.map((day, index) => ({ id: index + 1, at: new Date(day).getTime(), day: Number(day.slice(8, 10)) }));
  };
  const page = async (path: string): Promise<number[]> =>
    idsIn({ json: { result: await walkList(service, path, { as: 'admin' }) } });

  const isHint = (id: number) => id % 3 === 0;
  /** Both logs, and one status of the second. */
  async function assertPages(query: string, ids: number[]): Promise<void> {
    assert.deepEqual(await page(`/protokoll?${query}`), ids, query);
    assert.deepEqual(await page(`/qs?${query}`), ids, query);
    assert.deepEqual(await page(`/qs?${query}&status_aenderung=hinweis`), ids.filter(isHint), query);
  }

  it('come newest first, each entry once, in pages of any size', async () => {
    const entries = await fill();
    const ranges: [query: string, isIn: (day: number) => boolean][] = [
      ['datum_von=4.5.2026', (day) => day >= 4],
      ['datum_bis=4.5.2026', (day) => day <= 4],
      ['datum_von=3.5.2026&datum_bis=9.5.2026', (day) => day >= 3 && day <= 9],
      ['datum_von=9.5.2026&datum_bis=3.5.2026', () => false],
      ['datum_bis=1.1.1900', () => false],
    ];
    for (const [query, isIn] of ranges) {
      const expected = entries.filter(({ day }) => isIn(day)).sort((a, b) => b.at - a.at || b.id - a.id);
      for (const limit of [1, 3, 100]) {
        const ids = pluck(expected, 'id');
        await assertPages(`${query}&limit=${limit}`, ids);
        // Of a status by the same order, of a recorder by the order of the log.
        const own = ids.filter((id) => id % 2 === 1).sort((a, b) => b - a);
        const ofOwn = `/qs?${query}&uid=900001&limit=${limit}`;
        assert.deepEqual(await page(ofOwn), own, ofOwn);
        assert.deepEqual(await page(`${ofOwn}&status_aenderung=hinweis`), own.filter(isHint), ofOwn);
      }
    }
    for (const limit of [7, 100]) await assertPages(`limit=${limit}`, pluck(entries, 'id').reverse());
  });

  it('are found without walking the whole log', async () => {
    await sql`truncate portal.protokoll, portal.qs`;
    await sql`
      insert into portal.protokoll (audit, sichtbeobachtung_id, zeitpunkt)
      select 'UPDATE', n, '2026-01-01'::timestamptz + n * interval '10 minutes' from generate_series(1, 30000) n`;
    await sql`
      insert into portal.qs (sichtbeobachtung_id, nutzer_id, art, datum_beobachtung, status, zeitpunkt)
      select n, 900000 + n % 1000, 1, '2026-01-01', 'pruefung', '2026-01-01'::timestamptz + n * interval '10 minutes' from generate_series(1, 30000) n`;
    await sql`analyze portal.protokoll, portal.qs`;
    const [{ id: reader, last } = {}] = await sql`
      select id, (select max(id) from portal.protokoll) as last from portal.nutzer where loginname = 'admin'`;
    const calls = [
      `api.list_protokoll(null, '1900-01-01', null, 1)`,
      `api.list_protokoll('2100-01-01', null, null, 1)`,
      `api.list_protokoll(null, '2026-04-01', null, 1)`,
      `api.list_protokoll(null, '2026-07-01', ${last - 25_000}, 1)`,
      `api.list_protokoll(null, null, ${last - 29_000}, 1)`,
      `api.list_qs(${reader}, null, '2026-04-01', null, null, null, 1)`,
      `api.list_qs(${reader}, null, '1900-01-01', null, 'hinweis', null, 1)`,
      `api.list_qs(${reader}, null, null, 900007, 'hinweis', null, 1)`,
      `api.list_qs(${reader}, null, null, null, 'hinweis', null, 1)`,
      `api.list_qs(${reader}, null, null, null, null, 1000, 1)`,
    ];
    for (const call of calls) {
      // The second time plans are there.
      await sql.unsafe(`select * from ${call}`);
      const [row] = await sql.unsafe(`explain (analyze, buffers, format json) select * from ${call}`);
      const plan = row?.['QUERY PLAN'][0].Plan;
      const blocks = plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
      assert.ok(blocks < 80, `${call}: ${blocks} blocks`);
    }
  });
});

describe('GET /qs', () => {
  it('is for experts and administrators', async () => {
    for (const [as, status] of [
      [null, 401],
      ['melder', 403],
      ['expertin', 200],
      ['vogelexperte', 200],
      ['admin', 200],
    ] as const) {
      assert.equal((await service.request('/qs', { as })).status, status, String(as));
    }
  });

  it('S4.2 tells publication and every change of status, with recorder, species, dates and expert', async () => {
    const id = await service.makeSichtbeobachtung({ lon: '415000', datum: '1.2.2026', art: String(arten.tagpfauenauge) });
    await service.put(id, { bereich: 'oeffentlich' });
    for (const status of ['hinweis', 'freigegeben']) await service.put(id, { status }, 'expertin');
    const { json } = await service.request('/qs?limit=3', { as: 'admin' });
    const users = await sql<{ id: number; loginname: string }[]>`select id, loginname from portal.nutzer`;
    const idOf = (loginname: string) => users.find((user) => user.loginname === loginname)?.id;
    assert.deepEqual(
      json.result.map(({ uhrzeit, ...entry }: Record<string, unknown>) => entry),
      [
        ['Freigegeben', idOf('expertin')],
        ['Mit Hinweis', null],
        ['In Prüfung', null],
      ].map(([status_aenderung, experte_uid]) => ({
        id,
        uid: idOf('melder'),
        datum: today,
        status_aenderung,
        aid: arten.tagpfauenauge,
        datum_beobachtung: '01.02.2026',
        experte_uid,
      })),
    );
    const count = async (query: string) => (await service.request(`/qs?${query}`, { as: 'admin' })).json.result.length;
    assert.equal(await count('status_aenderung=freigegeben'), 1);
    assert.equal(await count(`uid=${idOf('nachbarin')}`), 0);
    assert.ok((await count(`uid=${idOf('melder')}&datum_von=${today}&datum_bis=${today}`)) >= 3);
    assert.equal(await count('datum_bis=1.1.2020'), 0);
    for (const bad of ['status_aenderung=Freigegeben', 'uid=x', 'datum_von=1']) {
      assert.equal((await service.request(`/qs?${bad}`, { as: 'admin' })).status, 400, bad);
    }
  });
});

describe('species', () => {
  it('GET /arten/{id} shows the portrait as the addressed tenant defines it', async () => {
    await sql`update portal.art set lebensraum = 'Wälder', quelle = 'eigener Text' where id = ${arten.uhu}`;
    await sql`update portal.art_mandant set regionale_verbreitung = 'im Norden' where art = ${arten.uhu} and mandant_id = 1`;
    await sql`insert into portal.art_foto (art, uri, autor) values (${arten.uhu}, 'https://example.org/1.jpg', null), (${arten.uhu}, 'https://example.org/2.jpg', 'B')`;
    await sql`insert into portal.verwechslung values (${arten.uhu}, 'wie eine große Eule')`;
    await sql`insert into portal.verwechslung_art values (${arten.uhu}, ${arten.wanderfalke})`;
    const { json } = await service.request(`/arten/${arten.uhu}`);
    const [record] = json.result;
    assert.deepEqual(Object.keys(record), [
      ...['id', 'eu_guid', 'art_id', 'name_wissenschaftlich', 'name_deutsch', 'artengruppe', 'gid', 'is_animal', 'sensibel'],
      ...['bluetenmerkmale', 'bluetezeit', 'fortpflanzung', 'gefaehrdung', 'lebensraum', 'nahrung', 'oekologie', 'quelle'],
      ...['ueberregionale_verbreitung', 'regionale_verbreitung', 'schutzwuerdigkeit_und_schutzstatus', 'vegetative_merkmale'],
      ...['verhalten', 'foto', 'verwechslungsgefahr'],
    ]);
    assert.equal(record.regionale_verbreitung, 'im Norden');
    assert.deepEqual(record.foto, [
      { uri: 'https://example.org/1.jpg', autor: null, lizenz: null, bildunterschrift: null },
      { uri: 'https://example.org/2.jpg', autor: 'B', lizenz: null, bildunterschrift: null },
    ]);
    assert.deepEqual(record.verwechslungsgefahr, {
      beschreibung: 'wie eine große Eule',
      art: [{ aid: arten.wanderfalke }],
      foto: [],
    });
    const south = await service.request(`/arten/${arten.uhu}?restrict=regionale_verbreitung,art_id`, { host: 's.test' });
    assert.deepEqual(south.json.result, [{ art_id: 'S-1', regionale_verbreitung: null }]);
    const xml = await service.request(`/arten/${arten.uhu}?format=xml&restrict=foto,verwechslungsgefahr`);
    assert.match(
      xml.text,
      /<foto><row><uri>https:\/\/example\.org\/1\.jpg<\/uri><autor\/>.*<\/row><row>.*<verwechslungsgefahr><beschreibung>.*<art><row><aid>3<\/aid><\/row><\/art><foto\/>/,
    );
  });

  it('another tenant’s species is 404', async () => {
    assert.equal((await service.request(`/arten/${arten.gelbflechte}`)).status, 200);
    assert.equal((await service.request(`/arten/${arten.gelbflechte}`, { host: 's.test' })).status, 404);
    for (const id of ['999', 'x', '99999999999']) assert.equal((await service.request(`/arten/${id}`)).status, 404, id);
  });

  it('stages and activities are lists', async () => {
    const stages = await service.request('/stadien');
    assert.deepEqual(stages.json, {
      result: [
        { id: 2, name: 'Raupe', phaenogramm: false },
        { id: 1, name: 'Imago', phaenogramm: true },
      ],
    });
    const first = await service.request('/aktivitaeten?limit=1&restrict=name');
    assert.deepEqual(first.json.result, [{ name: 'fliegend' }]);
    const second = await service.request(first.json.next.slice(first.json.next.indexOf('/aktivitaeten')));
    assert.deepEqual(second.json, { result: [{ name: 'ruhend' }] });
  });
});

describe('HEAD, OPTIONS, 405 and CORS', () => {
  it('every answer may be read by other sites, with the headers they need', async () => {
    for (const path of ['/arten', '/arten/999', '/sichtbeobachtungen?limit=0']) {
      const { headers } = await service.request(path, { headers: { origin: 'https://portal.example' } });
      assert.equal(headers.get('access-control-allow-origin'), '*');
      assert.equal(headers.get('access-control-allow-credentials'), null);
      const exposed = headers.get('access-control-expose-headers')?.split(', ') ?? [];
      for (const name of ['Location', 'ETag', 'Retry-After', 'X-Request-Id', 'Content-Range', 'Accept-Ranges', 'Content-Length'])
        assert.ok(exposed.includes(name), name);
    }
  });

  it('a preflight allows whatever headers it asks for', async () => {
    const x = 'x-auth-token, x-auth-user, x-http-method-override';
    for (const asked of [x, 'cache-control, x-requested-with, pragma, traceparent', 'range, if-range', 'authorization,x-y', '']) {
      for (const path of ['/sichtbeobachtungen/1', '/medien/x.mp3', '/nirgends']) {
        const { status, headers } = await service.request(path, {
          method: 'OPTIONS',
          headers: { 'access-control-request-method': 'GET', ...(asked !== '' && { 'access-control-request-headers': asked }) },
        });
        const allowed = headers.get('access-control-allow-headers') ?? '';
        assert.deepEqual([status, allowed], [204, asked || '*'], path);
      }
    }
  });

  it('a preflight is answered without a login', async () => {
    const { status, headers, text } = await service.request('/sichtbeobachtungen/1', {
      method: 'OPTIONS',
      headers: { 'access-control-request-method': 'PUT', 'access-control-request-headers': 'x-auth-token' },
    });
    assert.deepEqual([status, text], [204, '']);
    assert.equal(headers.get('access-control-allow-methods'), 'GET, POST, PUT, DELETE');
    assert.equal(headers.get('access-control-allow-headers'), 'x-auth-token');
  });

  it('a known path with another method is 405 with Allow, an unknown one 404', async () => {
    for (const [method, path, allow] of [
      ['DELETE', '/arten', 'GET'],
      ['PUT', '/sichtbeobachtungen', 'GET, POST'],
      ['DELETE', '/nutzer/1', 'GET, POST, PUT'],
      ['POST', '/protokoll', 'GET'],
    ] as const) {
      const answer = await service.request(path, { method });
      assert.deepEqual([answer.status, answer.headers.get('allow')], [405, allow], path);
      assert.equal(answer.json.error.code, 'methode_nicht_erlaubt');
    }
    assert.equal((await service.request('/gibt-es-nicht')).status, 404);
  });
});

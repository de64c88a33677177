// Everything from outside has a length, looked at before anything else is done with it; in the database again.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { maxMarks } from '../../src/guard/text.ts';
import { maxFieldsBytes } from '../../src/http/wire/form.ts';
import { maxFields } from '../../src/http/wire/query.ts';
import { arten } from '../support/catalogue.ts';
import { type RequestOptions, startTestService, type TestService } from '../support/service.ts';

let service: TestService;
before(async () => {
  service = await startTestService();
});

const marks = (count: number) => `a${'\u0300\u0323'.repeat(count / 2)}`;
const report = { art: String(arten.amsel), lat: '5530000', lon: '420000', datum: '1.9.2026' };
const registration = { loginname: 'neu', email: 'neu@example.org', vorname: 'Neu', nachname: 'Neu' };

describe('a value that is longer than any may be is refused by its name, whatever its field would make of it', () => {
  const rows: [title: string, path: string, options: RequestOptions, field: string][] = [
    ['a first name of combining marks', '/register', { form: { ...registration, vorname: marks(60_000) } }, 'vorname'],
    ['a login name of combining marks', '/register', { form: { ...registration, loginname: marks(60_000) } }, 'loginname'],
    ['an address', '/register', { form: { ...registration, email: `${'a'.repeat(60_000)}@example.org` } }, 'email'],
    ['the name of a portal', '/register', { form: { ...registration, 'portal-name': marks(60_000) } }, 'portal-name'],
    ['a lost password', '/passwort', { form: { email: marks(60_000) } }, 'email'],
    ['a login', '/login', { form: { loginname: marks(60_000), password: 'x' } }, 'loginname'],
    ['a login by GET', `/login?password=x&loginname=${encodeURIComponent(marks(1000))}`, {}, 'loginname'],
    ['a remark', '/sichtbeobachtungen', { as: 'melder', form: { ...report, bemerkung: 'x'.repeat(60_000) } }, 'bemerkung'],
    ['a remark of marks', '/sichtbeobachtungen', { as: 'melder', form: { ...report, bemerkung: marks(16_000) } }, 'bemerkung'],
    ['a number', '/sichtbeobachtungen', { as: 'melder', form: { ...report, lat: `${'1'.repeat(60_000)}x` } }, 'lat'],
    ['a date', '/sichtbeobachtungen', { as: 'melder', form: { ...report, datum: '1'.repeat(60_000) } }, 'datum'],
    ['a box', `/sichtbeobachtungen?bbox=${'1'.repeat(14_000)}x,1,2,3`, {}, 'bbox'],
    ['a name of a species', `/sichtbeobachtungen?titel_deutsch=${encodeURIComponent(marks(1000))}`, {}, 'titel_deutsch'],
    ['a group', `/arten?artengruppe=${'%a'.repeat(7000)}`, {}, 'artengruppe'],
    ['a regular expression', `/arten?name_regexp_ci=${encodeURIComponent(marks(1000))}`, {}, 'name_regexp_ci'],
    ['a cursor', `/arten?cursor=${'A'.repeat(14_000)}`, {}, 'cursor'],
  ];
  for (const [title, path, options, field] of rows) {
    it(title, async () => {
      const answer = await service.request(path, options);
      assert.equal(answer.status, 400, answer.text.slice(0, 300));
      assert.deepEqual(Object.keys(answer.json.error.fields), [field]);
      // Not by its schema, which comes after what takes long with the length.
      assert.match(answer.json.error.fields[field], /ist zu lang, erlaubt sind höchstens|kombinierende Zeichen/);
      assert.ok(answer.text.length < 2000, 'the value is not repeated whole');
    });
  }

  it(`${maxMarks} combining marks in a row are taken, one more is not`, async () => {
    const send = (count: number, lon: string) =>
      service.request('/sichtbeobachtungen', {
        as: 'melder',
        form: { ...report, lon, bemerkung: `a${'\u0323'.repeat(count)} b` },
      });
    assert.equal((await send(maxMarks, '420001')).status, 201);
    const refused = await send(maxMarks + 1, '420002');
    assert.equal(refused.status, 400);
    assert.match(refused.json.error.fields.bemerkung, /kombinierende Zeichen/);
  });

  it('signs without width between combining marks do not hide how many there are', async () => {
    const name = `a${`${'\u0323'.repeat(15)}\u200b`.repeat(3)}`;
    const form = { loginname: 'Marke', email: 'marke@example.org', vorname: name, nachname: 'M' };
    const refused = await service.request('/register', { form });
    assert.equal(refused.status, 400);
    assert.match(refused.json.error.fields.vorname, /kombinierende Zeichen/);
  });

  it('a login name of marks in the header is a wrong one', async () => {
    for (const name of [marks(14_000), 'x'.repeat(14_000), marks(300)]) {
      const headers = { 'X-Auth-User': Buffer.from(name).toString('latin1'), 'X-Auth-Token': 'x'.repeat(43) };
      assert.equal((await service.request('/arten', { headers })).status, 401, name.slice(0, 20));
    }
  });

  // Eighteen letters in one, three in one, one of four bytes: what is compared may be longer than what was sent, or not be made at all.
  for (const letter of ['ﷺ', 'ﬃ', '𝔘', 'ü']) {
    it(`a login name of many ${letter} is a wrong one, wherever it is sent`, async () => {
      for (const length of [30, 120, 250, 499, 500, 501, 1900]) {
        const loginname = letter.repeat(length);
        const login = await service.request('/login', { form: { loginname, password: 'x' } });
        assert.deepEqual([login.status, login.json?.token], [200, undefined], `login ${length}`);
        for (const path of ['/passwort', '/register']) {
          const answer = await service.request(path, { form: { ...registration, loginname, email: `${loginname}@example.org` } });
          assert.ok(answer.status < 500, `${path} ${length}: ${answer.text}`);
        }
      }
    });
  }

  it('the heads of a form’s parts have a bound together too', async () => {
    const send = (count: number, filler: number) => {
      const part = `--b\r\nContent-Disposition: form-data; name="x"; y="${'%41'.repeat(filler)}"\r\n\r\n1\r\n`;
      const body = `${part.repeat(count)}--b--\r\n`;
      return service.request('/login', { method: 'POST', headers: { 'Content-Type': 'multipart/form-data; boundary=b' }, body });
    };
    assert.doesNotMatch((await send(3, 2600)).text, /Die Köpfe der Formularfelder/);
    for (const [count, filler] of [
      [5, 2600],
      [100, 120],
    ] as const) {
      const refused = await send(count, filler);
      assert.equal(refused.status, 400);
      assert.match(refused.text, /Die Köpfe der Formularfelder sind zusammen länger als 32768 Bytes/);
    }
  });

  it(`more than ${maxFields} fields, or ${maxFieldsBytes} bytes of them, are refused in every form`, async () => {
    const many = Array.from({ length: maxFields + 1 }, (_, n): [string, string] => [`f${n}`, 'x']);
    const long: [string, string][] = [['x'.repeat(100), 'x'.repeat(maxFieldsBytes)]];
    for (const [path, as] of [
      ['/login', null],
      ['/register', null],
      ['/passwort', null],
      ['/sichtbeobachtungen', 'melder'],
    ] as const) {
      for (const [pairs, status] of [
        [many, 400],
        [long, 413],
      ] as const) {
        const urlencoded = await service.request(path, { as, method: 'POST', body: new URLSearchParams(pairs) });
        assert.equal(urlencoded.status, status, `${path}: ${urlencoded.text}`);
        const form = new FormData();
        for (const [name, value] of pairs) form.append(name, value);
        const sent = new Response(form);
        const headers = { 'content-type': sent.headers.get('content-type') ?? '' };
        const multipart = await service.request(path, { as, method: 'POST', body: await sent.arrayBuffer(), headers });
        assert.equal(multipart.status, status, `${path}: ${multipart.text}`);
      }
    }
  });
});

describe('bodies that are made of nothing but beginnings', () => {
  // Each took the service seconds while it parsed; now what comes after the bound is not parsed at all.
  const rows: [title: string, type: string, body: string, status: number][] = [
    ['empty parts', 'multipart/form-data; boundary=b', '--b\r\n\r\n'.repeat(12_000), 400],
    [
      'a long boundary over and over',
      `multipart/form-data; boundary=${'b'.repeat(60)}`,
      `--${'b'.repeat(60)}\r\n`.repeat(1900),
      400,
    ],
    ['short runs of escapes', 'application/x-www-form-urlencoded', `loginname=x&password=${'%41a'.repeat(30_000)}`, 200],
    ['escapes that are no UTF-8', 'application/x-www-form-urlencoded', `loginname=x&password=${'%ff%41'.repeat(20_000)}`, 200],
    ['separators', 'application/x-www-form-urlencoded', '&'.repeat(130_000), 400],
  ];
  for (const [title, type, body, status] of rows) {
    it(title, async () => {
      const answer = await service.request('/login', { method: 'POST', body, headers: { 'content-type': type } });
      assert.equal(answer.status, status, answer.text);
    });
  }
});

describe('a page has a bound in bytes', () => {
  it('of which remarks that fill it are told by `next`, and nobody is skipped', async () => {
    const { sql } = service.database;
    await sql`
      insert into portal.sichtbeobachtung (nutzer_id, art, point, datum, bereich, status, bemerkung, bemerkung_experte)
      select (select min(u.id) from portal.nutzer u), ${arten.amsel}::integer, st_setsrid(st_makepoint(417000 + n, 5531000), 25832),
        date '2026-09-01', 'oeffentlich', 'freigegeben', repeat(chr(1), 4000), repeat('☃', 4000)
      from generate_series(1, 300) n`;
    const all = await sql<{ id: number }[]>`
      select id from portal.sichtbeobachtung where bereich = 'oeffentlich' and status = 'freigegeben' order by id desc`;
    // A hundred are rendered at once, more of them in steps.
    for (const [as, format, limit] of [
      [null, 'json', 1000],
      ['nachbarin', 'json', 1000],
      [null, 'xml', 1000],
      [null, 'json', 100],
      ['nachbarin', 'json', 100],
    ] as const) {
      const seen: number[] = [];
      let path: string | undefined = `/sichtbeobachtungen?limit=${limit}&format=${format}`;
      for (let pages = 0; path !== undefined; pages++) {
        const answer = await service.request(path, { as });
        assert.equal(answer.status, 200);
        assert.ok(Buffer.byteLength(answer.text) < (limit > 100 ? 3 : 2.1) * 1024 * 1024, `${answer.text.length} characters`);
        const isJson = format === 'json';
        const ids: number[] = isJson
          ? answer.json.result.map((record: { id: number }) => record.id)
          : [...answer.text.matchAll(/<row><id>(\d+)</g)].map(([, id]) => Number(id));
        assert.ok(ids.length > 0 && pages < 30, 'each page goes on');
        seen.push(...ids);
        const next: string | undefined = isJson ? answer.json.next : /<next><!\[CDATA\[(.*?)\]\]>/.exec(answer.text)?.[1];
        path = next?.slice(next.indexOf('/api/v2') + '/api/v2'.length);
      }
      assert.deepEqual(
        seen,
        all.map(({ id }) => id),
      );
    }
  });
});

describe('in the database', () => {
  // Types whose values have a length of their own, or none.
  const bounded =
    /^(boolean|smallint|integer|bigint|double precision|date|timestamp.*|bytea|uuid|integer\[\]|double precision\[\]|bigint\[\])$/;
  const domains = /^portal\.(kurztext|kurztexte|bemerkung|dokument|felder)$/;

  let rows: { call: string; types: string[] }[];
  before(async () => {
    rows = await service.database.sql<typeof rows>`
      select p.oid::regproc::text as call, array_to_json(array(
        select format_type(t.oid, null) from unnest(p.proargtypes) with ordinality a (oid, position) join pg_type t on t.oid = a.oid
        order by a.position)) as types
      from pg_proc p where p.pronamespace = 'api'::regnamespace`;
  });

  it('no function of api takes text of unbounded length', () => {
    assert.ok(rows.length > 40);
    assert.deepEqual(
      rows.filter(({ types }) => types.some((type) => !bounded.test(type) && !domains.test(type))),
      [],
    );
  });

  it('each refuses a megabyte of combining marks before it does anything with it', async () => {
    const { sql } = service.database;
    const wrapped: Record<string, (text: string) => string> = {
      'portal.kurztexte': (text) => `array[${text}]`,
      'portal.felder': (text) => `jsonb_build_object('bemerkung', ${text})`,
    };
    let calls = 0;
    for (const { call, types } of rows) {
      for (const [at, type] of types.entries()) {
        if (!/^portal\.(kurztext|kurztexte|bemerkung|felder)$/.test(type)) continue;
        calls++;
        const megabyte = "repeat('\u0300\u0323', 250000)";
        const values = types.map((other, index) => (index !== at ? `null::${other}` : (wrapped[type]?.(megabyte) ?? megabyte)));
        await assert.rejects(
          sql.unsafe(`select * from ${call}(${values.join(', ')})`),
          { code: '23514' },
          `${call}: ${type} in place ${at + 1}`,
        );
      }
    }
    assert.ok(calls > 50, String(calls));
  });

  it('a remark of 4 001 characters is refused, and 4 000 of any kind are stored', async () => {
    const { sql } = service.database;
    const insert = (text: string, column: string, day: number) =>
      sql.unsafe(
        `insert into portal.sichtbeobachtung (nutzer_id, art, point, datum, ${column})
         values ((select min(id) from portal.nutzer), 2, st_setsrid(st_makepoint(420000, 5530000), 25832), date '2001-01-01' + ${day}, $1)`,
        [text],
      );
    for (const column of ['bemerkung', 'bemerkung_experte']) {
      await insert('🦋'.repeat(4000), column, column.length);
      await assert.rejects(insert('x'.repeat(4001), column, 100), { code: '23514' });
    }
  });

  it('names and addresses that are too long for any account have no key, instead of taking minutes to get one', async () => {
    const { sql } = service.database;
    const [row] = await sql`
      select private.to_account_key(repeat(E'\\u0300\\u0323', 100000)) as long, private.to_account_key(' Käfer  Anna') as short`;
    assert.deepEqual({ ...row }, { long: null, short: 'käfer anna' });
  });
});

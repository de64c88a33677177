// Conditional reads (D2.21).
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { createApp } from '../../src/app.ts';
import { admitCalls } from '../../src/db/admitted.ts';
import { callBounds, callMs } from '../../src/db/client.ts';
import { finishNutzerLoeschung, setNutzerLoeschung } from '../../src/db/loeschung.ts';
import { Limit } from '../../src/guard/limit.ts';
import { runInScope } from '../../src/guard/request.ts';
import { matches } from '../../src/http/wire/etag.ts';
import { arten } from '../support/catalogue.ts';
import { onPostgres } from '../support/database.ts';
import { startTestService } from '../support/service.ts';

const service = await startTestService();
const { sql } = service.database;

const read = (path: string, tag?: string | null, host = 'n.test') =>
  service.request(path, { host, headers: tag ? { 'if-none-match': tag } : {} });

describe('an anonymous read', () => {
  it('carries an ETag, and is 304 without a body as long as nothing changes', async () => {
    await service.makeReleased({ lon: '416000' });
    const lists = ['/arten', '/artengruppen', '/stadien', '/aktivitaeten', '/protokoll'];
    for (const path of ['/sichtbeobachtungen?limit=3', '/arten/1', ...lists]) {
      const first = await read(path);
      const tag = first.headers.get('etag');
      assert.match(tag ?? '', /^"[\w-]+"$/, path);
      assert.equal(first.headers.get('cache-control'), 'no-cache');
      const inside = (suffix: string) => `${tag?.slice(0, -1)}${suffix}"`;
      const packed = ['-gzip', '-br', '--gzip', '-zstd'].flatMap((suffix) => [inside(suffix), `W/${inside(suffix)}`]);
      for (const sent of [tag, `W/${tag}`, `"other", ${tag}`, ...packed]) {
        const again = await read(path, sent);
        assert.deepEqual([again.status, again.text, again.headers.get('etag')], [304, '', tag], path);
      }
      for (const sent of ['"other"', '"other-gzip"', inside('-other'), inside('-gzip-br')])
        assert.equal((await read(path, sent)).status, 200, sent);
    }
  });

  it('is 304 for `*` where there is something, and what it would be without it where there is not', async () => {
    const id = await service.makeReleased({ lon: '416002' });
    for (const path of ['/arten', `/sichtbeobachtungen/${id}`, '/protokoll']) {
      // The second is kept, the third comes from there.
      for (let n = 0; n < 3; n++) await read(path);
      for (const sent of ['*', ' * ']) {
        const answer = await read(path, sent);
        assert.deepEqual([answer.status, answer.text], [304, ''], path);
        assert.match(answer.headers.get('etag') ?? '', /^"[\w-]+"$/);
      }
    }
    for (const [path, status] of [
      ['/arten/99999999', 404],
      ['/sichtbeobachtungen/99999999', 404],
      ['/sichtbeobachtungen?limit=0', 400],
      ['/sichtbeobachtungen?limit=abc', 400],
    ] as const)
      assert.deepEqual([path, (await read(path, '*')).status], [path, status]);
  });

  it('is of an operation: an address below one that is none of its own has neither ETag nor 304', async () => {
    for (const path of ['/arten/', '/arten/1/2', '/stadien/']) {
      const answer = await read(path, '*');
      assert.deepEqual([answer.status, answer.headers.get('etag'), answer.headers.get('cache-control')], [404, null, null], path);
    }
  });

  it('changes its ETag with every change of what is shown', async () => {
    const id = await service.makeReleased({ lon: '416001', art: String(arten.rotmilan) });
    const path = `/sichtbeobachtungen/${id}`;
    let tag = (await read(path)).headers.get('etag');
    for (const [name, change] of [
      ['the record', sql`update portal.sichtbeobachtung set bemerkung = 'neu' where id = ${id}`],
      ['a name of its species', sql`update portal.art set name_deutsch = 'Gabelweihe' where id = ${arten.rotmilan}`],
      [
        'the tenant’s definition',
        sql`update portal.art_mandant set sensibel = true where mandant_id = 1 and art = ${arten.rotmilan}`,
      ],
      ['the tenant', sql`update portal.mandant set name = 'Nord' where kuerzel = 'N'`],
      ['a table that was emptied', sql`truncate portal.art_foto`],
    ] as const) {
      await change;
      const answer = await read(path, tag);
      assert.equal(answer.status, 200, name);
      assert.notEqual(answer.headers.get('etag'), tag, name);
      tag = answer.headers.get('etag');
    }
    await sql`update portal.sichtbeobachtung set status = 'hinweis' where id = ${id}`;
    const gone = await read(path, tag);
    assert.deepEqual([gone.status, gone.headers.get('etag')], [404, null]);
  });

  it('is not changed by what no anonymous reader sees; the change log has a version of its own', async () => {
    const id = await service.makeReleased({ lat: '5530900', sensibel: 'true' });
    const paths = ['/arten', '/sichtbeobachtungen', `/sichtbeobachtungen/${id}`];
    const tagsOf = () => Promise.all(paths.map(async (path) => (await read(path)).headers.get('etag')));
    const tags = await tagsOf();
    const log = (await read('/protokoll')).headers.get('etag');
    await service.makeSichtbeobachtung({ lat: '5530901', bereich: 'oeffentlich' });
    await sql`update portal.sichtbeobachtung set point = st_translate(point, 10, 0) where id = ${id}`;
    await sql`update portal.sichtbeobachtung set bemerkung_experte = 'gut' where id = ${id}`;
    assert.deepEqual(await tagsOf(), tags);
    const later = (await read('/protokoll')).headers.get('etag');
    assert.notEqual(later, log);
    await sql`delete from portal.protokoll where sichtbeobachtung_id = ${id}`;
    assert.notEqual((await read('/protokoll')).headers.get('etag'), later);
  });

  it('keeps the ETag of the change log where nothing entered it: an erased account without records, statements that touch no row', async () => {
    await service.makeReleased({ lon: '416003' });
    const [account] = await sql<{ id: number }[]>`
      insert into portal.nutzer (loginname, vorname, nachname) values ('Ohne Meldung', 'O', 'M') returning id`;
    const tag = (await read('/protokoll')).headers.get('etag');
    for (const [name, change] of [
      ['no row inserted', () => sql`insert into portal.protokoll (audit, sichtbeobachtung_id) select 'UPDATE', 1 where false`],
      ['no row deleted', () => sql`delete from portal.protokoll where id < 0`],
      ['no record changed', () => sql`update portal.sichtbeobachtung set anzahl = 2 where id < 0`],
      ['no record deleted', () => sql`delete from portal.sichtbeobachtung where id < 0`],
      [
        'an account erased',
        async () => {
          await setNutzerLoeschung(sql, account?.id ?? 0, 'loeschen');
          await finishNutzerLoeschung(sql, account?.id ?? 0);
        },
      ],
    ] as const) {
      await change();
      assert.equal((await read('/protokoll', tag)).status, 304, name);
    }
    await sql`truncate portal.protokoll`;
    assert.equal((await read('/protokoll', tag)).status, 200);
  });

  it('a tag is worth nothing at another address, host or with a login', async () => {
    const tag = (await read('/arten')).headers.get('etag');
    assert.equal((await read('/arten?limit=2', tag)).status, 200);
    assert.equal((await read('/arten?limit=0', tag)).status, 400);
    assert.equal((await read('/arten', tag, 's.test')).status, 200);
    const answer = await service.request('/arten', { as: 'melder', headers: { 'if-none-match': tag ?? '' } });
    assert.deepEqual([answer.status, answer.headers.get('etag')], [200, null]);
    assert.equal(answer.headers.get('cache-control'), 'private, no-store');
    assert.match(answer.headers.get('vary') ?? '', /Host, X-Auth-User, X-Auth-Token/);
  });

  it('sees the change of a transaction that began first and commits last', {
    skip: !onPostgres && 'needs two open transactions',
  }, async () => {
    const path = '/stadien';
    const seen = new Set<string | null>();
    const { promise: committed, resolve: commit } = Promise.withResolvers<void>();
    const slow = sql.begin(async (tx) => {
      await tx`insert into portal.stadium (id, name) values (50, 'Ei')`;
      await committed;
    });
    await new Promise((resolve) => setTimeout(resolve, 50));
    seen.add((await read(path)).headers.get('etag'));
    await sql`insert into portal.stadium (id, name) values (51, 'Puppe')`;
    seen.add((await read(path)).headers.get('etag'));
    commit();
    await slow;
    seen.add((await read(path)).headers.get('etag'));
    assert.equal(seen.size, 3);
  });
});

describe('an answer that was the same twice', () => {
  /** A service of its own over the same data; `statements` counts what it asks the database. */
  const countStatements = () => {
    const counted = { statements: 0 };
    const counting = new Proxy(sql, {
      apply(target, self, args) {
        counted.statements++;
        return Reflect.apply(target as (...args: unknown[]) => unknown, self, args);
      },
    });
    const app = createApp({ ...service.deps, sql: counting, reads: counting });
    const get = async (path: string, headers: Record<string, string> = {}, method = 'GET') => {
      const host = headers.host ?? 'n.test';
      const answer = await app.request(`http://${host}/api/v2${path}`, { method, headers: { host, ...headers } });
      // Of each request its own.
      const { 'x-request-id': _id, ...headersOfAnswer } = Object.fromEntries(answer.headers);
      return { status: answer.status, headers: headersOfAnswer, text: await answer.text() };
    };
    return { counted, get };
  };
  before(() => service.makeReleased({ lon: '416100' }));
  const paths = [
    ...['/sichtbeobachtungen?limit=2', '/sichtbeobachtungen?limit=2&format=xml'],
    ...['/sichtbeobachtungen?limit=2&callback=zeige', '/sichtbeobachtungen?limit=2&restrict=id,datum', '/arten?limit=2'],
    ...['/artengruppen', '/protokoll?limit=2'],
  ];

  it('S5.3 is sent from memory while statements of another network have all places that it may', {
    skip: !onPostgres && 'one statement at a time',
  }, async () => {
    const sql = admitCalls(service.deps.sql, new Limit(callBounds(2)), callMs);
    const app = createApp({ ...service.deps, sql, reads: sql });
    const get = async () => (await app.request('http://n.test/api/v2/artengruppen', { headers: { host: 'n.test' } })).status;
    for (let n = 0; n < 3; n++) assert.equal(await get(), 200);
    const others = Array.from({ length: 3 }, () => runInScope('flood', () => sql`select pg_sleep(0.5)`.then(() => 'others')));
    assert.equal(await Promise.race([...others, get()]), 200);
    await Promise.all(others);
  });

  for (const path of paths) {
    it(`${path} is sent again from memory, after one look at the version`, async () => {
      const { counted, get } = countStatements();
      const first = await get(path);
      assert.deepEqual([first.status, (await get(path)).text], [200, first.text]);
      counted.statements = 0;
      const third = await get(path);
      assert.deepEqual(third, first);
      assert.equal(counted.statements, 1);
      assert.deepEqual(await get(path, {}, 'HEAD'), { ...first, text: '' });
      assert.equal((await get(path, { 'if-none-match': first.headers.etag ?? '' })).status, 304);
    });
  }

  it('is made anew after every change', async () => {
    const { get } = countStatements();
    const path = '/sichtbeobachtungen?limit=3';
    const id = await service.makeReleased({ lon: '416200' });
    for (let n = 0; n < 4; n++) {
      for (let time = 0; time < 3; time++) assert.match((await get(path)).text, new RegExp(`"id":${id},`));
      await sql`update portal.sichtbeobachtung set bemerkung = ${`Stand ${n}`} where id = ${id}`;
      assert.match((await get(path)).text, new RegExp(`"bemerkung":"Stand ${n}"`));
    }
    for (let time = 0; time < 3; time++) await get(path);
    await sql`update portal.sichtbeobachtung set status = 'hinweis' where id = ${id}`;
    assert.doesNotMatch((await get(path)).text, new RegExp(`"id":${id},`));
  });

  it('is nobody else’s: not another tenant’s, not that of an account', async () => {
    const { get } = countStatements();
    const id = await service.makeSichtbeobachtung({ lon: '416300', bereich: 'oeffentlich' });
    const path = '/sichtbeobachtungen?limit=1';
    const account = { 'x-auth-user': 'melder', 'x-auth-token': await service.tokenOf('melder') };
    for (let time = 0; time < 3; time++) {
      assert.match((await get(path, account)).text, new RegExp(`"id":${id},`));
      assert.doesNotMatch((await get(path)).text, new RegExp(`"id":${id},`));
      assert.match((await get(path, { host: 's.test' })).text, /"next":"http:\/\/s\.test/);
      assert.match((await get(path)).text, /"next":"http:\/\/n\.test/);
    }
  });

  it('is not an error', async () => {
    const { get } = countStatements();
    const id = await service.makeSichtbeobachtung({ lon: '416400', bereich: 'oeffentlich' });
    const path = `/sichtbeobachtungen/${id}`;
    for (let time = 0; time < 3; time++) assert.equal((await get(path)).status, 404);
    await sql`
      update portal.sichtbeobachtung set status = 'freigegeben', experte_id = (select min(id) from portal.nutzer) where id = ${id}`;
    assert.equal((await get(path)).status, 200);
  });
});

it('a tag that ends with a dash is known with what a proxy adds to it', () => {
  for (const tag of ['"a-"', '"a--"', '"a-gzip"', '"a"'])
    for (const suffix of ['', '-gzip', '--gzip', '-br'])
      assert.ok(matches(`W/${tag.slice(0, -1)}${suffix}"`, tag), `${tag} ${suffix}`);
  assert.ok(!matches('"a-gzip"', '"a--"') && !matches('"b-gzip"', '"a"'));
});

describe('beside the interface', () => {
  const ask = (path: string, headers: Record<string, string> = {}) =>
    service.app.request(path, { headers: { host: 'fremd.example', ...headers } });

  it('pages and their icon have an ETag, and are 304 without a body to who has them', async () => {
    for (const [path, host] of [
      ['/karte', 'fremd.example'],
      ['/api/v2', 'n.test'],
      ['/api/v2/openapi.json', 'n.test'],
      ['/favicon.ico', 'fremd.example'],
    ] as const) {
      const first = await ask(path, { host });
      const tag = first.headers.get('etag') ?? '';
      assert.deepEqual([first.status, /^"[\w-]{22}"$/.test(tag)], [200, true], path);
      for (const known of [tag, `W/${tag}`, `${tag.slice(0, -1)}-gzip"`, '*']) {
        const again = await ask(path, { host, 'if-none-match': known });
        assert.deepEqual([again.status, await again.text(), again.headers.get('etag')], [304, '', tag], path);
        assert.equal(again.headers.get('cache-control'), first.headers.get('cache-control'));
      }
      assert.equal((await ask(path, { host, 'if-none-match': '"other"' })).status, 200);
    }
  });

  it('an icon is there at every host', async () => {
    const icon = await ask('/favicon.ico');
    assert.deepEqual([icon.status, icon.headers.get('content-type')], [200, 'image/png']);
    assert.deepEqual([...new Uint8Array(await icon.arrayBuffer()).subarray(1, 4)], [...Buffer.from('PNG')]);
  });

  it('the address of the service leads every client to the map', async () => {
    for (const accept of ['text/html', '*/*', 'application/json', undefined]) {
      const answer = await ask('/', accept === undefined ? {} : { accept });
      assert.deepEqual([answer.status, answer.headers.get('location')], [302, '/karte'], accept);
    }
  });
});

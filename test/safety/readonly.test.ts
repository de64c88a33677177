// A database that can only be read for a while: a failover, or storage that a provider froze.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { onPostgres } from '../support/database.ts';
import { makeJpeg } from '../support/photo.ts';
import { makeSite, runCli, runMain } from '../support/process.ts';
import { startTestService, type TestService } from '../support/service.ts';

describe('while the database can only be read', { skip: !onPostgres && 'needs a setting of a database of its own' }, () => {
  let service: TestService;
  let headers: Record<string, string>;
  let id: number;
  let photos = 0;
  const lines: Record<string, unknown>[] = [];
  const set = async (value: 'on' | 'off') => {
    const admin = service.database.connect({ settings: { default_transaction_read_only: 'off' } });
    const [name] = await admin<{ name: string }[]>`select quote_ident(current_database()) as name`;
    await admin.unsafe(`alter database ${name?.name} set default_transaction_read_only = ${value}`);
    await admin`
      select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`;
    await admin.end({ timeout: 1 });
  };

  before(async () => {
    service = await startTestService();
    const note = (about: object) => void lines.push({ ...about });
    Object.assign(service.deps.log, { warn: note, error: note });
    const { threads: pool } = service.deps.media;
    const run = pool.run.bind(pool);
    pool.run = (work) => {
      photos++;
      return run(work);
    };
    id = Number(await service.makeSichtbeobachtung());
    headers = { 'X-Auth-User': 'melder', 'X-Auth-Token': await service.tokenOf('melder') };
    await service.database.sql`update portal.token set genutzt = now() - interval '2 hours'`;
    await set('on');
    // The first call of each connection meets its end.
    for (let n = 0; n < 20; n++) await service.request('/stadien');
  });
  after(() => set('off'));

  it('reads go on, also those of whoever is logged in', async () => {
    for (const path of ['/sichtbeobachtungen', '/arten/5', '/arten', '/protokoll'])
      for (const options of [{}, { headers }]) assert.equal((await service.request(path, options)).status, 200, path);
    assert.equal((await service.request(`/sichtbeobachtungen/${id}`, { headers })).status, 200);
    const own = await service.request('/sichtbeobachtungen?bereich=persoenlich', { headers });
    assert.equal(own.json.result.length, 1);
  });

  const photo = async () => new Blob([await makeJpeg({ width: 200, height: 150 })]);
  const writes: [what: string, ask: () => ReturnType<TestService['request']>][] = [
    ['a login', () => service.request('/login?loginname=melder&password=0123456789012345678901234567890123456789')],
    [
      'a registration',
      () => service.request('/register', { form: { loginname: 'n', email: 'n@example.org', vorname: 'N', nachname: 'N' } }),
    ],
    ['a report', () => service.request('/sichtbeobachtungen', { headers, form: { art: '5', lat: '5530000', lon: '431007' } })],
    [
      'a report with a photo',
      async () =>
        service.request('/sichtbeobachtungen', {
          headers,
          form: { art: '5', lat: '5530000', lon: '431007', foto: await photo() },
        }),
    ],
    ['a change', () => service.request(`/sichtbeobachtungen/${id}`, { method: 'PUT', headers, form: { bemerkung: 'neu' } })],
    ['a deletion', () => service.request(`/sichtbeobachtungen/${id}`, { method: 'DELETE', headers })],
    ['a lost password', () => service.request('/passwort', { form: { loginname: 'melder' } })],
  ];
  for (const [what, ask] of writes) {
    it(`refuses for now: ${what}`, async () => {
      const answer = await ask();
      assert.equal(answer.status, 503, answer.text);
      assert.ok(Number(answer.headers.get('retry-after')) > 0);
      assert.match(answer.headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/);
      assert.equal(photos, 0, 'a photo was computed');
    });
  }

  it('each cause left one line, however many were refused', async () => {
    for (let n = 0; n < 5; n++) await service.request(`/sichtbeobachtungen/${id}`, { method: 'DELETE', headers });
    const refused = lines.filter(({ refused }) => refused !== undefined).map(({ code, route }) => `${code} ${route}`);
    assert.equal(new Set(refused).size, refused.length);
    for (const route of ['login', 'register', 'passwort', 'sichtbeobachtungen/:id'])
      assert.ok(refused.includes(`25006 /api/v2/${route}`), refused.join());
  });

  it('readiness says so, and leaves the instance in service', async () => {
    const answer = await service.app.request('/health/ready');
    assert.equal(answer.status, 200);
    assert.match(await answer.text(), /schreibgeschützt/);
  });

  it('and everything goes on afterwards, in the same process', async () => {
    await set('off');
    for (let n = 0; n < 20; n++) await service.request('/stadien');
    const form = { art: '5', lat: '5530000', lon: '431007', foto: await photo() };
    const answer = await service.request('/sichtbeobachtungen', { headers, form });
    assert.equal(answer.status, 201, answer.text);
    assert.equal(await (await service.app.request('/health/ready')).text(), 'ok');
  });
});

describe('a start on a database that can only be read', { skip: !onPostgres && 'needs a database of its own' }, () => {
  it('a migration, and a command say so in one sentence', async () => {
    const site = await makeSite({ isMigrated: true });
    const readOnly = { ...site.env, PGOPTIONS: '-c default_transaction_read_only=on' };
    const url = new URL(site.env.DATABASE_URL ?? '');
    url.searchParams.set('options', readOnly.PGOPTIONS);
    try {
      const there = { ...site, env: { ...site.env, DATABASE_URL: url.href } };
      for (const outcome of [
        await runMain(there.env),
        await runCli(there, ['migrate']),
        await runCli(there, ['abgleich', 'neu']),
      ]) {
        assert.equal(outcome.code, 1);
        assert.match(outcome.err, /^Die Datenbank ist schreibgeschützt [^\n]+\n$/);
      }
    } finally {
      await site.remove();
    }
  });
});

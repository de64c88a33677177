// P2.1: the service behind PgBouncer in transaction mode, and what it says where it can not be sure of its time limits.
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { admitCalls } from '../src/db/admitted.ts';
import { callBounds, callMs, openDatabase, poolSize, requestSettings } from '../src/db/client.ts';
import { Limit } from '../src/guard/limit.ts';
import { type CreatedDatabase, createDatabase, databaseUrlOf, onPostgres } from './support/database.ts';
import { type Pooler, startPooler, withoutPooler } from './support/pooler.ts';
import { makeSiteOn, runCli, runMain, type Site, startProcess } from './support/process.ts';

const name = `test_pooler_${randomBytes(4).toString('hex')}`;
const password = randomUUID();
let database: CreatedDatabase;
let pooler: Pooler;
let site: Site;

const skip = (!onPostgres && 'the embedded database has no pooler') || withoutPooler;

const direct = () => databaseUrlOf(name, name, password);

describe('PgBouncer before the database', { skip }, () => {
  before(async () => {
    database = await createDatabase(name);
    await database.server.sql.unsafe(`create role ${name} login password '${password}' in role portal_dienst`);
    pooler = await startPooler(database.url, { [name]: password });
    site = await makeSiteOn(pooler.through(direct()), { MIGRATE_DATABASE_URL: database.url });
  });
  after(async () => {
    await pooler.stop();
    await database.drop(name);
  });

  it('is found out, also where it is told to ignore settings', async () => {
    const refused = await runMain(site.env);
    assert.equal(refused.code, 1);
    assert.match(refused.err, /Vor der Datenbank steht ein Pooler \(PgBouncer\), .* DIRECT_DATABASE_URL\.\n$/);
    const silent = await startPooler(database.url, { [name]: password }, [
      `ignore_startup_parameters = ${Object.keys(requestSettings)}`,
    ]);
    try {
      const { code, err } = await runMain({ ...site.env, DATABASE_URL: silent.through(direct()) });
      assert.equal(code, 1);
      assert.match(err, new RegExp(`DIRECT_DATABASE_URL, .* alter role ${name} set statement_timeout = 8000;\n$`));
      assert.ok(!err.includes(password));
    } finally {
      await silent.stop();
    }
  });

  it('carries requests once the role has the settings; what needs a connection of its own goes past it', async () => {
    const settings = { ...site.env, DIRECT_DATABASE_URL: direct() };
    const missing = await runMain(settings);
    assert.equal(missing.code, 1);
    const [, statements = ''] =
      /Durch den Pooler vor der Datenbank kommen Einstellungen nicht an\. Als Administrator: (alter role .*;) Danach/.exec(
        missing.err,
      ) ?? [];
    assert.match(statements, new RegExp(Object.keys(requestSettings).join('.*')), missing.err);
    await database.server.sql.unsafe(statements).simple();
    await pooler.stop();
    pooler = await startPooler(database.url, { [name]: password });
    site.env.DATABASE_URL = pooler.through(direct());
    const service = await startProcess(site, { DIRECT_DATABASE_URL: direct(), DEFAULT_TENANT: 'RP' });
    try {
      const demo = await runCli(site, ['demo', 'load']);
      assert.equal(demo.code, 0, demo.err);
      // A machine that is busy with other tests is told so.
      const read = async (url: string): Promise<Response> => {
        for (let attempt = 1; ; attempt++) {
          const answer = await fetch(url);
          if (answer.status !== 503 || attempt === 5) return answer;
          await sleep(1000);
        }
      };
      // More at once than it has connections to the server, several times over each of them.
      const paths = [
        '/api/v2/sichtbeobachtungen?limit=5',
        '/api/v2/sichtbeobachtungen?titel_deutsch=%25specht',
        '/api/v2/arten',
        '/ogc/collections/sichtbeobachtung/items?limit=2',
        '/tiles/v1/8/134/87.mvt',
        '/abgleich/v1/sichtbeobachtungen',
      ];
      for (let round = 0; round < 4; round++) {
        const answers = await Promise.all(paths.flatMap((path) => [path, path, path].map((each) => read(service.url + each))));
        for (const answer of answers) assert.equal(answer.status, 200, `${answer.url} ${await answer.text()}`);
      }
      assert.doesNotMatch(service.output(), /prepared statement|unsupported|42501/);
    } finally {
      assert.equal(await service.stop(), 0);
    }
  });

  it('is no way for migrations, and the other way leads to the same database', async () => {
    const refusals: [settings: Record<string, string>, says: RegExp][] = [
      [{ MIGRATE_DATABASE_URL: pooler.through(direct()) }, /^MIGRATE_DATABASE_URL führt zu einem Pooler/m],
      [{ MIGRATE_DATABASE_URL: 'postgres://x@127.0.0.1:1/x' }, /Verbindung abgelehnt\)\. Stimmt MIGRATE_DATABASE_URL/],
      [{ DIRECT_DATABASE_URL: 'postgres://x@127.0.0.1:1/x' }, /Verbindung abgelehnt\)\. Stimmt DIRECT_DATABASE_URL/],
      [
        { DIRECT_DATABASE_URL: databaseUrlOf('postgres') },
        /^DIRECT_DATABASE_URL führt zu einer anderen Datenbank als DATABASE_URL\.$/m,
      ],
      [
        { MIGRATE_DATABASE_URL: databaseUrlOf('postgres') },
        /^MIGRATE_DATABASE_URL führt zu einer anderen Datenbank als DATABASE_URL\.$/m,
      ],
    ];
    for (const [settings, says] of refusals) {
      const { code, err } = await runMain({ ...site.env, DIRECT_DATABASE_URL: direct(), ...settings });
      assert.equal(code, 1);
      assert.match(err, says);
      assert.ok(!err.includes(password) && !err.includes('    at '));
    }
    const migrate = await runCli({ ...site, env: { ...site.env, MIGRATE_DATABASE_URL: pooler.through(direct()) } }, ['migrate']);
    assert.match(migrate.err, /^MIGRATE_DATABASE_URL führt zu einem Pooler/m);
  });

  it('reads the file that docs/operations/database.md shows', async () => {
    const text = readFileSync(new URL('../docs/operations/database.md', import.meta.url), 'utf8');
    const [, block = ''] = /```ini\n\[databases\][^[]*\[pgbouncer\]\n([^`]*)```/.exec(text) ?? [];
    // Where it listens and whom it lets in is the machine's.
    const lines = block.split('\n').filter((line) => line !== '' && !/^(listen_addr|auth_type|auth_file) /.test(line));
    assert.ok(lines.some((line) => line.startsWith('query_wait_timeout =')));
    const shown = await startPooler(database.url, { [name]: password }, lines);
    await shown.stop();
  });

  it('loses no answer when more is asked at once than there are connections', async () => {
    const pooled = await openDatabase({ databaseUrl: site.env.DATABASE_URL ?? '', directDatabaseUrl: direct(), dataDir: '' });
    // As the service does: without, some of them would be waited for for ever.
    const sql = admitCalls(pooled.sql, new Limit(callBounds(poolSize)), callMs);
    try {
      const numbers = Array.from({ length: 60 }, (_, n) => n);
      // With values and without, which travel in another way, and in transactions.
      const ask = async (n: number) => {
        await sql`select 1`;
        if (n % 3 === 0) return sql.begin('read only', (tx) => tx`select ${n}::integer as n`);
        const [rows] = await Promise.all([sql`select ${n}::integer as n`, sql`select pg_sleep(0.001)`]);
        return rows;
      };
      for (let round = 0; round < 5; round++) {
        const rows = await Promise.all(numbers.map(ask));
        assert.deepEqual(
          rows.map(([row]) => row?.n),
          numbers,
        );
      }
    } finally {
      await pooled.close();
    }
  });
});

// Locks need rights: no session of an analyst, whatever it holds, stops a report or a migration.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { migrateDatabase } from '../../src/db/migrate.ts';
import { onPostgres, openTestDatabase } from '../support/database.ts';
import { startTestService, type TestService } from '../support/service.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

it('nothing of the service takes an advisory lock, and tables are locked in one file', () => {
  const found: string[] = [];
  for (const file of ['src/**/*.ts', 'sql/code/*.sql'].flatMap((pattern) => globSync(pattern, { cwd: root }))) {
    const text = readFileSync(join(root, file), 'utf8').replace(/^\s*(--|\/\/|\*|\/\*).*$/gm, '');
    if (/pg_(try_)?advisory/.test(text)) found.push(`${file}: advisory`);
    if (/\block table\b/i.test(text) && !/^sql\/code\/05_locks\.sql$|^src\/db\/migrate\.ts$/.test(file)) found.push(file);
  }
  assert.deepEqual(found, []);
});

describe('while an analyst holds every advisory lock there might be', { skip: !onPostgres && 'needs a second session' }, () => {
  let service: TestService;
  before(async () => {
    service = await startTestService();
  });

  it('reports are taken, boundaries and catalogue change, and a migration ends', async () => {
    const { database } = service;
    const analyst = database.connect();
    await analyst`set role gis_public`;
    for (const [a, b] of Array.from({ length: 64 }, (_, n) => [n % 8 < 4 ? 25832 : n, n >> 3] as const))
      await analyst`select pg_try_advisory_lock(${a}::integer, ${b}::integer)`;
    await analyst`select pg_try_advisory_lock(n) from generate_series(0, 100) n`;
    await service.makeSichtbeobachtung();
    await database.sql`update portal.art_mandant set sensibel = not sensibel where art = 5`;
    const answer = await service.request('/register', {
      form: { loginname: 'trotzdem', email: 'trotzdem@example.org', vorname: 'Trotz', nachname: 'Dem' },
    });
    assert.equal(answer.status, 200, answer.text);
    assert.ok(['unchanged', 'replaced'].includes(await migrateDatabase(database)));
    await analyst.end({ timeout: 1 });
  });

  it('the tables that are locked are not theirs to lock', async () => {
    for (const role of ['gis_public', 'gis_exact']) {
      for (const table of [
        'portal.sperre_katalog',
        'portal.sperre_konto',
        'portal.grenzlauf',
        'portal.sichtbeobachtung',
        'drizzle.sperre_migration',
      ]) {
        const analyst = service.database.connect();
        await analyst`set role ${analyst(role)}`;
        for (const mode of ['access share', 'row share', 'exclusive']) {
          await assert.rejects(
            analyst.begin((tx) => tx.unsafe(`lock table ${table} in ${mode} mode`)),
            { code: '42501' },
            `${role} ${table} ${mode}`,
          );
        }
        await analyst.end({ timeout: 1 });
      }
    }
  });
});

it('a migration that waits for another one says so, and goes on when that has ended', {
  skip: !onPostgres && 'one process only',
}, async () => {
  const database = await openTestDatabase();
  const other = database.connect();
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const holding = other.begin(async (tx) => {
    await tx`lock table drizzle.sperre_migration in exclusive mode`;
    await released;
  });
  const lines: string[] = [];
  const migrating = migrateDatabase(database, { report: (line) => lines.push(line) });
  for (let tries = 0; lines.length === 0 && tries < 100; tries++) await sleep(100);
  assert.match(lines.join(), /Eine andere Migration läuft/);
  release();
  await holding;
  assert.equal(await migrating, 'unchanged');
  await other.end({ timeout: 1 });
});

it('a boundary run and accounts do not wait for each other', { skip: !onPostgres && 'needs several connections' }, async () => {
  const service = await startTestService();
  const { database } = service;
  const run = database.connect();
  const [begun] = await run`select api.create_grenzlauf(quelle => 'test', erzwungen => false) as id`;
  const form = { loginname: 'währenddessen', email: 'w@example.org', vorname: 'Wa', nachname: 'Ren' };
  assert.equal((await service.request('/register', { form })).status, 200);
  await assert.rejects(database.sql`select api.create_grenzlauf(quelle => 'test', erzwungen => false)`, { code: 'GLAUF' });
  // A run whose connection has gone was killed: the next one begins.
  await run.end({ timeout: 1 });
  await sleep(200);
  const [next] = await database.sql`select api.create_grenzlauf(quelle => 'test', erzwungen => false) as id`;
  assert.ok(next?.id > begun?.id);
  const [ended] = await database.sql`select ergebnis from portal.grenzlauf where id = ${begun?.id}`;
  assert.equal(ended?.ergebnis, 'abgebrochen');
});

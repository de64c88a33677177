// Outputs read as gis_public (O0.1): whatever a function of theirs tries, it reads what that role may read.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { admitCalls } from '../../src/db/admitted.ts';
import { asPublic, OutputRoleError } from '../../src/db/ausgabe.ts';
import { type Database, openDatabase, type Sql } from '../../src/db/client.ts';
import { listGrantWarnings } from '../../src/db/grants.ts';
import { migrateDatabase } from '../../src/db/migrate.ts';
import { Limit } from '../../src/guard/limit.ts';
import { toPortalError } from '../../src/http/errors.ts';
import { answerError } from '../../src/http/wire/portal-error.ts';
import { databaseUrlOf, onPostgres, openTestDatabase } from '../support/database.ts';

let database: Database;
let sql: Sql;
before(async () => {
  database = await openTestDatabase();
  sql = database.sql;
  // A copy of a database has what the migration gave to roles, but not what was given of the database itself.
  await migrateDatabase(database);
});

const listMandant = (from: Sql) =>
  asPublic(from, async (tx) => [
    ...(await tx`select kuerzel, ausgabe.get_mandant_feature(kuerzel, 4326, false) is not null as found from gis.mandant order by kuerzel`),
  ]);

describe('an output', () => {
  it('O0.1 is gis_public while it reads, and the connection is itself again afterwards', async () => {
    const who = await asPublic(sql, async (tx) => {
      const [row] = await tx<{ role: string; readonly: string }[]>`
        select current_user::text as role, current_setting('transaction_read_only') as readonly`;
      return { ...row };
    });
    assert.deepEqual(who, { role: 'gis_public', readonly: 'on' });
    const roles = await Promise.all(Array.from({ length: 20 }, () => sql<{ role: string }[]>`select current_user::text as role`));
    assert.ok(roles.every(([row]) => row?.role !== 'gis_public'));
  });

  it('O0.1 reads by the functions of ausgabe', async () => {
    assert.deepEqual(await listMandant(sql), [
      { kuerzel: 'N', found: true },
      { kuerzel: 'S', found: true },
      { kuerzel: 'W', found: true },
    ]);
  });

  it('O0.1 waits for a slot like every other statement, and gives it back', async () => {
    const one = admitCalls(sql, new Limit({ slots: 1, queue: 10, waitMs: 5000 }), 5000);
    const answers = await Promise.all([1, 2, 3].map(() => listMandant(one)));
    assert.ok(answers.every(({ length }) => length === 3));
  });

  const breaches: [what: string, body: string][] = [
    ['a table of portal', 'select count(*)::integer from portal.sichtbeobachtung'],
    ['the rows behind its own view', 'select count(*)::integer from portal.sichtbeobachtung_gezeigt'],
    ['true places', 'select count(*)::integer from gis.sichtbeobachtung_exakt'],
    ['the QS log', 'select count(*)::integer from gis.qs'],
    ['a function of the service', 'select api.is_ausgabe_erlaubt()::integer'],
    ['a helper', 'select private.to_cell(1)'],
  ];
  for (const [what, body] of breaches) {
    it(`O0.1 fails that reads ${what}`, async () => {
      await sql.unsafe(`create or replace function ausgabe.probe() returns integer language sql stable as '${body}'`);
      await sql`grant execute on function ausgabe.probe() to gis_public`;
      try {
        // The service's own role may: it is the role of outputs that must not.
        await sql`select ausgabe.probe()`;
        await assert.rejects(
          asPublic(sql, (tx) => tx`select ausgabe.probe()`),
          { code: '42501' },
        );
      } finally {
        await sql`drop function ausgabe.probe()`;
      }
    });
  }

  it('O0.1 writes nothing', async () => {
    await assert.rejects(
      asPublic(sql, (tx) => tx`create temporary table meine (id integer)`),
      (error: { code?: string }) => error.code === '25006' || error.code === '42501',
    );
  });
});

// A role of its own, as an operator gives it to the service: no superuser, who may become anybody.
describe('a service whose role is no member of gis_public', {
  skip: onPostgres ? false : 'the embedded database has one user, who may do everything',
}, () => {
  const name = `test_${randomBytes(6).toString('hex')}`;
  const password = randomBytes(12).toString('hex');
  let own: Database;
  before(async () => {
    await sql.unsafe(`create role ${name} login password '${password}'`);
    const [current] = await sql`select current_database() as name`;
    await sql.unsafe(`grant usage on schema api, private, portal to ${name}`);
    await sql.unsafe(`grant execute on all functions in schema api, private to ${name}`);
    own = await openDatabase({ databaseUrl: databaseUrlOf(current?.name, name, password), dataDir: '' });
  });
  after(async () => {
    await own?.close();
    await sql.unsafe(`drop owned by ${name}`);
    await sql.unsafe(`drop role ${name}`);
  });

  it('O0.1 answers 503 with the reason, and is told by the start what to do', async () => {
    const refused = await listMandant(own.sql).then(
      () => null,
      (error: unknown) => error,
    );
    assert.ok(refused instanceof OutputRoleError, String(refused));
    const known = toPortalError(refused);
    assert.ok(known);
    const { status, headers, body } = answerError(known);
    assert.equal(status, 503);
    assert.ok(Number(headers['Retry-After']) > 0);
    assert.match(body.error.message, /gis_public/);
    const warnings = await listGrantWarnings(own.sql);
    const statement = `grant gis_public to ${name};`;
    assert.ok(
      warnings.some((line) => line.includes(statement)),
      warnings.join('\n'),
    );
    await sql.unsafe(statement);
    assert.equal((await listMandant(own.sql)).length, 3);
    assert.ok((await listGrantWarnings(own.sql)).every((line) => !line.includes('grant gis_public')));
  });
});

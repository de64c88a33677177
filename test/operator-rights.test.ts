// P1.1: the owner migrates, the service only calls; an operator who mixes them up is told in one line.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type Database, openDatabase } from '../src/db/client.ts';
import { databaseUrlOf, dropDatabase, onPostgres } from './support/database.ts';
import { makeSiteOn, runCli, runMain, type Site, startProcess } from './support/process.ts';
import { decodeTile } from './support/tile.ts';
import { waitFor } from './support/wait.ts';

const name = `test_rights_${randomBytes(4).toString('hex')}`;
const [owner, dienst, fremd] = [`${name}_owner`, `${name}_dienst`, `${name}_fremd`];
let server: Database;

const urlOf = (role: string) => databaseUrlOf(name, role, 'geheim');

describe('an owner and a service of fewer rights', { skip: !onPostgres && 'the embedded database has one role' }, () => {
  let site: Site;
  let asOwner: Site;

  before(async () => {
    site = await makeSiteOn(urlOf(dienst));
    asOwner = { ...site, env: { ...site.env, MIGRATE_DATABASE_URL: urlOf(owner) } };
    server = await openDatabase({ databaseUrl: process.env.DATABASE_URL ?? '', dataDir: '' });
    await server.sql.unsafe(`create role ${fremd} login password 'geheim'`);
    // As the document says it, under names of its own. The groups belong to the server: others have made them.
    const [, block = ''] =
      /^## Fewest rights$.*?^```sql\n(.*?)^```/ms.exec(await readFile('docs/operations/install.md', 'utf8')) ?? [];
    const statements = block
      .replaceAll('portal_owner', owner)
      .replaceAll('portal_web', dienst)
      .replaceAll('…', 'geheim')
      .replace('database portal ', `database ${name} `)
      .split(/(?<=;)\n/);
    assert.ok(statements.length > 6, block);
    for (const statement of statements)
      await server.sql.unsafe(statement).catch((error: { code?: string }) => {
        if (error.code !== '42710' || !/^create role \w+ nologin;$/.test(statement)) throw error;
      });
    const administrator = await openDatabase({ databaseUrl: databaseUrlOf(name), dataDir: '' });
    await administrator.sql
      .unsafe('create extension postgis; create extension btree_gist; create extension "uuid-ossp"; create extension pg_trgm')
      .simple()
      .catch(() => {});
    await administrator.close();
  });

  after(async () => {
    await dropDatabase(server, name);
    for (const role of [owner, dienst, fremd]) await server.sql.unsafe(`drop role ${role}`);
    await server.close();
  });

  it('a database that nobody prepared', async () => {
    const { code, err } = await runMain(site.env);
    assert.equal(code, 1);
    assert.match(err, /^Diese Datenbankrolle darf nicht migrieren, .* MIGRATE_DATABASE_URL .* npm run migrate\n$/);
  });

  it('the service migrates as the owner, serves as the other, and its queue works', async () => {
    const prepared = await runCli(asOwner, ['demo', 'load', '--logins']);
    assert.equal(prepared.code, 1, prepared.out);
    assert.match(prepared.err, /nicht migriert: npm run migrate/);
    const service = await startProcess(asOwner, { DEFAULT_TENANT: 'RP' });
    try {
      const demo = await runCli(asOwner, ['demo', 'load', '--logins']);
      assert.equal(demo.code, 0, demo.err);
      assert.equal((await fetch(`${service.url}/api/v2/sichtbeobachtungen`)).status, 200);
      assert.equal((await fetch(`${service.url}/ogc/collections/sichtbeobachtung/items?limit=1`)).status, 200);
      const fields = { loginname: 'neue', email: 'neue@example.org', vorname: 'Nora', nachname: 'Neu' };
      const registered = await fetch(`${service.url}/api/v2/register`, { method: 'POST', body: new URLSearchParams(fields) });
      assert.equal(registered.ok, true, await registered.text());
      // The worker wrote the mail: it read the queue and the account.
      await waitFor('a mail', async () =>
        (await readdir(join(site.env.DATA_DIR ?? '', 'mail')).catch(() => [])).some((file) => /\.eml$/.test(file)),
      );
      assert.doesNotMatch(service.output(), /42501|permission/);
    } finally {
      assert.equal(await service.stop(), 0);
    }
  });

  it('what the migration asks of the administrator can be run as it is printed, and then the queue works and nothing is asked', async () => {
    const administrator = await openDatabase({ databaseUrl: databaseUrlOf(name), dataDir: '' });
    const open = (role: string) => openDatabase({ databaseUrl: urlOf(role), dataDir: '' });
    const [owned, served, other] = await Promise.all([open(owner), open(dienst), open(fremd)]);
    const lock = ({ sql }: Database) => sql`select pg_advisory_xact_lock(1), pg_try_advisory_xact_lock(2)`;
    // Logins of other tests may go anywhere on this server, and must.
    const migrate = async () =>
      (await runCli(asOwner, ['migrate'])).err.split('\n').filter((line) => line && !line.startsWith('Logins für Auswertungen'));
    try {
      await administrator.sql.unsafe(`grant gis_public to ${fremd}`);
      await administrator.sql.unsafe(`revoke pg_read_all_stats from ${owner}`);
      const define = () => other.sql`create rule r as on insert to pg_catalog.pg_class do instead nothing`;
      await assert.rejects(define(), { code: '42501', message: /^permission denied/ });
      const lines = await migrate();
      assert.ok(lines.some((line) => line.endsWith(`: grant pg_read_all_stats to ${owner};`)));
      assert.ok(lines.some((line) => line.startsWith('Jede Rolle kann mit einer Verbindung den ganzen Server aufhalten und ')));
      for (const line of lines) {
        assert.doesNotMatch(line, /create role|gis_public/, 'is in the document');
        const [, statements] = /: ((?:grant|revoke|create event trigger) .*;)$/.exec(line) ?? [];
        assert.ok(statements, line);
        await administrator.sql.unsafe(statements).simple();
      }
      assert.deepEqual(await migrate(), []);
      await assert.rejects(define(), { code: '42501', message: /^analysts define nothing .*: create rule$/ });
      await Promise.all([lock(owned), lock(served)]);
      await assert.rejects(lock(other), { code: '42501' });
      // The second event trigger of releases up to 0.15.0 is an administrator's, its function the owner's.
      await owned.sql`create function private.refuse_amount() returns event_trigger language plpgsql as 'begin end'`;
      await administrator.sql`create event trigger species_sighting_amount on ddl_command_end execute function private.refuse_amount()`;
      await owned.sql`update portal.installation set code_hash = 'of 0.15.0'`;
      assert.deepEqual(await migrate(), []);
      assert.deepEqual(
        (await administrator.sql`select evtname from pg_event_trigger`).map(({ evtname }) => evtname),
        ['species_sighting_definition'],
      );
      // Whoever named only one of the two is asked for the other.
      for (const role of [owner, 'portal_dienst']) {
        const functions = 'pg_advisory_xact_lock(bigint), pg_try_advisory_xact_lock(bigint)';
        await administrator.sql.unsafe(`revoke execute on function ${functions} from ${role}`);
        const [line = '', ...others] = await migrate();
        const statement = `grant execute on function ${functions} to ${role};`;
        assert.ok(line.startsWith('Mails und andere Aufträge bleiben liegen, ') && line.endsWith(`: ${statement}`), line);
        assert.deepEqual(others, []);
        await administrator.sql.unsafe(statement);
      }
    } finally {
      for (const each of [administrator, owned, served, other]) await each.close();
    }
  });

  it('starts without the owner once everything is there', async () => {
    const service = await startProcess(site);
    assert.equal(await service.stop(), 0);
    assert.doesNotMatch(service.output(), /42501|permission/);
  });

  it('tiles hold the same, whether the database packs them or its owner may not', async () => {
    const administrator = await openDatabase({ databaseUrl: databaseUrlOf(name), dataDir: '' });
    const readTile = async () => {
      const service = await startProcess(site);
      try {
        const answer = await fetch(`${service.url}/tiles/v1/8/133/87.mvt`);
        assert.equal(answer.status, 200, await answer.clone().text());
        return decodeTile(new Uint8Array(await answer.arrayBuffer()));
      } finally {
        await service.stop();
      }
    };
    const canPack = async () => (await administrator.sql`select ausgabe.can_pack_tile() as can`)[0]?.can;
    try {
      const packers = await administrator.sql<{ name: string }[]>`
        select oid::regprocedure::text as name from pg_proc where proname = 'st_asmvt' and prokind = 'a'`;
      assert.equal(await canPack(), true);
      const packed = await readTile();
      assert.ok(packed.raster?.length && packed.mandant?.length, 'the demo is there');
      const functions = packers.map((packer) => packer.name).join();
      await administrator.sql.unsafe(`revoke execute on function ${functions} from ${owner}`);
      assert.equal(await canPack(), false);
      assert.deepEqual(await readTile(), packed);
    } finally {
      await administrator.close();
    }
  });

  it('the role of the service can read and write no table, and make none', async () => {
    const served = await openDatabase({ databaseUrl: urlOf(dienst), dataDir: '' });
    try {
      for (const statement of [
        'select from portal.nutzer',
        'select from portal.sichtbeobachtung_exakt',
        'select from gis.sichtbeobachtung_exakt',
        'update portal.sichtbeobachtung set anzahl = 1',
        'delete from portal.token',
        'create table portal.neu ()',
        'create table public.neu ()',
        'create schema neu',
        'select private.get_server_kennung()',
        "alter function api.get_release() set search_path = ''",
        'create temporary table neu ()',
        "create function pg_temp.f() returns integer language sql as 'select 1'",
        "select api.set_password_hash('chef', 'x')",
        'select api.count_sichtbeobachtung_import()',
        'select api.list_sperrende_funktion(false)',
      ])
        await assert.rejects(served.sql.unsafe(statement), { code: '42501' }, statement);
      assert.equal((await served.sql`select api.get_release() as r`).length, 1);
    } finally {
      await served.close();
    }
  });

  it('a role outside of the group, and an older database, in one line each', async () => {
    const other = await runMain({ ...site.env, DATABASE_URL: urlOf(fremd) });
    assert.equal(other.code, 1);
    assert.equal(
      other.err,
      `Diese Datenbankrolle darf den Dienst nicht ausführen. Als Administrator: create role portal_dienst nologin; falls es sie noch nicht gibt, dann npm run migrate, dann grant portal_dienst to ${fremd};\n`,
    );
    const owned = await openDatabase({ databaseUrl: urlOf(owner), dataDir: '' });
    await owned.sql`update portal.installation set code_release = '{0,1,0}'`;
    await owned.close();
    const older = await runMain(site.env);
    assert.equal(older.code, 1);
    assert.match(older.err, /^Die Datenbank ist auf dem Stand 0\.1\.0, dieser Dienst ist \d+\.\d+\.\d+, .*npm run migrate\n$/);
    for (const { err } of [other, older]) assert.ok(!err.includes('geheim'));
  });
});

// The SQL as a whole: what every function must have, what tables may depend on, and replacing the code in place.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { parse } from 'libpg-query';
import { type Database, openDatabase, type Sql, type Transaction } from '../../src/db/client.ts';
import { grantWarteschlange } from '../../src/db/grants.ts';
import { isMigrated, migrateDatabase, readCode } from '../../src/db/migrate.ts';
import { startBoss } from '../../src/jobs/boss.ts';
import { root } from '../support/child.ts';
import { copyCode, leaveOwnerOut } from '../support/code.ts';
import { createDatabase, onPostgres, openTestDatabase } from '../support/database.ts';
import { breakCode, mutants } from '../support/mutants.ts';
import { takeBack } from '../support/records.ts';
import { hashCode, hashMigrations, readReleases, version } from '../support/releases.ts';
import { waitFor } from '../support/wait.ts';

const sqlFiles = ['sql/code/**/*.sql', 'sql/migrations/*.sql'].flatMap((pattern) => globSync(pattern, { cwd: root })).sort();

const namesOf = (rows: { name: string }[]) => rows.map(({ name }) => name);

/** Everything that sql/code defines, as PostgreSQL writes it down; the owner by no name. */
async function describeCode(sql: Sql): Promise<string[]> {
  const rows = await sql<{ text: string }[]>`
    select text from (
      select format('%s acl %s comment %s', pg_get_functiondef(p.oid), p.proacl, obj_description(p.oid, 'pg_proc')) as text
      from pg_proc p
      where p.pronamespace in ('private'::regnamespace, 'api'::regnamespace, 'gis'::regnamespace, 'ausgabe'::regnamespace)
      union all
      select format('%s enabled %s comment %s', pg_get_triggerdef(t.oid), t.tgenabled, obj_description(t.oid, 'pg_trigger'))
      from pg_trigger t
      join pg_class c on c.oid = t.tgrelid
      where c.relnamespace = 'portal'::regnamespace and not t.tgisinternal
      union all
      select format('%s %s %s acl %s comment %s', c.oid::regclass, c.relkind, pg_get_viewdef(c.oid), c.relacl, obj_description(c.oid, 'pg_class'))
      from pg_class c
      where c.relnamespace in ('private'::regnamespace, 'api'::regnamespace, 'gis'::regnamespace, 'ausgabe'::regnamespace)
      union all
      select format('%s acl %s comment %s', n.nspname, n.nspacl, obj_description(n.oid, 'pg_namespace'))
      from pg_namespace n
      where n.nspname in ('portal', 'private', 'api', 'gis', 'ausgabe')
    ) d
    order by text`;
  return leaveOwnerOut(
    sql,
    rows.map((row) => row.text),
  );
}

it('S1.11 each breakage of `npm run mutants` finds its place once', () => {
  const code = readCode(join(root, 'sql/code/'));
  assert.ok(mutants.length >= 20);
  assert.equal(new Set(mutants.map(({ name }) => name)).size, mutants.length);
  for (const mutant of mutants) assert.notDeepEqual(breakCode(code, mutant), code, mutant.name);
});

describe('every SQL file', () => {
  for (const file of sqlFiles) {
    it(`${file} parses`, async () => {
      const { stmts } = await parse(readFileSync(join(root, file), 'utf8'));
      assert.ok((stmts ?? []).length > 0);
    });
  }

  it('gives each function its volatility, and an empty search path where it runs with other rights or as a trigger', async () => {
    const wrong: string[] = [];
    let count = 0;
    for (const file of sqlFiles.filter((path) => path.includes('/code/'))) {
      const { stmts } = await parse(readFileSync(join(root, file), 'utf8'));
      for (const { stmt } of stmts ?? []) {
        if (!stmt || !('CreateFunctionStmt' in stmt)) continue;
        count++;
        const text = JSON.stringify(stmt);
        const name = [...JSON.stringify(stmt.CreateFunctionStmt.funcname).matchAll(/"sval":"(\w+)"/g)].map((m) => m[1]).join('.');
        const defined = new Set([...text.matchAll(/"defname":"(\w+)"/g)].map((m) => m[1]));
        const hasEmptyPath = /"VAR_SET_VALUE","name":"search_path","args":\[\{"A_Const":\{"sval":\{("sval":"")?\}/.test(text);
        const isTrigger = JSON.stringify(stmt.CreateFunctionStmt.returnType).includes('"trigger"');
        if (!defined.has('volatility')) wrong.push(`${name} has no volatility`);
        if (!stmt.CreateFunctionStmt.replace) wrong.push(`${name} is not created with "or replace"`);
        if ((defined.has('security') || isTrigger) && !hasEmptyPath) wrong.push(`${name} has no empty search_path`);
      }
    }
    assert.ok(count > 30, `${count} functions`);
    assert.deepEqual(wrong, []);
  });
});

describe('the database', () => {
  let database: Database;
  let sql: Sql;
  before(async () => {
    database = await openTestDatabase();
    sql = database.sql;
  });

  it('says of every function of schemas api and ausgabe what it does', async () => {
    const rows = await sql<{ name: string; comment: string }[]>`
      select p.oid::regprocedure::text as name, coalesce(obj_description(p.oid, 'pg_proc'), '') as comment
      from pg_proc p where p.pronamespace in ('api'::regnamespace, 'ausgabe'::regnamespace)`;
    assert.ok(rows.length > 5);
    assert.deepEqual(namesOf(rows.filter((row) => row.comment.length < 20)), []);
  });

  it('every index says what it is for, but those that only keep a key unique', async () => {
    const rows = await sql<{ name: string }[]>`
      select x.indexrelid::regclass::text as name
      from pg_index x
      join pg_class c on c.oid = x.indexrelid
      where c.relnamespace = 'portal'::regnamespace and obj_description(x.indexrelid, 'pg_class') is null
        and not exists (select from pg_constraint k where k.conindid = x.indexrelid and k.contype in ('p', 'u'))`;
    assert.deepEqual(namesOf(rows), []);
  });

  it('has a fixed search path on functions with the rights of the owner and on triggers', async () => {
    const rows = await sql<{ name: string; is_api: boolean; path: string | null }[]>`
      select p.oid::regprocedure::text as name, p.pronamespace = 'api'::regnamespace as is_api,
        (select substr(c, length('search_path=') + 1) from unnest(p.proconfig) c where c like 'search_path=%') as path
      from pg_proc p
      where p.pronamespace in ('private'::regnamespace, 'api'::regnamespace)
        and (p.prosecdef or p.prorettype = 'trigger'::regtype)`;
    assert.ok(rows.length > 60);
    assert.deepEqual(namesOf(rows.filter(({ is_api, path }) => path !== (is_api ? 'public, pg_temp' : '""'))), []);
  });

  it('P1.1 runs with the rights of the owner what the service may call, and nothing that reads what a caller can make', async () => {
    const rows = await sql<{ name: string; definer: boolean; granted: boolean; temporary: boolean }[]>`
      select p.oid::regprocedure::text as name, p.prosecdef as definer,
        ${onPostgres} and has_function_privilege('portal_dienst', p.oid, 'execute') as granted,
        p.prosrc ~* 'pg_temp|temporary' as temporary
      from pg_proc p where p.pronamespace = 'api'::regnamespace`;
    assert.deepEqual(namesOf(rows.filter(({ definer, granted }) => onPostgres && definer !== granted)), []);
    assert.deepEqual(namesOf(rows.filter(({ definer, temporary }) => definer && temporary)), []);
    assert.ok(rows.some(({ temporary }) => temporary));
    const commands = ['create_nutzer', 'set_password_hash', 'set_nutzer_status', 'create_abgleich_verlauf', 'set_mandant'];
    assert.deepEqual(
      rows.filter(({ name, definer }) => definer && commands.some((command) => name.startsWith(`api.${command}(`))),
      [],
    );
  });

  it('O0.1 has no function of ausgabe with the rights of another than its caller, but one that is given numbers alone', async () => {
    const rows = await sql<{ name: string }[]>`
      select p.oid::regprocedure::text as name, array_to_string(p.proconfig, ' ') as path
      from pg_proc p where p.pronamespace = 'ausgabe'::regnamespace and p.prosecdef`;
    const numbers = Array(8).fill('integer').join(',');
    assert.deepEqual([...rows], [{ name: `ausgabe.get_tile(${numbers})`, path: 'search_path=public, pg_temp' }]);
  });

  it('gives no schema and no table to everyone', async () => {
    const rows = await sql<{ name: string }[]>`
      select n.nspname as name from pg_namespace n, aclexplode(n.nspacl) a
      where n.nspname in ('portal', 'private', 'api', 'gis', 'ausgabe') and a.grantee = 0
      union all
      select c.oid::regclass::text from pg_class c, aclexplode(c.relacl) a
      where c.relnamespace = 'portal'::regnamespace and a.grantee = 0`;
    assert.deepEqual([...rows], []);
  });

  // Replacing a function in place would leave such an object behind with values of the old one.
  const listDependents = (tx: Sql | Transaction) => tx<{ object: string; function: string }[]>`
    select pg_describe_object(d.classid, d.objid, d.objsubid) as object, p.proname as function
    from pg_depend d
    join pg_proc p on d.refclassid = 'pg_proc'::regclass and p.oid = d.refobjid
      and p.pronamespace in ('private'::regnamespace, 'api'::regnamespace, 'ausgabe'::regnamespace)
    where d.classid in ('pg_attrdef'::regclass, 'pg_constraint'::regclass, 'pg_class'::regclass, 'pg_policy'::regclass)
    order by object`;

  it('has no default, generated column, check or index that depends on functions of private or api', async () => {
    assert.deepEqual([...(await listDependents(sql))], []);
  });

  it('would be caught having one', async () => {
    let found: string[] = [];
    await takeBack(sql, async (tx) => {
      await tx`alter table portal.sichtbeobachtung add constraint dependent_check check (cell_x = private.to_cell(cell_x * 5000))`;
      await tx`create index dependent_index on portal.sichtbeobachtung (private.to_cell(cell_x))`;
      await tx`create index dependent_predicate on portal.sichtbeobachtung (id) where private.to_cell(cell_x) > 0`;
      await tx`alter table portal.sichtbeobachtung add dependent_generated integer generated always as (private.to_cell(cell_x)) stored`;
      await tx`alter table portal.sichtbeobachtung add dependent_default integer default private.to_cell(1)`;
      found = (await listDependents(tx)).map((row) => row.object);
    });
    for (const kind of ['check', 'index', 'predicate', 'generated', 'default'])
      assert.match(found.join('\n'), new RegExp(`dependent_${kind}`));
    assert.deepEqual([...(await listDependents(sql))], []);
  });

  it('has a primary key on every table', async () => {
    const rows = await sql<{ name: string }[]>`
      select c.relname as name from pg_class c
      where c.relnamespace = 'portal'::regnamespace and c.relkind in ('r', 'p')
        and not exists (select from pg_constraint k where k.conrelid = c.oid and k.contype = 'p')`;
    assert.deepEqual(namesOf(rows), []);
  });

  it('has an index for every foreign key, so that a cascade reads no whole table', async () => {
    // A partial index serves only when it leaves out nothing but null: `column = x` implies `column is not null`.
    const rows = await sql<{ name: string }[]>`
      select k.conrelid::regclass || ' (' || (
        select string_agg(a.attname, ', ') from pg_attribute a where a.attrelid = k.conrelid and a.attnum = any (k.conkey)) || ')' as name
      from pg_constraint k
      where k.contype = 'f' and k.connamespace = 'portal'::regnamespace and not exists (
        select from pg_index i
        where i.indrelid = k.conrelid and i.indisvalid
          and (select array_agg(c order by c) from unnest(i.indkey[0:cardinality(k.conkey) - 1]) c)
            = (select array_agg(c order by c) from unnest(k.conkey) c)
          and (i.indpred is null or pg_get_expr(i.indpred, i.indrelid) = format('(%I IS NOT NULL)', (
            select a.attname from pg_attribute a where a.attrelid = k.conrelid and a.attnum = k.conkey[1]))))
      order by name`;
    assert.deepEqual(namesOf(rows), []);
  });

  it('is unchanged by a second migration', async () => {
    const before = await describeCode(sql);
    assert.equal(await migrateDatabase(database), 'unchanged');
    assert.deepEqual(await describeCode(sql), before);
    assert.equal(await isMigrated(sql), true);
  });

  it('is left alone by an older release that does not know its migrations (M9)', async () => {
    const present = await describeCode(sql);
    // The same release number: what only a change of tables tells apart.
    await sql`insert into drizzle.__drizzle_migrations (hash, created_at) values ('newer', 9999999999999)`;
    try {
      assert.equal(await migrateDatabase(database), 'database is newer');
      assert.deepEqual(await describeCode(sql), present);
    } finally {
      await sql`delete from drizzle.__drizzle_migrations where hash = 'newer'`;
    }
    assert.equal(await migrateDatabase(database), 'unchanged');
  });

  it('has the same definitions, rights and comments after the code was applied twice', async () => {
    const before = await describeCode(sql);
    assert.ok(before.length > 60, `${before.length} definitions`);
    assert.equal(await migrateDatabase(database, { codeDir: copyCode('-- another hash') }), 'replaced');
    assert.deepEqual(await describeCode(sql), before);
    assert.equal(await migrateDatabase(database), 'replaced');
    assert.deepEqual(await describeCode(sql), before);
  });

  it('loses the functions and triggers that an older release left over, and nothing else', async () => {
    const before = await describeCode(sql);
    await sql.unsafe(`
      create function private.left_over(a integer) returns integer language sql immutable as 'select 1';
      create function private.to_cell(coordinate text) returns integer language sql immutable as 'select 1';
      create function api.left_over() returns integer language sql immutable as 'select private.left_over(1)';
      create function private.left_over_trigger() returns trigger language plpgsql volatile as 'begin return null; end';
      create trigger _900_left_over after insert on portal.sichtbeobachtung
        for each statement execute function private.left_over_trigger();
      create function ausgabe.left_over() returns integer language sql immutable as 'select 1';
      create function public.of_the_operator() returns integer language sql immutable as 'select 1';
      comment on function api.list_mandant() is 'a comment of an older release';
    `);
    assert.notDeepEqual(await describeCode(sql), before);
    assert.equal(await migrateDatabase(database, { codeDir: copyCode('-- a third hash') }), 'replaced');
    assert.deepEqual(await describeCode(sql), before);
    const [kept] = await sql`select to_regprocedure('public.of_the_operator()') is not null as kept`;
    assert.equal(kept?.kept, true);
    await sql`drop function public.of_the_operator()`;
  });

  it('S5.8 keeps its functions when a file fails half way', async () => {
    const before = await describeCode(sql);
    const codeDir = copyCode('drop trigger _300_protokoll_insert on portal.sichtbeobachtung; select 1 / 0;', 'triggers.sql');
    await assert.rejects(migrateDatabase(database, { codeDir }), { code: '22012' });
    assert.deepEqual(await describeCode(sql), before);
    assert.equal(await migrateDatabase(database, { codeDir: copyCode('-- a fourth hash') }), 'replaced');
  });

  it('S5.8 keeps the functions of a newer release when an older one starts', async () => {
    const added = `create or replace function api.of_the_newer_release() returns integer language sql immutable as 'select 1';`;
    assert.equal(await migrateDatabase(database, { codeDir: copyCode(added), release: [99, 10, 0] }), 'replaced');
    const newer = await describeCode(sql);
    assert.ok(newer.some((text) => text.includes('of_the_newer_release')));
    // As numbers: 99.9 is older than 99.10. Beyond every release that will be.
    assert.equal(await migrateDatabase(database, { release: [99, 9, 9] }), 'database is newer');
    assert.deepEqual(await describeCode(sql), newer);
    assert.equal(await isMigrated(sql), true);
    assert.equal(await migrateDatabase(database, { release: [99, 10, 1] }), 'replaced');
    assert.ok((await describeCode(sql)).every((text) => !text.includes('of_the_newer_release')));
  });
});

const releases = readReleases();
const numbersOf = (release: string) => release.split('.').map(Number);

describe('sql/releases.json', () => {
  it('holds this release as it is: whoever changes sql/code raises the version in package.json, then npm run release', () => {
    assert.equal(releases.code[version], hashCode());
  });

  it('ends with this release, in ascending order, none with the code of an older one, unless it left sql/code as it was', () => {
    const all = Object.keys(releases.code);
    assert.equal(all.at(-1), version);
    const sorted = [...all].sort((a, b) => {
      const [left, right] = [numbersOf(a), numbersOf(b)];
      const at = left.findIndex((number, index) => number !== right[index]);
      return (left[at] ?? 0) - (right[at] ?? 0);
    });
    assert.deepEqual(all, sorted);
    const codes = Object.values(releases.code);
    assert.equal(codes.filter((code, index) => codes.indexOf(code) < index && codes[index - 1] !== code).length, 0);
  });

  it('holds every migration as it was when it landed: it is never edited, because it has run already', () => {
    assert.deepEqual(hashMigrations(), releases.migrations);
  });
});

describe('two migrations at once', () => {
  it('S5.8 of a new empty database both end well, with one installation and the same functions', {
    skip: onPostgres ? false : 'one process owns an embedded database',
  }, async () => {
    const { url, drop } = await createDatabase(`${process.env.TEST_TEMPLATE}_empty_${process.pid}`);
    const open = () => openDatabase({ databaseUrl: url, dataDir: '' });
    const databases = await Promise.all([open(), open(), open()]);
    const [first] = databases;
    const template = await openTestDatabase();
    try {
      const outcomes = await Promise.all(databases.map((database) => migrateDatabase(database)));
      assert.deepEqual(outcomes.sort(), ['replaced', 'unchanged', 'unchanged']);
      assert.deepEqual(await describeCode(first.sql), await describeCode(template.sql));
      const installations = await first.sql`select guid_namespace from portal.installation`;
      assert.equal(installations.length, 1);
    } finally {
      for (const database of databases) await database.close();
      await drop();
    }
  });

  it('one that gives the rights of the queue waits for the other', {
    skip: onPostgres ? false : 'one process owns an embedded database',
  }, async () => {
    const database = await openTestDatabase();
    await (await startBoss(database, () => {}, { supervise: false, mayChange: true })).stop();
    let later: Promise<void> | undefined;
    await database.sql.begin(async (tx) => {
      await tx`select api.grant_warteschlange()`;
      later = grantWarteschlange(database.sql);
      await waitFor('the other to wait', async () => {
        const [row] = await database.sql`
          select count(*)::integer as n from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock' and query ~ 'grant_warteschlange'`;
        return row?.n === 1;
      });
    });
    await later;
  });

  it('in two databases of one server: who gives a membership that the other gave meanwhile goes on', {
    skip: onPostgres ? false : 'one process owns an embedded database',
  }, async () => {
    const [, membership = ''] =
      /\n(do \$\$\nbegin\n {2}if to_regrole\('portal_dienst'\)[\s\S]*?\$\$;)/.exec(
        readCode(join(root, 'sql/code')).get('grants.sql') ?? '',
      ) ?? [];
    assert.match(membership, /grant gis_public to portal_dienst/);
    // Roles of its own: those of the service are in use by other tests.
    const [group, member] = [`gruppe_${process.pid}`, `mitglied_${process.pid}`];
    const statement = membership.replaceAll('gis_public', group).replaceAll('portal_dienst', member);
    const database = await openTestDatabase();
    await database.sql.unsafe(`create role ${group}; create role ${member}`).simple();
    try {
      let later: Promise<unknown> | undefined;
      await database.sql.begin(async (tx) => {
        await tx.unsafe(`grant ${group} to ${member}`);
        later = database.sql.unsafe(`set local lock_timeout = 0; ${statement}`).simple().execute();
        await waitFor('the other to wait', async () => {
          const [row] = await database.sql`
            select count(*)::integer as n from pg_stat_activity
            where datname = current_database() and wait_event_type = 'Lock' and query like ${`%${group}%`}`;
          return row?.n === 1;
        });
      });
      await later;
    } finally {
      await database.sql.unsafe(`drop role ${group}; drop role ${member}`).simple();
    }
  });
});

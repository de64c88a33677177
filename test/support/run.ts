// Runs the tests: prepares a migrated template, empty and with the test catalogue, of which every test file takes copies, and
// hands over to node:test. On the embedded database, or on the PostgreSQL of DATABASE_URL.
// Further arguments are passed on: npm test -- test/http/login.test.ts
// TEST_POOLER=1 puts PgBouncer between the services under test and PostgreSQL.
// TEST_REPLICA=1 starts a PostgreSQL of its own with a replica, which services under test read from; a commit waits until it shows it.
// TEST_CODE_DIR takes the place of sql/code: test/mutants.ts breaks a copy.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { globSync, readFileSync, statSync } from 'node:fs';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase } from '../../src/db/client.ts';
import { listGrantWarnings } from '../../src/db/grants.ts';
import { migrateDatabase } from '../../src/db/migrate.ts';
import { checkDatabase } from '../../src/db/requirements.ts';
import { describeStartError } from '../../src/observe/fault.ts';
import { loadTestCatalogue } from './catalogue.ts';
import { takeLittle } from './engine.ts';
import type { Pooler } from './pooler.ts';
import { migratedOf } from './template.ts';

const codeOptions = process.env.TEST_CODE_DIR ? { codeDir: process.env.TEST_CODE_DIR } : {};

async function prepareEmbedded(): Promise<{ template: string; remove: () => Promise<void> }> {
  const dir = await mkdtemp(join(tmpdir(), 'sighting-test-'));
  const template = join(dir, 'template');
  const migrated = migratedOf(template);
  const empty = await openDatabase({ databaseUrl: null, dataDir: migrated });
  await migrateDatabase(empty, codeOptions);
  await empty.close();
  await takeLittle(join(migrated, 'database'));
  await cp(migrated, template, { recursive: true });
  const database = await openDatabase({ databaseUrl: null, dataDir: template });
  await loadTestCatalogue(database.sql);
  await database.close();
  return { template, remove: () => rm(dir, { recursive: true }) };
}

/** The role that owns what the tests use, as an installation has it: no superuser's, whom nothing is ever refused. */
const owner = { role: `sighting_test_${process.pid}_owner`, password: randomUUID() };

/** The role that services under test run as, with the rights of the group that operators put theirs into. */
const service = { TEST_SERVICE_ROLE: `sighting_test_${process.pid}`, TEST_SERVICE_PASSWORD: randomUUID() };

let pooler: Pooler | undefined;

async function preparePostgres(databaseUrl: string): Promise<{ template: string; remove: () => Promise<void> }> {
  const server = await openDatabase({ databaseUrl, dataDir: '' });
  await checkDatabase(server.sql);
  const template = `sighting_test_${process.pid}`;
  const migrated = migratedOf(template);
  const open = (name: string, as?: typeof owner) => {
    const url = new URL(databaseUrl);
    url.pathname = `/${name}`;
    if (as) [url.username, url.password] = [as.role, as.password];
    return openDatabase({ databaseUrl: url.href, dataDir: '' });
  };
  // What docs/operations/install.md has the administrator do, before and after. The groups are made by the migration.
  await server.sql.unsafe(`create role ${owner.role} login createrole password '${owner.password}' in role pg_read_all_stats`);
  await server.sql.unsafe(`create database ${migrated} owner ${owner.role}`);
  const administrator = await open(migrated);
  await administrator.sql
    .unsafe('create extension postgis; create extension btree_gist; create extension "uuid-ossp"; create extension pg_trgm')
    .simple();
  const empty = await open(migrated, owner);
  await migrateDatabase(empty, codeOptions);
  for (const sentence of await listGrantWarnings(empty.sql)) {
    const [, statements = ''] = /: ((?:grant|revoke|create event trigger) .*;)$/.exec(sentence) ?? [];
    await administrator.sql.unsafe(statements).simple();
  }
  await empty.close();
  await administrator.close();
  await server.sql.unsafe(`create database ${template} template ${migrated}`);
  const database = await open(template);
  await loadTestCatalogue(database.sql);
  await database.close();
  await server.sql.unsafe(
    `create role ${service.TEST_SERVICE_ROLE} login password '${service.TEST_SERVICE_PASSWORD}' in role portal_dienst`,
  );
  if (process.env.TEST_POOLER) {
    const { giveSettings, startPooler } = await import('./pooler.ts');
    const { TEST_SERVICE_ROLE: role, TEST_SERVICE_PASSWORD: password } = service;
    await giveSettings(server.sql, role);
    pooler = await startPooler(databaseUrl, { [role]: password });
    process.env.TEST_POOLER_URL = pooler.through(databaseUrl);
  }
  return {
    template,
    async remove() {
      await pooler?.stop();
      for (const name of [template, migrated]) await server.sql.unsafe(`drop database ${name}`);
      await server.sql.unsafe(`drop role ${service.TEST_SERVICE_ROLE}`);
      // What is kept of failed tests is this one's: then it loses what later runs would be warned of.
      await server.sql
        .unsafe(`drop role ${owner.role}`)
        .catch(() => server.sql.unsafe(`revoke pg_read_all_stats from ${owner.role}; alter role ${owner.role} nologin`).simple());
      await server.close();
    },
  };
}

// What is committed is shown by the replica too, so that tests may read what they wrote.
async function prepareReplica(): Promise<{ remove: () => Promise<void> }> {
  const { startCluster } = await import('./cluster.ts');
  const primary = await startCluster();
  const replica = await primary.addStandby();
  const server = await openDatabase({ databaseUrl: primary.url, dataDir: '' });
  for (const setting of ["synchronous_standby_names = '*'", 'synchronous_commit = remote_apply'])
    await server.sql.unsafe(`alter system set ${setting}`);
  await server.sql`select pg_reload_conf()`;
  await server.close();
  process.env.DATABASE_URL = primary.url;
  process.env.TEST_REPLICA_URL = replica.url;
  return {
    async remove() {
      await primary.remove();
      await replica.remove();
    },
  };
}

// What makes the service, a site or a database, or is told which one there is.
const opensDatabase =
  /from '(\.\.?\/)+(support|bench|fuzz)\/(database|service|process|twins|cluster|catalogue|pooler|site)\.ts'|openDatabase/;

/**
 * All test files; with DATABASE_URL without those that know no database, or only the other one: they run without it. The largest first: what
 * takes long is not what all wait for in the end.
 */
function listFiles(): string[] {
  const all = globSync('test/**/*.test.ts', { exclude: ['**/node_modules'] });
  all.sort((a, b) => statSync(b).size - statSync(a).size);
  return databaseUrl ? all.filter((file) => opensDatabase.test(readFileSync(file, 'utf8'))) : all;
}

const replica = process.env.TEST_REPLICA ? await prepareReplica() : null;
const databaseUrl = process.env.DATABASE_URL;
const args = process.argv.slice(2);
try {
  const { template, remove } = await (databaseUrl ? preparePostgres(databaseUrl) : prepareEmbedded());
  const files = args.filter((arg) => !arg.startsWith('-'));
  const child = spawn(
    process.execPath,
    [
      '--disable-warning=ExperimentalWarning',
      '--import',
      './src/preflight.js',
      '--import',
      'tsx',
      '--test',
      // More than cores: many wait for something. An embedded database takes more than a gigabyte.
      '--test-concurrency=4',
      '--test-timeout=300000',
      ...args.filter((arg) => arg.startsWith('-')),
      ...(files.length > 0 ? files : listFiles()),
    ],
    { stdio: 'inherit', env: { ...process.env, ...service, TEST_TEMPLATE: template } },
  );
  process.exitCode = await new Promise<number>((resolve) => child.on('exit', (code) => resolve(code ?? 1)));
  await remove();
  await replica?.remove();
} catch (error) {
  console.error(describeStartError(error));
  await replica?.remove();
  // At once: an open connection would keep this process for ever.
  process.exit(1);
}

// A database of its own for each test file: a copy of the template that test/support/run.ts made.
import { rmSync } from 'node:fs';
import { afterEach } from 'node:test';
import { type Database, openDatabase, type Sql } from '../../src/db/client.ts';
import { closeAtEnd } from './end.ts';
import { beQuick } from './engine.ts';
import { copyDirectory } from './template.ts';
import { waitFor } from './wait.ts';

/** Whether the tests run on PostgreSQL instead of the embedded database. */
export const onPostgres = Boolean(process.env.DATABASE_URL);

if (!onPostgres) beQuick();

export { closeAtEnd };

let copies = 0;
let failed = false;
afterEach((t) => {
  failed ||= 'passed' in t && t.passed === false;
});

export interface TestDatabase extends Database {
  /** The same as the service's role, which may only call what it calls; of the embedded database the same role. */
  served: Database;
}

/** Until somebody waits for a lock in this database. */
export const waitForWaiter = (sql: Sql) =>
  waitFor('a wait for a lock', async () => {
    const rows = await sql`
      select from pg_locks l join pg_stat_activity a using (pid) where not l.granted and a.datname = current_database()`;
    return rows.length > 0;
  });

/** Opens a fresh copy of the template. It is dropped after the file's tests, unless one of them failed. */
export async function openTestDatabase(): Promise<TestDatabase> {
  const template = process.env.TEST_TEMPLATE;
  if (!template) throw new Error('Tests are started with: npm test -- test/….test.ts');
  const databaseUrl = process.env.DATABASE_URL;
  if (!databaseUrl) {
    const dataDir = copyDirectory(template);
    const database = await openDatabase({ databaseUrl: null, dataDir });
    closeAtEnd(async () => {
      await database.close();
      rmSync(dataDir, { recursive: true });
    });
    return { ...database, served: database };
  }

  const name = `${template}_${process.pid}_${++copies}`;
  const { url, server, drop } = await createDatabase(name, `template ${template}`);
  const database = await openDatabase({ databaseUrl: url, dataDir: '' });
  const served = await openServed(name);
  closeAtEnd(async () => {
    await served.close();
    await database.close();
    if (!failed) return drop();
    console.error(`kept for a look: database ${name}`);
    await server.close();
  });
  return { ...database, served };
}

export interface CreatedDatabase {
  url: string;
  /** Of an administrator. */
  server: Database;
  /** Drops it, and then roles that owned something there. */
  drop(...roles: string[]): Promise<void>;
}

/**
 * Makes a database on the server of the tests.
 * @param options of `create database`
 */
export async function createDatabase(name: string, options = ''): Promise<CreatedDatabase> {
  const server = await openDatabase({ databaseUrl: process.env.DATABASE_URL ?? '', dataDir: '' });
  await server.sql.unsafe(`create database ${name} ${options}`);
  return {
    url: databaseUrlOf(name),
    server,
    async drop(...roles) {
      try {
        await dropDatabase(server, name);
        for (const role of roles) await server.sql.unsafe(`drop role ${role}`);
      } finally {
        // An open connection would keep the file's process for ever.
        await server.close();
      }
    },
  };
}

/**
 * Drops a database, whatever still holds it. Without the time limit of requests: the server waits until every connection on it
 * has noticed, and those of other tests may be computing.
 */
export async function dropDatabase(server: Database, name: string): Promise<void> {
  await server.connect().unsafe(`drop database ${name} with (force)`);
}

/** DATABASE_URL with another database on the same server, and another role. */
export function databaseUrlOf(name: string, role?: string, password = ''): string {
  const url = new URL(process.env.DATABASE_URL ?? '');
  url.pathname = `/${name}`;
  if (role) [url.username, url.password] = [role, password];
  return url.href;
}

/** A database as a service has it: through a pooler where the tests run with one. */
function openServed(name: string): Promise<Database> {
  const { TEST_SERVICE_ROLE: role = '', TEST_SERVICE_PASSWORD: password } = process.env;
  const directDatabaseUrl = databaseUrlOf(name, role, password);
  if (!process.env.TEST_POOLER_URL) return openDatabase({ databaseUrl: directDatabaseUrl, dataDir: '' });
  const url = new URL(directDatabaseUrl);
  url.host = new URL(process.env.TEST_POOLER_URL).host;
  return openDatabase({ databaseUrl: url.href, directDatabaseUrl, dataDir: '' });
}

// What the service stands on: a database of its own with the demo in it, and accounts whose passwords are known.
import { loadDemo } from '../../src/catalog/demo.ts';
import { openDatabase } from '../../src/db/client.ts';
import { migrateDatabase } from '../../src/db/migrate.ts';
import { createNutzer, createToken, getLogin, setNutzerStatus } from '../../src/db/nutzer.ts';
import { hashPassword, sha1OfPlain } from '../../src/guard/password.ts';
import { makeToken } from '../../src/guard/token.ts';
import { fillDatabase } from '../bench/generate.ts';
import { atEnd, makeDir } from '../bench/process.ts';

export interface Account {
  id: number;
  loginname: string;
  sha1: string;
  /** Access keys that no traffic ends on purpose. */
  token: string;
}

export type Role = 'reporter' | 'neighbour' | 'expert' | 'restricted' | 'administrator';

export interface Site {
  env: Record<string, string>;
  roles: Record<Role, Account>;
  /** Asks while the others are attacked: no traffic touches this account. */
  witness: Account;
  /** May be changed, blocked and logged out. */
  throwaways: Account[];
  /** Access keys of throwaways that logouts may end. */
  spareTokens: { loginname: string; token: string }[];
}

const throwawayCount = 12;
const spareTokenCount = 120;

/**
 * Makes database and data directory, which are removed at the end of the run: on this PostgreSQL, embedded without one.
 * @param sightings so many of the benchmark's instead of the demo
 */
export async function makeSite(serverUrl = process.env.DATABASE_URL, { sightings = 0 } = {}): Promise<Site> {
  const dataDir = await makeDir();
  const databaseUrl = serverUrl ? await createDatabase(serverUrl) : null;
  const database = await openDatabase({ databaseUrl, dataDir });
  try {
    if (sightings > 0) await fillDatabase(database, sightings, console.log);
    else {
      await migrateDatabase(database);
      await loadDemo(database, { step: () => {}, end: () => {} });
    }
    const { sql } = database;
    const giveToken = async (id: number, loginname: string) => {
      const { token, hash } = makeToken();
      const { passwordHash } = (await getLogin(sql, loginname)) ?? {};
      await createToken(sql, id, hash, passwordHash ?? '', '127.0.0.1');
      return token;
    };
    const create = async (loginname: string, rolle: 'expert' | 'administrator' | null = null, artengruppen: number[] = []) => {
      const sha1 = sha1OfPlain(`Kennwort von ${loginname}`);
      const id = await createNutzer(sql, {
        loginname,
        email: `${loginname.replaceAll(/[^a-z0-9]/g, '-')}@example.org`,
        vorname: 'Änne',
        nachname: loginname,
        anonymisiert: 0,
        rolle,
        artengruppen,
        mandanten: [],
        passwordHash: await hashPassword(sha1),
      });
      return { id, loginname, sha1, token: await giveToken(id, loginname) };
    };
    const site: Site = {
      // Under load, one account reports more than anybody does in a day.
      env: { DATA_DIR: dataDir, DATABASE_URL: databaseUrl ?? '', MAX_WRITES_PER_ACCOUNT: '100000000' },
      roles: {
        reporter: await create('melder 1'),
        neighbour: await create('käfer anna'),
        expert: await create('expertin', 'expert'),
        restricted: await create('vogelexperte', 'expert', [2]),
        administrator: await create('chef', 'administrator'),
      },
      witness: await create('zeuge'),
      throwaways: [],
      spareTokens: [],
    };
    for (let i = 0; i < throwawayCount; i++) site.throwaways.push(await create(`wegwerf-${i}`));
    for (let i = 0; i < spareTokenCount; i++) {
      const { id, loginname } = site.throwaways[i % throwawayCount] as Account;
      site.spareTokens.push({ loginname, token: await giveToken(id, loginname) });
    }
    await setNutzerStatus(sql, 'wegwerf-0', 0);
    return site;
  } finally {
    await database.close();
  }
}

async function createDatabase(serverUrl: string): Promise<string> {
  const server = await openDatabase({ databaseUrl: serverUrl, dataDir: '' });
  const name = `sighting_fuzz_${process.pid}`;
  await server.sql.unsafe(`create database ${name}`);
  atEnd(async () => {
    await server.sql.unsafe(`drop database ${name} with (force)`);
    await server.close();
  });
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}

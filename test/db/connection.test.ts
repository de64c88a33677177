// Addresses of a database, before the driver reads them; and when the primary is asked in place of that for reading.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DatabaseError, openDatabase } from '../../src/db/client.ts';
import { requireAddress, type Sql } from '../../src/db/connection.ts';
import { readFrom } from '../../src/db/reads.ts';

const refuse = (databaseUrl: string, says: RegExp) =>
  assert.rejects(openDatabase({ databaseUrl, dataDir: '' }), (error) => {
    return error instanceof DatabaseError && says.test(error.message) && !/geheim|\n/.test(error.message);
  });

describe('an address', () => {
  for (const address of [
    'postgres://portal@db/portal',
    'postgresql://db:5433',
    'postgres:///portal',
    'postgres://p:a,b%40c@[::1]:5433/p',
    'postgres://p@db?options=a@b,c',
    ...['disable', 'prefer', 'require'].map((mode) => `postgres://192.0.2.1/p?sslmode=${mode}`),
    'postgres://db/p?sslmode=verify-full',
  ])
    it(`may be ${address}`, () => requireAddress(address));

  for (const servers of ['db1,db2', 'db1:5432,db2:5433', '[::1],db2', 'db1,', ','])
    it(`names one server, not ${servers}`, () =>
      refuse(`postgres://p:geheim,@${servers}/p`, /mehrere Server, erlaubt ist einer: .*docs\/operations\/database\.md/));

  const modes: [query: string, says: RegExp][] = [
    ['db/p?sslmode=verify_full', /erlaubt sind disable, allow, prefer, require, verify-ca, verify-full/],
    ['192.0.2.1/p?sslmode=verify-full', /gehört dieser Name, nicht die IP-Adresse/],
    ['[::1]:5433/p?sslmode=verify-ca', /gehört dieser Name, nicht die IP-Adresse/],
  ];
  for (const [rest, says] of modes)
    it(`whose sslmode can not be kept is told in a sentence: ${rest}`, () => refuse(`postgres://p:geheim@${rest}`, says));

  for (const databaseUrl of [
    'postgres://p:geheim@db:x/p',
    // What stands for something else in an address.
    ...['%', '%zz', '#', '/', '?'].map((sign) => `postgres://p:geheim${sign}@db/p`),
  ])
    it(`that can not be read is told in a sentence, without the password: ${databaseUrl}`, () =>
      refuse(databaseUrl, /nicht lesbar; erlaubt ist/));
});

describe('a pool', () => {
  it('makes its connections anew, so that none stays with a former primary; what one connection holds is kept', async () => {
    const database = await openDatabase({
      databaseUrl: 'postgres://p@127.0.0.1:1/p',
      readDatabaseUrl: 'postgres://p@127.0.0.1:2/p',
      dataDir: '',
    });
    for (const pool of [database.sql, database.reads, database.work]) assert.equal(pool?.options.max_lifetime, 60);
    assert.notEqual(database.connect().options.max_lifetime, 60);
    await database.close();
  });
});

interface Stand {
  asked: number;
  /** What it fails with. */
  code?: string;
}

/** A client that answers with its name, and with bytes of it where it is asked for them. */
function clientOf(name: string, stand: Stand): Sql {
  const answer = async () => {
    stand.asked++;
    if (stand.code) throw Object.assign(new Error(stand.code), { code: stand.code });
    return name;
  };
  const ask = () => Object.assign(answer(), { raw: async () => Buffer.from(name) });
  return Object.assign(ask, { begin: answer }) as unknown as Sql;
}

function setUp() {
  const [replica, primary]: [Stand, Stand] = [{ asked: 0 }, { asked: 0 }];
  const told: unknown[] = [];
  const reads = readFrom(clientOf('replica', replica), clientOf('primary', primary), (error) => told.push(error));
  const ask = async () => String(await reads`select`);
  return { replica, primary, told, reads, ask };
}

describe('the address for reading', () => {
  it('is asked for rows, bytes and transactions', async () => {
    const { reads, ask, primary } = setUp();
    assert.equal(await ask(), 'replica');
    assert.deepEqual(await reads`select`.raw(), Buffer.from('replica'));
    assert.equal(await reads.begin(async () => {}), 'replica');
    assert.equal(primary.asked, 0);
  });

  for (const code of ['ECONNREFUSED', 'ECONNRESET', 'CONNECTION_CLOSED', 'EAI_AGAIN', '57P01', '57P03', '08P01'])
    it(`gives way to the primary for ${code}, which is not tried by each request`, async () => {
      const { replica, primary, told, ask } = setUp();
      replica.code = code;
      assert.deepEqual([await ask(), await ask()], ['primary', 'primary']);
      assert.deepEqual([replica.asked, primary.asked, told.length], [1, 2, 1]);
    });

  it('gives way for a function that it lacks, and for that statement only', async () => {
    const { replica, told, ask } = setUp();
    replica.code = '42883';
    assert.deepEqual([await ask(), await ask()], ['primary', 'primary']);
    assert.deepEqual([replica.asked, told.length], [2, 2]);
  });

  for (const code of ['NFUND', '57014', 'OVERLOADED', '22P02'])
    it(`fails with ${code} where it says so`, async () => {
      const { replica, primary, ask } = setUp();
      replica.code = code;
      await assert.rejects(ask(), { code });
      assert.equal(primary.asked, 0);
    });

  it('fails as the primary does where both are away', async () => {
    const { replica, primary, ask } = setUp();
    [replica.code, primary.code] = ['ECONNREFUSED', '57P03'];
    await assert.rejects(ask(), { code: '57P03' });
  });
});

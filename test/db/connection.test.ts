// Addresses of a database, before the driver reads them.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DatabaseError, openDatabase } from '../../src/db/client.ts';
import { requireAddress } from '../../src/db/connection.ts';

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

// Addresses of several servers, as libpq has them.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DatabaseError, openDatabase } from '../../src/db/client.ts';
import { listServers, readTarget, Server } from '../../src/db/server.ts';

describe('an address', () => {
  const cases: [address: string, servers: string[]][] = [
    ['postgres://portal@db/portal', ['postgres://portal@db/portal']],
    ['postgres://portal@db1,db2:5433/portal', ['postgres://portal@db1/portal', 'postgres://portal@db2:5433/portal']],
    ['postgresql://db1,db2', ['postgresql://db1', 'postgresql://db2']],
    ['postgres://p:a,b%40c@[::1]:5433,db2/p', ['postgres://p:a,b%40c@[::1]:5433/p', 'postgres://p:a,b%40c@db2/p']],
    [
      'postgres://p@db1,db2/p?target_session_attrs=primary&sslmode=require',
      ['postgres://p@db1/p?sslmode=require', 'postgres://p@db2/p?sslmode=require'],
    ],
    ['postgres://p@db1,db2?options=a@b,c', ['postgres://p@db1?options=a%40b%2Cc', 'postgres://p@db2?options=a%40b%2Cc']],
  ];
  for (const [address, servers] of cases)
    it(`names the servers ${servers.map((server) => new Server(server).name).join(' and ')}: ${address}`, () => {
      // Parameters may be written otherwise, as long as they say the same.
      const plain = (url: string) => decodeURIComponent(url);
      assert.deepEqual(listServers(address).map(plain), servers.map(plain));
    });

  it('says which of them it asks for', () => {
    assert.equal(readTarget('postgres://db1,db2/p?target_session_attrs=read-write'), 'read-write');
    assert.equal(readTarget('postgres://db1,db2/p'), null);
  });

  const modes: [query: string, says: RegExp][] = [
    ['db/p?sslmode=verify_full', /erlaubt sind disable, allow, prefer, require, verify-ca, verify-full/],
    ['192.0.2.1/p?sslmode=verify-full', /gehört dieser Name, nicht die IP-Adresse/],
    ['db1,[::1]:5433/p?sslmode=verify-ca', /gehört dieser Name, nicht die IP-Adresse/],
  ];
  for (const [rest, says] of modes)
    it(`whose sslmode can not be kept is told in a sentence: ${rest}`, async () => {
      await assert.rejects(openDatabase({ databaseUrl: `postgres://p:geheim@${rest}`, dataDir: '' }), (error) => {
        return error instanceof DatabaseError && says.test(error.message) && !/geheim/.test(error.message);
      });
    });

  it('that encrypts without a look at the name may have an IP address', () => {
    for (const mode of ['disable', 'prefer', 'require'])
      assert.equal(listServers(`postgres://192.0.2.1/p?sslmode=${mode}`).length, 1);
  });

  const unreadable = [
    'postgres://p:geheim@db1,,db2/p',
    'postgres://p:geheim@db1:x,db2/p',
    'postgres://p:geheim@,/p',
    'postgres://p:geheim@db:x/p',
    // What stands for something else in an address.
    ...['%', '%zz', '#', '/', '?'].map((sign) => `postgres://p:geheim${sign}@db/p`),
  ];
  for (const databaseUrl of unreadable)
    it(`that can not be read is told in a sentence, without the password: ${databaseUrl}`, async () => {
      await assert.rejects(openDatabase({ databaseUrl, dataDir: '' }), (error) => {
        return error instanceof DatabaseError && /nicht lesbar; erlaubt ist/.test(error.message) && !/geheim/.test(error.message);
      });
    });
});

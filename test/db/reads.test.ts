// What is asked at the address for reading, and when the primary is asked in its place.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Sql } from '../../src/db/connection.ts';
import { readFrom } from '../../src/db/reads.ts';

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

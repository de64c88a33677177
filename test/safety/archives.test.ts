// Archives of own data go on for minutes: whoever reads slowly gets all of it, whoever lost the account does not, and nobody has both places.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as ask, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLog } from '../../src/observe/log.ts';
import { arten } from '../support/catalogue.ts';
import { listenAsService } from '../support/listen.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { readZip } from '../support/zip.ts';

let service: TestService;
let port: number;
let logged = '';
before(async () => {
  const write = (line: string) => {
    logged += line;
  };
  service = await startTestService({ log: createLog('warn', undefined, { output: { write, hold: write } }) });
  port = await listenAsService(service.app.fetch);
  // More than the system holds of an answer that nobody reads; in steps, each of which is far from the time that a statement may take.
  for (let first = 1; first <= 2500; first += 250)
    await service.database.sql`
      insert into portal.sichtbeobachtung (nutzer_id, art, point, datum, bereich, bemerkung)
      select u.id, ${arten.amsel}::integer,
        st_setsrid(st_makepoint(417000 + n, 5531000), 25832), date '2026-09-01', 'privat',
        (select string_agg(md5(n || ' ' || m), '') from generate_series(1, 125) m)
      from generate_series(${first}::integer, ${first}::integer + 249) n, portal.nutzer u where u.loginname in ('melder', 'nachbarin')`;
});

/** The answer to a download by a new link, of which nothing is read yet. */
async function beginArchive(account: 'melder' | 'nachbarin' | 'expertin', localAddress: string): Promise<IncomingMessage> {
  const path = await service.makeDatenLink(account);
  const request = ask({
    host: '127.0.0.1',
    port,
    localAddress,
    method: 'POST',
    path: `/api/v2${path}`,
    headers: { Host: 'n.test', 'Content-Type': 'application/x-www-form-urlencoded', Connection: 'close' },
  });
  request.end('aktion=herunterladen');
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  return response;
}

describe('an archive that was begun', () => {
  it('S5.10 goes on for whoever reads nothing for as long as what the system holds may take', async () => {
    const response = await beginArchive('melder', '127.0.0.1');
    await sleep(2000);
    const files = await readZip(await buffer(response));
    assert.ok(JSON.parse(files.get('sichtbeobachtungen.json')?.toString() ?? '[]').length >= 2500);
  });

  it('holds one place of its account, from however many networks it is asked for', async () => {
    const first = await beginArchive('melder', '127.0.0.2');
    const second = await beginArchive('melder', '127.0.0.3');
    const other = await beginArchive('nachbarin', '127.0.0.4');
    assert.deepEqual([first.statusCode, second.statusCode, other.statusCode], [200, 503, 200]);
    for (const response of [first, second, other]) response.destroy();
  });

  it('leaves places to others, however slowly it is read', async () => {
    const slow = await beginArchive('melder', '127.0.0.5');
    const others = [await beginArchive('nachbarin', '127.0.0.6'), await beginArchive('expertin', '127.0.0.7')];
    assert.deepEqual(
      others.map(({ statusCode }) => statusCode),
      [200, 200],
    );
    for (const response of [slow, ...others]) response.destroy();
  });

  for (const [change, sets] of [
    ['password', { password_hash: 'x' }],
    ['address', { email: 'anders@example.org' }],
    ['status', { status: 0 }],
  ] as const) {
    it(`ends with the ${change} of the account: what comes later is nobody's who lost it (D6.11)`, async () => {
      const { sql } = service.database;
      logged = '';
      const response = await beginArchive('melder', '127.0.0.5');
      await sql`update portal.nutzer set ${sql(sets)} where loginname = 'melder'`;
      await assert.rejects(buffer(response), { code: 'ECONNRESET' });
      assert.match(logged, /an archive of own data was broken off/);
      await sql`update portal.nutzer set status = 1 where loginname = 'melder'`;
    });
  }

  it('may be left by whoever reads it, of which the log says nothing, and its place is free at once', async () => {
    logged = '';
    for (let n = 0; n < 2; n++) {
      const response = await beginArchive('melder', '127.0.0.8');
      assert.equal(response.statusCode, 200);
      response.destroy();
      await sleep(500);
    }
    assert.equal(logged, '');
  });

  it('goes on when only a newer link is asked for', async () => {
    const response = await beginArchive('melder', '127.0.0.6');
    await service.makeDatenLink('melder');
    assert.ok((await readZip(await buffer(response))).has('konto.json'));
  });
});

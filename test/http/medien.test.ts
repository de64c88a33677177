// Who may load a stored file: every reader, every state of its record, every kind of address (D3.20).
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { createLog } from '../../src/observe/log.ts';
import type { Account } from '../support/catalogue.ts';
import { makeJpeg } from '../support/photo.ts';
import { startTestService } from '../support/service.ts';

const log = createLog('silent');
const service = await startTestService({ log });
const { sql } = service.database;
const photo = new Blob([await makeJpeg({ width: 64, height: 48 })]);

type State = 'privat' | 'pruefung' | 'hinweis' | 'abgelehnt' | 'freigegeben';
const states: State[] = ['privat', 'pruefung', 'hinweis', 'abgelehnt', 'freigegeben'];
const readers: (Account | null)[] = [null, 'melder', 'nachbarin', 'expertin', 'admin'];

let places = 0;
async function makeWithPhoto(state: State): Promise<number> {
  const id = await service.makeSichtbeobachtung({ lon: String(410_000 + ++places), foto: photo });
  if (state !== 'privat') await setState(id, state);
  return id;
}

// By SQL: what a photo's address does must not depend on how its record came into a state.
async function setState(id: number, state: State): Promise<void> {
  if (state === 'privat') {
    await sql`update portal.sichtbeobachtung set bereich = 'privat', status = 'pruefung' where id = ${id}`;
  } else {
    await sql`update portal.sichtbeobachtung set bereich = 'oeffentlich' where id = ${id}`;
    await sql`update portal.sichtbeobachtung set status = ${state} where id = ${id}`;
  }
}

/** The address of the photo as this reader finds it, without host and path; null when the record is not shown. */
async function addressFor(id: number, as: Account | null): Promise<string | null> {
  const answer = await service.request(`/sichtbeobachtungen/${id}`, { as });
  if (answer.status === 404) return null;
  const { foto } = answer.json.result[0];
  assert.ok(foto.startsWith('http://n.test/api/v2/medien/'), foto);
  return foto.slice('http://n.test/api/v2'.length);
}
const load = async (address: string) => (await service.request(address)).status;
const plainOf = (address: string) => address.split('?', 1)[0] as string;
const altered = (address: string, name: string, value: (old: string) => string) => {
  const url = new URL(address, 'http://n.test');
  url.searchParams.set(name, value(url.searchParams.get(name) ?? ''));
  return url.pathname.replace('/api/v2', '') + url.search;
};

describe('an address of a photo, as each reader finds it', () => {
  for (const state of states) {
    for (const as of readers) {
      it(`S1.9 ${state}, ${as ?? 'anonymous'}`, async () => {
        const maySee = state === 'freigegeben' || as === 'melder' || (as !== null && state !== 'privat');
        const id = await makeWithPhoto(state);
        const address = await addressFor(id, as);
        assert.equal(address !== null, maySee);
        if (address === null) return;
        assert.equal(await load(address), 200);
        if (state === 'freigegeben') {
          assert.equal(address, plainOf(address), 'everyone has the plain address');
          return;
        }
        assert.equal(await load(plainOf(address)), 404, 'plain');
        const otherEnd = (old: string) => `${old.slice(0, -1)}${old.endsWith('A') ? 'B' : 'A'}`;
        assert.equal(await load(altered(address, 'signatur', otherEnd)), 404);
        assert.equal(await load(altered(address, 'signatur', () => '')), 404);
        assert.equal(await load(altered(address, 'signatur', (old) => `${old}x`)), 404);
        assert.equal(await load(altered(address, 'bis', (old) => String(Number(old) + 60))), 404, 'longer');
        assert.equal(await load(altered(address, 'bis', () => '1')), 404, 'expired');
        assert.equal(await load(altered(address, 'leser', (old) => String(Number(old) + 1))), 404, 'another reader');
        const other = await addressFor(await makeWithPhoto(state), 'melder');
        assert.equal(await load(plainOf(other as string) + address.slice(plainOf(address).length)), 404, 'of another record');
      });
    }
  }

  it('S1.9 is signed for fifteen minutes', async (t) => {
    const address = (await addressFor(await makeWithPhoto('pruefung'), 'expertin')) as string;
    const now = Date.now();
    t.mock.timers.enable({ apis: ['Date'], now: now + 14 * 60_000 });
    assert.equal(await load(address), 200);
    t.mock.timers.setTime(now + 15 * 60_000 + 1000);
    assert.equal(await load(address), 404);
  });

  it('in a list is the one of the single record; in XML and JSONP too', async () => {
    const id = await makeWithPhoto('freigegeben');
    const plain = await addressFor(id, null);
    const list = await service.request('/sichtbeobachtungen?limit=1000');
    const record = list.json.result.find((row: { id: number }) => row.id === id);
    assert.equal(record.foto, `http://n.test/api/v2${plain}`);
    const xml = await service.request(`/sichtbeobachtungen/${id}?format=xml`);
    assert.ok(xml.text.includes(`<foto>http://n.test/api/v2${plain}</foto>`), xml.text);
    const jsonp = await service.request(`/sichtbeobachtungen/${id}?callback=f&restrict=foto`);
    assert.equal(jsonp.text, `f({"result":[{"foto":"http://n.test/api/v2${plain}"}]});`);
  });

  it('is not made by a remark that looks like the mark of a file', async () => {
    const bemerkung = '\u0001+00000000000000000000000000000000.jpg"';
    const id = await service.makeSichtbeobachtung({ lon: String(410_000 + ++places), bemerkung });
    const { json } = await service.request(`/sichtbeobachtungen/${id}?restrict=bemerkung,foto`, { as: 'melder' });
    assert.deepEqual(json.result, [{ foto: null, bemerkung }]);
  });
});

describe('an address stops working at once', () => {
  it('S1.9 for everyone else, when the record is withdrawn', async () => {
    const id = await makeWithPhoto('pruefung');
    const [own, expert] = [await addressFor(id, 'melder'), await addressFor(id, 'expertin')];
    await setState(id, 'privat');
    assert.equal(await load(expert as string), 404);
    assert.equal(await load(own as string), 200);
  });

  it('S1.9 for everyone, when a release is taken back or the record is deleted', async () => {
    const id = await makeWithPhoto('freigegeben');
    const plain = (await addressFor(id, null)) as string;
    const answer = await service.request(plain);
    await setState(id, 'hinweis');
    assert.equal(await load(plain), 404);
    const conditional = { headers: { 'if-none-match': answer.headers.get('etag') as string } };
    assert.equal((await service.request(plain, conditional)).status, 404);
    assert.equal((await service.request(plain, { headers: { 'if-none-match': '*' } })).status, 404);
    const signed = (await addressFor(id, 'expertin')) as string;
    await sql`delete from portal.sichtbeobachtung where id = ${id}`;
    assert.equal(await load(signed), 404);
  });

  it('for an account that is blocked', async () => {
    const id = await makeWithPhoto('pruefung');
    const signed = (await addressFor(id, 'nachbarin')) as string;
    await sql`update portal.nutzer set status = 0 where loginname = 'nachbarin'`;
    assert.equal(await load(signed), 404);
    await sql`update portal.nutzer set status = 1 where loginname = 'nachbarin'`;
    assert.equal(await load(signed), 200);
  });
});

describe('a stored file is served', () => {
  let address: string;
  let whole: Buffer;
  before(async () => {
    address = (await addressFor(await makeWithPhoto('freigegeben'), null)) as string;
    const answer = await service.app.request(`http://n.test/api/v2${address}`, { headers: { host: 'n.test' } });
    whole = Buffer.from(await answer.arrayBuffer());
    assert.equal(answer.headers.get('content-type'), 'image/jpeg');
    assert.equal(answer.headers.get('content-length'), String(whole.length));
    assert.equal(answer.headers.get('x-content-type-options'), 'nosniff');
    assert.match(answer.headers.get('content-security-policy') ?? '', /sandbox/);
    assert.equal(answer.headers.get('cache-control'), 'no-cache');
    assert.equal(answer.headers.get('accept-ranges'), 'bytes');
  });

  const ranges: [range: string, status: number, from?: number, to?: number | undefined][] = [
    ['bytes=0-9', 206, 0, 10],
    ['bytes=10-', 206, 10, undefined],
    ['bytes=-10', 206, -10, undefined],
    ['bytes=0-999999999', 206, 0, undefined],
    ['bytes=999999999-', 416],
    ['bytes=-0', 416],
    ['bytes=5-2', 200],
    ['bytes=0-1,5-6', 200],
    ['items=0-1', 200],
    ['bytes=-', 200],
  ];
  for (const [range, status, from = 0, to] of ranges) {
    it(`Range: ${range} → ${status}`, async () => {
      const answer = await service.app.request(`http://n.test/api/v2${address}`, { headers: { host: 'n.test', range } });
      assert.equal(answer.status, status);
      const bytes = Buffer.from(await answer.arrayBuffer());
      if (status === 416) return assert.equal(answer.headers.get('content-range'), `bytes */${whole.length}`);
      assert.deepEqual(bytes, whole.subarray(from, to));
      if (status !== 206) return;
      const start = from < 0 ? whole.length + from : from;
      assert.equal(answer.headers.get('content-range'), `bytes ${start}-${start + bytes.length - 1}/${whole.length}`);
    });
  }

  it('as a part only when it is still the same file', async () => {
    const other = await service.request(address, { headers: { range: 'bytes=0-9', 'if-range': '"other"' } });
    assert.equal(other.status, 200);
    const tag = other.headers.get('etag') as string;
    const same = await service.request(address, { headers: { range: 'bytes=0-9', 'if-range': tag } });
    assert.equal(same.status, 206);
  });

  it('with 304 to those who have it, without a body to HEAD', async () => {
    const { headers } = await service.request(address);
    const tag = headers.get('etag') as string;
    for (const known of [tag, `W/${tag}`, `"other", ${tag}`, '*'])
      for (const range of [{}, { range: 'bytes=0-9' }]) {
        const again = await service.request(address, { headers: { 'if-none-match': known, ...range } });
        assert.deepEqual([again.status, again.text, again.headers.get('content-type')], [304, '', null], known);
      }
    const head = await service.request(address, { method: 'HEAD' });
    assert.deepEqual([head.status, head.text, head.headers.get('content-type')], [200, '', 'image/jpeg']);
  });

  it('and 404 where it is gone, of which the log has enough to find the record', async (t) => {
    const lost = (await addressFor(await makeWithPhoto('freigegeben'), null)) as string;
    const name = lost.slice('/medien/'.length);
    await service.media.storage.remove([name]);
    const error = t.mock.method(log, 'error', () => {});
    assert.equal(await load(lost), 404);
    const found = error.mock.calls.map((call) => call.arguments);
    assert.deepEqual(found, [[{ file: name.slice(0, 8) }, 'a stored file is missing']]);
  });

  const zeros = '0'.repeat(32);
  for (const name of ['x', zeros, `${zeros}.jpg`, `${zeros}.exe`, '..%2f..%2fetc%2fpasswd', `${'A'.repeat(32)}.jpg`]) {
    it(`and nothing else: ${name}`, async () => assert.equal(await load(`/medien/${name}`), 404));
  }
});

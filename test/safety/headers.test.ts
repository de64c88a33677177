// What every answer carries, whatever it is about, and what none does.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { makeToken } from '../../src/guard/token.ts';
import { arten } from '../support/catalogue.ts';
import { makeJpeg } from '../support/photo.ts';
import { type Answer, type RequestOptions, startTestService, type TestService } from '../support/service.ts';

let service: TestService;
let photoPath: string;
let linkPath: string;
let dataPath: string;
before(async () => {
  service = await startTestService();
  const foto = new Blob([await makeJpeg({ width: 16, height: 16 })]);
  const form = { art: String(arten.amsel), lat: '5530000', lon: '420000', foto };
  const { json } = await service.request('/sichtbeobachtungen', { as: 'melder', form });
  const [record] = (await service.request(`/sichtbeobachtungen/${json.result[0].id}`, { as: 'melder' })).json.result;
  photoPath = record.foto.slice(record.foto.indexOf('/medien/'));
  const { token, hash } = makeToken();
  await service.database.sql`
    select api.set_nutzer_link(nutzer_id => u.id, hash => ${hash}::bytea, email => u.email)
    from portal.nutzer u where u.loginname = 'melder'`;
  linkPath = `/konto/${token}`;
  dataPath = await service.makeDatenLink('melder');
});

const answers: [what: string, path: () => string, options?: RequestOptions, status?: number][] = [
  ['a list', () => '/sichtbeobachtungen'],
  ['a list in XML', () => '/arten?format=xml'],
  ['a script', () => '/arten?callback=f'],
  ['a list for an account', () => '/sichtbeobachtungen', { as: 'melder' }],
  ['a record for an account', () => '/nutzer', { as: 'melder' }],
  ['a refused parameter', () => '/arten?limit=0', {}, 400],
  ['a missing login', () => '/nutzer', {}, 401],
  ['a wrong login', () => '/arten', { headers: { 'X-Auth-User': 'melder', 'X-Auth-Token': 'x' } }, 401],
  ['a refused change', () => '/nutzer/1', { as: 'melder', method: 'PUT', form: { email: 'x@example.org' } }, 403],
  ['an unknown record', () => '/sichtbeobachtungen/999', {}, 404],
  ['an unknown path', () => '/gibtesnicht', {}, 404],
  ['another method', () => '/arten', { method: 'DELETE' }, 405],
  ['an unknown host', () => '/arten', { host: 'fremd.example' }, 421],
  ['a preflight', () => '/arten', { method: 'OPTIONS' }, 204],
  ['HEAD', () => '/arten', { method: 'HEAD' }],
  ['a login', () => '/login?loginname=melder&password=x'],
  ['a photo', () => photoPath],
  ['an unknown photo', () => `/medien/${'0'.repeat(32)}.jpg`, {}, 404],
  ['the page behind a link', () => linkPath],
  ['a page without a link', () => '/konto/x', {}, 404],
  ['the page that asks for the own data', () => '/konto'],
  ['the page behind a link to the own data', () => dataPath],
  ['a page without such a link', () => '/konto/daten/x', {}, 404],
  ['the documentation', () => ''],
  ['the document behind it', () => '/openapi.json'],
];

describe('headers', () => {
  for (const [what, path, options = {}, status = 200] of answers) {
    it(`S3.10 of ${what}: nosniff, no referrer, no banner, and what its kind needs`, async () => {
      const answer: Answer = await service.request(path(), options);
      assert.equal(answer.status, status, answer.text);
      const { headers } = answer;
      assert.equal(headers.get('x-content-type-options'), 'nosniff');
      assert.equal(headers.get('referrer-policy'), 'no-referrer');
      for (const banner of ['server', 'x-powered-by', 'via']) assert.equal(headers.get(banner), null, banner);
      assert.doesNotMatch(JSON.stringify([...headers]), /hono|node|express|postgres/i);
      const type = headers.get('content-type') ?? '';
      const policy = headers.get('content-security-policy') ?? '';
      if (type.startsWith('text/html')) {
        assert.match(policy, /^default-src '(none|self)'/, 'a page without a policy');
        assert.doesNotMatch(policy, /unsafe/);
      }
      if (type.startsWith('image/')) assert.match(policy, /default-src 'none'.*sandbox/, 'a file without a sandbox');
      if (options.as || [linkPath, dataPath, '/konto'].includes(path()) || path().startsWith('/login') || path() === photoPath)
        assert.equal(headers.get('cache-control'), 'private, no-store');
    });
  }

  it('S3.10 of an error that nobody expected say and show nothing of the inside', async () => {
    const { sql } = service.database;
    await sql`alter table portal.stadium rename to stadium_weg`;
    const answer = await service.request('/stadien?restrict=id');
    await sql`alter table portal.stadium_weg rename to stadium`;
    assert.equal(answer.status, 500);
    assert.equal(answer.headers.get('x-content-type-options'), 'nosniff');
    assert.doesNotMatch(answer.text, /stadium|portal\.|select|at .*\.ts|relation/i);
    assert.deepEqual(Object.keys(answer.json.error), ['status', 'code', 'message', 'fields']);
  });
});

// SQL in every place where a client may write: it stays a value.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { arten } from '../support/catalogue.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
let stored: number;
before(async () => {
  service = await startTestService();
  stored = await service.makeReleased();
});

// Each would, run as SQL, end in an error, another number of rows, a wait, or a table less.
const attacks = [
  "'",
  "' or '1'='1",
  "x'; drop table portal.art cascade; --",
  '1; drop table portal.art cascade',
  '1) or (select true from pg_sleep(3)) is not null --',
  "' union select loginname, password_hash from portal.nutzer --",
  '"; select 1; --',
  "\\'; select 1; --",
  '$$; select 1; $$',
  '/* */ or 1=1',
  '%27%20or%201%3D1',
];

const lists: Record<string, string[]> = {
  '/sichtbeobachtungen': [
    ...['bereich', 'status', 'mandant', 'bbox', 'jahr', 'titel_deutsch', 'titel_wissenschaftlich', 'eu_guid', 'art_id'],
    ...['is_animal', 'artengruppe_id', 'legacy_regional_art_id', 'legacy_regional_artengruppe_id', 'datum_von', 'datum_bis'],
    ...['limit', 'cursor', 'restrict', 'format', 'callback', 'order', 'sort'],
  ],
  '/arten': ['is_animal', 'artengruppe', 'gid', 'name_regexp_ci', 'limit', 'cursor', 'restrict'],
  '/artengruppen': ['is_animal', 'limit', 'cursor'],
  '/protokoll': ['datum_von', 'datum_bis', 'limit', 'cursor'],
  '/qs': ['datum_von', 'datum_bis', 'limit', 'cursor'],
  '/nutzer': ['email', 'name_regexp_ci', 'status', 'limit', 'cursor'],
  '/login': ['loginname', 'password'],
  '/register': ['loginname', 'email', 'vorname', 'nachname', 'anonymisiert', 'portal-name', 'portal-url'],
};
const forms: Record<string, Record<string, string>> = {
  '/sichtbeobachtungen': {
    ...{ art: String(arten.amsel), lat: '5531000', lon: '421000', srid: 'EPSG:25832', datum: '1.9.2026', anzahl: '1' },
    ...{ sensibel: 'false', bereich: 'privat', bemerkung: '', stadium_id: '', aktivitaet_id: '' },
  },
  '/passwort': { loginname: 'niemand', email: '' },
};

const readState = async () => {
  const [row] = await service.database.sql`
    select (select count(*)::integer from portal.art) as arten, (select count(*)::integer from portal.mandant) as mandanten`;
  return JSON.stringify([row?.arten, row?.mandanten]);
};

describe('SQL stays a value', () => {
  for (const [path, names] of Object.entries(lists)) {
    it(`S3.1 in every filter of ${path}, and nothing but the value is asked`, async () => {
      const before = await readState();
      for (const name of names) {
        for (const attack of attacks) {
          const start = performance.now();
          const more = path === '/login' ? '&loginname=x&password=x' : '';
          const answer = await service.request(`${path}?${name}=${encodeURIComponent(attack)}${more}`, {
            as: path === '/qs' || path === '/nutzer' ? 'admin' : null,
          });
          const what = `${path}?${name}=${attack}: ${answer.status} ${answer.text}`;
          assert.ok(answer.status < 500, what);
          assert.ok(performance.now() - start < 2500, `${what}: it waited`);
          assert.doesNotMatch(answer.text, /argon2|syntax error at|PostgresError/i, what);
          const isFilter = !['restrict', 'callback', 'order', 'sort', 'name_regexp_ci'].includes(name);
          if (answer.status === 200 && isFilter && answer.json?.result && path !== '/login') {
            assert.deepEqual(answer.json.result, [], `${what}: a filter that matches nothing finds something`);
          }
        }
      }
      assert.equal(await readState(), before);
    });
  }

  it('S3.1 in every path', async () => {
    const before = await readState();
    for (const path of ['/sichtbeobachtungen', '/arten', '/nutzer', '/medien', '/konto', '/artengruppen']) {
      for (const attack of attacks) {
        const answer = await service.request(`${path}/${encodeURIComponent(attack)}`, { as: 'admin' });
        assert.ok([400, 404, 405].includes(answer.status), `${path}/${attack}: ${answer.status} ${answer.text}`);
        const behind = await service.request(`${path}/${stored}${encodeURIComponent(attack)}`, { as: 'admin' });
        assert.ok([400, 404, 405].includes(behind.status), `${path}/${stored}${attack}: ${behind.status} ${behind.text}`);
      }
    }
    assert.equal(await readState(), before);
  });

  for (const [path, form] of Object.entries(forms)) {
    it(`S3.1 in every form field of ${path}`, async () => {
      const before = await readState();
      for (const [position, name] of Object.keys(form).entries()) {
        for (const [n, attack] of attacks.entries()) {
          const place = 'lon' in form ? { lon: String(430000 + 100 * position + n) } : {};
          const answer = await service.request(path, { as: 'melder', form: { ...form, ...place, [name]: attack } });
          assert.ok(answer.status < 500, `${path} ${name}=${attack}: ${answer.status} ${answer.text}`);
          if (answer.status !== 201) continue;
          assert.equal(name, 'bemerkung', `${attack} was taken for ${name}`);
          const { json } = await service.request(`/sichtbeobachtungen/${answer.json.result[0].id}`, { as: 'melder' });
          assert.equal(json.result[0].bemerkung, attack);
        }
      }
      assert.equal(await readState(), before);
    });
  }

  it('S3.1 because no text becomes SQL: only migrations and the queue send texts, and imports name their own columns', () => {
    const root = fileURLToPath(new URL('../../src', import.meta.url));
    const found = globSync('**/*.ts', { cwd: root }).filter((file) =>
      /\.unsafe\(|\$\{(?:sql|tx)\(|\.raw\(`|sql\.raw|sql\.identifier/.test(readFileSync(`${root}/${file}`, 'utf8')),
    );
    // The columns of the imports and of files to publish are constants of the program.
    const expected = ['db/catalogue.ts', 'db/export-rows.ts', 'db/migrate.ts', 'db/tables.ts', 'jobs/boss.ts'];
    assert.deepEqual(found.map((file) => file.replaceAll('\\', '/')).sort(), expected);
  });
});

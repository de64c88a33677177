// Accounts: who may read and change what (api-v2 Users, D3.16, D3.19, D3.22, D3.23).
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sha1OfPlain } from '../../src/guard/password.ts';
import { type Account, accounts } from '../support/catalogue.ts';
import { pluck, startTestService } from '../support/service.ts';

const ids = new Map<string, number>();
const service = await startTestService();
const { sql } = service.database;
const rows = await sql<{ id: number; loginname: string }[]>`select id, loginname from portal.nutzer`;
for (const row of rows) ids.set(row.loginname, row.id);

const put = (id: number | undefined, form: Record<string, string>, as: Account | null) =>
  service.request(`/nutzer/${id}`, { method: 'PUT', form, as });
const snapshot = async (id: number | undefined) =>
  JSON.stringify((await service.request(`/nutzer/${id}`, { as: 'admin' })).json.result[0]);

describe('GET /nutzer', () => {
  const fields = ['id', 'loginname', 'email', 'nachname', 'vorname', 'anonymisiert', 'status'];

  it('lists everyone for administrators, newest first, in pages', async () => {
    const { json } = await service.request('/nutzer?limit=4', { as: 'admin' });
    assert.deepEqual(Object.keys(json.result[0]), fields);
    const rest = await service.request(json.next.slice(json.next.indexOf('/nutzer')), { as: 'admin' });
    const newestFirst = [...ids.values()].sort((a, b) => b - a);
    assert.deepEqual(pluck([...json.result, ...rest.json.result], 'id'), newestFirst);
    assert.equal(rest.json.next, undefined);
  });

  it('S2.6 lists the own account only for everyone else, whatever is asked for', async () => {
    for (const as of ['melder', 'expertin'] as const) {
      for (const query of ['', '?limit=1', '?name_regexp_ci=.', '?status=1']) {
        const { json } = await service.request(`/nutzer${query}`, { as });
        assert.deepEqual(pluck(json.result, 'loginname'), [as], query);
        assert.equal(json.next, undefined, query);
      }
      for (const query of ['?email=0@example.org', '?name_regexp_ci=admin', '?status=0']) {
        const { json } = await service.request(`/nutzer${query}`, { as });
        assert.deepEqual(json, { result: [] }, query);
      }
    }
    assert.equal((await service.request('/nutzer')).status, 401);
  });

  it('filters by address, by name and by status', async () => {
    const namesOf = async (query: string) =>
      pluck((await service.request(`/nutzer?${query}`, { as: 'admin' })).json.result, 'loginname');
    assert.deepEqual(await namesOf('email=3@EXAMPLE.org'), ['melder']);
    assert.deepEqual(await namesOf('status=0'), ['gesperrt']);
    assert.deepEqual(await namesOf('name_regexp_ci=%5Em.%2B(er|x)%24'), ['melder']);
    assert.deepEqual(await namesOf('name_regexp_ci=%C3%BCnal'), ['nachbarin']);
    // matched against each name separately
    assert.deepEqual(await namesOf('name_regexp_ci=max%20muster'), []);
    assert.equal((await service.request('/nutzer?status=2', { as: 'admin' })).status, 400);
  });
});

describe('GET /nutzer/{id}', () => {
  it('shows the own account with roles and restriction', async () => {
    const id = ids.get('vogelexperte');
    const { json } = await service.request(`/nutzer/${id}`, { as: 'vogelexperte' });
    assert.deepEqual(json.result, [
      {
        ...{ id, loginname: 'vogelexperte', email: '2@example.org', vorname: 'Vera', nachname: 'vogelexperte' },
        ...{ anonymisiert: 0, status: 1, rollen: ['expert'], artengruppenbeschraenkung: [1] },
        ...{ mandantenbeschraenkung: [], medien_lizenz: null, mail_abgelehnt: false },
      },
    ]);
    const restricted = `/nutzer/${id}?format=xml&restrict=rollen,artengruppenbeschraenkung`;
    const xml = await service.request(restricted, { as: 'vogelexperte' });
    assert.match(
      xml.text,
      /<rollen><row>expert<\/row><\/rollen><artengruppenbeschraenkung><row>1<\/row><\/artengruppenbeschraenkung>/,
    );
  });

  it('S2.6 is 403 for every other id unless one is administrator, existing or not', async () => {
    for (const id of [ids.get('admin'), 999999]) {
      assert.equal((await service.request(`/nutzer/${id}`, { as: 'expertin' })).status, 403);
      assert.equal((await put(id, { email: 'x@example.org' }, 'expertin')).status, 403);
    }
    assert.equal((await service.request('/nutzer/999999', { as: 'admin' })).status, 404);
    assert.equal((await put(999999, { vorname: 'X' }, 'admin')).status, 404);
    assert.equal((await service.request(`/nutzer/${ids.get('melder')}`)).status, 401);
    assert.equal((await put(ids.get('melder'), { email: 'x@example.org' }, null)).status, 401);
  });
});

describe('PUT /nutzer/{id}', () => {
  it('O5.5 changes the licence of photos and sounds as owner and as administrator, as nobody else; sent empty, it is cleared', async () => {
    const id = ids.get('nachbarin');
    const shown = async () => (await service.request(`/nutzer/${id}`, { as: 'admin' })).json.result[0].medien_lizenz;
    assert.equal((await put(id, { medien_lizenz: 'CC-BY-NC-4.0' }, 'nachbarin')).status, 200);
    assert.equal(await shown(), 'CC-BY-NC-4.0');
    const wrong = await put(id, { medien_lizenz: 'ODbL-1.0' }, 'nachbarin');
    assert.equal(wrong.status, 400);
    assert.match(wrong.json.error.fields.medien_lizenz, /CC0-1.0, CC-BY-4.0 oder CC-BY-NC-4.0/);
    assert.equal((await put(id, { medien_lizenz: '' }, 'melder')).status, 403);
    assert.equal(await shown(), 'CC-BY-NC-4.0');
    assert.equal((await put(id, { medien_lizenz: '' }, 'admin')).status, 200);
    assert.equal(await shown(), null);
  });

  it('S2.6 changes nothing when one field among others is forbidden', async () => {
    const id = ids.get('nachbarin');
    const before = await snapshot(id);
    const names = { nachname: 'Neu', vorname: 'Neu', anonymisiert: '0' };
    for (const [name, value] of Object.entries({
      ...names,
      status: '1',
      rollen: 'administrator',
      artengruppenbeschraenkung: '',
    })) {
      const answer = await put(id, { email: 'neu@example.org', [name]: value }, 'nachbarin');
      assert.equal(answer.status, 403, name);
      assert.equal(await snapshot(id), before, name);
    }
  });

  it('names each bad field, and never repeats a password', async () => {
    const id = ids.get('nachbarin');
    const before = await snapshot(id);
    for (const [name, value] of [
      ['email', 'kein-at'],
      ['email', 'a@example.org\r\nBcc: b@example.org'],
      ['passwort', ''],
      ['passwort', 'geheim-im-klartext'],
      ['anonymisiert', '2'],
      ['anonymisiert', ''],
      ['status', 'aktiv'],
      ['rollen', 'chef'],
      ['artengruppenbeschraenkung', '1;2'],
      ['artengruppenbeschraenkung', '99'],
      ['vorname', 'A\nB'],
    ] as const) {
      const answer = await put(id, { [name]: value }, 'admin');
      assert.equal(answer.status, 400, `${name}=${value}: ${answer.text}`);
      assert.ok(answer.json.error.fields[name], `${name}=${value}`);
      assert.ok(!answer.text.includes('geheim'), answer.text);
    }
    assert.equal(await snapshot(id), before);
  });

  it('replaces roles and restriction, and clears what is sent empty', async () => {
    const id = ids.get('nachbarin');
    assert.equal((await put(id, { rollen: 'expert', artengruppenbeschraenkung: '2,1,2' }, 'admin')).status, 200);
    const after = JSON.parse(await snapshot(id));
    assert.deepEqual([after.rollen, after.artengruppenbeschraenkung], [['expert'], [1, 2]]);
    const nothing = { rollen: '', artengruppenbeschraenkung: '', email: '', vorname: '', nachname: '' };
    assert.equal((await put(id, nothing, 'admin')).status, 200);
    assert.deepEqual(pluck([JSON.parse(await snapshot(id))], ...Object.keys(nothing)), [[[], [], null, null, null]]);
    assert.equal((await put(id, { vorname: 'Ödön', nachname: 'Ünal', email: '4@example.org' }, 'admin')).status, 200);
  });

  it('takes the addresses that mail servers take, and finds them in either spelling', async () => {
    for (const [email, stored, sought] of [
      ["o'neill@example.org", "o'neill@example.org", "O'Neill@example.org"],
      ['anna@müller.example', 'anna@xn--mller-kva.example', 'anna@xn--mller-kva.example'],
      ['info@xn--mller-kva.example', 'info@xn--mller-kva.example', 'info@Müller.example'],
    ] as const) {
      const answer = await put(ids.get('gesperrt'), { email }, 'admin');
      assert.equal(answer.status, 200, answer.text);
      const { json } = await service.request(`/nutzer?email=${encodeURIComponent(sought)}`, { as: 'admin' });
      assert.deepEqual(pluck(json.result, 'loginname', 'email'), [['gesperrt', stored]]);
    }
    assert.equal((await put(ids.get('nachbarin'), { email: 'info@müller.example' }, 'admin')).status, 409);
    assert.equal((await put(ids.get('gesperrt'), { email: 'a@b' }, 'admin')).status, 400);
  });

  it('refuses an address that another account has with 409', async () => {
    const answer = await put(ids.get('melder'), { email: '0@Example.ORG' }, 'melder');
    assert.equal(answer.status, 409);
    assert.equal(answer.json.error.code, 'adresse_vergeben');
    assert.equal((await put(ids.get('melder'), { email: '3@example.org' }, 'melder')).status, 200);
  });

  it('never leaves the portal without an active administrator', async () => {
    const id = ids.get('admin');
    for (const form of [{ status: '0' }, { rollen: 'expert' }, { rollen: '' }] as Record<string, string>[]) {
      const answer = await put(id, form, 'admin');
      assert.equal(answer.status, 409, JSON.stringify(form));
      assert.equal(answer.json.error.code, 'letzter_administrator');
    }
    assert.equal((await put(ids.get('expertin'), { rollen: 'expert,administrator' }, 'admin')).status, 200);
    // Two administrators who demote each other at the same moment: one of them stays.
    const answers = await Promise.all([
      put(id, { rollen: '' }, 'expertin'),
      put(ids.get('expertin'), { rollen: 'expert' }, 'admin'),
    ]);
    assert.equal(answers.filter((answer) => answer.status === 200).length, 1, answers.map((answer) => answer.text).join());
    await sql`insert into portal.nutzer_rolle values (${id as number}, 'administrator') on conflict do nothing`;
    await sql`delete from portal.nutzer_rolle where nutzer_id = ${ids.get('expertin') as number} and rolle = 'administrator'`;
  });

  it('S2.3 a new password and a block end all tokens of the account, at once', async () => {
    const id = ids.get('käfer anna');
    const login = async (password: string) =>
      (await service.request(`/login?loginname=k%C3%A4fer%20anna&password=${sha1OfPlain(password)}`)).json?.token as
        | string
        | undefined;
    const works = async (token: string | undefined) => {
      const headers = { 'X-Auth-User': Buffer.from('käfer anna').toString('latin1'), 'X-Auth-Token': token ?? '' };
      return (await service.request('/nutzer', { headers })).status === 200;
    };
    const [first, second] = [await login('käfer anna'), await login('käfer anna')];
    assert.ok((await works(first)) && (await works(second)));
    assert.equal((await put(id, { passwort: sha1OfPlain('neues').toUpperCase() }, 'käfer anna')).status, 200);
    assert.ok(!(await works(first)) && !(await works(second)));
    assert.equal(await login('käfer anna'), undefined);
    const third = await login('neues');
    assert.ok(await works(third));
    assert.equal((await put(id, { status: '0' }, 'admin')).status, 200);
    assert.ok(!(await works(third)));
    assert.equal(await login('neues'), undefined);
  });

  it('can be asked for by POST', async () => {
    const post = (method: string, form: Record<string, string>) =>
      service.request(`/nutzer/${ids.get('melder')}`, { headers: { 'X-HTTP-Method-Override': method }, form, as: 'melder' });
    assert.deepEqual((await post('PUT', { email: 'm@example.org' })).json, { result: [{ id: ids.get('melder') }] });
    service.forgetTokens();
    assert.equal((await post('DELETE', {})).status, 405);
  });
});

it('anonymised recorders are shown by their initials, except to experts and administrators', async () => {
  const id = await service.makeSichtbeobachtung({ bereich: 'oeffentlich', lon: '411111' }, { as: 'nachbarin' });
  for (const as of accounts.filter((account) => account !== 'gesperrt' && account !== 'käfer anna')) {
    const { json } = await service.request(`/sichtbeobachtungen/${id}?restrict=erfasser`, { as });
    const full = ['admin', 'expertin', 'vogelexperte'].includes(as);
    assert.equal(json.result[0].erfasser, full ? 'Ödön Ünal' : 'Ö… Ü…', as);
  }
});

it('POST /logout ends the token it is called with, and no other', async () => {
  const login = async () =>
    (await service.request(`/login?loginname=vogelexperte&password=${sha1OfPlain('vogelexperte')}`)).json.token as string;
  const [first, second] = [await login(), await login()];
  const headers = { 'X-Auth-User': 'vogelexperte', 'X-Auth-Token': first };
  assert.equal((await service.request('/logout', { method: 'POST', headers })).status, 200);
  assert.equal((await service.request('/nutzer', { headers })).status, 401);
  assert.equal((await service.request('/nutzer', { headers: { ...headers, 'X-Auth-Token': second } })).status, 200);
});

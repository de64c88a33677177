// Who may do what to a record in which state (api-v2 States and transitions, D3.2 to D3.6): every reader, every state, every
// operation, with the record and both logs compared afterwards.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Account, arten } from '../support/catalogue.ts';
import { type RequestOptions, startTestService } from '../support/service.ts';

type Bereich = 'privat' | 'oeffentlich';
type Status = 'pruefung' | 'hinweis' | 'freigegeben' | 'abgelehnt';
interface State {
  bereich: Bereich;
  status: Status;
}

const states: State[] = [
  { bereich: 'privat', status: 'pruefung' },
  { bereich: 'privat', status: 'hinweis' },
  { bereich: 'oeffentlich', status: 'pruefung' },
  { bereich: 'oeffentlich', status: 'hinweis' },
  { bereich: 'oeffentlich', status: 'freigegeben' },
  { bereich: 'oeffentlich', status: 'abgelehnt' },
];

/** null: anonymous; the record is an Amsel (group 1) of `melder`. */
type Reader = Account | 'falterexpertin' | null;
const readers: Reader[] = ['melder', 'nachbarin', 'expertin', 'vogelexperte', 'falterexpertin', 'admin', 'gesperrt', null];

interface Change {
  /** Fields of the record that are different afterwards. */
  record?: Record<string, unknown>;
  qs?: { status: Status; experte: boolean };
  deleted?: boolean;
}

interface Operation {
  name: string;
  request: RequestOptions;
  /** What happens, or null when it is not permitted. */
  expect(state: State, reader: Reader): Change | null;
}

const isReviewer = (reader: Reader) => reader === 'expertin' || reader === 'vogelexperte' || reader === 'admin';
const mayEdit = (state: State, reader: Reader) => reader === 'melder' && state.status !== 'freigegeben';
/** What the author may do to a private record. */
const whilePrivate =
  (record: Record<string, unknown>): Operation['expect'] =>
  (state, reader) =>
    mayEdit(state, reader) && state.bereich === 'privat' ? { record } : null;
const deletion: Operation['expect'] = (state, reader) =>
  mayEdit(state, reader) || (reader === 'admin' && state.bereich === 'oeffentlich') ? { deleted: true } : null;

const put = (form: Record<string, string>): RequestOptions => ({ method: 'PUT', form });
const review = (status: Status): Operation => ({
  name: `status=${status}`,
  request: put({ status }),
  expect(state, reader) {
    if (state.bereich === 'privat' || !isReviewer(reader)) return null;
    const decided = status === 'freigegeben' || status === 'abgelehnt';
    return {
      // Deciding the same again changes nobody.
      record: { status, ...(status !== state.status && { experte: decided ? reader : null }) },
      ...(status !== state.status && { qs: { status, experte: decided } }),
    };
  },
});

const operations: Operation[] = [
  {
    name: 'edit anzahl',
    request: put({ anzahl: '7' }),
    expect: whilePrivate({ anzahl: 7 }),
  },
  {
    name: 'edit place and species',
    request: put({ art: String(arten.uhu), lat: '49.9', lon: '8.2', srid: 'EPSG:4326' }),
    expect: whilePrivate({ art: arten.uhu, cell_x: 88 }),
  },
  {
    name: 'publish',
    request: put({ bereich: 'oeffentlich' }),
    expect(state, reader) {
      if (!mayEdit(state, reader)) return null;
      if (state.bereich === 'oeffentlich') return {};
      return { record: { bereich: 'oeffentlich', status: 'pruefung' }, qs: { status: 'pruefung', experte: false } };
    },
  },
  {
    name: 'withdraw',
    request: put({ bereich: 'privat' }),
    expect: (state, reader) => (mayEdit(state, reader) ? { record: { bereich: 'privat' } } : null),
  },
  {
    name: 'withdraw and edit at once',
    request: put({ bereich: 'privat', anzahl: '7' }),
    expect: whilePrivate({ anzahl: 7 }),
  },
  {
    name: 'remark',
    request: put({ bemerkung: 'neu' }),
    expect(state, reader) {
      const isReview = state.bereich === 'oeffentlich' && isReviewer(reader);
      return isReview ? { record: { bemerkung_experte: 'neu' } } : whilePrivate({ bemerkung: 'neu' })(state, reader);
    },
  },
  review('freigegeben'),
  review('abgelehnt'),
  review('hinweis'),
  review('pruefung'),
  { name: 'release and edit at once', request: put({ status: 'freigegeben', anzahl: '7' }), expect: () => null },
  {
    name: 'clear a photo',
    request: put({ foto: '' }),
    expect: whilePrivate({ foto: null }),
  },
  { name: 'delete', request: { method: 'DELETE' }, expect: deletion },
  {
    name: 'delete by override',
    request: { method: 'POST', headers: { 'X-HTTP-Method-Override': 'delete' } },
    expect: deletion,
  },
];

const service = await startTestService();
const { sql } = service.database;
await sql`
  insert into portal.nutzer_artengruppe select u.id, 2 from portal.nutzer u where u.loginname = 'käfer anna'`;
await sql`
  insert into portal.nutzer_rolle select u.id, 'expert' from portal.nutzer u where u.loginname = 'käfer anna'`;

let serial = 0;
async function makeInState(state: State): Promise<number> {
  const id = await service.makeSichtbeobachtung({ lon: String(410000 + ++serial * 0.5), bemerkung: 'alt' });
  await sql`
    update portal.sichtbeobachtung
    set bereich = ${state.bereich}::text::portal.bereich, status = ${state.status}::text::portal.status, foto = md5(id::text) || '.jpg',
      experte_id = (select u.id from portal.nutzer u where u.loginname = 'expertin')
        + case when ${state.status}::text in ('freigegeben', 'abgelehnt') then 0 end
    where id = ${id}`;
  // Publishing always begins with a review: the other states come after it.
  await sql`
    update portal.sichtbeobachtung set status = ${state.status}::text::portal.status where id = ${id} and status::text <> ${state.status}::text`;
  return id;
}

async function snapshot(id: number) {
  const [record] = await sql`
    select to_jsonb(s) - 'experte_id' || jsonb_build_object('experte', u.loginname) as json
    from portal.sichtbeobachtung s left join portal.nutzer u on u.id = s.experte_id where s.id = ${id}`;
  const protokoll = await sql`select audit from portal.protokoll where sichtbeobachtung_id = ${id} order by id`;
  const qs = await sql`
    select status::text, experte_id is not null as experte from portal.qs where sichtbeobachtung_id = ${id} order by id`;
  return { record: record ? JSON.parse(JSON.stringify(record.json)) : null, protokoll: [...protokoll], qs: [...qs] };
}

describe('every reader, every state, every operation', () => {
  for (const operation of operations) {
    it(operation.name, async () => {
      for (const state of states) {
        for (const reader of readers) {
          const where = `${operation.name} on ${state.bereich}/${state.status} as ${reader}`;
          const id = await makeInState(state);
          const before = await snapshot(id);
          const account = reader === 'falterexpertin' ? 'käfer anna' : reader === 'gesperrt' ? null : reader;
          const blocked = reader === 'gesperrt' && { 'X-Auth-User': reader, 'X-Auth-Token': await service.tokenOf('melder') };
          const headers = { ...operation.request.headers, ...blocked };
          const answer = await service.request(`/sichtbeobachtungen/${id}`, { ...operation.request, headers, as: account });
          const after = await snapshot(id);

          if (reader === null || reader === 'gesperrt') {
            assert.equal(answer.status, 401, where);
            assert.deepEqual(after, before, where);
            continue;
          }
          const change = operation.expect(state, reader);
          if (change === null) {
            assert.equal(answer.status, 403, `${where}: ${answer.text}`);
            assert.equal(answer.json.error.code, 'nicht_erlaubt', where);
            assert.deepEqual(after, before, where);
            continue;
          }
          assert.equal(answer.status, 200, `${where}: ${answer.text}`);
          assert.deepEqual(answer.json, { result: [{ id }] }, where);
          const entry = change.deleted ? 'DELETE' : 'UPDATE';
          assert.deepEqual(after.protokoll, [...before.protokoll, { audit: entry }], where);
          assert.deepEqual(after.qs, [...before.qs, ...(change.qs ? [change.qs] : [])], where);
          if (change.deleted) {
            assert.equal(after.record, null, where);
            continue;
          }
          for (const [name, value] of Object.entries(change.record ?? {}))
            assert.equal(after.record[name], value, `${name}, ${where}`);
          const untouched = ['guid', 'nutzer_id', 'datum', 'sensibel', 'angelegt', 'stadium_id'];
          // The next record may move to the same place.
          await sql`delete from portal.sichtbeobachtung where id = ${id}`;
          for (const name of untouched) assert.equal(after.record[name], before.record[name], `${name}, ${where}`);
        }
      }
    });
  }
});

describe('editing', () => {
  it('clears what is sent empty, and sets defaults', async () => {
    const sent = { bemerkung: 'weg damit', stadium_id: '2', aktivitaet_id: '1', anzahl: '5', sensibel: 'true' };
    const id = await service.makeSichtbeobachtung({ lon: '430001', ...sent });
    const form = { bemerkung: '', stadium_id: '', aktivitaet_id: '', anzahl: '', sensibel: '', datum: '' };
    assert.equal((await service.put(id, form)).status, 200);
    const { json } = await service.request(`/sichtbeobachtungen/${id}`, { as: 'melder' });
    const [record] = json.result;
    const [today] = await sql`select to_char(now() at time zone 'Europe/Berlin', 'DD.MM.YYYY') as text`;
    const found = [record.bemerkung, record.stadium_id, record.aktivitaet_id, record.anzahl, record.sensibel, record.datum];
    assert.deepEqual(found, [null, null, null, '1', false, today?.text]);
  });

  it('refuses bad values with the field named, and changes nothing', async () => {
    const id = await service.makeSichtbeobachtung({ lon: '430002' });
    const before = await snapshot(id);
    for (const [form, name] of [
      [{ art: '' }, 'art'],
      [{ art: '999' }, 'art'],
      [{ lat: '', lon: '1' }, 'lat'],
      [{ lat: '5530000' }, 'lon'],
      [{ lon: '420000' }, 'lat'],
      [{ bereich: '' }, 'bereich'],
      [{ anzahl: '0' }, 'anzahl'],
      [{ datum: '31.2.2026' }, 'datum'],
      [{ datum: '1.1.2999' }, 'datum'],
      [{ stadium_id: '99' }, 'stadium_id'],
      [{ aktivitaet_id: '99' }, 'aktivitaet_id'],
      [{ status: 'gut' }, 'status'],
      [{ lat: '420000', lon: '5530000' }, 'lat'],
      [{ foto: 'text' }, 'foto'],
    ] as const) {
      const answer = await service.put(id, form);
      assert.equal(answer.status, 400, `${JSON.stringify(form)}: ${answer.text}`);
      assert.ok(answer.json.error.fields[name], `${JSON.stringify(form)}: ${answer.text}`);
    }
    assert.deepEqual(await snapshot(id), before);
  });

  it('refuses to become a duplicate', async () => {
    const first = await service.makeSichtbeobachtung({ lon: '430003' });
    const second = await service.makeSichtbeobachtung({ lon: '430004' });
    const answer = await service.put(second, { lat: '5530000', lon: '430003' });
    assert.equal(answer.status, 409);
    assert.equal(answer.json.error.fields.id, first);
  });

  it('an unknown id is 404 for everyone who is logged in', async () => {
    for (const method of ['PUT', 'DELETE']) {
      const answer = await service.request('/sichtbeobachtungen/999999999', { method, form: {}, as: 'melder' });
      assert.equal(answer.status, 404);
    }
  });

  it('S4.1 an author’s edit and an expert’s release never cross', async () => {
    for (let round = 0; round < 15; round++) {
      const id = await makeInState({ bereich: 'oeffentlich', status: 'pruefung' });
      const [withdrawn, released] = await Promise.all([
        service.put(id, { bereich: 'privat' }),
        service.put(id, { status: 'freigegeben' }, 'expertin'),
      ]);
      assert.deepEqual([withdrawn.status, released.status].sort(), [200, 403]);
      const { record } = await snapshot(id);
      assert.equal(record.bereich === 'oeffentlich', released.status === 200);
      assert.equal(record.status === 'freigegeben', released.status === 200);
    }
  });
});

it('S3.9 X-HTTP-Method-Override is refused with another value, and elsewhere has no effect', async () => {
  const id = await service.makeSichtbeobachtung({ lon: '430005' });
  const post = (path: string, override: string, form: Record<string, string> = {}) =>
    service.request(path, { method: 'POST', headers: { 'X-HTTP-Method-Override': override }, form, as: 'melder' });
  assert.equal((await post(`/sichtbeobachtungen/${id}`, 'PATCH')).status, 400);
  assert.equal((await post('/sichtbeobachtungen', 'TRACE')).status, 400);
  assert.equal((await post(`/sichtbeobachtungen/${id}`, 'put', { anzahl: '3' })).status, 200);
  const read = await service.request(`/sichtbeobachtungen/${id}`, {
    headers: { 'X-HTTP-Method-Override': 'DELETE' },
    as: 'melder',
  });
  assert.equal(read.json.result[0].anzahl, '3');
  const plain = await service.request(`/sichtbeobachtungen/${id}`, { method: 'POST', form: {}, as: 'melder' });
  assert.equal(plain.status, 405);
  assert.equal(plain.headers.get('allow'), 'GET, PUT, DELETE');
});

import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { changeSichtbeobachtungFields, createSichtbeobachtungFields } from '../../src/http/routes/sichtbeobachtung-fields.ts';
import { listFeld } from '../../src/sichtbeobachtung-felder.ts';
import { arten } from '../support/catalogue.ts';
import { type Sent, twoOf } from '../support/felder.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
let id: number;
before(async () => {
  service = await startTestService();
  const fields = { art: String(arten.amsel), lat: '5530000.25', lon: '420000.5', anzahl: '3', bemerkung: 'am Zaun' };
  id = await service.makeReleased({ ...fields, stadium_id: '2', aktivitaet_id: '1' });
});

// D2.18: * authenticated only, † detail only. Fields that the interface did not have then follow.
const given =
  'id guid bereich status erfasser* uid* experte*† anzahl lat lon datum titel_deutsch titel_wissenschaftlich eu_guid† foto foto_2 foto_3 biotopfoto audio bemerkung bemerkung_experte* phaenogramm art_id legacy_regional_art_id is_animal is_rasterized sensible_art sensibel stadium† stadium_id† aktivitaet† aktivitaet_id† artengruppe† artengruppe_id† legacy_regional_artengruppe_id† mandanten†';
const added = listFeld().filter(([name, { shown }]) => shown && !new RegExp(`\\b${name}\\b`).test(given));
const members = [given, ...added.map(([name, { shown }]) => (shown?.inLists ? name : `${name}†`))].join(' ');
const membersOf = (authenticated: boolean, detail: boolean) =>
  members
    .split(' ')
    .filter((name) => (authenticated || !name.includes('*')) && (detail || !name.includes('†')))
    .map((name) => name.replace(/[*†]/g, ''));

const values = () => ({
  ...{ id, bereich: 'Öffentliche Meldungen', status: 'Freigegeben', erfasser: 'Max Muster', experte: 'Vera expertin' },
  ...{ anzahl: '3', lat: 5530000.25, lon: 420000.5, datum: '01.09.2026' },
  ...{ titel_deutsch: 'Amsel', titel_wissenschaftlich: 'Turdus merula', eu_guid: 'eu-2' },
  ...{ foto: null, foto_2: null, foto_3: null, biotopfoto: null, audio: null },
  ...{ bemerkung: 'am Zaun', bemerkung_experte: null, phaenogramm: false, art_id: 'N-2', legacy_regional_art_id: 102 },
  ...{ is_animal: true, is_rasterized: false, sensible_art: false, sensibel: false },
  ...{ stadium: 'Raupe', stadium_id: 2, aktivitaet: 'ruhend', aktivitaet_id: 1 },
  ...{ artengruppe: 'Vögel', artengruppe_id: 1, legacy_regional_artengruppe_id: 11 },
  mandanten: [{ kuerzel: 'N', name: 'Nordland' }],
  ...Object.fromEntries(added.map(([name, { empty, absent }]) => [name, empty === undefined ? absent : empty])),
});

describe('a sighting has exactly the members of D2.18, in order, with their types', () => {
  for (const as of [null, 'melder', 'nachbarin', 'expertin', 'admin'] as const) {
    for (const detail of [false, true]) {
      it(`${detail ? 'detail' : 'list'} for ${as ?? 'anonymous readers'}`, async () => {
        const { json, headers } = await service.request(detail ? `/sichtbeobachtungen/${id}` : '/sichtbeobachtungen', { as });
        const [record] = json.result;
        const names = membersOf(as !== null, detail);
        assert.deepEqual(Object.keys(record), names);
        const expected: Record<string, unknown> = values();
        for (const [name, value] of Object.entries(record)) {
          if (name !== 'guid' && name !== 'uid') assert.deepEqual(value, expected[name], name);
        }
        assert.match(record.guid, /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
        if (as) assert.ok(Number.isInteger(record.uid));
        assert.equal(headers.get('cache-control'), as ? 'private, no-store' : 'no-cache');
        assert.equal(headers.get('referrer-policy'), 'no-referrer');
        assert.match(headers.get('vary') ?? '', /X-Auth-Token/);
      });
    }
  }

  it('species and groups have theirs', async () => {
    const { json } = await service.request('/arten?name_regexp_ci=^inachis');
    const species = {
      ...{ id: 5, eu_guid: 'eu-5', art_id: 'N-5', name_wissenschaftlich: 'Inachis io', name_deutsch: 'Pfauenauge' },
      ...{ artengruppe: 'Tagfalter', gid: 2, is_animal: true, sensibel: false },
    };
    assert.equal(json.result.length, 1);
    assert.deepEqual(Object.entries(json.result[0]), Object.entries(species));
    const groups = await service.request('/artengruppen');
    assert.equal(
      groups.text,
      '{"result":[{"id":3,"name_deutsch":"Flechten","is_animal":false},{"id":2,"name_deutsch":"Tagfalter","is_animal":true},{"id":1,"name_deutsch":"Vögel","is_animal":true}]}',
    );
  });

  it('answers to logins and refused logins are never stored by caches', async () => {
    const login = await service.request('/login?loginname=melder&password=x');
    assert.equal(login.headers.get('cache-control'), 'private, no-store');
  });
});

describe('next', () => {
  const nextOf = async (path: string, options: Parameters<TestService['request']>[1] = {}) => {
    const answer = await service.request(path, options);
    assert.equal(answer.status, 200, answer.text);
    const text = /"next":"([^"]*)"/.exec(answer.text)?.[1] ?? /<next><!\[CDATA\[(.*?)\]\]>/.exec(answer.text)?.[1];
    return text === undefined ? null : new URL(text);
  };

  it('is an absolute URL that repeats the filters of the request, and leaves out what the list does not know', async () => {
    const filters = {
      ...{ is_animal: '1', name_regexp_ci: '^[A-Z&=?# %+äöü]', artengruppe: 'V%gel' },
      ...{ gid: '1', limit: '1', restrict: 'id,gid' },
    };
    const next = await nextOf(`/arten?${new URLSearchParams({ ...filters, unbekannt: '1', cursor2: 'x' })}`);
    assert.ok(next);
    assert.equal(next.origin + next.pathname, 'http://n.test/api/v2/arten');
    const { cursor, ...repeated } = Object.fromEntries(next.searchParams);
    assert.deepEqual(repeated, filters);
    assert.match(cursor ?? '', /^[\w-]+$/);
  });

  it('leads to the rest of the list, the same format and callback included', async () => {
    for (const format of ['', '&format=json', '&format=xml', '&callback=a.b', '&format=json&callback=f']) {
      const ids: string[] = [];
      let path: string | null = `/arten?limit=2&restrict=id${format}`;
      for (let page = 0; path !== null && page < 10; page++) {
        const { text }: { text: string } = await service.request(path);
        assert.ok(text.startsWith(/xml/.test(format) ? '<?xml' : format.includes('callback') ? format.replace(/.*=/, '') : '{'));
        ids.push(...[...text.matchAll(/<id>(\d+)|"id":(\d+)/g)].map((match) => match[1] ?? match[2] ?? ''));
        const next: URL | null = await nextOf(path);
        path = next && `${next.pathname.replace('/api/v2', '')}${next.search}`;
      }
      assert.deepEqual(ids, ['7', '6', '5', '4', '3', '2', '1'], format);
    }
  });

  it('is absent on the last page, also when the limit is met exactly', async () => {
    assert.ok(await nextOf('/arten?limit=6'));
    for (const limit of [7, 8, 1000]) {
      const { json } = await service.request(`/arten?limit=${limit}`);
      assert.deepEqual(Object.keys(json), ['result']);
      assert.equal(json.result.length, 7);
    }
    assert.equal((await service.request('/arten')).json.result.length, 7);
  });

  it('stays on the host of the request with its port, in lower case', async () => {
    for (const [host, origin] of [
      ['n.test', 'http://n.test'],
      ['n.test:8080', 'http://n.test:8080'],
      ['n2.test:81', 'http://n2.test:81'],
      ['N.TEST', 'http://n.test'],
      ['s.test:80', 'http://s.test'],
      ['w.test.', 'http://w.test.'],
    ] as const) {
      assert.equal((await nextOf('/arten?limit=1', { host }))?.origin, origin, host);
    }
  });
});

describe('every field that may be sent', () => {
  const sent: Record<string, Sent> = {
    ...Object.fromEntries(listFeld().flatMap(([name, feld]) => (feld.shown ? [[name, twoOf(feld)]] : []))),
    // What answers show in another form.
    art: { report: ['2', 'N-2'], change: ['5', 'N-5'], shownAs: 'art_id' },
    lat: { report: ['5530100', 5530100], change: ['5530200', 5530200] },
    lon: { report: ['420100', 420100], change: ['420200', 420200] },
    srid: { report: ['EPSG:25832', 5530100], change: ['EPSG:25832', 5530200], shownAs: 'lat' },
    anzahl: { report: ['7', '7'], change: ['8', '8'] },
    datum: { report: ['2.9.2025', '02.09.2025'], change: ['3.9.2025', '03.09.2025'] },
    bereich: { report: ['privat', 'Persönliche Erfassungen'], change: ['oeffentlich', 'Öffentliche Meldungen'] },
    status: { report: ['', 'In Prüfung'], change: ['', 'In Prüfung'] },
  };
  const formOf = (kind: 'report' | 'change', names: readonly string[]) =>
    Object.fromEntries(names.map((name) => [name, sent[name]?.[kind][0] ?? '']));
  const shownOf = async (kind: 'report' | 'change', record: number) => {
    const { json } = await service.request(`/sichtbeobachtungen/${record}`, { as: 'melder' });
    for (const [name, field] of Object.entries(sent))
      assert.deepEqual(json.result[0][field.shownAs ?? name], field[kind][1], `${name} after a ${kind}`);
  };

  it('comes back as it was sent, from a report and from a change', async () => {
    // A new field that answers show in another form fails here until it is sent and looked for.
    assert.deepEqual(Object.keys(sent).sort(), Object.keys(changeSichtbeobachtungFields).sort());
    const answer = await service.request('/sichtbeobachtungen', {
      as: 'melder',
      form: formOf('report', Object.keys(createSichtbeobachtungFields)),
    });
    assert.equal(answer.status, 201, answer.text);
    const record = answer.json.result[0].id;
    await shownOf('report', record);
    const names = Object.keys(changeSichtbeobachtungFields).filter((name) => name !== 'status');
    const changed = await service.request(`/sichtbeobachtungen/${record}`, {
      method: 'PUT',
      as: 'melder',
      form: formOf('change', names),
    });
    assert.equal(changed.status, 200, changed.text);
    await shownOf('change', record);
  });
});

// Sightings: what a report stores, the members that are shown of it, pages, and names of species as filters and in answers.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { changeSichtbeobachtungFields, createSichtbeobachtungFields } from '../../src/http/routes/sichtbeobachtung-fields.ts';
import { listFeld } from '../../src/sichtbeobachtung-felder.ts';
import { arten } from '../support/catalogue.ts';
import { onPostgres } from '../support/database.ts';
import { type Sent, twoOf } from '../support/felder.ts';
import { countRows, idsIn, type Json, startTestService } from '../support/service.ts';

const service = await startTestService();
const { sql } = service.database;

describe('POST /sichtbeobachtungen', () => {
  it('stores a position in EPSG:4326 where PostGIS projects it to, and logs CREATE', async () => {
    const { request } = service;
    const form = { art: String(arten.amsel), lat: '49.9', lon: '8.1', srid: 'EPSG:4326', datum: '2.9.2026' };
    const created = await request('/sichtbeobachtungen', { as: 'melder', form });
    assert.equal(created.status, 201, created.text);
    const [{ id, guid, url }] = created.json.result;
    assert.equal(created.headers.get('location'), url);
    assert.equal(url, `http://n.test/api/v2/sichtbeobachtungen/${id}`);

    const read = await request(`/sichtbeobachtungen/${id}`, { as: 'melder' });
    const [record] = read.json.result;
    const [expected] = await sql`
      select st_x(p) as x, st_y(p) as y from st_transform(st_setsrid(st_makepoint(8.1, 49.9), 4326), 25832) p`;
    assert.ok(Math.abs(record.lon - expected?.x) <= 0.01, `lon ${record.lon} instead of ${expected?.x}`);
    assert.ok(Math.abs(record.lat - expected?.y) <= 0.01, `lat ${record.lat} instead of ${expected?.y}`);
    assert.equal(record.guid, guid);
    assert.equal(record.status, 'In Prüfung');
    assert.equal(record.bereich, 'Persönliche Erfassungen');

    const list = await request('/sichtbeobachtungen?bereich=persoenlich', { as: 'melder' });
    assert.equal(list.json.result[0].id, id);
    const log = await sql`select audit from portal.protokoll where sichtbeobachtung_id = ${id}`;
    assert.deepEqual([...log], [{ audit: 'CREATE' }]);
  });

  it('gives a position in EPSG:25832 back unchanged, and takes today in Europe/Berlin when no date is sent', async () => {
    const id = await service.makeSichtbeobachtung({ lat: '5530000.123456', lon: '420000.7', datum: undefined });
    const { json } = await service.request(`/sichtbeobachtungen/${id}?restrict=lat,lon,datum`, { as: 'melder' });
    const [today] = await sql`select to_char(now() at time zone 'Europe/Berlin', 'DD.MM.YYYY') as text`;
    assert.deepEqual(json.result, [{ lat: 5530000.123456, lon: 420000.7, datum: today?.text }]);
  });

  it('refuses the same species, place and date of the same user with 409 and the id it has', async () => {
    const id = await service.makeSichtbeobachtung({ lon: '421000' });
    const form = { art: String(arten.amsel), lat: '5530000', lon: '421000.0001', datum: '01.09.2026' };
    const again = await service.request('/sichtbeobachtungen', { as: 'melder', form });
    assert.equal(again.status, 409);
    assert.equal(again.json.error.code, 'doppelte_meldung');
    assert.equal(again.json.error.fields.id, id);
    const other = await service.request('/sichtbeobachtungen', { as: 'nachbarin', form });
    assert.equal(other.status, 201);
  });

  it('S4.1 stores one of 50 equal requests at the same moment', async () => {
    const form = { art: String(arten.amsel), lat: '5530000', lon: '422000', datum: '01.09.2026' };
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => service.request('/sichtbeobachtungen', { as: 'melder', form })),
    );
    const statuses = answers.map((answer) => answer.status).sort();
    assert.deepEqual(statuses, [201, ...Array.from({ length: 49 }, () => 409)]);
  });

  it('wants a login, and stores nothing without one', async () => {
    const before = await countRows(service);
    const form = { art: '2', lat: '5530000', lon: '420000' };
    assert.equal((await service.request('/sichtbeobachtungen', { form })).status, 401);
    assert.equal(await countRows(service), before);
  });
});

it('GET /sichtbeobachtungen refuses a cursor of other filters or another tenant', async () => {
  for (let n = 0; n < 2; n++) await service.makeReleased({ lon: String(440000 + n) });
  const { json } = await service.request('/sichtbeobachtungen?is_animal=true&limit=1');
  const cursor = new URL(json.next).searchParams.get('cursor');
  const good = await service.request(`/sichtbeobachtungen?is_animal=true&limit=7&cursor=${cursor}`);
  assert.equal(good.status, 200);
  for (const [path, host] of [
    [`/sichtbeobachtungen?is_animal=false&cursor=${cursor}`, 'n.test'],
    [`/sichtbeobachtungen?is_animal=true&cursor=${cursor}`, 's.test'],
    [`/sichtbeobachtungen?is_animal=true&cursor=A${cursor?.slice(1)}B`, 'n.test'],
    ['/sichtbeobachtungen?cursor=', 'n.test'],
  ] as const) {
    const bad = await service.request(path, { host });
    assert.equal(bad.status, 400, path);
    assert.ok(bad.json.error.fields.cursor, path);
  }
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

const values = (id: number) => ({
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
  let id: number;
  before(async () => {
    const fields = { art: String(arten.amsel), lat: '5530000.25', lon: '420000.5', anzahl: '3', bemerkung: 'am Zaun' };
    id = await service.makeReleased({ ...fields, stadium_id: '2', aktivitaet_id: '1' });
  });
  for (const as of [null, 'melder', 'nachbarin', 'expertin', 'admin'] as const) {
    for (const detail of [false, true]) {
      it(`${detail ? 'detail' : 'list'} for ${as ?? 'anonymous readers'}`, async () => {
        const { json, headers } = await service.request(detail ? `/sichtbeobachtungen/${id}` : '/sichtbeobachtungen', { as });
        const [record] = json.result;
        const names = membersOf(as !== null, detail);
        assert.deepEqual(Object.keys(record), names);
        const expected: Record<string, unknown> = values(id);
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
  const nextOf = async (path: string) => {
    const answer = await service.request(path);
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
    assert.deepEqual([...Object.keys(sent), 'medien_lizenz'].sort(), Object.keys(changeSichtbeobachtungFields).sort());
    const record = await service.makeSichtbeobachtung(formOf('report', Object.keys(createSichtbeobachtungFields)));
    await shownOf('report', record);
    const names = Object.keys(changeSichtbeobachtungFields).filter((name) => name !== 'status');
    const changed = await service.put(record, formOf('change', names));
    assert.equal(changed.status, 200, changed.text);
    await shownOf('change', record);
  });

  it('O5.5 has a licence of its files, which no answer shows: not sent as the account says, sent empty none; its owner changes it at any time', async () => {
    const stored = async (id: number) => {
      const [row] = await sql`select medien_lizenz from portal.sichtbeobachtung where id = ${id}`;
      return row?.medien_lizenz;
    };
    assert.equal(await stored(await service.makeSichtbeobachtung({ lon: '420301' })), null);
    assert.equal(await stored(await service.makeSichtbeobachtung({ lon: '420302', medien_lizenz: '' })), '');
    const id = await service.makeReleased({ lon: '420303', medien_lizenz: 'CC-BY-4.0' });
    assert.equal(await stored(id), 'CC-BY-4.0');
    assert.equal((await service.put(id, { medien_lizenz: 'frei' })).status, 400);
    assert.equal((await service.put(id, { medien_lizenz: 'CC0-1.0', anzahl: '3' })).status, 403);
    assert.equal((await service.put(id, { medien_lizenz: 'CC0-1.0' }, 'expertin')).status, 403);
    assert.equal(await stored(id), 'CC-BY-4.0');
    assert.equal((await service.put(id, { medien_lizenz: '' })).status, 200);
    assert.equal(await stored(id), '');
    const [row] = await sql`select status from portal.sichtbeobachtung where id = ${id}`;
    assert.equal(row?.status, 'freigegeben');
  });
});

describe('text filters of GET /sichtbeobachtungen match the whole name, in any case, with % as the only wildcard (D1.9)', () => {
  const names = new Map<number, string>();
  before(async () => {
    await sql`delete from portal.sichtbeobachtung`;
    // names that hold what LIKE takes for a wildcard or an escape
    await sql`
      insert into portal.art (id, gid, name_wissenschaftlich, name_deutsch) values
        (20, 1, 'Aves_spec', '100% Vogel'), (21, 1, 'AvesXspec', '1000 Vogel'), (22, 1, ${'Aves\\spec'}, 'Öhrchen ÜÄß')`;
    await sql`
      insert into portal.art_mandant (mandant_id, art, art_id)
      select m.id, a.id, m.kuerzel || '-' || a.id from portal.mandant m, portal.art a where a.id >= 20`;
    const all = { ...arten, Aves_spec: 20, AvesXspec: 21, 'Aves\\spec': 22 };
    for (const [name, art] of Object.entries(all)) {
      names.set(await service.makeReleased({ art: String(art), lon: String(410_000 + art) }), name);
    }
  });
  const find = async (query: string, host: string) => {
    const answer = await service.request(`/sichtbeobachtungen?${query}`, { host });
    assert.equal(answer.status, 200, answer.text);
    return idsIn(answer)
      .map((id) => names.get(id))
      .sort();
  };

  const aves = ['AvesXspec', 'Aves\\spec', 'Aves_spec'];
  const rows: [query: string, found: string[], host?: string][] = [
    ['titel_wissenschaftlich=vespa%velutina', ['hornisse']],
    ['titel_wissenschaftlich=vespa%25velutina', ['hornisse']],
    ['titel_wissenschaftlich=Vespa+velutina', ['hornisse']],
    ['titel_wissenschaftlich=VESPA%20VELUTINA', ['hornisse']],
    ['titel_wissenschaftlich=vespa%20velutina%', ['hornisse']],
    ['titel_wissenschaftlich=%velutina', ['hornisse']],
    ['titel_wissenschaftlich=%25ves%25tin%25', ['hornisse']],
    ['titel_wissenschaftlich=vespa', []],
    ['titel_wissenschaftlich=velutina', []],
    ['titel_wissenschaftlich=vespa_velutina', []],
    ['titel_wissenschaftlich=vespa*', []],
    ['titel_wissenschaftlich=vespa.velutina', []],
    ['titel_wissenschaftlich=aves_spec', ['Aves_spec']],
    ['titel_wissenschaftlich=aves%5Cspec', ['Aves\\spec']],
    ['titel_wissenschaftlich=aves%5C_spec', []],
    ['titel_wissenschaftlich=aves%25spec', aves],
    ['titel_wissenschaftlich=aves%5C%25', ['Aves\\spec']],
    ['titel_wissenschaftlich=%5C', []],
    ["titel_wissenschaftlich='%20or%20'1'='1", []],
    ['titel_deutsch=100%25%20vogel', ['Aves_spec', 'AvesXspec']],
    ['titel_deutsch=asiatische%20hornisse', ['hornisse']],
    ['titel_deutsch=GEW%C3%96HNLICHE%20GELBFLECHTE', ['gelbflechte']],
    ['titel_deutsch=gew%C3%B6hnliche%20gelbflechte', ['gelbflechte']],
    ['titel_deutsch=Gewo%CC%88hnliche+Gelbflechte', ['gelbflechte']],
    ['titel_deutsch=GEWO%CC%88HN%25', ['gelbflechte']],
    ['titel_deutsch=%C3%B6hrchen%20%C3%BC%C3%A4%C3%9F', ['Aves\\spec']],
    ['titel_deutsch=o%CC%88HRCHEN%20U%CC%88A%CC%88%C3%9F', ['Aves\\spec']],
    ['titel_deutsch=Gew%F6hnliche%20Gelbflechte', []],
    ['titel_deutsch=%25e&titel_wissenschaftlich=vespa%25', ['hornisse']],
    ['titel_deutsch=amsel&titel_wissenschaftlich=vespa%25', []],
    // the names as the addressed tenant defines them
    ['titel_deutsch=pfauenauge', ['tagpfauenauge']],
    ['titel_wissenschaftlich=inachis%20io', ['tagpfauenauge']],
    ['titel_deutsch=tagpfauenauge', []],
    ['titel_wissenschaftlich=aglais%20io', []],
    ['titel_deutsch=%pfauenauge', ['tagpfauenauge']],
    ['titel_deutsch=tagpfauenauge', ['tagpfauenauge'], 's.test'],
    ['titel_wissenschaftlich=aglais%20io', ['tagpfauenauge'], 's.test'],
    ['titel_deutsch=pfauenauge', [], 's.test'],
    ['titel_wissenschaftlich=inachis%20io', [], 's.test'],
    ['titel_deutsch=pfauenauge', ['tagpfauenauge'], 'n2.test'],
    // what the tenant does not define has its general names there, but no id (D3.21)
    ['titel_deutsch=gew%25gelbflechte', ['gelbflechte'], 's.test'],
    ['titel_wissenschaftlich=xanthoria%20parietina', ['gelbflechte'], 's.test'],
    ['art_id=S-7', [], 's.test'],
    ['art_id=N-7', [], 's.test'],
    ['art_id=N-7', ['gelbflechte']],
    ['art_id=n-7', []],
    ['art_id=N-%25', []],
  ];
  for (const [query, found, host = 'n.test'] of rows) {
    it(`${query} at ${host}`, async () => assert.deepEqual(await find(query, host), [...found].sort()));
  }

  it('shows the names of the addressed tenant', async () => {
    const shown = async (query: string, host: string) => {
      const path = `/sichtbeobachtungen?${query}&restrict=titel_deutsch,titel_wissenschaftlich,art_id,legacy_regional_art_id`;
      return (await service.request(path, { host })).json.result;
    };
    const ofN = { titel_deutsch: 'Pfauenauge', titel_wissenschaftlich: 'Inachis io', art_id: 'N-5', legacy_regional_art_id: 105 };
    const ofS = { ...ofN, titel_deutsch: 'Tagpfauenauge', titel_wissenschaftlich: 'Aglais io' };
    assert.deepEqual(await shown('eu_guid=eu-5', 'n.test'), [ofN]);
    assert.deepEqual(await shown('eu_guid=eu-5', 's.test'), [{ ...ofS, art_id: 'S-5', legacy_regional_art_id: 205 }]);
  });

  it('shows a species that the tenant does not define with general names and without its ids (D3.21)', async () => {
    const path = '/sichtbeobachtungen?titel_deutsch=gew%25gelbflechte';
    const [atS] = (await service.request(path, { host: 's.test' })).json.result;
    const [atN] = (await service.request(path, { host: 'n.test' })).json.result;
    assert.deepEqual([atN.art_id, atN.legacy_regional_art_id], ['N-7', 107]);
    assert.deepEqual(atS, { ...atN, art_id: null, legacy_regional_art_id: null });
    const [detail] = (await service.request(`/sichtbeobachtungen/${atS.id}`, { host: 's.test' })).json.result;
    assert.deepEqual([detail.titel_deutsch, detail.art_id], ['Gewöhnliche Gelbflechte', null]);
  });

  it('artengruppe of GET /arten follows the same rules', async () => {
    const ids = async (query: string) => idsIn(await service.request(`/arten?${query}`));
    assert.deepEqual(await ids('artengruppe=tagfalter'), [6, 5]);
    assert.deepEqual(await ids('artengruppe=TAG%25'), [6, 5]);
    assert.deepEqual(await ids('artengruppe=%25echten'), [7]);
    assert.deepEqual(await ids('artengruppe=V%C3%96GEL&is_animal=1&gid=1&name_regexp_ci=^a'), [22, 21, 20, 2]);
    assert.deepEqual(await ids('artengruppe=tag'), []);
    assert.deepEqual(await ids('artengruppe=_agfalter'), []);
  });

  it('name_regexp_ci is matched against each name of the tenant separately, in any case (D1.10)', async () => {
    const ids = async (expression: string, host = 'n.test') => {
      const answer = await service.request(`/arten?name_regexp_ci=${encodeURIComponent(expression)}`, { host });
      assert.equal(answer.status, 200, answer.text);
      return idsIn(answer);
    };
    assert.deepEqual(await ids('^inachis'), [5]);
    assert.deepEqual(await ids('^inachis', 's.test'), []);
    assert.deepEqual(await ids('AUGE$'), [5]);
    assert.deepEqual(await ids('^(uhu|amsel)$'), [2, 1]);
    assert.deepEqual(await ids('^GEWÖHN'), [7]);
    assert.deepEqual(await ids('^gewo\u0308hn'), [7]);
    assert.deepEqual(await ids('auge.*inachis|io.*pfau'), []);
    assert.deepEqual(await ids('^[[:alpha:]]+ bubo$'), [1]);
    assert.deepEqual(await ids('[)(]'), []);
    assert.deepEqual(await ids('\\(a\\)+'), []);
    assert.deepEqual(await ids('\\c[|^uhu$'), [1]);
    // As much as the embedded database takes: places, braces that are none, 64 characters.
    assert.deepEqual(await ids('^\\muhu\\M$'), [1]);
    assert.deepEqual(await ids('u[{21}h]u$'), [1]);
    // Edges of words as Perl and JavaScript write them; a backslash and a letter, and what stands in brackets, are none.
    assert.deepEqual(await ids('\\bRot'), [4]);
    assert.deepEqual(await ids('milan\\b'), [4]);
    assert.deepEqual(await ids('Rot\\B'), [4]);
    assert.deepEqual(await ids('[\\w]\\bbubo|\\Brot'), []);
    assert.deepEqual(await ids('\\[?\\bbubo[[:alpha:]]?\\b'), [1]);
    assert.deepEqual(await ids('\\c[\\bio|\\bio'), [5]);
    assert.deepEqual(await ids('\\\\bRot'), []);
    assert.deepEqual(await ids('R\\x6ft\\u006D'), [4]);
    assert.deepEqual(await ids(`${'x'.repeat(60)}|uhu`), [1]);
    if (!onPostgres) return;
    assert.deepEqual(await ids('^[a-z]{3}$|z{18}|(yx){6}'), [1]);
    assert.deepEqual(await ids('a{,99}|{z'), []);
  });
});

describe('a species without a German name', () => {
  let id: number;
  before(async () => {
    await sql`delete from portal.sichtbeobachtung`;
    await sql`insert into portal.art (id, gid, name_wissenschaftlich) values (8, 2, 'Udea ferrugalis')`;
    await sql`
      insert into portal.art_mandant (mandant_id, art, art_id, name_deutsch)
      select m.id, 8, '8', case m.kuerzel when 'S' then 'Rostfarbener Zünsler' end from portal.mandant m`;
    id = await service.makeReleased({ art: '8' });
  });
  const read = async (path: string, host = 'n.test') => {
    const { status, text, json } = await service.request(path, { host });
    assert.equal(status, 200, text);
    return (json as Json).result;
  };

  it('is null in lists and details of sightings, and has its name where a tenant gave it one', async () => {
    for (const path of [`/sichtbeobachtungen/${id}`, '/sichtbeobachtungen']) {
      const [record] = await read(path);
      assert.deepEqual([record.titel_deutsch, record.titel_wissenschaftlich], [null, 'Udea ferrugalis'], path);
      const [southern] = await read(path, 's.test');
      assert.equal(southern.titel_deutsch, 'Rostfarbener Zünsler', path);
    }
    const xml = await service.request(`/sichtbeobachtungen/${id}?format=xml`);
    assert.match(xml.text, /<titel_deutsch\s*\/>|<titel_deutsch><\/titel_deutsch>/);
  });

  it('is null in lists and details of species', async () => {
    const species = (await read('/arten')).find((each: Json) => each.id === 8);
    assert.deepEqual([species.name_deutsch, species.name_wissenschaftlich], [null, 'Udea ferrugalis']);
    const [detail] = await read('/arten/8');
    assert.equal(detail.name_deutsch, null);
  });

  it('is found by its scientific name, and by no German one', async () => {
    const ids = async (path: string, host?: string) => (await read(path, host)).map((each: Json) => each.id);
    assert.deepEqual(await ids('/arten?name_regexp_ci=^udea'), [8]);
    assert.deepEqual(await ids('/arten?name_regexp_ci=null'), []);
    assert.deepEqual(await ids('/sichtbeobachtungen?titel_wissenschaftlich=udea%25'), [id]);
    assert.deepEqual(await ids('/sichtbeobachtungen?titel_deutsch=%25'), []);
    assert.deepEqual(await ids('/sichtbeobachtungen?titel_deutsch=rost%25', 's.test'), [id]);
  });

  it('is null for analysts', async () => {
    const rows = await sql`select name_deutsch, name_wissenschaftlich from gis.sichtbeobachtung where id = ${id}`;
    assert.deepEqual([...rows], [{ name_deutsch: null, name_wissenschaftlich: 'Udea ferrugalis' }]);
  });
});

import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { decodeText, parseQuery, queryOf } from '../../src/http/wire/query.ts';
import { arten } from '../support/catalogue.ts';
import { onPostgres } from '../support/database.ts';
import { idsIn, startTestService, type TestService } from '../support/service.ts';

describe('decodeText decodes what is an escape and keeps what is none (D1.1)', () => {
  const rows: [sent: string, text: string][] = [
    ['', ''],
    ['vespa velutina', 'vespa velutina'],
    ['vespa+velutina', 'vespa velutina'],
    ['vespa%2Bvelutina', 'vespa+velutina'],
    ['vespa%20velutina', 'vespa velutina'],
    ['vespa%velutina', 'vespa%velutina'],
    ['vespa%25velutina', 'vespa%velutina'],
    ['vespa%2525velutina', 'vespa%25velutina'],
    ['%', '%'],
    ['%%', '%%'],
    ['%%%25', '%%%'],
    ['100%', '100%'],
    ['a%2', 'a%2'],
    ['a%2g', 'a%2g'],
    ['a%g2', 'a%g2'],
    ['%u00e4', '%u00e4'],
    ['Egretta%caerulea', 'Egretta%caerulea'],
    ['Egretta%CAerulea', 'Egretta%CAerulea'],
    ['Gr%C3%BCn', 'Grün'],
    ['Gr%c3%bcn%velutina', 'Grün%velutina'],
    ['%velutina%20Gr%C3%BCn%', '%velutina Grün%'],
    ['Gr%FCn', 'Gr%FCn'],
    ['%C3', '%C3'],
    ['%C3%', '%C3%'],
    ['%C3x%BC', '%C3x%BC'],
    ['%C3%C3%BC', '%C3ü'],
    ['%BC%C3%BC', '%BCü'],
    ['%C3%BC%BC', 'ü%BC'],
    ['%F0%9F%A6%89', '🦉'],
    ['%F0%9F%A6', '%F0%9F%A6'],
    ['%F0%9F%A6%20', '%F0%9F%A6 '],
    ['%E2%82%AC%ca', '€%ca'],
    ['%ED%A0%80', '%ED%A0%80'],
    ['%C0%80', '%C0%80'],
    ['%E0%80%80', '%E0%80%80'],
    ['%F4%90%80%80', '%F4%90%80%80'],
    ['%F5%80%80%80', '%F5%80%80%80'],
    ['%FF', '%FF'],
    ['%00', '\0'],
    ['%EF%BB%BF', '\ufeff'],
    ['ü%C3%BC', 'üü'],
    ['a%26b%3Dc%23', 'a&b=c#'],
  ];
  for (const [sent, text] of rows) it(`${sent} is ${JSON.stringify(text)}`, () => assert.equal(decodeText(sent), text));

  // As much as a form may hold, from anyone: an exception per bad byte took seconds, in which nobody else was answered.
  for (const run of ['%', '%e', '%C3%BC', '%F0%9F%9F%9F', '%c3', '%e4', '%F0%9F', '%ED%A0%80', '%FF']) {
    it(`a long run of ${run} is decoded without letting anything throw`, (t) => {
      const decode = t.mock.method(globalThis, 'decodeURIComponent');
      const sent = run.repeat(1000);
      const good = run === '%C3%BC' ? 'ü' : run === '%F0%9F%9F%9F' ? '\u{1f7df}' : run;
      assert.equal(decodeText(sent), good.repeat(1000));
      assert.ok(decode.mock.calls.every((call) => call.error === undefined));
    });
  }
});

describe('parseQuery keeps names, values and their order', () => {
  /** Names with `:`, values with `|` between them. */
  const rows: [query: string, ...parameters: string[]][] = [
    [''],
    ['&&'],
    ['a', 'a:'],
    ['a=', 'a:'],
    ['=a', ':a'],
    ['a=b=c', 'a:b=c'],
    ['a==', 'a:='],
    ['b=1&a=2&b=3', 'b:1|3', 'a:2'],
    ['a=1&a', 'a:1|'],
    ['na%6De=v%61l', 'name:val'],
    ['a+b=c+d', 'a b:c d'],
    ['a%3Db=c%26d', 'a=b:c&d'],
    ['a;b=1', 'a;b:1'],
    ['a?b=1?2', 'a?b:1?2'],
    ['a[]=1', 'a[]:1'],
    ['t=vespa%velutina&u=%C3%BC', 't:vespa%velutina', 'u:ü'],
    ['__proto__=1&constructor=2', '__proto__:1', 'constructor:2'],
    ['A=1&a=2', 'A:1', 'a:2'],
  ];
  for (const [query, ...parameters] of rows)
    it(`?${query}`, () => {
      const found = [...parseQuery(query)].map(([name, values]) => `${name}:${values.join('|')}`);
      assert.deepEqual(found, parameters);
    });
});

describe('queryOf finds the part behind the question mark', () => {
  for (const [url, query] of [
    ['http://n.test/api', ''],
    ['http://n.test/api?', ''],
    ['http://n.test/api?a=%velutina', 'a=%velutina'],
    ['http://n.test/api?a=1?b=2', 'a=1?b=2'],
    ['http://n.test/api?a=1#b', 'a=1'],
    ['/api?a=1', 'a=1'],
  ] as const) {
    it(url, () => assert.equal(queryOf(url), query));
  }
});

describe('text filters of GET /sichtbeobachtungen match the whole name, in any case, with % as the only wildcard (D1.9)', () => {
  let service: TestService;
  const names = new Map<number, string>();
  before(async () => {
    service = await startTestService();
    // names that hold what LIKE takes for a wildcard or an escape
    await service.database.sql`
      insert into portal.art (id, gid, name_wissenschaftlich, name_deutsch) values
        (20, 1, 'Aves_spec', '100% Vogel'), (21, 1, 'AvesXspec', '1000 Vogel'), (22, 1, ${'Aves\\spec'}, 'Öhrchen ÜÄß')`;
    await service.database.sql`
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
    assert.deepEqual(await ids(`${'x'.repeat(60)}|uhu`), [1]);
    if (!onPostgres) return;
    assert.deepEqual(await ids('^[a-z]{3}$|z{18}|(yx){6}'), [1]);
    assert.deepEqual(await ids('a{,99}|{z'), []);
  });
});

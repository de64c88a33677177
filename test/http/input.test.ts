import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { arten } from '../support/catalogue.ts';
import { onPostgres } from '../support/database.ts';
import { type Answer, countRows, startTestService, toFormData } from '../support/service.ts';

const service = await startTestService();
await service.tokenOf('melder');
const rowsBefore = await countRows(service);

const dates = ['31.2.2026', '29.2.2025', '29.2.1900', '1.13.2026', '00.01.2026', '1.0.2026', '32.1.2026', '1.1.0000'];
const wrongDates = [...dates, '2026-09-01', '1/9/2026', '1.9.26', '1.9.2026x', '1.9.', 'gestern', '٣.٩.2026', '999999.1.2026'];
const wrongIds = [
  ...['abc', '-1', '1.5', '1e3', '0x10', 'NaN', 'Infinity', '2147483648', '9'.repeat(20), '9'.repeat(400), '1 or 1=1', "1'"],
];
const wrongDoubles = [
  ...['abc', 'NaN', 'Infinity', '-Infinity', '1e999', '-1e999', '1,5', '1 2', '0x10', '--1', '1e', '.', '5530000 m'],
];
const wrongBooleans = ['maybe', 'ja', '2', '-1', '01', 'truefalse', 'null'];
const box = '400000,5500000,452000,5560000';

interface Kind {
  good: string;
  bad: string[];
  allowed: RegExp;
  /** The value is not repeated. */
  silent?: boolean;
}
const text: Kind = { good: 'x', bad: ['x'.repeat(501)], allowed: /höchstens 500 Zeichen/ };
const boolean: Kind = { good: 'true', bad: ['', ' ', ...wrongBooleans], allowed: /true oder false/ };
const id: Kind = { good: '1', bad: ['', ' ', ...wrongIds], allowed: /ganze Zahl von 0 bis 2147483647/ };
const date: Kind = { good: '1.9.2026', bad: ['', ...wrongDates], allowed: /TT\.MM\.JJJJ/ };
const regexpLength = onPostgres ? 128 : 64;
const kinds = {
  format: { good: 'json', bad: ['', 'pdf', 'XML', ' xml', 'json,xml', '../xml'], allowed: /json oder xml/ },
  callback: {
    good: 'f',
    bad: [
      '',
      '1a',
      'a b',
      'a(',
      'a..b',
      'a.',
      '.a',
      'ä',
      'a-b',
      'a[',
      'a[b]',
      'a[1](x)',
      'a["c"]',
      'a[]',
      'a[-1]',
      'a[100000]',
      'a[1]b',
      '[1]',
      'alert(1)//',
      'a;b',
      '<b>',
      'a'.repeat(65),
    ],
    allowed: /Name einer JavaScript-Funktion/,
  },
  limit: {
    good: '5',
    bad: ['', ' ', '0', '1001', 'abc', '1.5', '-1', '1e2', 'NaN', 'Infinity', '0x10', '9'.repeat(20)],
    allowed: /ganze Zahl von 1 bis 1000/,
  },
  cursor: {
    good: 'AAAA',
    bad: ['', 'abc', 'A'.repeat(32), 'A'.repeat(10_000), '%', '../..', '=', '1'],
    allowed: /Adresse aus next|zu lang/,
    silent: true,
  },
  restrict: { good: 'id', bad: [], allowed: /./ },
  text,
  boolean,
  id,
  date,
  jahr: {
    good: '2026',
    bad: ['', '0', '-1', '10000', 'abc', '2026.5', '1e3', 'NaN', '9'.repeat(20)],
    allowed: /ganze Zahl von 1 bis 9999/,
  },
  bbox: {
    good: box,
    bad: [
      ...['', '1,2,3', '1,2,3,4,5', 'a,b,c,d', ',,,', '1;2;3;4', '0x1,2,3,4', '1 2,3,4,5', 'NaN,1,2,3', '1,2,Infinity,4'],
      ...['-Infinity,1,2,3', '1e999,1,2,3', '1,2,1e999,4', '452000,5500000,400000,5560000', '400000,5560000,452000,5500000'],
      ...['400000,5500000,400000,5560000', '400000,5500000,452000,5500000', `${box},`],
    ],
    allowed: /links,unten,rechts,oben: vier Zahlen/,
  },
  mandant: { good: 'N', bad: [''], allowed: /Kürzel/ },
  bereich: {
    good: 'oeffentlich',
    bad: ['', 'alle', 'Oeffentlich', 'Öffentliche Meldungen', 'privat,oeffentlich'],
    allowed: /oeffentlich, privat oder persoenlich/,
  },
  status: {
    good: 'freigegeben',
    bad: ['', 'offen', 'Freigegeben', 'In Prüfung', 'freigegeben,pruefung', '1'],
    allowed: /freigegeben, pruefung, hinweis oder abgelehnt/,
  },
  regexp: {
    good: 'a',
    bad: [
      '',
      '(?i)a',
      '(?:a)',
      'x(?=a)',
      '***=a',
      '***:a',
      '(a)\\1',
      '((a)(b))\\2',
      '\\c[(?:a)(b)',
      ...['a\\vb', '\\aamsel', '\\e', '\\x006f', '[^\\B]', '[a\\b]', '[]\\b]', '[\\]\\b]', '\\c\\[\\b'],
      '[\\c][](a)\\1',
      'a'.repeat(regexpLength + 1),
    ].concat(
      onPostgres
        ? []
        : [
            ...['(a*)*b', '(a+)+', '(a{1,9}){1,9}', '((a*))*', '(a|b*)+', '(x(y+)z){2}', '(x?y?z?a?b?c?d?e?){1,40}q'],
            ...['((x|)(|y)){9}', '(^|a|$){0,255}z', '(\\y|a|\\Y|.){0,255}', '(\\A|a){2}', '(a|\\Z)+', '(x(\\m|\\My)z)*'],
            ...['([[:<:]]|a){0,255}', '(a[[:>:]]){2}', 'a{32}', 'a{10}b{20,}.{3,14}', '(abc){15}', '((ab)c{5}d){6}'],
            ...['^^\\m\\yb$', '[[:<:]]a[[:>:]]\\A^b$', '\\c[(^|a|$){0,20}', '(\\c)a*)*', '\\c\\(a*)*', '\\c[.{0,100}z'],
            ...['[\\c][].{0,100}z', '(.|..){0,255}z', 'a{32,}', '.{1,99}?', '(x()){9}', '(a||b)*', '(ab)?(a(b)?)?'],
            ...['\\ba\\Bb\\bc\\bd\\b'],
          ],
    ),
    allowed: new RegExp(`regulärer Ausdruck mit höchstens ${regexpLength} Zeichen`),
  },
} satisfies Record<string, Kind>;

const everywhere = { format: kinds.format, callback: kinds.callback };
const everyRead = { ...everywhere, restrict: kinds.restrict };
const everyList = { ...everyRead, limit: kinds.limit, cursor: kinds.cursor };
const reads: Record<string, Record<string, Kind>> = {
  '/sichtbeobachtungen': {
    ...everyList,
    ...{ bereich: kinds.bereich, status: kinds.status, mandant: kinds.mandant, bbox: kinds.bbox, jahr: kinds.jahr },
    ...{ titel_deutsch: text, titel_wissenschaftlich: text, eu_guid: text, art_id: text, is_animal: boolean },
    ...{ artengruppe_id: id, legacy_regional_art_id: id, legacy_regional_artengruppe_id: id },
    ...{ lanis_rlp_osiris_art_id: id, lanis_rlp_osiris_artengruppe_id: id, datum_von: date, datum_bis: date },
  },
  '/sichtbeobachtungen/1': everyRead,
  '/artengruppen': { ...everyList, is_animal: boolean },
  '/arten': { ...everyList, is_animal: boolean, artengruppe: text, gid: id, name_regexp_ci: kinds.regexp },
  [`/login?loginname=melder&password=${'0'.repeat(40)}`]: everywhere,
};

/** D2.1 with one sentence for the field, and D1.6: what it got, what it allows. */
function assertRefused(answer: Answer, name: string, allowed: RegExp, got?: string): void {
  assert.equal(answer.status, 400, answer.text);
  assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
  const { error } = answer.json;
  assert.equal(error.status, 400);
  assert.equal(error.code, 'ungueltiger_parameter');
  assert.ok(name in error.fields, `fields lacks ${name}: ${answer.text}`);
  const sentence = error.fields[name];
  assert.ok(error.message.includes(sentence), answer.text);
  assert.match(sentence, /^\S.*\.$/);
  assert.match(sentence, allowed);
  if (got !== undefined) assert.ok(sentence.includes(got.trim() === '' ? `${name} ist leer` : `„${shown(got)}“`), sentence);
}
const shown = (value: string) => (value.length > 60 ? `${value.slice(0, 60)}…` : value);
const addQuery = (path: string, query: string) => `${path}${path.includes('?') ? '&' : '?'}${query}`;

for (const [path, parameters] of Object.entries(reads)) {
  describe(`GET ${path.replace(/\?.*/, '')} names the parameter, what it got and what it allows`, () => {
    for (const [name, { good, bad, allowed, silent }] of Object.entries(parameters)) {
      for (const value of bad) {
        it(`${name}=${shown(value)}`, async () => {
          const answer = await service.request(addQuery(path, `${name}=${encodeURIComponent(value)}`));
          assertRefused(answer, name, allowed, silent ? undefined : value);
        });
      }
      it(`S3.9 ${name} twice`, async () => {
        const answer = await service.request(addQuery(path, `${name}=${good}&x=1&${name}=${good}`));
        assertRefused(answer, name, /mehrfach/);
      });
      it(`S3.3 ${name} with NUL`, async () => {
        assertRefused(await service.request(addQuery(path, `${name}=a%00b`)), name, /Zeichen/);
      });
      it(`S3.3 ${name} with half a surrogate pair, which stays the text that was sent`, async () => {
        const { status, text: body } = await service.request(addQuery(path, `${name}=%ED%A0%80`));
        assert.ok(status === 200 || status === 400 || status === 404, `${status} ${body}`);
      });
    }
    it('S3.9 format=xml with callback', async () => {
      assertRefused(await service.request(addQuery(path, 'format=xml&callback=f')), 'callback', /nur mit format=json/);
    });
  });
}

describe('values that only the database can judge', () => {
  const rows: [path: string, name: string, value: string, allowed: RegExp][] = [
    ['/sichtbeobachtungen', 'mandant', 'X', /Kürzel/],
    ['/sichtbeobachtungen', 'mandant', 'Nordland', /Kürzel/],
    ['/sichtbeobachtungen', 'mandant', 'N,S', /Kürzel/],
    ['/sichtbeobachtungen', 'mandant', '%', /Kürzel/],
    ['/sichtbeobachtungen', 'mandant', "N' or '1'='1", /Kürzel/],
    ['/arten', 'name_regexp_ci', '(', /regulärer Ausdruck/],
    ['/arten', 'name_regexp_ci', '[a', /regulärer Ausdruck/],
    ['/arten', 'name_regexp_ci', 'a**', /regulärer Ausdruck/],
    ['/arten', 'name_regexp_ci', 'a{2,1}', /regulärer Ausdruck/],
    ['/arten', 'name_regexp_ci', 'a\\', /regulärer Ausdruck/],
    ['/arten', 'name_regexp_ci', '[[:nix:]]', /regulärer Ausdruck/],
    ...['\\z', '\\Qa', '\\Ga', '\\h', '\\p{L}', '\\x{41}', '\\u{41}', '[\\A]', '[\\y]'].map((value): (typeof rows)[number] => [
      '/arten',
      'name_regexp_ci',
      value,
      /Rückstrich steht vor einem ungültigen Zeichen|\{…\}/,
    ]),
  ];
  const ask = (path: string, name: string, value: string) =>
    service.request(addQuery(path, `${name}=${encodeURIComponent(value)}`));
  for (const [path, name, value, allowed] of rows) {
    it(`S3.1 ${path}?${name}=${value} is refused with what is allowed`, async () => {
      assertRefused(await ask(path, name, value), name, allowed, value);
    });
  }
  it('a syntax error of name_regexp_ci is told with its reason (D1.10)', async () => {
    const [open, brace] = await Promise.all([ask('/arten', 'name_regexp_ci', '('), ask('/arten', 'name_regexp_ci', 'a{2,1}')]);
    const strip = (answer: Answer, value: string) => answer.json.error.fields.name_regexp_ci.replace(value, '');
    assert.notEqual(strip(open, '('), strip(brace, 'a{2,1}'), 'two different mistakes get the same sentence');
  });
  it('an escape that means something else in PostgreSQL is named (D1.10)', async () => {
    for (const [value, named] of [
      ['a\\vb', '\\v'],
      ['\\x006f', '\\x006f'],
      ['x[\\B]', '[\\B]'],
    ] as const) {
      const { json } = await ask('/arten', 'name_regexp_ci', value);
      assert.ok(json.error.message.includes(`ohne ${named}: das hieße in PostgreSQL etwas anderes`), json.error.message);
    }
  });
  it('S3.2 an expression that could run long ends quickly', {
    skip: !onPostgres && 'refused before it reaches the database',
  }, async () => {
    for (const value of ['(a*)*b', '(((a*)*)*)*$', '((((a|a)*)*)*)*b', '(((.{1,99}){1,99}){1,99}){1,99}']) {
      const start = performance.now();
      const { status, text: body } = await ask('/arten', 'name_regexp_ci', value);
      assert.ok(status === 200 || status === 400, `${value}: ${status} ${body}`);
      assert.ok(performance.now() - start < 3000, `${value} took ${performance.now() - start} ms`);
    }
  });
});

describe('what needs a login', () => {
  for (const query of ['status=pruefung', 'status=hinweis', 'status=abgelehnt', 'bereich=privat', 'bereich=persoenlich']) {
    it(`${query} is 401 for anonymous readers and 200 for others`, async () => {
      const anonymous = await service.request(`/sichtbeobachtungen?${query}`);
      assert.equal(anonymous.status, 401, anonymous.text);
      assert.equal(anonymous.json.error.code, 'nicht_angemeldet');
      assert.match(anonymous.json.error.message, /Anmeldung/);
      assert.match(anonymous.json.error.fields[query.replace(/=.*/, '')], /angemeldet/);
      assert.equal((await service.request(`/sichtbeobachtungen?${query}`, { as: 'melder' })).status, 200);
    });
  }
});

describe('an id in the path that is none', () => {
  const paths = ['abc', '0', '-1', '1.5', '1e3', '9'.repeat(15), '9'.repeat(16), '%00', '%ff', '%', '1%20', "1'", '__proto__'];
  for (const path of paths) {
    it(`/sichtbeobachtungen/${path} is 404`, async () => {
      const answer = await service.request(`/sichtbeobachtungen/${path}`);
      assert.equal(answer.status, 404, answer.text);
      assert.equal(answer.json.error.code, 'nicht_gefunden');
    });
  }
});

type FormKind = Kind & { required?: boolean };
const double: FormKind = { good: '1', bad: ['', ' ', ...wrongDoubles], allowed: /eine Zahl/, required: true };
const formId: Kind = { ...id, bad: wrongIds };
const formFields: Record<string, FormKind> = {
  art: { ...id, bad: [...id.bad, 'Amsel'], required: true },
  lat: double,
  lon: double,
  srid: {
    good: 'EPSG:25832',
    bad: ['25832', 'EPSG:31467', 'epsg:25832', 'EPSG:25832 ', '4326', 'EPSG:4326;'],
    allowed: /EPSG:25832, EPSG:4326 oder EPSG:3857/,
  },
  anzahl: {
    good: '1',
    bad: ['0', '20001', '-1', '1.5', 'abc', '1e3', 'NaN', 'Infinity', '9'.repeat(20), 'einige'],
    allowed: /ganze Zahl von 1 bis 20000/,
  },
  sensibel: { ...boolean, bad: wrongBooleans },
  datum: { ...date, bad: wrongDates },
  bereich: { good: 'privat', bad: ['', 'persoenlich', 'alle', 'Privat'], allowed: /privat oder oeffentlich/ },
  stadium_id: formId,
  aktivitaet_id: formId,
  bemerkung: { good: 'x', bad: [], allowed: /./ },
};

function post(fields: Record<string, string | undefined>, more: [string, string][] = []) {
  const all = { art: String(arten.amsel), lat: '5530000', lon: '420000', datum: '1.9.2026', ...fields };
  const form = toFormData(all);
  for (const [name, value] of more) form.append(name, value);
  return service.request('/sichtbeobachtungen', { as: 'melder', form });
}

describe('POST /sichtbeobachtungen names the field, what it got and what it allows', () => {
  for (const [name, { good, bad, allowed, required }] of Object.entries(formFields)) {
    for (const value of bad) {
      it(`${name}=${shown(value)}`, async () => assertRefused(await post({ [name]: value }), name, allowed, value));
    }
    if (required) {
      it(`${name} missing`, async () => {
        assertRefused(await post({ [name]: undefined }), name, new RegExp(`${name} fehlt.*${allowed.source}`));
      });
    }
    it(`S3.9 ${name} twice`, async () => assertRefused(await post({ [name]: good }, [[name, good]]), name, /mehrfach/));
    it(`S3.3 ${name} with NUL`, async () => assertRefused(await post({ [name]: 'a\0b' }), name, /Zeichen/));
  }
  it('all wrong fields at once', async () => {
    const answer = await post({ art: 'x', lat: 'y', lon: '', anzahl: '0', sensibel: 'maybe', datum: '31.2.2026' });
    assert.deepEqual(Object.keys(answer.json.error.fields).sort(), ['anzahl', 'art', 'datum', 'lat', 'lon', 'sensibel']);
  });
});

describe('POST /sichtbeobachtungen with values that only the database can judge', () => {
  const germanDay = (days: number) =>
    new Intl.DateTimeFormat('de-DE', { timeZone: 'Europe/Berlin' }).format(Date.now() + days * 86_400_000);
  const rows: [name: string, fields: Record<string, string>, sentence: RegExp][] = [
    ['art', { art: '999999' }, /Art.*erlaubt ist eine id aus \/arten/],
    ['art', { art: '0' }, /Art.*erlaubt ist eine id aus \/arten/],
    ['stadium_id', { stadium_id: '99' }, /Stadium/],
    ['aktivitaet_id', { aktivitaet_id: '99' }, /Aktivität/],
    ['datum', { datum: '31.12.1799' }, /01\.01\.1800 und heute/],
    ['datum', { datum: '1.1.0001' }, /01\.01\.1800 und heute/],
    ['datum', { datum: '31.12.9999' }, /01\.01\.1800 und heute/],
    ['datum', { datum: germanDay(1.05) }, /01\.01\.1800 und heute/],
    ['lat', { lat: '1e10' }, /Wertebereich/],
    ['lat', { lat: '1e308' }, /Wertebereich/],
    ['lon', { lon: '-1e308' }, /Wertebereich/],
    ['lat', { srid: 'EPSG:4326', lat: '91', lon: '8' }, /Wertebereich/],
    ['lon', { srid: 'EPSG:4326', lat: '50', lon: '181' }, /Wertebereich/],
    ['lat', { srid: 'EPSG:3857', lat: '3e7', lon: '900000' }, /Wertebereich/],
    ['lon', { srid: 'EPSG:3857', lat: '6400000', lon: '-3e7' }, /Wertebereich/],
    ['lat', { lat: '4999999.999', lon: '420000' }, /außerhalb des Gebiets/],
    ['lat', { lat: '5530000', lon: '1200000.001' }, /außerhalb des Gebiets/],
    ['lat', { lat: '49.9', lon: '8.1' }, /außerhalb des Gebiets .*\(das sieht nach Grad aus: srid=EPSG:4326\?\)/],
    ['lat', { lat: '8.1', lon: '49.9', srid: 'EPSG:3857' }, /außerhalb des Gebiets .*\(das sieht nach Grad aus/],
    ['lat', { srid: 'EPSG:4326', lat: '90', lon: '0' }, /außerhalb des Gebiets dieses Dienstes\.$/],
    ['lat', { srid: 'EPSG:4326', lat: '-0', lon: '-0' }, /außerhalb des Gebiets/],
    ['lat', { srid: 'EPSG:3857', lat: '0', lon: '0' }, /außerhalb des Gebiets/],
    ['lat', { lat: '420000', lon: '5530000' }, /vertauscht/],
    ['lat', { srid: 'EPSG:4326', lat: '8.1', lon: '49.9' }, /vertauscht/],
    ['lat', { srid: 'EPSG:3857', lat: '900000', lon: '6400000' }, /vertauscht/],
  ];
  for (const [name, fields, sentence] of rows) {
    it(`${new URLSearchParams(fields)} is refused at ${name}`, async () =>
      assertRefused(await post(fields), name, sentence, fields[name]));
  }
  it('a species that the addressed tenant does not define is refused there and taken elsewhere', async () => {
    const form = { art: String(arten.gelbflechte), lat: '5530000', lon: '420000', datum: '1.9.2026' };
    const answer = await service.request('/sichtbeobachtungen', { as: 'melder', form, host: 's.test' });
    assertRefused(answer, 'art', /in diesem Portal nicht/);
    const { json, status } = await service.request('/sichtbeobachtungen', { as: 'melder', form, host: 'n.test' });
    assert.equal(status, 201);
    await service.database.sql`delete from portal.sichtbeobachtung where id = ${json.result[0].id as number}`;
  });
});

describe('/login names the parameter that is missing or doubled, and never repeats a password', () => {
  const [right, secret] = ['loginname=melder', 'a94a8fe5ccb19ba61c4c0873d391e987982fbbd3'];
  const rows: [query: string, name: string, sentence: RegExp][] = [
    [`password=${secret}`, 'loginname', /fehlt, erlaubt ist der Anmeldename/],
    [right, 'password', /fehlt, erlaubt ist der SHA-1 des Passworts/],
    [`${right}&${right}&password=${secret}`, 'loginname', /mehrfach/],
    [`${right}&password=${secret}&password=${secret}`, 'password', /mehrfach/],
    [`loginname=a%00b&password=${secret}`, 'loginname', /Zeichen/],
    ['', 'loginname', /fehlt/],
    ['', 'password', /fehlt/],
  ];
  for (const [query, name, sentence] of rows) {
    it(`/login with ${query.replaceAll(secret, '…')} is refused at ${name}, by GET and by POST`, async () => {
      const headers = { 'content-type': 'application/x-www-form-urlencoded' };
      const posted = await service.request('/login', { method: 'POST', body: query, headers });
      for (const answer of [await service.request(`/login?${query}`), posted]) {
        assertRefused(answer, name, sentence);
        assert.ok(!answer.text.includes(secret));
      }
    });
  }
});

it('nothing of all this was stored', async () => {
  assert.equal(await countRows(service), rowsBefore);
});

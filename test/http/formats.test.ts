// Every answer in JSON, JSONP and XML: the same content, member for member in the same order, whatever it holds.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { before, describe, it } from 'node:test';
import { runInNewContext } from 'node:vm';
import { create } from 'xmlbuilder2';
import type { XMLBuilder } from 'xmlbuilder2/lib/interfaces.js';
import { sha1OfPlain } from '../../src/guard/password.ts';
import { toXml } from '../../src/http/wire/xml.ts';
import { type Account, arten } from '../support/catalogue.ts';
import { type Json, type RequestOptions, startTestService } from '../support/service.ts';

const types = {
  json: 'application/json; charset=utf-8',
  jsonp: 'application/javascript; charset=utf-8',
  xml: 'text/xml; charset=utf-8',
};
type Format = keyof typeof types;
const textJson = { 'content-type': 'text/json' };
const queryOfFormat = { json: '', jsonp: 'callback=portal.show', xml: 'format=xml' };

// Control characters but NUL, what ends a CDATA section, a script or a string, separators, and letters of several bytes.
const hostile =
  'Grün & "schön" \'x\' <b> ]]> </script><!-- --> \\ \u2028\u2029 \ufeff\ufffe\uffff a\u0001b\u0008c\u000bd\u001be\u007ff\u0085g\tund 🦉👩‍🌾';
// What XML 1.0 can't carry is dropped.
const hostileInXml = [...hostile].filter((char) => !'\u0001\u0008\u000b\u001b\ufffe\uffff'.includes(char)).join('');

const service = await startTestService();
const { sql } = service.database;
const plain = await service.makeReleased({ lon: '450001.5', lat: '5530000', art: String(arten.amsel) });
const ofUhu = { art: String(arten.uhu), anzahl: '3', bemerkung: hostile, stadium_id: '2' };
const released = await service.makeReleased({ ...ofUhu, lon: '451000', lat: '5530000' });
const foreign = await service.makeReleased({ art: String(arten.hornisse), lon: '100000', lat: '5530000' });

const xmllint = spawnSync('xmllint', ['--version']);
const withoutXmllint = xmllint.error ? 'xmllint is missing (Debian: apt-get install libxml2-utils)' : false;

/** The text of the first node that an XPath selects; fails when the document is not well-formed. */
function lint(xml: string, xpath?: string): string {
  const args = xpath ? ['--xpath', `string(${xpath})`, '-'] : ['--noout', '-'];
  const { status, stderr, stdout } = spawnSync('xmllint', args, { input: xml, encoding: 'utf8' });
  assert.equal(status, 0, `${stderr}\n${xml.slice(0, 2000)}`);
  return stdout.replace(/\n$/, '');
}

/** What a script that contains the answer is called with. */
function callOf(text: string): Json {
  const calls: Json[] = [];
  assert.match(text, /^portal\.show\(.*\);$/s);
  assert.doesNotMatch(text, /[<\u2028\u2029]/);
  runInNewContext(text, { portal: { show: (value: Json) => calls.push(value) } });
  assert.equal(calls.length, 1);
  return JSON.parse(JSON.stringify(calls[0]));
}

async function ask(path: string, format: Format, options: RequestOptions = {}) {
  const joint = path.includes('?') ? '&' : '?';
  const answer = await service.request(queryOfFormat[format] ? `${path}${joint}${queryOfFormat[format]}` : path, options);
  assert.equal(answer.headers.get('content-type'), types[format], answer.text);
  assert.equal(answer.headers.get('x-content-type-options'), 'nosniff');
  if (format === 'xml' && answer.text !== '') {
    assert.ok(answer.text.startsWith('<?xml version="1.0" encoding="UTF-8"?>'), answer.text.slice(0, 100));
    if (!withoutXmllint) lint(answer.text);
  }
  return answer;
}

describe('every answer comes in the format that was asked for, with the same content', () => {
  const login = `/login?loginname=melder&password=${sha1OfPlain('melder')}`;
  const rows: [title: string, path: () => string, status: number, options?: RequestOptions][] = [
    ['list', () => '/sichtbeobachtungen', 200],
    ['list, authenticated', () => '/sichtbeobachtungen?limit=1', 200, { as: 'melder' }],
    ['empty list', () => '/sichtbeobachtungen?jahr=1900', 200],
    ['detail', () => `/sichtbeobachtungen/${released}`, 200],
    ['detail, authenticated', () => `/sichtbeobachtungen/${released}`, 200, { as: 'expertin' }],
    ['species groups', () => '/artengruppen?limit=2', 200],
    ['species', () => '/arten?limit=3', 200],
    ['400', () => '/sichtbeobachtungen?limit=0&titel_deutsch=%5D%5D%3E%00', 400],
    ['400 that repeats hostile text', () => `/sichtbeobachtungen?limit=${encodeURIComponent(hostile)}`, 400],
    ['401', () => '/sichtbeobachtungen?bereich=privat', 401],
    ['401 for a wrong token', () => '/arten', 401, { headers: { 'X-Auth-User': 'melder', 'X-Auth-Token': 'x' } }],
    ['404', () => '/sichtbeobachtungen/999999', 404],
    ['404 of an unknown address', () => '/gibtesnicht', 404],
    ['415', () => '/sichtbeobachtungen', 415, { as: 'melder', body: '{}', method: 'POST', headers: textJson }],
    ['421', () => '/arten', 421, { host: 'fremd.example' }],
  ];
  for (const [title, path, status, options] of rows) {
    it(title, async () => {
      const json = await ask(path(), 'json', options);
      const jsonp = await ask(path(), 'jsonp', options);
      const xml = await ask(path(), 'xml', options);
      assert.deepEqual([json.status, jsonp.status, xml.status], [status, status, status], json.text);
      const withoutNext = (value: Json) => ({ ...value, next: undefined });
      assert.deepEqual(withoutNext(callOf(jsonp.text)), withoutNext(json.json));
      assert.match(xml.text, status === 200 ? /^<\?xml[^>]*><xml><result(\/>|>)/ : /^<\?xml[^>]*><xml><error>/);
    });
  }

  it('login has the root element result, and an object without result in JSON', async () => {
    const { json } = await ask(login, 'json');
    assert.deepEqual(Object.keys(json), ['name', 'id', 'token', 'loginname']);
    const call = callOf((await ask(login, 'jsonp')).text);
    assert.deepEqual({ ...call, token: '' }, { ...json, token: '' });
    const xml = (await ask(login, 'xml')).text.replace(/<token>[\w-]{43}</, '<token>T<');
    assert.equal(
      xml,
      `<?xml version="1.0" encoding="UTF-8"?><result><name>Max Muster</name><id>${json.id}</id><token>T</token><loginname>melder</loginname></result>`,
    );
  });

  it('an empty login answer is empty in every format (D2.18)', async () => {
    for (const format of ['json', 'jsonp', 'xml'] as const) {
      const answer = await ask(`/login?loginname=melder&password=${'0'.repeat(40)}`, format);
      assert.deepEqual([answer.status, answer.text], [200, '']);
    }
  });

  it('an error body has status, code, message and fields in every format (D2.1)', async () => {
    const path = '/sichtbeobachtungen?limit=0';
    const { json } = await ask(path, 'json');
    const sentence = 'limit ist „0“, erlaubt ist eine ganze Zahl von 1 bis 1000.';
    const error = { status: 400, code: 'ungueltiger_parameter', message: sentence, fields: { limit: sentence } };
    assert.deepEqual(json, { error });
    assert.deepEqual(callOf((await ask(path, 'jsonp')).text), { error });
    assert.equal(
      (await ask(path, 'xml')).text,
      `<?xml version="1.0" encoding="UTF-8"?><xml><error><status>400</status><code>ungueltiger_parameter</code><message>${sentence}</message><fields><limit>${sentence}</limit></fields></error></xml>`,
    );
  });

  it('201 comes in XML too', async () => {
    const form = { art: '2', lat: '5530000', lon: '402000', datum: '1.9.2026' };
    const created = await ask('/sichtbeobachtungen', 'xml', { as: 'melder', form });
    assert.equal(created.status, 201);
    assert.match(
      created.text,
      /<xml><result><row><id>\d+<\/id><guid>[0-9a-f-]{36}<\/guid><url>http:\/\/n\.test\/api\/v2\/[^<]*<\/url>/,
    );
  });

  for (const name of ['a b', '<x>', '1', '', 'a\u0001', '🦉', ':', 'xmlns:x', '__proto__', ']]>', 'foto[]']) {
    it(`S3.4 a form field named ${JSON.stringify(name)}, which XML may not allow as a name, is told in XML too`, async () => {
      const headers = { 'content-type': 'multipart/form-data; boundary=b' };
      const body = `--b\r\nContent-Disposition: form-data; name="${name}"; filename="x"\r\n\r\nx\r\n--b--\r\n`;
      const answer = await ask('/sichtbeobachtungen', 'xml', { as: 'melder', method: 'POST', body, headers });
      assert.equal(answer.status, 400, answer.text);
    });
  }
});

describe('XML', { skip: withoutXmllint }, () => {
  it('writes booleans as TRUE and FALSE, null as an empty element, lists as nested rows', async () => {
    const { text } = await ask(`/sichtbeobachtungen/${released}`, 'xml');
    const at = (name: string) => lint(text, `/xml/result/row/${name}`);
    assert.equal(at('is_animal'), 'TRUE');
    assert.equal(at('phaenogramm'), 'FALSE');
    assert.equal(at('sensible_art'), 'TRUE');
    assert.match(text, /<foto\/>.*<aktivitaet_id\/>/s);
    assert.equal(lint(text, 'count(/xml/result/row/mandanten/row)'), '2');
    assert.equal(at('mandanten/row[1]/kuerzel'), 'N');
    assert.equal(at('mandanten/row[2]/name'), 'Südland');
    const none = (await ask(`/sichtbeobachtungen/${foreign}`, 'xml')).text;
    assert.match(none, /<mandanten\/>/);
    const empty = (await ask('/sichtbeobachtungen?jahr=1900', 'xml')).text;
    assert.equal(empty, '<?xml version="1.0" encoding="UTF-8"?><xml><result/></xml>');
  });

  it('has next as a sibling of result, in a CDATA section, and none on the last page', async () => {
    const { text } = await ask('/sichtbeobachtungen?limit=1&titel_deutsch=%25%5D%5D%3E%25', 'xml');
    assert.doesNotMatch(text, /<next>/);
    const limited = (await ask('/sichtbeobachtungen?limit=1', 'xml')).text;
    assert.match(limited, /<\/result><next><!\[CDATA\[http:\/\/n\.test\/[^\]]*\]\]><\/next><\/xml>$/);
    const next = lint(limited, '/xml/next');
    const second = await ask(next.replace('http://n.test/api/v2', '').replace('&format=xml', ''), 'xml');
    assert.equal(lint(second.text, 'count(/xml/result/row)'), '1');
    assert.notEqual(lint(second.text, '/xml/result/row/id'), lint(limited, '/xml/result/row/id'));
  });
});

describe('a remark with everything that could break out', () => {
  for (const what of ['detail', 'list'])
    it(`S3.4 survives in JSON, in JSONP, and in XML but for what XML can not carry, in a ${what}`, async () => {
      const path = what === 'list' ? '/sichtbeobachtungen?titel_deutsch=uhu' : `/sichtbeobachtungen/${released}`;
      assert.equal((await ask(path, 'json')).json.result[0].bemerkung, hostile);
      assert.equal(callOf((await ask(path, 'jsonp')).text).result[0].bemerkung, hostile);
      const { text } = await ask(path, 'xml');
      if (!withoutXmllint) assert.equal(lint(text, '/xml/result/row/bemerkung'), hostileInXml);
    });
  it('keeps line ends in JSON, and in XML as a parser reads them', { skip: withoutXmllint }, async () => {
    const id = await service.makeReleased({ bemerkung: 'eins\nzwei\r\ndrei\rvier', lon: '403000' });
    // browsers and FormData send every line end as CRLF
    const sent = (await ask(`/sichtbeobachtungen/${id}`, 'json')).json.result[0].bemerkung;
    assert.equal(sent, 'eins\r\nzwei\r\ndrei\r\nvier');
    const read = lint((await ask(`/sichtbeobachtungen/${id}`, 'xml')).text, '/xml/result/row/bemerkung');
    assert.equal(read.replaceAll('\r', ''), 'eins\nzwei\ndrei\nvier');
  });
});

describe('restrict keeps the named fields (D1.5)', () => {
  const rows: [restrict: string, names: string[] | null][] = [
    ['id', ['id']],
    ['lat,lon', ['lat', 'lon']],
    ['lon,lat', ['lat', 'lon']],
    [' lon , id ', ['id', 'lon']],
    ['id,id', ['id']],
    ['id,gibtesnicht', ['id']],
    ['ID,Lat', []],
    ['gibtesnicht', []],
    ['__proto__,constructor', []],
    ['', null],
    [' ', null],
    [',,', null],
  ];
  for (const [restrict, names] of rows) {
    it(`restrict=${restrict || '(empty)'} of list and detail in every format`, async () => {
      for (const base of [`/sichtbeobachtungen/${plain}`, '/sichtbeobachtungen?titel_deutsch=amsel&limit=1', '/arten?limit=1']) {
        const path = `${base}${base.includes('?') ? '&' : '?'}restrict=${encodeURIComponent(restrict)}`;
        const all = Object.keys((await ask(base, 'json')).json.result[0]);
        const expected = names === null ? all : names.filter((name) => all.includes(name));
        assert.deepEqual(Object.keys((await ask(path, 'json')).json.result[0]), expected);
        assert.deepEqual(Object.keys(callOf((await ask(path, 'jsonp')).text).result[0]), expected);
        const { text } = await ask(path, 'xml');
        const row = text
          .replace(/<mandanten>.*<\/mandanten>/, '<mandanten/>')
          .replace(/^.*?<row>|<\/row>.*$|^.*<row\/>.*$/gs, '');
        const found = [...row.matchAll(/<(\w+)\/?>/g)].map((match) => match[1]);
        assert.deepEqual(found, expected);
      }
    });
  }
});

/** What XML finds hard to carry. */
const hard = 'Ünïcödé "x" \'y\' <b>&amp; &lt; & ]]> 🦉 é';

// The value of an element as the interface describes XML: rows are lists, no content is null.
function readElement(element: XMLBuilder, like: Json): Json {
  const children: XMLBuilder[] = [];
  element.each((child) => {
    children.push(child);
  });
  const elements = children.filter((child) => child.node.nodeType === 1);
  if (Array.isArray(like)) return elements.map((child, index) => readElement(child, like[index]));
  if (like !== null && typeof like === 'object') {
    return Object.fromEntries(elements.map((child) => [child.node.nodeName, readElement(child, like[child.node.nodeName])]));
  }
  assert.equal(elements.length, 0, `${element.node.nodeName} has elements instead of a text`);
  const text = element.node.textContent ?? '';
  if (like === null) return text === '' ? null : text;
  if (typeof like === 'boolean') return text === 'TRUE' ? true : text === 'FALSE' ? false : text;
  return typeof like === 'number' ? Number(text) : text;
}

const namesIn = (value: Json): Json =>
  Array.isArray(value)
    ? value.map(namesIn)
    : value !== null && typeof value === 'object'
      ? Object.entries(value).map(([name, member]) => [name, namesIn(member)])
      : null;

it('what looks like a reference to a character is text', async () => {
  // Compared as text: the parser used below would decode twice.
  const xml = String(await toXml('xml', { a: '&amp; &lt; &#65; &#x41; &auml; & ü' }));
  assert.ok(xml.endsWith('<xml><a>&amp;amp; &amp;lt; &amp;#65; &amp;#x41; &amp;auml; &amp; ü</a></xml>'), xml);
});

it('what looks like a reference only without the characters that XML forbids is text too, and line ends stay', async () => {
  const xml = String(await toXml('xml', { a: 'A &fo\u0001o; B &#6\u00015; &b\ufffeg;\r\n' }));
  assert.ok(xml.endsWith('<xml><a>A &amp;foo; B &amp;#65; &amp;bg;&#13;\n</a></xml>'), xml);
});

describe('XML carries the same members as JSON, in the same order, with the same values', () => {
  let id: number;
  const ids = new Map<string, number>();
  before(async () => {
    await sql`update portal.nutzer set vorname = ${hard}, anonymisiert = 0 where loginname = 'melder'`;
    await sql`update portal.art set name_deutsch = ${hard}, lebensraum = ${hard} where id = ${arten.amsel}`;
    await sql`update portal.mandant set name = ${hard} where kuerzel = 'N'`;
    await sql`insert into portal.art_foto (art, uri, autor) values (${arten.amsel}, 'https://example.org/?a=1&b=2', ${hard})`;
    await sql`insert into portal.verwechslung values (${arten.amsel}, ${hard})`;
    await sql`insert into portal.verwechslung_art values (${arten.amsel}, ${arten.uhu})`;
    id = await service.makeReleased({ bemerkung: hard, stadium_id: '1', aktivitaet_id: '2' });
    for (const row of await sql<{ id: number; loginname: string }[]>`select id, loginname from portal.nutzer`)
      ids.set(row.loginname, row.id);
  });
  const paths: [path: () => string, readers: (Account | null)[]][] = [
    [() => '/sichtbeobachtungen?limit=1', [null, 'melder', 'expertin']],
    [() => `/sichtbeobachtungen/${id}`, [null, 'melder', 'expertin']],
    [() => '/artengruppen?limit=2', [null, 'melder']],
    [() => '/arten?limit=7', [null, 'melder']],
    [() => `/arten/${arten.amsel}`, [null, 'admin']],
    [() => `/arten/${arten.uhu}`, [null]],
    [() => '/stadien', [null]],
    [() => '/aktivitaeten', [null]],
    [() => '/protokoll?limit=1', [null, 'melder']],
    [() => '/qs?limit=2', ['expertin', 'admin']],
    [() => '/nutzer?limit=7', ['admin', 'melder']],
    [() => `/nutzer/${ids.get('melder')}`, ['admin', 'melder']],
    [() => `/nutzer/${ids.get('vogelexperte')}`, ['admin']],
    [() => '/sichtbeobachtungen?titel_deutsch=gibt-es-nicht', [null]],
  ];
  for (const [path, readers] of paths) {
    for (const as of readers) {
      it(`${path.toString().slice(6)} as ${as}`, async () => {
        const address = path();
        const json = await service.request(address, { as });
        const xml = await service.request(`${address}${address.includes('?') ? '&' : '?'}format=xml`, { as });
        assert.deepEqual([json.status, xml.status], [200, 200], json.text);
        const root = create(xml.text).root();
        assert.equal(root.node.nodeName, 'xml');
        const { next, ...rest } = json.json;
        const { next: xmlNext, ...shown } = readElement(root, json.json);
        assert.deepEqual(shown, rest);
        assert.deepEqual(namesIn(shown), namesIn(rest));
        assert.equal(typeof xmlNext, typeof next);
      });
    }
  }
});

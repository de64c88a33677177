// XML says the same as JSON: every read, every reader, member for member in the same order, with names and remarks that XML
// finds hard to carry.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { create } from 'xmlbuilder2';
import type { XMLBuilder } from 'xmlbuilder2/lib/interfaces.js';
import { toXml } from '../../src/http/wire/xml.ts';
import { type Account, arten } from '../support/catalogue.ts';
import { type Json, startTestService, type TestService } from '../support/service.ts';

const hard = 'Ünïcödé "x" \'y\' <b>&amp; &lt; & ]]> 🦉 é';

let service: TestService;
let id: number;
const ids = new Map<string, number>();
before(async () => {
  service = await startTestService();
  const { sql } = service.database;
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

// The value of an element as the interface describes XML: rows are lists, no content is null.
function read(element: XMLBuilder, like: Json): Json {
  const children: XMLBuilder[] = [];
  element.each((child) => {
    children.push(child);
  });
  const elements = children.filter((child) => child.node.nodeType === 1);
  if (Array.isArray(like)) return elements.map((child, index) => read(child, like[index]));
  if (like !== null && typeof like === 'object') {
    return Object.fromEntries(elements.map((child) => [child.node.nodeName, read(child, like[child.node.nodeName])]));
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
  const xml = String(toXml('xml', { a: '&amp; &lt; &#65; &#x41; &auml; & ü' }));
  assert.ok(xml.endsWith('<xml><a>&amp;amp; &amp;lt; &amp;#65; &amp;#x41; &amp;auml; &amp; ü</a></xml>'), xml);
});

it('what looks like a reference only without the characters that XML forbids is text too, and line ends stay', async () => {
  const xml = String(toXml('xml', { a: 'A &fo\u0001o; B &#6\u00015; &b\ufffeg;\r\n' }));
  assert.ok(xml.endsWith('<xml><a>A &amp;foo; B &amp;#65; &amp;bg;&#13;\n</a></xml>'), xml);
});

describe('XML carries the same members as JSON, in the same order, with the same values', () => {
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
        const { next: xmlNext, ...shown } = read(root, json.json);
        assert.deepEqual(shown, rest);
        assert.deepEqual(namesIn(shown), namesIn(rest));
        assert.equal(typeof xmlNext, typeof next);
      });
    }
  }
});

// XML of any answer, against the library's of the same document.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { create } from 'xmlbuilder2';
import type { XMLBuilder } from 'xmlbuilder2/lib/interfaces.js';
import { toXml, type Value } from '../../src/http/wire/xml.ts';

/** The whole document as one tree of the library. */
function makeWhole(root: string, members: { [name: string]: Value }): string {
  const document = create({ version: '1.0', encoding: 'UTF-8', invalidCharReplacement: '' });
  append(document.ele(root), members);
  return document.end();
}

function append(element: XMLBuilder, value: Value): void {
  if (value === null || value === '') return;
  if (typeof value === 'boolean') element.txt(value ? 'TRUE' : 'FALSE');
  else if (Array.isArray(value)) for (const row of value) append(element.ele('row'), row);
  else if (typeof value === 'object') {
    for (const [name, member] of Object.entries(value)) {
      const child = element.ele(name);
      if (name !== 'next') append(child, member);
      else for (const part of String(member).split(/(?<=\]\])(?=>)/)) child.dat(part);
    }
  } else element.txt(String(value).replaceAll('&', '&amp;').replaceAll('\r', '&#13;'));
}

// What XML can't carry, what it must not be shown bare, and what only looks like a reference.
const pieces = fc.constantFrom(
  '&',
  '<',
  '>',
  ']]>',
  '"',
  "'",
  '\r',
  '\n',
  '\t',
  ' ',
  '\0',
  '\u0001',
  '\u000b',
  '\u001f',
  '\u007f',
  '\u0085',
);
const far = fc.constantFrom(
  'ä',
  '\u2028',
  '\ud800',
  '\udfff',
  '🦉',
  '\u{10ffff}',
  '\ue000',
  '\ufffd',
  '\ufffe',
  '\uffff',
  '\ufeff',
  '&amp;',
  '&#6',
  '&lt',
);
const text = fc.oneof(fc.string({ unit: fc.oneof(pieces, far, fc.string({ unit: 'binary', maxLength: 3 })) }), fc.string());
const name = fc.stringMatching(/^[a-z_][a-z_0-9]{0,9}$/).filter((candidate) => candidate !== 'next');
const number = fc.oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }));

const { record } = fc.letrec<{ value: Value; record: { [name: string]: Value } }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    text,
    number,
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 4 }),
    tie('record'),
  ),
  record: fc.dictionary(name, tie('value'), { maxKeys: 6, noNullPrototype: true }),
}));
// `next` is an address: no part of it is left out.
const next = fc.oneof(fc.webUrl({ withQueryParameters: true }), fc.constantFrom(']]>', 'a]]>b]]>]]>', ']]', ']>&<'));

it('a document is, to the byte, what the library makes of all of it', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(record, { maxLength: 5 }), next, record, async (rows, address, rest) => {
      const members = { result: rows, next: address, ...rest };
      assert.equal(String(await toXml('xml', members)), makeWhole('xml', members));
    }),
    { numRuns: 500 },
  );
});

it('so is one of more rows than are written at once', async () => {
  for (const length of [99, 100, 101, 200, 1000]) {
    const members = { result: Array.from({ length }, (_, id) => ({ id, name: `<${id}>`, list: [{ id }], none: null })) };
    assert.equal(String(await toXml('xml', members)), makeWhole('xml', members));
  }
});

it('others have their turn while a long list is written', async () => {
  const rows = Array.from({ length: 1000 }, (_, id) => ({ id }));
  let isWritten = false;
  const written = toXml('xml', { result: rows }).then(() => {
    isWritten = true;
  });
  let turns = 0;
  for (; !isWritten; turns++) await setImmediate();
  await written;
  assert.ok(turns >= 9, String(turns));
});

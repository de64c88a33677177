// Answers as XML: a list is nested `row` elements, booleans TRUE and FALSE, null an empty element.
import { setImmediate } from 'node:timers/promises';
import { create } from 'xmlbuilder2';
import type { XMLBuilder } from 'xmlbuilder2/lib/interfaces.js';

/** Any value of an answer. */
export type Value = string | number | boolean | null | Value[] | { [name: string]: Value };

// XML 1.0 has no way to write most control characters: they are left out.
const options = { version: '1.0', encoding: 'UTF-8', invalidCharReplacement: '' };

/** So many rows are written before other requests have their turn: a page of a thousand would keep them waiting for some milliseconds. */
const rowsAtOnce = 100;

/**
 * One XML document in UTF-8, to the byte what the library would make of it: its tree of a page takes ten times as long. Each row becomes
 * bytes at once: as one text of hundreds of pieces they take twice as long.
 * @param root name of the root element
 * @param members names that the interface gives, not its users
 */
export async function toXml(root: string, members: { [name: string]: Value }): Promise<Buffer<ArrayBuffer>> {
  const parts: Buffer[] = [];
  const write = (xml: string) => parts.push(Buffer.from(xml));
  write(`<?xml version="1.0" encoding="UTF-8"?><${root}>`);
  for (const [name, value] of Object.entries(members)) {
    if (!Array.isArray(value) || value.length === 0) {
      write(toElement(name, value));
      continue;
    }
    write(`<${name}>`);
    for (const [index, row] of value.entries()) {
      if (index % rowsAtOnce === rowsAtOnce - 1) await setImmediate();
      write(toElement('row', row));
    }
    write(`</${name}>`);
  }
  write(`</${root}>`);
  return Buffer.concat(parts);
}

function toElement(name: string, value: Value): string {
  const content = name === 'next' && typeof value === 'string' ? toCdata(value) : toContent(value);
  return content === null ? `<${name}/>` : `<${name}>${content}</${name}>`;
}

/** Null for an empty element. */
function toContent(value: Value): string | null {
  if (value === null || value === '') return null;
  if (typeof value === 'boolean') return value ? 'TRUE' : 'FALSE';
  if (typeof value !== 'object') return toText(String(value));
  let xml = '';
  if (Array.isArray(value)) for (const row of value) xml += toElement('row', row);
  else for (const name in value) xml += toElement(name, value[name] as Value);
  return xml || null;
}

// Most texts hold nothing of that: they are looked through once.
const unwritable = /[^\t\n\x20-%'-;=?-\ud7ff\ue000-\ufffd]/;
const forbidden = /[^\t\n\r\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;

function toText(text: string): string {
  if (!unwritable.test(text)) return text;
  return escapeEntities(text.replace(forbidden, '')).replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

// `]]>` would end the section: it is split between two.
function toCdata(text: string): string {
  return `<![CDATA[${text.replace(forbidden, '').replaceAll(']]>', ']]]]><![CDATA[>')}]]>`;
}

/** Elements by name: text, attributes as `@name`, text beside attributes as `#`, a list for several of one name. */
export type XmlTree = string | XmlTree[] | { [name: string]: XmlTree };

/** A document of names that the service gives, and texts of anybody. */
export function toXmlDocument(tree: { [name: string]: XmlTree }): string {
  const document = create(options);
  appendTree(document, tree);
  return document.end();
}

function appendTree(parent: XMLBuilder, tree: XmlTree): void {
  if (typeof tree === 'string') return void parent.txt(escapeEntities(tree));
  for (const [name, value] of Object.entries(tree)) {
    if (name === '#') appendTree(parent, value);
    else if (name.startsWith('@')) parent.att(name.slice(1), escapeEntities(String(value)));
    else for (const each of Array.isArray(value) ? value : [value]) appendTree(parent.ele(name), each);
  }
}

// The library leaves an ampersand alone that looks like the begin of an entity: a remark of `&lt;` would arrive as `<`. All of
// them, because it may look like one only when forbidden characters were left out of it. A carriage return would be read as a
// line feed.
function escapeEntities(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('\r', '&#13;');
}

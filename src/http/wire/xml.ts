// Answers as XML: a list is nested `row` elements, booleans TRUE and FALSE, null an empty element.
import { create } from 'xmlbuilder2';
import type { XMLBuilder } from 'xmlbuilder2/lib/interfaces.js';

/** Any value of an answer. */
export type Value = string | number | boolean | null | Value[] | { [name: string]: Value };

/** Members whose text goes into a CDATA section. */
const cdataMembers = new Set(['next']);

// XML 1.0 has no way to write most control characters: they are left out.
const options = { version: '1.0', encoding: 'UTF-8', invalidCharReplacement: '' };

/**
 * One XML document in UTF-8. Its rows are made one by one, and turned into bytes at once: as one tree of the library, or as text
 * of hundreds of pieces, they take longer.
 * @param root name of the root element
 * @param members names that the interface gives, not its users
 */
export function toXml(root: string, members: { [name: string]: Value }): Buffer<ArrayBuffer> {
  const parts: Buffer[] = [];
  const write = (xml: string) => parts.push(Buffer.from(xml));
  write(`<?xml version="1.0" encoding="UTF-8"?><${root}>`);
  for (const [name, value] of Object.entries(members)) {
    if (!Array.isArray(value) || value.length === 0) {
      write(toElement((document) => appendMembers(document, { [name]: value })));
      continue;
    }
    write(`<${name}>`);
    for (const row of value) write(toElement((document) => appendValue(document.ele('row'), row)));
    write(`</${name}>`);
  }
  write(`</${root}>`);
  return Buffer.concat(parts);
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

function toElement(append: (document: XMLBuilder) => void): string {
  const document = create(options);
  append(document);
  return document.end({ headless: true });
}

function appendMembers(parent: XMLBuilder, members: { [name: string]: Value }): void {
  for (const [name, value] of Object.entries(members)) {
    const element = parent.ele(name);
    if (cdataMembers.has(name) && typeof value === 'string') appendCdata(element, value);
    else appendValue(element, value);
  }
}

function appendValue(element: XMLBuilder, value: Value): void {
  if (value === null) return;
  if (typeof value === 'boolean') element.txt(value ? 'TRUE' : 'FALSE');
  else if (Array.isArray(value)) for (const row of value) appendValue(element.ele('row'), row);
  else if (typeof value === 'object') appendMembers(element, value);
  // An empty text node would be written as <name></name>, null as <name/>: both are empty elements.
  else if (value !== '') element.txt(escapeEntities(String(value)));
}

// The library leaves an ampersand alone that looks like the begin of an entity: a remark of `&lt;` would arrive as `<`. All of
// them, because it may look like one only when forbidden characters were left out of it. A carriage return would be read as a
// line feed.
function escapeEntities(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('\r', '&#13;');
}

// `]]>` would end the section: it is split between two.
function appendCdata(element: XMLBuilder, text: string): void {
  for (const part of text.split(/(?<=\]\])(?=>)/)) element.dat(part);
}

// Whether a text is well-formed XML 1.0, without a document type: strict where libraries are lenient.

const name = '[A-Za-z_\\u00c0-\\ufffd][\\w.\\-\\u00b7-\\ufffd]*';
const startTag = new RegExp(`^<(${name})((?:\\s+${name}\\s*=\\s*(?:"[^<"]*"|'[^<']*'))*)\\s*(/?)>`, 'u');
const endTag = new RegExp(`^</(${name})\\s*>`, 'u');
const declaration = /^<\?xml version="1\.0"(?: encoding="UTF-8")?(?: standalone="(?:yes|no)")?\s*\?>/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what XML forbids
const forbidden = /[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/;

/** Null for a well-formed document, else what is wrong with it. */
export function findXmlProblem(text: string): string | null {
  if (!text.isWellFormed()) return 'half of a surrogate pair';
  if (forbidden.test(text)) return 'a character that XML does not allow';
  let at = declaration.exec(text)?.[0].length ?? 0;
  const open: string[] = [];
  let hasRoot = false;
  while (at < text.length) {
    if (text[at] !== '<') {
      const end = text.indexOf('<', at);
      const content = text.slice(at, end < 0 ? undefined : end);
      const problem = findTextProblem(content);
      if (problem) return problem;
      if (open.length === 0 && content.trim() !== '') return 'text outside the root element';
      at += content.length;
    } else if (text.startsWith('<![CDATA[', at)) {
      const end = text.indexOf(']]>', at);
      if (end < 0 || open.length === 0) return 'a CDATA section that does not end, or stands outside';
      at = end + 3;
    } else if (text[at + 1] === '/') {
      const [tag, closed] = endTag.exec(text.slice(at, at + 300)) ?? [];
      if (tag === undefined) return 'a broken end tag';
      if (open.pop() !== closed) return `an end tag ${closed} that closes nothing`;
      at += tag.length;
    } else {
      const [tag, opened = '', attributes = '', empty] = startTag.exec(text.slice(at, at + 5000)) ?? [];
      if (tag === undefined) return 'a < that begins no tag';
      const problem = findTextProblem(attributes);
      if (problem) return problem;
      if (open.length === 0 && hasRoot) return 'a second root element';
      hasRoot = true;
      if (!empty) open.push(opened);
      at += tag.length;
    }
  }
  if (open.length > 0) return `${open.at(-1)} is not closed`;
  return hasRoot ? null : 'no root element';
}

function findTextProblem(text: string): string | null {
  if (text.includes(']]>')) return ']]> in text';
  for (const [reference] of text.matchAll(/&[^;]{0,12};?/g)) {
    const [, decimal, hex] = /^&#(?:(\d{1,7})|x([0-9a-f]{1,6}));$/i.exec(reference) ?? [];
    if (decimal !== undefined || hex !== undefined) {
      const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
      if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000) || forbidden.test(String.fromCodePoint(code)))
        return 'a reference to a character that XML does not allow';
    } else if (!/^&(amp|lt|gt|quot|apos);$/.test(reference)) {
      return 'an & that begins no reference';
    }
  }
  return null;
}

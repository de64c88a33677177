// Bodies of requests: forms as they should be, and forms that were put together wrongly.
import type { Dice } from '../support/dice.ts';
import { encodeMultipart, type FormPart } from './encode.ts';
import { type Value, writePair } from './values.ts';

export interface FormField {
  name: string;
  value: Value | { file: Buffer };
  filename?: string;
}

export interface Body {
  /** Content-Type; null: none is sent. */
  type: string | null;
  bytes: Buffer;
  chunks?: readonly number[];
}

const boundary = 'grenze-7d81';
const multipart = `multipart/form-data; boundary=${boundary}`;

/** @param isBroken puts the form together wrongly; what is wrong is added to the notes */
export function makeBody(dice: Dice, fields: readonly FormField[], notes: string[], isBroken: boolean): Body {
  const chunks = dice.chance(0.25) ? [1 + dice.below(50), 1 + dice.below(9000)] : undefined;
  const hasFiles = fields.some(({ value }) => 'file' in value);
  const parts = fields.map(
    ({ name, value, filename }): FormPart => ({
      name,
      content: contentOf(value),
      ...(filename !== undefined && { filename }),
    }),
  );
  if (isBroken) return { ...breakBody(dice, parts, notes), ...(chunks && { chunks }) };
  if (!hasFiles && dice.chance(0.4)) {
    const text = fields.map(({ name, value }) => writePair(name, 'file' in value ? { text: '' } : value));
    return { type: 'application/x-www-form-urlencoded', bytes: Buffer.from(text.join('&'), 'latin1'), ...(chunks && { chunks }) };
  }
  return { type: multipart, bytes: encodeMultipart(parts, boundary), ...(chunks && { chunks }) };
}

function contentOf(value: FormField['value']): FormPart['content'] {
  if ('file' in value) return value.file;
  return 'raw' in value ? value.raw : value.text;
}

function breakBody(dice: Dice, parts: FormPart[], notes: string[]): Body {
  const whole = () => encodeMultipart(parts, boundary);
  const [first = { name: 'art', content: '1' }] = parts;
  const withPart = (part: Partial<FormPart>): Body => ({
    type: multipart,
    bytes: encodeMultipart([{ ...first, ...part }, ...parts], boundary),
  });
  const withFields = (names: string[]): Body => ({
    type: multipart,
    bytes: encodeMultipart([...parts, ...names.map((name) => ({ name, content: '1' }))], boundary),
  });
  const text = (content: string): Body => ({ type: 'application/x-www-form-urlencoded', bytes: Buffer.from(content) });
  const ways: Record<string, () => Body> = {
    'no boundary': () => ({ type: 'multipart/form-data', bytes: whole() }),
    'empty boundary': () => ({ type: 'multipart/form-data; boundary=', bytes: whole() }),
    'another boundary': () => ({ type: 'multipart/form-data; boundary=anders', bytes: whole() }),
    'long boundary': () => ({
      type: `multipart/form-data; boundary=${'x'.repeat(9000)}`,
      bytes: encodeMultipart(parts, 'x'.repeat(9000)),
    }),
    'two boundaries': () => ({ type: `${multipart}; boundary=b`, bytes: whole() }),
    'broken Content-Type': () => ({
      type: dice.pick([
        'multipart/form-data; boundary="',
        'multipart/form-data; ;;=',
        'multipart/mixed; boundary=x',
        'multipart/form-data; charset=utf-7; boundary=grenze-7d81',
        `multipart/form-data; ${'a=b; '.repeat(2000)}`,
      ]),
      bytes: whole(),
    }),
    'no end': () => ({ type: multipart, bytes: encodeMultipart(parts, boundary, '') }),
    'lines that end with LF': () => ({
      type: multipart,
      bytes: Buffer.from(whole().toString('latin1').replaceAll('\r\n', '\n'), 'latin1'),
    }),
    'many fields': () => withFields(Array.from({ length: dice.pick([41, 201, 10_000]) }, (_, i) => `f${i}`)),
    'many texts': () => text('k=v&'.repeat(dice.pick([201, 10_000]))),
    'deep keys': () => text(`a${'[b]'.repeat(20_000)}=1&__proto__[x]=1`),
    'only separators': () => text(dice.pick(['&', '=', '%', '+', '%25']).repeat(100_000)),
    'a long head of a part': () => withPart({ head: `X-Lang: ${'x'.repeat(dice.pick([8000, 100_000]))}\r\n` }),
    'many heads of a part': () => withPart({ head: 'X: y\r\n'.repeat(3000) }),
    'a text as a file': () => withPart({ filename: '../../x\0.jpg' }),
    'a file as a text': () => withPart({ name: 'foto', content: 'ÿØÿ' }),
    'odd names of parts': () => withFields(['__proto__', '', '\0', 'a"b', 'a\r\nb', 'x'.repeat(300), 'ä']),
    'an encoding': () => {
      const [transfer, charset] = [
        dice.pick(['base64', 'quoted-printable', 'x']),
        dice.pick(['utf-16', 'utf-7', 'x', 'iso-2022-jp']),
      ];
      return withPart({ head: `Content-Transfer-Encoding: ${transfer}\r\nContent-Type: text/plain; charset=${charset}\r\n` });
    },
    'extended names': () => withFields([`x"; filename*=UTF-8''${'%e4'.repeat(dice.pick([1, 2000]))}; a="`]),
    'half boundaries': () => withPart({ content: '\r\n--grenze-7d8'.repeat(20_000) }),
    'carriage returns': () => withPart({ content: '\r'.repeat(100_000) }),
    noise: () => ({
      type: dice.pick([multipart, 'application/x-www-form-urlencoded']),
      bytes: Buffer.from(Array.from({ length: dice.below(5000) }, () => dice.below(256))),
    }),
    'a preamble': () => ({
      type: multipart,
      bytes: Buffer.concat([Buffer.alloc(dice.pick([1, 70_000]), '-'), whole(), Buffer.alloc(1000, '\n')]),
    }),
    'another type': () => ({
      type: dice.pick([
        'application/json',
        'text/plain',
        '',
        'application/x-www-form-urlencoded; charset=utf-16',
        'x'.repeat(5000),
      ]),
      bytes: Buffer.from('{"art":1}'),
    }),
    'no type': () => ({ type: null, bytes: whole() }),
    'no content': () => ({ type: multipart, bytes: Buffer.alloc(0) }),
  };
  const [note, make] = dice.pick(Object.entries(ways));
  notes.push(`form: ${note}`);
  return make();
}

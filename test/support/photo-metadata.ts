// The data of the photographer in test photos. All texts say GEHEIM, in whatever the segment's own format is.

/** Latitude and longitude as EXIF writes them: degrees, minutes, seconds, each a fraction. */
const latitude = [49, 1, 25, 1, 3_213, 100];
const longitude = [7, 1, 10, 1, 4_711, 100];

/** Bytes that no stored photo may contain. */
export const planted: Buffer[] = [
  Buffer.from('GEHEIM'),
  Buffer.from('GEHEIM', 'utf16le'),
  ...[latitude, longitude].flatMap((place) => [writeNumbers(place, true), writeNumbers(place, false)]),
];

/** A segment of a JPEG: marker, length, content. */
export function buildSegment(marker: number, content: Buffer): Buffer {
  const head = Buffer.from([0xff, marker, 0, 0]);
  head.writeUInt16BE(content.length + 2, 2);
  return Buffer.concat([head, content]);
}

/** EXIF with an orientation; and with GPS, texts and this thumbnail, if there is one. Even orientations are little-endian. */
export function buildExif(orientation: number, thumbnail?: Buffer): Buffer {
  const little = orientation % 2 === 0;
  const text = Buffer.from('GEHEIM Erika Mustermann\0');
  const entries: Entry[] = [
    { tag: 0x0112, type: 3, count: 1, value: orientation },
    ...(thumbnail
      ? [
          { tag: 0x010e, type: 2, count: text.length, value: text },
          { tag: 0x8825, type: 4, count: 1, value: (at: number) => writeDirectory(gps(little), at, little) },
          { tag: 0x9286, type: 7, count: 12, value: Buffer.from('GEHEIM', 'utf16le') },
        ]
      : []),
  ];
  const first = writeDirectory(entries, 8, little);
  const second = thumbnail
    ? writeDirectory(
        [
          { tag: 0x0201, type: 4, count: 1, value: () => thumbnail },
          { tag: 0x0202, type: 4, count: 1, value: thumbnail.length },
        ],
        8 + first.length,
        little,
      )
    : Buffer.alloc(0);
  if (thumbnail) write32(first, 8 + first.length, 2 + 12 * entries.length, little);
  const head = Buffer.alloc(8);
  head.write(little ? 'II' : 'MM');
  if (little) head.writeUInt16LE(42, 2);
  else head.writeUInt16BE(42, 2);
  write32(head, 8, 4, little);
  return buildSegment(0xe1, Buffer.concat([Buffer.from('Exif\0\0'), head, first, second]));
}

/** XMP, IPTC, an ICC profile and a comment. */
export function listPersonalSegments(): Buffer[] {
  const xmp =
    '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">' +
    '<rdf:Description xmlns:exif="http://ns.adobe.com/exif/1.0/" exif:GPSLatitude="49,25.53N" exif:UserComment="GEHEIM"/>' +
    '</rdf:RDF></x:xmpmeta>';
  const byline = Buffer.from('GEHEIM');
  const iptc = Buffer.concat([Buffer.from([0x1c, 2, 80, 0, byline.length]), byline]);
  const resource = Buffer.concat([Buffer.from('8BIM\x04\x04\0\0\0\0\0', 'latin1'), Buffer.from([iptc.length]), iptc]);
  return [
    buildSegment(0xe1, Buffer.from(`http://ns.adobe.com/xap/1.0/\0${xmp}`)),
    buildSegment(0xed, Buffer.concat([Buffer.from('Photoshop 3.0\0'), resource])),
    buildSegment(0xe2, Buffer.from('ICC_PROFILE\0\x01\x01GEHEIM', 'latin1')),
    buildSegment(0xfe, Buffer.from('GEHEIM')),
  ];
}

/** The red, green and blue of a system of colours, as places in XYZ, under the white of ICC profiles. */
export const primaries = {
  srgb: [
    [0.43607, 0.22249, 0.01392],
    [0.38515, 0.71687, 0.09708],
    [0.14307, 0.06061, 0.7141],
  ],
  displayP3: [
    [0.51512, 0.2412, -0.00105],
    [0.29198, 0.69225, 0.04189],
    [0.1571, 0.06657, 0.78407],
  ],
  adobeRgb: [
    [0.60974, 0.31111, 0.01947],
    [0.20528, 0.62567, 0.06087],
    [0.14919, 0.06322, 0.74457],
  ],
};

/**
 * An ICC profile of a screen, version 4.
 *   colors  of red, green, blue; none for shades of grey
 *   gamma   one number, or none for the curve of sRGB
 *   extra   further tags
 */
export function makeProfile(colors: number[][], gamma?: number, extra: [name: string, content: Buffer][] = []): Buffer {
  const numbers = (type: string, values: number[]) =>
    Buffer.concat([Buffer.from(type, 'latin1'), ...values.map((value) => fixed(value))]);
  const srgbCurve = numbers('para\0\0\0\0\0\x03\0\0', [2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045]);
  const curve = gamma === undefined ? srgbCurve : numbers('para\0\0\0\0\0\0\0\0', [gamma]);
  const names = colors.length === 0 ? ['k'] : ['r', 'g', 'b'];
  const tags: [name: string, content: Buffer][] = [
    ['wtpt', numbers('XYZ \0\0\0\0', white)],
    ...names.map((name): [string, Buffer] => [`${name}TRC`, curve]),
    ...colors.map((color, index): [string, Buffer] => [`${names[index]}XYZ`, numbers('XYZ \0\0\0\0', color)]),
    ...extra,
  ];
  const table = Buffer.alloc(4 + 12 * tags.length);
  table.writeUInt32BE(tags.length);
  let at = 128 + table.length;
  for (const [index, [name, content]] of tags.entries()) {
    table.write(name, 4 + 12 * index);
    table.writeUInt32BE(at, 8 + 12 * index);
    table.writeUInt32BE(content.length, 12 + 12 * index);
    at += content.length;
  }
  const head = Buffer.alloc(128);
  head.writeUInt32BE(at);
  head.writeUInt32BE(0x04000000, 8);
  head.write(`mntr${colors.length === 0 ? 'GRAY' : 'RGB '}XYZ `, 12);
  head.write('acsp', 36);
  numbers('', white).copy(head, 68);
  return Buffer.concat([head, table, ...tags.map(([, content]) => content)]);
}

/** Of ICC profiles. */
const white = [0.9642, 1, 0.8249];

function fixed(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(Math.round(value * 65_536));
  return bytes;
}

/** A tag of an ICC profile that leaves all as it is, so many times. */
export function makeSteps(count: number): Buffer {
  const step = Buffer.alloc(12 + 12 * 4);
  step.write('matf');
  for (const index of [0, 4, 8]) step.writeFloatBE(1, 12 + 4 * index);
  const head = Buffer.alloc(16 + 8 * count);
  head.write('mpet');
  head.writeUInt32BE(count, 12);
  for (const part of [head, step]) for (const at of [8, 10]) part.writeUInt16BE(3, at);
  for (let index = 0; index < count; index++) {
    head.writeUInt32BE(head.length, 16 + 8 * index);
    head.writeUInt32BE(step.length, 20 + 8 * index);
  }
  return Buffer.concat([head, step]);
}

/** The segments of an ICC profile, of which one has no more than 64 KiB. */
export function listProfileSegments(profile: Buffer, most = 65_000): Buffer[] {
  const count = Math.ceil(profile.length / most);
  return Array.from({ length: count }, (_, index) => {
    const part = profile.subarray(index * most, (index + 1) * most);
    return buildSegment(0xe2, Buffer.concat([Buffer.from(`ICC_PROFILE\0`), Buffer.of(index + 1, count), part]));
  });
}

interface Entry {
  tag: number;
  type: number;
  count: number;
  /** a number, bytes (which stand elsewhere unless they fit in), or a function that makes those for where they will stand */
  value: number | Buffer | ((at: number) => Buffer);
}

function gps(little: boolean): Entry[] {
  return [
    { tag: 1, type: 2, count: 2, value: Buffer.from('N\0') },
    { tag: 2, type: 5, count: 3, value: writeNumbers(latitude, little) },
    { tag: 3, type: 2, count: 2, value: Buffer.from('E\0') },
    { tag: 4, type: 5, count: 3, value: writeNumbers(longitude, little) },
  ];
}

function writeDirectory(entries: Entry[], at: number, little: boolean): Buffer {
  const table = Buffer.alloc(2 + 12 * entries.length + 4);
  const elsewhere: Buffer[] = [];
  let end = at + table.length;
  const write16 = (value: number, offset: number) =>
    little ? table.writeUInt16LE(value, offset) : table.writeUInt16BE(value, offset);
  write16(entries.length, 0);
  for (const [index, { tag, type, count, value }] of entries.entries()) {
    const entry = 2 + 12 * index;
    write16(tag, entry);
    write16(type, entry + 2);
    write32(table, count, entry + 4, little);
    if (typeof value === 'number') {
      if (type === 3) write16(value, entry + 8);
      else write32(table, value, entry + 8, little);
      continue;
    }
    const bytes = typeof value === 'function' ? value(end) : value;
    if (bytes.length <= 4) {
      bytes.copy(table, entry + 8);
      continue;
    }
    write32(table, end, entry + 8, little);
    elsewhere.push(bytes);
    end += bytes.length;
  }
  return Buffer.concat([table, ...elsewhere]);
}

function writeNumbers(numbers: number[], little: boolean): Buffer {
  const bytes = Buffer.alloc(4 * numbers.length);
  for (const [index, number] of numbers.entries()) write32(bytes, number, 4 * index, little);
  return bytes;
}

function write32(bytes: Buffer, value: number, offset: number, little: boolean): void {
  if (little) bytes.writeUInt32LE(value, offset);
  else bytes.writeUInt32BE(value, offset);
}

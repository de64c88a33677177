// Photos for tests, made in memory: real JPEGs with everything that must not be stored, and files that must be refused.
import { readFile } from 'node:fs/promises';
import createDecoder from '@jsquash/jpeg/codec/dec/mozjpeg_dec.js';
import createEncoder from '@jsquash/jpeg/codec/enc/mozjpeg_enc.js';
import { defaultOptions } from '@jsquash/jpeg/meta.js';
import { buildExif, buildSegment, listPersonalSegments, listProfileSegments } from './photo-metadata.ts';

export interface JpegRecipe {
  /** pixels as stored; a picture with an orientation of 5 to 8 is seen with the two exchanged */
  width: number;
  height: number;
  /** 1 to 100; 80 by default */
  quality?: number;
  progressive?: boolean;
  /** one component instead of three */
  gray?: boolean;
  /** draws nothing, all of it is grey */
  plain?: boolean;
  /** all of it has this colour, as red, green, blue */
  color?: readonly [number, number, number];
  /** an ICC profile */
  profile?: Buffer | undefined;
  /** brightness up or down at random, by at most this much of 255: makes files large */
  noise?: number;
  /** EXIF's number; the picture is drawn such that it is right when this is followed */
  orientation?: number;
  /** GPS and names in EXIF, XMP, IPTC and a comment, a thumbnail, an ICC profile, a preview behind the end: all say GEHEIM */
  personal?: boolean;
  /** exact length of the file, filled up with segments */
  bytes?: number;
}

/** What the corners of every picture look like: top left, top right, bottom left, bottom right. */
export const corners = ['red', 'green', 'blue', 'yellow'];
const colors = [
  [220, 40, 40],
  [40, 180, 40],
  [40, 40, 220],
  [230, 220, 40],
] as const;

/** Where a stored pixel is seen, by EXIF's number; all of 0 to 1, from the top left. */
const seenAt: Record<number, (column: number, row: number) => [number, number]> = {
  1: (column, row) => [column, row],
  2: (column, row) => [1 - column, row],
  3: (column, row) => [1 - column, 1 - row],
  4: (column, row) => [column, 1 - row],
  5: (column, row) => [row, column],
  6: (column, row) => [1 - row, column],
  7: (column, row) => [1 - row, 1 - column],
  8: (column, row) => [row, 1 - column],
};

const codecFile = (name: string) => readFile(new URL(import.meta.resolve(`@jsquash/jpeg/codec/${name}`)));
const encoder = codecFile('enc/mozjpeg_enc.wasm').then((wasmBinary) => createEncoder({ wasmBinary }));
const decoder = codecFile('dec/mozjpeg_dec.wasm').then((wasmBinary) => createDecoder({ wasmBinary }));

/** A picture with a colour in each quarter, as a camera would store it. */
export async function makeJpeg(recipe: JpegRecipe): Promise<Buffer> {
  const { width, height, quality = 80, progressive = false, gray = false } = recipe;
  const { orientation, profile, personal = false, bytes } = recipe;
  const options = { ...defaultOptions, quality, progressive, color_space: gray ? 1 : 3, auto_subsample: false };
  const jpeg = Buffer.from((await encoder).encode(draw(recipe), width, height, options));
  const thumbnail = personal ? insertSegments(await makeJpeg({ width: 16, height: 16 }), listPersonalSegments()) : undefined;
  const exif = orientation !== undefined || personal ? [buildExif(orientation ?? 1, thumbnail)] : [];
  const profiles = profile ? listProfileSegments(profile) : [];
  const marked = insertSegments(jpeg, [...exif, ...profiles, ...(personal ? listPersonalSegments() : [])]);
  const whole = personal ? Buffer.concat([marked, Buffer.from('GEHEIM behind the end')]) : marked;
  return bytes === undefined ? whole : fillUp(whole, bytes);
}

/**
 * The picture several times below itself, without encoding it again: each copy stands between restart markers.
 *   jpeg   from makeJpeg, not progressive, with a height that is a multiple of 16
 */
export function stackJpeg(jpeg: Buffer, times: number, bytes?: number): Buffer {
  const frame = findSegment(jpeg, 0xc0);
  const scan = findSegment(jpeg, 0xda);
  const [height, width] = [jpeg.readUInt16BE(frame + 5), jpeg.readUInt16BE(frame + 7)];
  const head = Buffer.from(jpeg.subarray(0, scan));
  head.writeUInt16BE(height * times, frame + 5);
  const interval = Buffer.alloc(2);
  interval.writeUInt16BE((Math.ceil(width / 16) * height) / 16);
  const data = scan + 2 + jpeg.readUInt16BE(scan + 2);
  const copies = Array.from({ length: times }, (_, index) => [
    jpeg.subarray(data, jpeg.length - 2),
    Buffer.from(index === times - 1 ? [0xff, 0xd9] : [0xff, 0xd0 + (index % 8)]),
  ]);
  const whole = Buffer.concat([head, buildSegment(0xdd, interval), jpeg.subarray(scan, data), ...copies.flat()]);
  return bytes === undefined ? whole : fillUp(whole, bytes);
}

/** A file of 700 bytes whose header promises a picture of this size. */
export async function makeBomb(width: number, height: number, progressive = false): Promise<Buffer> {
  const jpeg = await makeJpeg({ width: 64, height: 64, noise: 60, progressive });
  return Buffer.concat([claimSize(jpeg, width, height).subarray(0, 698), Buffer.from([0xff, 0xd9])]);
}

/** The same file, with another size in its header. */
export function claimSize(jpeg: Buffer, width: number, height: number): Buffer {
  const copy = Buffer.from(jpeg);
  const frame = findFrame(copy);
  copy.writeUInt16BE(height, frame + 5);
  copy.writeUInt16BE(width, frame + 7);
  return copy;
}

/** The same file, with another kind of frame (second byte of its marker), or another number of bits per sample. */
export function claimFrame(jpeg: Buffer, { marker, bits }: { marker?: number; bits?: number }): Buffer {
  const copy = Buffer.from(jpeg);
  const frame = findFrame(copy);
  if (marker !== undefined) copy[frame + 1] = marker;
  if (bits !== undefined) copy[frame + 4] = bits;
  return copy;
}

/** A picture with four inks (or any other number), as printing programs write it: one scan for each. */
export async function makeInks(inks: number): Promise<Buffer> {
  const gray = await makeJpeg({ width: 32, height: 32, gray: true });
  const [frame, scan] = [findSegment(gray, 0xc0), findSegment(gray, 0xda)];
  const numbers = Array.from({ length: inks }, (_, index) => index + 1);
  const content = Buffer.concat([
    gray.subarray(frame + 4, frame + 9),
    Buffer.from([inks, ...numbers.flatMap((number) => [number, 0x11, 0])]),
  ]);
  const adobe = Buffer.concat([Buffer.from('Adobe'), Buffer.from([0, 100, 0, 0, 0, 0, 0])]);
  const data = gray.subarray(scan + 10, gray.length - 2);
  return Buffer.concat([
    gray.subarray(0, frame),
    buildSegment(0xee, adobe),
    buildSegment(0xc0, content),
    gray.subarray(frame + 2 + gray.readUInt16BE(frame + 2), scan),
    ...numbers.flatMap((number) => [buildSegment(0xda, Buffer.from([1, number, 0, 0, 63, 0])), data]),
    Buffer.from([0xff, 0xd9]),
  ]);
}

/** Files that are no JPEG, whatever their names say. */
export const strangers: Record<string, Buffer> = {
  'zero bytes': Buffer.alloc(0),
  GIF: Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64'),
  PNG: Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64'),
  HTML: Buffer.from('<!doctype html><script>alert(1)</script>'),
  SVG: Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'),
  HEIC: Buffer.from('\0\0\0\x18ftypheic\0\0\0\0mif1heic', 'latin1'),
  AVIF: Buffer.from('\0\0\0\x1cftypavif\0\0\0\0avifmif1', 'latin1'),
  WebP: Buffer.from('RIFF\x1a\0\0\0WEBPVP8L\x0d\0\0\0', 'latin1'),
  'the first bytes of a JPEG': Buffer.from([0xff, 0xd8]),
};

/** What the corners of a picture look like, in the order of `corners`, and its size. */
export async function readPicture(jpeg: Uint8Array): Promise<{ width: number; height: number; corners: string[] }> {
  const { data, width, height } = (await decoder).decode(jpeg, false);
  const places = [0, width - 1, (height - 1) * width, height * width - 1];
  const seen = places.map((place) => {
    const distances = colors.map((color) =>
      color.reduce((sum, value, channel) => sum + Math.abs(value - data[4 * place + channel]), 0),
    );
    return corners[distances.indexOf(Math.min(...distances))] ?? '';
  });
  return { width, height, corners: seen };
}

/** The colour in the middle of a picture. */
export async function readColor(jpeg: Uint8Array): Promise<number[]> {
  const { data, width, height } = (await decoder).decode(jpeg, false);
  const middle = 4 * (Math.floor(height / 2) * width + Math.floor(width / 2));
  return [...data.subarray(middle, middle + 3)];
}

function draw({ width, height, noise = 0, orientation = 1, plain = false, color: given }: JpegRecipe): Uint8ClampedArray {
  const data = new Uint8ClampedArray(width * height * 4);
  const place = seenAt[orientation] ?? seenAt[1];
  let random = 1;
  for (let y = 0, at = 0; y < height; y++) {
    for (let x = 0; x < width; x++, at += 4) {
      const [across = 0, down = 0] = place?.((x + 0.5) / width, (y + 0.5) / height) ?? [];
      const color = given ?? (plain ? [128, 128, 128] : colors[(across < 0.5 ? 0 : 1) + (down < 0.5 ? 0 : 2)]);
      random = (Math.imul(random, 1664525) + 1013904223) >>> 0;
      const brightness = (random / 2 ** 31 - 1) * noise;
      for (let channel = 0; channel < 3; channel++) data[at + channel] = (color?.[channel] ?? 0) + brightness;
      data[at + 3] = 255;
    }
  }
  return data;
}

function insertSegments(jpeg: Buffer, segments: Buffer[]): Buffer {
  return Buffer.concat([jpeg.subarray(0, 2), ...segments, jpeg.subarray(2)]);
}

function fillUp(jpeg: Buffer, bytes: number): Buffer {
  const fillings: Buffer[] = [];
  // Never so much that what is left has no room for a marker and a length.
  for (let left = bytes - jpeg.length; left > 0; ) {
    const size = Math.min(left, left > 65_000 ? 60_000 : left);
    fillings.push(buildSegment(0xef, Buffer.alloc(size - 4)));
    left -= size;
  }
  return insertSegments(jpeg, fillings);
}

/** Index of the first segment with this marker. */
function findSegment(jpeg: Buffer, marker: number): number {
  for (let at = 2; at + 4 <= jpeg.length; at += 2 + jpeg.readUInt16BE(at + 2)) {
    if (jpeg[at + 1] === marker) return at;
  }
  throw new Error(`no segment ${marker.toString(16)}`);
}

function findFrame(jpeg: Buffer): number {
  try {
    return findSegment(jpeg, 0xc0);
  } catch {
    return findSegment(jpeg, 0xc2);
  }
}

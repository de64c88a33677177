// Makes photos small. It blocks while it decodes and encodes, for half a second and more: only for a thread of its own (thread.ts).
//
// The library is libvips in WebAssembly (wasm-vips), with mozjpeg: it scales while it decodes, so that the pixels of a large picture are
// never all in memory (of a progressive one its coefficients are). Jimp turns what is left of it.
//
// What fails for another reason than the picture is thrown: the thread ends, with all its memory, and the next photo gets a new one.

import { Jimp } from 'jimp';
import openVips from 'wasm-vips';
import { findRefusal, type JpegFrame, type JpegRefusal, nameStranger, readJpeg } from './jpeg.ts';
import { encodeBelow } from './quality.ts';

/** The photo to store, in a buffer of its own, or why there is none. */
export type PhotoReply = { bytes: Uint8Array<ArrayBuffer> } | { refused: JpegRefusal };

type Vips = Awaited<ReturnType<typeof openVips>>;
/** A picture in the memory of the library, which it takes until it is disposed of. */
type Picture = InstanceType<Vips['Image']>;

/** pixels of the longest side */
const longestSide = 2_048;
/** bytes, exclusive */
const sizeLimit = 500_000;
/** Of it: one or two steps of quality less are not seen, but cost a trial, which takes longer than all else but decoding. */
const enough = 0.95;
/** Below 50 blocks and rings show; fewer pixels look better. Above 95 files grow and nothing is to be seen of it. */
const quality = { lowest: 50, highest: 95, guess: 75, trials: 6 };
/** As mozjpeg writes by default, but for the search of the best order of scans, which takes as long again for 3 percent of the file. */
const encoding = {
  interlace: true,
  optimize_coding: true,
  trellis_quant: true,
  overshoot_deringing: true,
  quant_table: 3,
  subsample_mode: 'on',
  keep: 'none',
} as const;

const profile = 'icc-profile-data';
/** Computations of any number (multiProcessElementsType), which no camera needs: in 8 kB they take a second. */
const costly = 'mpet';
/** As bright as white must stay: a profile of zeros makes all black. */
const leastWhite = 240;

/** Rows of a block, whose colour may have half as many. */
const blockRows = 16;
/** Rows of blocks whose size tells that of a picture, to 3 percent with a tenth of the work. */
const sampleBlocks = 12;

/** What the encoder writes: tables, frame, scans. */
const plainSegments = new Set([0xdb, 0xc0, 0xc1, 0xc2, 0xc4, 0xdd, 0xda]);

/** From what is stored to what was seen, by EXIF's number: a turn in degrees, against the clock, and then a flip. */
const turns: Record<number, { degrees: number; flip?: 'horizontal' | 'vertical' }> = {
  2: { degrees: 0, flip: 'horizontal' },
  3: { degrees: 180 },
  4: { degrees: 0, flip: 'vertical' },
  5: { degrees: 90, flip: 'vertical' },
  6: { degrees: -90 },
  7: { degrees: -90, flip: 'vertical' },
  8: { degrees: 90 },
};

const library = openVips({
  // Those for other kinds of pictures.
  dynamicLibraries: [],
  // What fails is thrown.
  print: () => undefined,
  printErr: () => undefined,
}).then((vips) => {
  // More threads for one picture would be taken from others.
  vips.concurrency(1);
  // It would keep pictures, by the address of bytes that are another photo's by then.
  vips.Cache.max(0);
  return vips;
});

/**
 * The photo upright, at most 2048 pixels long, below 500 000 bytes, without metadata.
 * @param bytes of a file; not changed
 */
export async function compressPhoto(bytes: Buffer): Promise<PhotoReply> {
  const vips = await library;
  const jpeg = readJpeg(bytes);
  const refusal = jpeg ? findRefusal(jpeg) : nameStranger(bytes);
  if (refusal || !jpeg?.frame) return { refused: refusal ?? 'damaged' };

  const small = decode(vips, Buffer.concat(jpeg.parts), jpeg.frame);
  if (typeof small === 'string') return { refused: small };
  using stored = small;
  try {
    using shown = toScreen(stored);
    using upright = turn(vips, shown, jpeg.orientation);
    return { bytes: requirePlain(encode(vips, upright)) };
  } catch (error) {
    const said = readLibraryError(error);
    throw said === null ? error : new Error(said);
  }
}

/** Decodes and scales it. */
function decode(vips: Vips, bytes: Buffer, frame: JpegFrame): Picture | JpegRefusal {
  takeNotes(vips);
  const small = read(vips, bytes, frame);
  const notes = typeof small === 'string' ? small : takeNotes(vips);
  // Data that was missed is grey in the picture; what else the library can bear leaves it whole.
  const refusal = /premature end/i.test(notes) ? 'truncated' : /bad Huffman code|instead of RST/i.test(notes) ? 'damaged' : null;
  if (typeof small === 'string') return refusal ?? 'damaged';
  if (!refusal) return small;
  small[Symbol.dispose]();
  return refusal;
}

/** The picture at the size to store, or what the library says against it. */
function read(vips: Vips, bytes: Buffer, { width, height }: JpegFrame): Picture | string {
  const factor = Math.min(1, longestSide / Math.max(width, height));
  // Of each block of 8 x 8 the decoder makes fewer pixels for less work, by powers of two; the rest is scaled.
  const shrink = [8, 4, 2].find((times) => times * factor <= 1 && times <= Math.min(width, height)) ?? 1;
  const target = { width: Math.max(1, Math.round(width * factor)), height: Math.max(1, Math.round(height * factor)) };
  try {
    // Unlimited: the limits are those of jpeg.ts.
    using picture = vips.Image.jpegloadBuffer(bytes, { shrink, access: 'sequential', unlimited: true });
    if (picture.width !== Math.floor(width / shrink) || picture.height !== Math.floor(height / shrink)) {
      return 'another size than its header has';
    }
    using scaled = picture.resize(target.width / picture.width, { vscale: target.height / picture.height });
    return scaled.copyMemory();
  } catch (error) {
    const said = messageOf(error);
    if (/(out of|insufficient) memory/i.test(said)) throw new Error(said);
    return said;
  }
}

/** What the library has noted of the last picture: it tells that with its next error, so one is made. */
function takeNotes(vips: Vips): string {
  using dot = vips.Image.black(1, 1);
  try {
    dot.crop(1, 1, 1, 1)[Symbol.dispose]();
  } catch (error) {
    return messageOf(error);
  }
  throw new Error('the library crops what is not there');
}

/** Of an error of the library, which is none of JavaScript's; any other is thrown. */
function messageOf(error: unknown): string {
  const said = readLibraryError(error);
  if (said === null) throw error;
  return said;
}

function readLibraryError(error: unknown): string | null {
  const message = (error as { message?: unknown } | null)?.message;
  return Array.isArray(message) && message[0] === 'vips::Error' ? String(message[1]) : null;
}

/** With the colours of a screen: by its profile, unless that is broken. */
function toScreen(picture: Picture): Picture {
  if (picture.getTypeof(profile) !== 0 && !Buffer.from(picture.getBlob(profile)).includes(costly)) {
    try {
      using pixel = picture.crop(0, 0, 1, 1);
      using white = pixel.linear(0, 255, { uchar: true });
      using seen = white.iccTransform('srgb', { embedded: true });
      using converted = picture.iccTransform('srgb', { embedded: true });
      if (seen.min() >= leastWhite) return converted.copyMemory();
    } catch (error) {
      messageOf(error);
    }
  }
  using plain = picture.colourspace('srgb');
  return plain.copyMemory();
}

function turn(vips: Vips, picture: Picture, orientation: number): Picture {
  const { degrees, flip } = turns[orientation] ?? { degrees: 0 };
  if (degrees === 0 && !flip) return picture.copy();
  using opaque = picture.addalpha();
  const data = Buffer.from(opaque.writeToMemory().buffer);
  const image = Jimp.fromBitmap({ data, width: picture.width, height: picture.height }) as InstanceType<typeof Jimp>;
  if (degrees !== 0) image.rotate(degrees);
  if (flip) image.flip({ [flip]: true });
  const { data: turned, width, height } = image.bitmap;
  using whole = vips.Image.newFromMemory(turned, width, height, 4, vips.BandFormat.uchar);
  using upright = whole.extractBand(0, { n: 3 });
  return upright.copy({ interpretation: 'srgb' });
}

function encode(vips: Vips, picture: Picture, rounds = 8): Uint8Array<ArrayBuffer> {
  const guess = rounds === 8 ? guessQuality(vips, picture) : quality.lowest;
  const result = search(picture, sizeLimit, guess);
  if (result.bytes) return result.bytes;
  if (rounds === 1) throw new Error('no picture is small enough');
  using smaller = picture.resize(0.95 * Math.sqrt(sizeLimit / result.least));
  using kept = smaller.copyMemory();
  return encode(vips, kept, rounds - 1);
}

/** What a sample says, where that costs less than a trial: most pictures then need one or two of these, instead of four. */
function guessQuality(vips: Vips, picture: Picture): number {
  using sample = takeSample(vips, picture);
  if (!sample) return quality.guess;
  const result = search(sample, (sizeLimit * sample.height) / picture.height, quality.guess);
  return result.bytes ? result.quality : quality.lowest;
}

/** Some of its rows, as whole blocks, from top to bottom; null when that would be more than a third of them. */
function takeSample(vips: Vips, picture: Picture): Picture | null {
  const every = Math.floor(picture.height / blockRows / sampleBlocks);
  if (every < 3) return null;
  using strips = new DisposableStack();
  const rows = Array.from({ length: sampleBlocks }, (_, block) =>
    strips.use(picture.crop(0, block * every * blockRows, picture.width, blockRows)),
  );
  using joined = vips.Image.arrayjoin(rows, { across: 1 });
  return joined.copyMemory();
}

function search(picture: Picture, limit: number, guess: number) {
  return encodeBelow({
    ...quality,
    guess,
    limit,
    enough: enough * limit,
    encode: (percent) => new Uint8Array(picture.jpegsaveBuffer({ ...encoding, Q: percent })),
  });
}

/** The promise that nothing of the photographer's data is left is kept here, whatever a new version of the encoder writes. */
function requirePlain(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const jpeg = readJpeg(bytes);
  const isWhole = jpeg?.end === 'complete' && Buffer.concat(jpeg.parts).length === bytes.length;
  if (!isWhole || !jpeg.segments.every((segment) => plainSegments.has(segment))) {
    throw new Error('the encoder wrote a segment that it should not');
  }
  return bytes;
}

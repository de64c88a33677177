// Makes photos small, in half a second of a core: only for a thread of its own (thread.ts).
//
// The library is sharp: libvips with mozjpeg, as native code. It scales while it decodes, so that the pixels of a large picture are never all
// in memory (of a progressive one its coefficients are). Jimp turns what is left of it.
//
// What fails for another reason than the picture is thrown: the thread ends, and the next photo gets a new one.

import { Jimp } from 'jimp';
import sharp, { type Sharp, type SharpOptions } from 'sharp';
import { findRefusal, type JpegFrame, type JpegRefusal, nameStranger, readJpeg } from './jpeg.ts';
import { encodeBelow } from './quality.ts';

/** The photo to store, in a buffer of its own, or why there is none. */
export type PhotoReply = { bytes: Uint8Array<ArrayBuffer> } | { refused: JpegRefusal };

/** Pixels, three or four bytes each. */
interface Picture {
  data: Buffer;
  width: number;
  height: number;
  channels: 3 | 4;
}

/** pixels of the longest side */
const longestSide = 2_048;
/** bytes, exclusive */
const sizeLimit = 500_000;
/** Of it: one or two steps of quality less are not seen, but cost a trial, which takes longer than all else but decoding. */
const enough = 0.95;
/** Below 50 blocks and rings show; fewer pixels look better. Above 95 files grow and nothing is to be seen of it. */
const quality = { lowest: 50, highest: 95, guess: 75, trials: 6 };
/** Without mozjpeg's trellis: at the same size a step or two of quality more, for four times the work. */
const encoding = { progressive: true, quantisationTable: 3 } as const;

/** Computations of any number (multiProcessElementsType), which no camera needs: in 8 kB they take a second. */
const costly = 'mpet';
/** Unlimited: the limits are those of jpeg.ts. */
const reading: SharpOptions = { limitInputPixels: false, unlimited: true, sequentialRead: true };
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

// More threads for one picture would be taken from others.
sharp.concurrency(1);
// It would keep pictures of others.
sharp.cache(false);
// Of what libvips can read, JPEG alone: decoders that strangers do not reach need no trust.
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({ operation: ['VipsForeignLoadJpeg'] });

/**
 * The photo upright, at most 2048 pixels long, below 500 000 bytes, without metadata.
 * @param bytes of a file; not changed
 */
export async function compressPhoto(bytes: Buffer): Promise<PhotoReply> {
  const jpeg = readJpeg(bytes);
  const refusal = jpeg ? findRefusal(jpeg) : nameStranger(bytes);
  if (refusal || !jpeg?.frame) return { refused: refusal ?? 'damaged' };

  const small = await decode(jpeg.parts, jpeg.frame);
  if (typeof small === 'string') return { refused: small };
  return { bytes: requirePlain(await encode(await turn(small, jpeg.orientation))) };
}

/** Decodes and scales it, in the colours of a screen: by its profile, unless that is broken. */
async function decode(parts: Uint8Array[], { width, height, components }: JpegFrame): Promise<Picture | JpegRefusal> {
  const factor = Math.min(1, longestSide / Math.max(width, height));
  const target = { width: Math.max(1, Math.round(width * factor)), height: Math.max(1, Math.round(height * factor)) };
  const ignoreIcc = !(await hasSoundProfile(parts, components.length === 1));
  const bytes = Buffer.concat(parts);
  const read = (failOn: SharpOptions['failOn']) =>
    toPicture(sharp(bytes, { ...reading, failOn, ignoreIcc }).resize({ ...target, fit: 'fill' }));
  try {
    return await read('warning').catch((error: unknown) => {
      // Data that was missed is grey in the picture; what else the library can bear leaves it whole.
      if (/premature end|bad Huffman code|instead of RST|memory/i.test(messageOf(error))) throw error;
      return read('none');
    });
  } catch (error) {
    const said = messageOf(error);
    if (/(out of|insufficient) memory/i.test(said)) throw error;
    return /premature end/i.test(said) ? 'truncated' : 'damaged';
  }
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : '');

/** Native code can not be ended from outside: its own clock ends it before the one of its thread. */
async function toPicture(image: Sharp): Promise<Picture> {
  const { data, info } = await image.timeout({ seconds: 30 }).toColourspace('srgb').raw().toBuffer({ resolveWithObject: true });
  const { width, height, channels } = info;
  if (channels !== 3) throw new Error(`a picture of ${channels} channels`);
  return { data, width, height, channels };
}

/** Whether white stays white with its profile. */
async function hasSoundProfile(parts: Uint8Array[], isGrey: boolean): Promise<boolean> {
  const segments = parts.filter(([, kind]) => kind === 0xe2);
  if (segments.length === 0 || Buffer.concat(segments).includes(costly)) return false;
  const white = await sharp({ create: { width: 8, height: 8, channels: 3, background: 'white' } })
    .toColourspace(isGrey ? 'b-w' : 'srgb')
    .jpeg()
    .toBuffer();
  const told = Buffer.concat([white.subarray(0, 2), ...segments, white.subarray(2)]);
  const { data } = await toPicture(sharp(told, reading));
  return Math.min(...data) >= leastWhite;
}

async function turn(picture: Picture, orientation: number): Promise<Picture> {
  const { degrees, flip } = turns[orientation] ?? { degrees: 0 };
  if (degrees === 0 && !flip) return picture;
  const data = await open(picture).ensureAlpha().raw().toBuffer();
  const image = Jimp.fromBitmap({ data, width: picture.width, height: picture.height }) as InstanceType<typeof Jimp>;
  if (degrees !== 0) image.rotate(degrees);
  if (flip) image.flip({ [flip]: true });
  const { data: turned, width, height } = image.bitmap;
  return { data: turned, width, height, channels: 4 };
}

const open = ({ data, ...raw }: Picture) => sharp(data, { raw }).removeAlpha();

async function encode(picture: Picture, rounds = 8): Promise<Uint8Array<ArrayBuffer>> {
  const guess = rounds === 8 ? await guessQuality(picture) : quality.lowest;
  const result = await search(picture, sizeLimit, guess);
  if (result.bytes) return result.bytes;
  if (rounds === 1) throw new Error('no picture is small enough');
  const factor = 0.95 * Math.sqrt(sizeLimit / result.least);
  return encode(await toPicture(open(picture).resize({ width: Math.round(factor * picture.width) })), rounds - 1);
}

/** What a sample says, where that costs less than a trial: most pictures then need one or two of these, instead of four. */
async function guessQuality(picture: Picture): Promise<number> {
  const sample = takeSample(picture);
  if (!sample) return quality.guess;
  const result = await search(sample, (sizeLimit * sample.height) / picture.height, quality.guess);
  return result.bytes ? result.quality : quality.lowest;
}

/** Some of its rows, as whole blocks, from top to bottom; null when that would be more than a third of them. */
function takeSample({ data, width, height, channels }: Picture): Picture | null {
  const every = Math.floor(height / blockRows / sampleBlocks);
  if (every < 3) return null;
  const block = blockRows * width * channels;
  const blocks = Array.from({ length: sampleBlocks }, (_, n) => data.subarray(n * every * block).subarray(0, block));
  return { data: Buffer.concat(blocks), width, height: sampleBlocks * blockRows, channels };
}

function search(picture: Picture, limit: number, guess: number) {
  return encodeBelow({
    ...quality,
    guess,
    limit,
    enough: enough * limit,
    encode: async (percent) =>
      new Uint8Array(
        await open(picture)
          .jpeg({ ...encoding, quality: percent })
          .toBuffer(),
      ),
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

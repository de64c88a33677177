// Makes photos small. It blocks while it decodes and encodes, for a second and more: only for a thread of its own (thread.ts).
//
// The codec is mozjpeg in WebAssembly (@jsquash/jpeg), jimp turns. Jimp's own reading stays out of it: it runs two more parsers
// over bytes of strangers (file-type, exif-parser) and turns the picture at its full size.
//
// A memory of WebAssembly never shrinks, and is given back only with its instance: each photo is decoded by one of its own.
// What fails for another reason than the picture is thrown: the thread ends, and the next photo gets a new one.

import { readFile } from 'node:fs/promises';
import createDecoder from '@jsquash/jpeg/codec/dec/mozjpeg_dec.js';
import createEncoder from '@jsquash/jpeg/codec/enc/mozjpeg_enc.js';
import { defaultOptions } from '@jsquash/jpeg/meta.js';
import { Jimp } from 'jimp';
import { findRefusal, type JpegFrame, type JpegRefusal, nameStranger, readJpeg } from './jpeg.ts';
import { encodeBelow } from './quality.ts';
import { loadResize, type Picture, type Resize } from './resize.ts';

/** The photo to store, in a buffer of its own, or why there is none. */
export type PhotoReply = { bytes: Uint8Array<ArrayBuffer> } | { refused: JpegRefusal };

interface Decoder {
  decode(bytes: Uint8Array, preserveOrientation: boolean): Picture | null;
}

interface Encoder {
  encode(data: Uint8ClampedArray, width: number, height: number, options: typeof defaultOptions): Uint8Array<ArrayBuffer>;
}

interface Codecs {
  openDecoder: (onComplaint: (line: string) => void) => Promise<Decoder>;
  encoder: Encoder;
  resize: Resize;
}

/** pixels of the longest side */
const longestSide = 2_048;
/** bytes, exclusive */
const sizeLimit = 500_000;
/** Of it: one or two steps of quality less are not seen, but cost a trial, which takes longer than all else but decoding. */
const enough = 0.95;
/** Below 50 blocks and rings show; fewer pixels look better. Above 95 files grow and nothing is to be seen of it. */
const quality = { lowest: 50, highest: 95, guess: 75, trials: 6 };
/**
 * Below this, mozjpeg's tables hold numbers above 255, in 16 bits each, which the standard forbids at 8 bits per sample;
 * only its baseline mode, which is not progressive, cuts them off.
 */
const lowestProgressive = 70;

/** Rows of a block, whose colour may have half as many. */
const blockRows = 16;
/** Rows of blocks whose size tells that of a picture, to 3 percent with a tenth of the work. */
const sampleBlocks = 12;

/** What the encoder writes: JFIF header, tables, frame, scans. */
const plainSegments = new Set([0xe0, 0xdb, 0xc0, 0xc1, 0xc2, 0xc4, 0xdd, 0xda]);

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

const codecs = loadCodecs();

// The package would fetch its modules by URL, which is for browsers.
async function loadCodecs(): Promise<Codecs> {
  const [decoder, encoder, resize] = await Promise.all([
    readFile(new URL(import.meta.resolve('@jsquash/jpeg/codec/dec/mozjpeg_dec.wasm'))),
    readFile(new URL(import.meta.resolve('@jsquash/jpeg/codec/enc/mozjpeg_enc.wasm'))),
    loadResize(),
  ]);
  return {
    openDecoder: (onComplaint) => createDecoder({ wasmBinary: decoder, printErr: onComplaint }),
    encoder: await createEncoder({ wasmBinary: encoder }),
    resize,
  };
}

/**
 * The photo upright, at most 2048 pixels long, below 500 000 bytes, without metadata.
 * @param bytes of a file; not changed
 * @param pass is called before each step that takes long
 */
export async function compressPhoto(bytes: Buffer, pass: () => void): Promise<PhotoReply> {
  const { encoder, openDecoder, resize } = await codecs;
  const jpeg = readJpeg(bytes);
  const refusal = jpeg ? findRefusal(jpeg) : nameStranger(bytes);
  if (refusal || !jpeg?.frame) return { refused: refusal ?? 'damaged' };

  pass();
  const decoded = await decode(openDecoder, bytes, jpeg.frame);
  if (typeof decoded === 'string') return { refused: decoded };
  pass();
  const small = scale(resize, decoded, longestSide / Math.max(decoded.width, decoded.height));
  const patient: Encoder = {
    encode(...given) {
      pass();
      return encoder.encode(...given);
    },
  };
  return { bytes: encode(patient, resize, turn(small, jpeg.orientation)) };
}

async function decode(open: Codecs['openDecoder'], bytes: Uint8Array, frame: JpegFrame): Promise<Picture | JpegRefusal> {
  const complaints: string[] = [];
  const decoder = await open((line) => complaints.push(line));
  let picture: Picture | null;
  try {
    picture = decoder.decode(bytes, false);
  } catch (error) {
    // The library gives up on a picture by ending "the program", and says why. All else is a fault, lack of memory included.
    const gaveUp = (error as { name?: unknown } | null)?.name === 'ExitStatus';
    if (!gaveUp || complaints.some((line) => /memory/i.test(line))) throw error;
    return 'damaged';
  }
  // Of its warnings the library prints the first. Data that it missed is grey in the picture; others, such as stray bytes
  // between segments, leave the picture whole.
  if (complaints.some((line) => /premature end/i.test(line))) return 'truncated';
  if (complaints.some((line) => /bad Huffman code|instead of RST/i.test(line))) return 'damaged';
  if (picture?.width !== frame.width || picture.height !== frame.height) return 'damaged';
  return picture;
}

/** Never larger. */
function scale(resize: Resize, picture: Picture, factor: number): Picture {
  if (factor >= 1) return picture;
  const { width, height } = picture;
  return resize(picture, Math.max(1, Math.round(width * factor)), Math.max(1, Math.round(height * factor)));
}

function turn(picture: Picture, orientation: number): Picture {
  const { degrees, flip } = turns[orientation] ?? { degrees: 0 };
  if (degrees === 0 && !flip) return picture;
  const image = Jimp.fromBitmap(picture) as InstanceType<typeof Jimp>;
  if (degrees !== 0) image.rotate(degrees);
  if (flip) image.flip({ [flip]: true });
  const { data, width, height } = image.bitmap;
  return { data: new Uint8ClampedArray(data), width, height };
}

function encode(encoder: Encoder, resize: Resize, upright: Picture): Uint8Array<ArrayBuffer> {
  let picture = upright;
  for (let round = 0; round < 8; round++) {
    const guess = round === 0 ? guessQuality(encoder, picture) : quality.lowest;
    const result = search(encoder, picture, sizeLimit, guess);
    if (result.bytes) return requirePlain(result.bytes);
    picture = scale(resize, picture, 0.95 * Math.sqrt(sizeLimit / result.least));
  }
  throw new Error('no picture is small enough');
}

/** What a sample says, where that costs less than a trial: most pictures then need one or two of these, instead of four. */
function guessQuality(encoder: Encoder, picture: Picture): number {
  const sample = takeSample(picture);
  if (!sample) return quality.guess;
  const result = search(encoder, sample, (sizeLimit * sample.height) / picture.height, quality.guess);
  return result.bytes ? result.quality : quality.lowest;
}

/** Some of its rows, as whole blocks, from top to bottom; null when that would be more than a third of them. */
function takeSample({ data, width, height }: Picture): Picture | null {
  const every = Math.floor(height / blockRows / sampleBlocks);
  if (every < 3) return null;
  const length = blockRows * width * 4;
  const strips = new Uint8ClampedArray(sampleBlocks * length);
  for (let i = 0; i < sampleBlocks; i++) {
    const begin = i * every * length;
    strips.set(data.subarray(begin, begin + length), i * length);
  }
  return { data: strips, width, height: sampleBlocks * blockRows };
}

function search(encoder: Encoder, { data, width, height }: Picture, limit: number, guess: number) {
  return encodeBelow({
    ...quality,
    guess,
    limit,
    enough: enough * limit,
    encode(percent) {
      const options = { ...defaultOptions, quality: percent, baseline: percent < lowestProgressive };
      return encoder.encode(data, width, height, options);
    },
  });
}

/** The promise that nothing of the photographer's data is left is kept here, whatever a new version of the encoder writes. */
function requirePlain(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const jpeg = readJpeg(bytes);
  if (jpeg?.end !== 'complete' || !jpeg.segments.every((segment) => plainSegments.has(segment))) {
    throw new Error('the encoder wrote a segment that it should not');
  }
  return bytes;
}

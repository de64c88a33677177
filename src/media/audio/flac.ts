// FLAC: of the blocks before the sound only the first stays, which a decoder needs; behind it the frames.
import { hasText, readBig } from './bytes.ts';
import { AudioRefusedError } from './refusal.ts';
import { cutTrailingTags, skipLeadingTags } from './tags.ts';

const streamInfoSize = 34;
const blockHeader = 4;
// What may be lost at the end: a frame that is broken off, or something behind the last one.
const longestTail = 65_536;

/**
 * The file without comments, pictures, cue sheets, padding and blocks of programs, and without what surrounds it.
 * @throws AudioRefusedError `damaged` when blocks or frames can't be followed to the end
 */
export function cleanFlac(bytes: Buffer): Buffer {
  const untagged = cutTrailingTags(bytes);
  const start = skipLeadingTags(untagged);
  const info = start + 4;
  if (!hasText(untagged, start, 'fLaC') || readBig(untagged, info, 4) % 0x8000_0000 !== streamInfoSize)
    throw new AudioRefusedError('damaged', 'no stream info');
  const infoEnd = info + blockHeader + streamInfoSize;
  const firstFrame = skipBlocks(untagged, info);
  const end = findEnd(untagged, firstFrame);
  const head = Buffer.concat([Buffer.from('fLaC'), untagged.subarray(info, infoEnd)]);
  head.writeUInt8(0x80, 4);
  return Buffer.concat([head, untagged.subarray(firstFrame, end)]);
}

function skipBlocks(bytes: Buffer, first: number): number {
  let at = first;
  for (;;) {
    const isLast = readBig(bytes, at, 1) >= 0x80;
    at += blockHeader + readBig(bytes, at + 1, 3);
    if (isLast) return at;
  }
}

// Frames carry no length: one ends where the check sum over it, its own included, is zero and the next begins.
function findEnd(bytes: Buffer, first: number): number {
  if (!isFrameHeader(bytes, first)) throw new AudioRefusedError('damaged', 'no frame of sound');
  let sum = 0;
  let frame = first;
  let lastZero = first;
  for (let at = first; at <= bytes.length; at++) {
    if (sum === 0 && at > frame) {
      lastZero = at;
      if (at === bytes.length || isFrameHeader(bytes, at)) frame = at;
    }
    sum = ((sum << 8) & 0xffff) ^ (sums16[(sum >> 8) ^ (bytes[at] ?? 0)] ?? 0);
  }
  if (lastZero === first || bytes.length - frame > longestTail) throw new AudioRefusedError('damaged', 'a frame is broken');
  return lastZero;
}

function isFrameHeader(bytes: Buffer, at: number): boolean {
  // Asked at each byte where the sum is zero: a megabyte of zeros.
  if (bytes[at] !== 0xff) return false;
  const [, kind = 0, sizes = 0, channels = 0, number = 0] = bytes.subarray(at, at + 5);
  if ((kind & 0xfe) !== 0xf8 || (channels & 1) !== 0) return false;
  const [blockSize, rate] = [sizes >> 4, sizes & 15];
  // The frame's number is written as UTF-8 writes characters: the ones at the front of its first byte count its bytes.
  const numberSize = number < 0x80 ? 1 : Math.clz32(~(number << 24));
  if (blockSize === 0 || rate === 15 || numberSize > 7) return false;
  const blockSizeBytes = { 6: 1, 7: 2 }[blockSize] ?? 0;
  const rateBytes = { 12: 1, 13: 2, 14: 2 }[rate] ?? 0;
  const end = at + 4 + numberSize + blockSizeBytes + rateBytes;
  let sum = 0;
  // With its own byte the sum is zero.
  for (const byte of bytes.subarray(at, end + 1)) sum = sums8[sum ^ byte] ?? 0;
  return end < bytes.length && sum === 0;
}

const sums8 = makeSums(8, 0x07);
const sums16 = makeSums(16, 0x8005);

function makeSums(width: number, polynomial: number): number[] {
  const mask = 2 ** width - 1;
  return Array.from({ length: 256 }, (_, byte) => {
    let sum = byte << (width - 8);
    for (let bit = 0; bit < 8; bit++) sum = ((sum << 1) ^ (sum >> (width - 1) === 1 ? polynomial : 0)) & mask;
    return sum;
  });
}

// Tags that programs put before and behind streams of frames, and behind FLAC, AMR and everything else.
import { hasText } from './bytes.ts';

const id3Header = 10;
const id3v1Size = 128;
const id3v1ExtendedSize = 227;
const apeFooter = 32;
// The first version of Lyrics3 has no size: its text is at most this long.
const lyricsReach = 5_100;

/** Length of the ID3v2 tag that begins here, 0 when there is none. It may reach beyond the end of the file. */
export function measureId3v2(bytes: Buffer, at: number): number {
  if (!hasText(bytes, at, 'ID3')) return 0;
  const size = readSyncsafe(bytes, at + 6);
  if (size === null) return 0;
  const hasFooter = ((bytes[at + 5] ?? 0) & 0x10) !== 0;
  return id3Header + size + (hasFooter ? id3Header : 0);
}

/** Where the file begins behind its ID3v2 tags, of which there may be several, and the zeros that some writers add. */
export function skipLeadingTags(bytes: Buffer): number {
  let at = 0;
  for (let size = measureId3v2(bytes, at); size > 0; size = measureId3v2(bytes, at)) {
    at += size;
    while (bytes[at] === 0) at++;
  }
  return Math.min(at, bytes.length);
}

/** The file without the ID3v1, ID3v2, APE and Lyrics3 tags at its end, in whatever order and number they stand there. */
export function cutTrailingTags(bytes: Buffer): Buffer {
  let end = bytes.length;
  for (let size = measureTrailing(bytes, end); size > 0; size = measureTrailing(bytes, end)) end -= size;
  return bytes.subarray(0, end);
}

function measureTrailing(bytes: Buffer, end: number): number {
  const size =
    measureId3v1(bytes, end) || measureApe(bytes, end) || measureLyrics(bytes, end) || measureAppendedId3v2(bytes, end);
  return size <= end ? size : 0;
}

function measureId3v1(bytes: Buffer, end: number): number {
  if (!hasText(bytes, end - id3v1Size, 'TAG')) return 0;
  return id3v1Size + (hasText(bytes, end - id3v1Size - id3v1ExtendedSize, 'TAG+') ? id3v1ExtendedSize : 0);
}

function measureApe(bytes: Buffer, end: number): number {
  const at = end - apeFooter;
  if (!hasText(bytes, at, 'APETAGEX')) return 0;
  const [version, size, flags] = [bytes.readUInt32LE(at + 8), bytes.readUInt32LE(at + 12), bytes.readUInt32LE(at + 20)];
  // The size counts the footer but not the header; version 1 has no header and no flags.
  const hasHeader = version >= 2000 && flags >= 0x8000_0000;
  return Math.max(size, apeFooter) + (hasHeader ? apeFooter : 0);
}

function measureLyrics(bytes: Buffer, end: number): number {
  if (hasText(bytes, end - 9, 'LYRICS200')) {
    const digits = bytes.toString('latin1', Math.max(end - 15, 0), end - 9);
    return /^\d{6}$/.test(digits) ? Number(digits) + 15 : 0;
  }
  if (!hasText(bytes, end - 9, 'LYRICSEND')) return 0;
  const from = Math.max(end - 9 - lyricsReach - 11, 0);
  const begin = bytes.subarray(from, end).lastIndexOf('LYRICSBEGIN');
  return begin < 0 ? 0 : end - from - begin;
}

function measureAppendedId3v2(bytes: Buffer, end: number): number {
  if (!hasText(bytes, end - id3Header, '3DI')) return 0;
  const size = readSyncsafe(bytes, end - 4);
  return size === null ? 0 : size + 2 * id3Header;
}

// Four bytes of seven bits each; null when they are none.
function readSyncsafe(bytes: Buffer, at: number): number | null {
  let size = 0;
  for (const byte of bytes.subarray(at, at + 4)) {
    if (byte > 0x7f) return null;
    size = size * 128 + byte;
  }
  return at + 4 <= bytes.length ? size : null;
}

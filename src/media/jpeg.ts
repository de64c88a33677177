// Reads what a JPEG says about itself, without decoding a pixel, and decides from that whether it may be decoded.
// A header of 700 bytes can claim four gigapixels; the decoder would believe it.

import { readOrientation } from './orientation.ts';

/**
 * Why a picture is refused. `truncated`: it ends early, or holds less data than a picture of its size needs. `unsupported`: no camera writes
 * it so, as with arithmetic, lossless or hierarchical coding, 12 bits, two components. `cmyk`: the decoder knows screens only.
 */
export type JpegRefusal =
  | ('no_jpeg' | 'heic' | 'avif' | 'png' | 'webp' | 'gif')
  | ('damaged' | 'truncated' | 'unsupported' | 'cmyk' | 'too_many_pixels');

export type JpegCoding = 'baseline' | 'extended' | 'progressive' | 'lossless' | 'hierarchical' | 'arithmetic';

/** What the frame header says. */
export interface JpegFrame {
  coding: JpegCoding;
  /** bits per sample */
  bits: number;
  /** pixels, as stored; 0 is possible */
  width: number;
  height: number;
  /** sampling factors of each, 1 to 4 */
  components: { horizontal: number; vertical: number }[];
}

/** What a JPEG says about itself. */
export interface Jpeg {
  frame: JpegFrame | null;
  /** 1 to 8 as EXIF numbers them; 1, upright, when nothing is said */
  orientation: number;
  /** second bytes of the markers of all its segments in order, without those that stand alone (SOI, EOI, RST) */
  segments: number[];
  scans: number;
  /** bytes of data in all scans */
  scanBytes: number;
  /**
   * The file that the decoder gets, in pieces: what makes the picture, with nothing that it would only complain of. It tells its first
   * complaint alone, which must be that of missing data.
   */
  parts: Uint8Array[];
  end: 'complete' | 'early' | 'nonsense';
}

/** The largest sensors of phones have 200 million. Decoded line by line, a picture takes as much memory as a small one. */
export const maxPixels = 250_000_000;

/** Of a picture that comes in several scans, progressive or one for each component: the decoder keeps all of it until the last. */
export const maxKeptPixels = 60_000_000;

/**
 * Progressive photos have about ten scans. For each the decoder may have to walk all that it has of every block: 1 ms a megapixel, which
 * made 7 s of a picture of 331 kB. A hundred of 12 megapixels, twenty of 60.
 */
export const maxScans = 100;
export const maxScannedPixels = 1_200_000_000;
/** Extended XMP with depth maps comes in hundreds of segments of 64 KiB. */
const maxSegments = 2_000;

const marker = { soi: 0xd8, eoi: 0xd9, sos: 0xda, app0: 0xe0, app1: 0xe1, app2: 0xe2, app14: 0xee };
/** Tables: DHT, DQT, DRI. */
const tables = new Set([0xc4, 0xdb, 0xdd]);
const soi = Buffer.of(0xff, marker.soi);
const eoi = Buffer.of(0xff, marker.eoi);
const jfif = Buffer.from('\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0', 'latin1');

// C4 (DHT), C8 (reserved) and CC (DAC) are no frames.
const codings: Record<number, JpegCoding> = {
  ...{ 192: 'baseline', 193: 'extended', 194: 'progressive', 195: 'lossless' },
  ...{ 197: 'hierarchical', 198: 'hierarchical', 199: 'hierarchical' },
  ...{ 201: 'arithmetic', 202: 'arithmetic', 203: 'arithmetic', 205: 'arithmetic', 206: 'arithmetic', 207: 'arithmetic' },
};

/**
 * Reads the segments of a JPEG up to its end; what follows its end (films, previews of a phone) is not looked at. Some phones leave out
 * EOI: the picture ends as well with the data of the scan that brings the last of it.
 *   bytes  the whole file
 * returns  null when it does not begin like a JPEG; never throws; one pass, whatever the bytes are
 */
export function readJpeg(bytes: Uint8Array): Jpeg | null {
  if (bytes[0] !== 0xff || bytes[1] !== marker.soi || bytes[2] !== 0xff) return null;
  const jpeg: Jpeg = { frame: null, orientation: 1, segments: [], scans: 0, scanBytes: 0, parts: [soi], end: 'early' };
  let orientation: number | null = null;
  let scan: number | null = null;
  // Coefficients of a block, of all components together, that no scan brought in full.
  let missing = 0;
  let position = 2;
  for (;;) {
    const at = findMarker(bytes, position);
    position = at + 1;
    const kind = bytes[at];
    if (kind !== undefined && standsAlone(kind)) continue;
    if (scan !== null) {
      const isLast = kind !== marker.eoi && missing <= 0 && jpeg.frame;
      const data = bytes.subarray(scan, kind === undefined ? at : at - 1);
      const kept = isLast ? trimFilling(data, countLeastBits(isLast) / 8) : data;
      jpeg.parts.push(kept);
      jpeg.scanBytes += kept.length;
      scan = null;
      if (isLast) jpeg.end = 'complete';
      if (isLast) break;
    }
    if (kind === undefined) break;
    if (kind === marker.eoi) {
      if (missing <= 0 || jpeg.frame?.coding === 'progressive') jpeg.end = 'complete';
      break;
    }
    if (at + 2 >= bytes.length) break;
    const length = ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
    if (length < 2 || kind === marker.soi || jpeg.segments.length === maxSegments) {
      jpeg.end = 'nonsense';
      break;
    }
    const next = position + length;
    if (next > bytes.length) break;
    jpeg.segments.push(kind);

    const segment = bytes.subarray(at - 1, next);
    const content = segment.subarray(4);
    const coding = codings[kind];
    if (coding) {
      const frame = jpeg.frame ? null : readFrame(coding, content);
      if (!frame) {
        jpeg.end = 'nonsense';
        break;
      }
      jpeg.frame = frame;
      jpeg.parts.push(segment);
      missing = 64 * frame.components.length;
    } else if (kind === marker.app1) {
      orientation ??= readOrientation(content);
    } else if (kind === marker.sos) {
      jpeg.scans++;
      scan = next;
      const [components = 0] = content;
      const [first = 0, last = 0, bits = 0] = content.subarray(-3);
      if (jpeg.frame?.coding !== 'progressive') {
        missing -= 64 * components;
        // Some cameras write other numbers here, where they mean nothing.
        jpeg.parts.push(segment.subarray(0, -3), Buffer.of(0, 63, 0));
      } else {
        if ((bits & 15) === 0) missing -= components * (last - first + 1);
        jpeg.parts.push(segment);
      }
    } else if (isNeeded(kind, content)) {
      jpeg.parts.push(kind === marker.app0 ? jfif : segment);
    }
    position = next;
  }
  jpeg.orientation = orientation ?? 1;
  jpeg.parts.push(eoi);
  return jpeg;
}

/** What a file is that is no JPEG, by its first bytes. */
export function nameStranger(bytes: Uint8Array): JpegRefusal {
  const begin = Buffer.from(bytes.subarray(0, 16)).toString('latin1');
  if (begin.startsWith('\x89PNG')) return 'png';
  if (begin.startsWith('GIF8')) return 'gif';
  if (begin.startsWith('RIFF') && begin.slice(8, 12) === 'WEBP') return 'webp';
  // The brand of a file in boxes (ISO/IEC 14496-12): HEIC is HEIF with HEVC, MIF1 any HEIF.
  const brand = begin.slice(4, 8) === 'ftyp' ? begin.slice(8, 12) : '';
  if (/^(hei[cxms]|hev[cxms]|mif1|msf1)$/.test(brand)) return 'heic';
  return /^avi[fs]$/.test(brand) ? 'avif' : 'no_jpeg';
}

/** Why this picture must not be decoded; null when it may. */
export function findRefusal(jpeg: Jpeg | null): JpegRefusal | null {
  if (!jpeg) return 'no_jpeg';
  const { frame } = jpeg;
  if (!frame) return jpeg.end === 'early' ? 'truncated' : 'damaged';
  const isHuffman = frame.coding === 'baseline' || frame.coding === 'extended' || frame.coding === 'progressive';
  if (!isHuffman || frame.bits !== 8) return 'unsupported';
  if (frame.components.length === 4) return 'cmyk';
  if (frame.components.length !== 1 && frame.components.length !== 3) return 'unsupported';
  // A height of 0 means that it stands behind the first scan (DNL): only scanners without end do that.
  if (frame.width === 0 || frame.height === 0) return 'unsupported';
  const isKept = frame.coding === 'progressive' || jpeg.scans > 1;
  if (frame.width * frame.height > (isKept ? maxKeptPixels : maxPixels)) return 'too_many_pixels';
  if (jpeg.end === 'nonsense' || jpeg.scans > maxScans) return 'damaged';
  if (jpeg.scans * frame.width * frame.height > maxScannedPixels) return 'damaged';
  return jpeg.end === 'early' || jpeg.scanBytes * 8 < countLeastBits(frame) ? 'truncated' : null;
}

/**
 * The bits below which no picture of this size can be: the decoder makes a grey one of what is missing, and says so of the first fault only.
 * A block of a sequential picture has two at least, its mean and its end; a progressive one has a mean, and the rest in runs. Blocks that
 * only fill up the edge of an interleaved scan are not counted: scans by component lack them.
 */
export function countLeastBits(frame: JpegFrame): number {
  const { width, height, components } = frame;
  const across = Math.max(...components.map(({ horizontal }) => horizontal));
  const down = Math.max(...components.map(({ vertical }) => vertical));
  let blocks = 0;
  for (const { horizontal, vertical } of components)
    blocks += Math.ceil((width * horizontal) / across / 8) * Math.ceil((height * vertical) / down / 8);
  return blocks * (frame.coding === 'progressive' ? 1 : 2);
}

/** Index of the next marker's second byte, past fill bytes and entropy-coded data; the length when there is none. */
function findMarker(bytes: Uint8Array, from: number): number {
  for (let at = from; at + 1 < bytes.length; at++) {
    const next = bytes[at + 1];
    if (bytes[at] === 0xff && next !== 0x00 && next !== 0xff) return at + 1;
  }
  return bytes.length;
}

/** Data without the filling behind it, of a file that was cut off where room had been made for all of it. */
function trimFilling(data: Uint8Array, least: number): Uint8Array {
  let length = data.length;
  while (length > least && length > 1 && data[length - 1] === data[length - 2]) length--;
  return data.subarray(0, length);
}

/** Tables, and what says how its colours are meant. */
function isNeeded(kind: number, content: Uint8Array): boolean {
  const begins = (name: string) => Buffer.from(content.subarray(0, name.length)).toString('latin1') === name;
  if (kind === marker.app0) return begins('JFIF\0') && content.length >= 14;
  if (kind === marker.app2) return begins('ICC_PROFILE\0');
  if (kind === marker.app14) return begins('Adobe') && (content[11] ?? 2) < 2;
  return tables.has(kind);
}

/** Restart markers within the data, and the obsolete TEM. */
function standsAlone(kind: number): boolean {
  return (kind >= 0xd0 && kind <= 0xd7) || kind === 0x01;
}

function readFrame(coding: JpegCoding, content: Uint8Array): JpegFrame | null {
  const [bits = 0, heightHigh = 0, heightLow = 0, widthHigh = 0, widthLow = 0, count = 0] = content;
  if (count === 0 || content.length < 6 + 3 * count) return null;
  const components = Array.from({ length: count }, (_, index) => {
    const factors = content[6 + 3 * index + 1] ?? 0;
    return { horizontal: factors >> 4, vertical: factors & 15 };
  });
  const isFactor = (factor: number) => factor >= 1 && factor <= 4;
  if (!components.every(({ horizontal, vertical }) => isFactor(horizontal) && isFactor(vertical))) return null;
  return { coding, bits, width: (widthHigh << 8) | widthLow, height: (heightHigh << 8) | heightLow, components };
}

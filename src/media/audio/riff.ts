// WAV, and RF64, in which field recorders keep larger ones: chunks, of which only the format, the number of samples and the sound
// itself are kept.
import { hasText, readLittle } from './bytes.ts';
import { AudioRefusedError } from './refusal.ts';
import { cutTrailingTags } from './tags.ts';

const chunkHeader = 8;
// Writers that can't go back (a pipe), or died before they did, leave such a size of the sound, or 0: it means
// "to the end". RF64 has its sizes elsewhere.
const unknownSize = 0x7f00_0000;
// PCM, ADPCM, float, A-law, µ-law, IMA ADPCM, GSM, extensible. Not MP3 or AAC in WAV: they have tags of their own inside.
const formats = new Set([0x1, 0x2, 0x3, 0x6, 0x7, 0x11, 0x31, 0xfffe]);
const pcmFormat = 0x1;

/**
 * The file with nothing but `fmt `, `fact` and `data`: titles (`LIST`), `bext`, `iXML`, `id3 ` and chunks that nobody knows
 * are left out, and what follows the sound.
 * @throws AudioRefusedError `damaged` when it is broken off or has no sound, `unsupported` for sound in another format
 */
export function cleanWav(bytes: Buffer): Buffer {
  const { format, fact, data } = readChunks(bytes);
  if (!format || !data || data.length === 0) throw new AudioRefusedError('damaged', 'no format or no sound');
  const body = Buffer.concat([
    Buffer.from('WAVE'),
    writeChunk('fmt ', trimFormat(format)),
    ...(fact ? [writeChunk('fact', fact.subarray(0, 4))] : []),
    writeChunk('data', data),
  ]);
  return writeChunk('RIFF', body);
}

interface Chunks {
  format?: Buffer;
  fact?: Buffer;
  data?: Buffer;
}

function readChunks(bytes: Buffer): Chunks {
  const found: Chunks = {};
  const declared = chunkHeader + readLittle(bytes, 4, 4);
  let at = chunkHeader + 4;
  while (at < bytes.length && !(found.data && isEnd(at, declared))) {
    const start = at + chunkHeader;
    const size = readLittle(bytes, at + 4, 4);
    const isData = hasText(bytes, at, 'data') && !found.data;
    if (isData && (size === 0 || size >= unknownSize)) {
      found.data = bytes.subarray(start, findEnd(bytes, start, declared));
      // The number of samples is as unknown, and players do without.
      delete found.fact;
      break;
    }
    const end = start + size;
    // Chunks have to join up to the end, also those behind the sound: with a wrong length it would swallow them.
    if (end > bytes.length) throw new AudioRefusedError('damaged', 'a chunk is broken off');
    const content = bytes.subarray(start, end);
    if (isData) found.data = content;
    else if (hasText(bytes, at, 'fmt ')) found.format ??= content;
    else if (hasText(bytes, at, 'fact')) found.fact ??= content;
    // Some writers forget the byte that fills up a chunk of odd length.
    at = end + (beginsChunk(bytes, end) ? 0 : size % 2);
  }
  return found;
}

// Some writers get the size of the whole wrong: the end of the file will do as well. What hangs behind is left out.
function isEnd(at: number, declared: number): boolean {
  return at === declared || at === declared + (declared % 2);
}

// Where a sound without a size ends: before the tags, and before the chunks that join up to the end.
function findEnd(bytes: Buffer, start: number, declared: number): number {
  const isWritten = declared > start && declared < unknownSize;
  if (isWritten && declared > bytes.length) throw new AudioRefusedError('damaged', 'the whole is broken off');
  const whole = bytes.subarray(0, isWritten ? declared : bytes.length);
  let end = Math.max(start, cutTrailingTags(whole).length);
  const joins = new Uint8Array(whole.length + 1);
  joins[end] = 1;
  joins[whole.length] = 1;
  for (let at = whole.length - chunkHeader; at >= start; at--) {
    const size = readLittle(whole, at + 4, 4);
    const next = at + chunkHeader + size;
    if (!(joins[next] || joins[next + (size % 2)]) || !isId(whole, at)) continue;
    joins[at] = 1;
    end = Math.min(end, at);
  }
  return Math.min(end, findPersonal(whole, start));
}

// Where a chunk about people and places begins, also one that is cut off or has something behind it: it must not become sound. In sound
// its letters may stand by chance, but no size that fits or text behind them.
function findPersonal(bytes: Buffer, start: number): number {
  const text = bytes.toString('latin1');
  for (const { 0: match, index: at } of text
    .slice(start)
    .matchAll(/LIST[\s\S]{4}(?:INFO|adtl)|bext|iXML|_PMX|cart|axml|id3 |ID3 /g)) {
    const content = start + at + chunkHeader;
    const fits = content + readLittle(bytes, content - 4, 4) <= bytes.length;
    if (match.length > 4 || fits || /^[\p{Cc} -~]{16}/u.test(text.slice(content, content + 16))) return start + at;
  }
  return bytes.length;
}

function beginsChunk(bytes: Buffer, at: number): boolean {
  return isId(bytes, at) && (hasText(bytes, at, 'data') || at + chunkHeader + readLittle(bytes, at + 4, 4) <= bytes.length);
}

function isId(bytes: Buffer, at: number): boolean {
  return /^[ -~]{4}$/.test(bytes.toString('latin1', at, at + 4));
}

// As long as the format says and no longer.
function trimFormat(format: Buffer): Buffer {
  const tag = readLittle(format, 0, 2);
  if (!formats.has(tag)) throw new AudioRefusedError('unsupported', 'another format in WAV');
  if (tag === pcmFormat || format.length < 18) return requireLength(format, 16);
  return requireLength(format, 18 + readLittle(format, 16, 2));
}

function requireLength(format: Buffer, size: number): Buffer {
  if (format.length < size) throw new AudioRefusedError('damaged', 'the format is broken off');
  return format.subarray(0, size);
}

function writeChunk(id: string, content: Buffer): Buffer {
  const header = Buffer.alloc(chunkHeader);
  header.write(id, 'latin1');
  header.writeUInt32LE(content.length, 4);
  return Buffer.concat([header, content, Buffer.alloc(content.length % 2)]);
}

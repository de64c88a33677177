// MP3 and ADTS (AAC): frames one after the other, tags around them.
import { collectFrames, type Frame, type ReadFrame } from './frames.ts';
import { AudioRefusedError } from './refusal.ts';
import { cutTrailingTags, skipLeadingTags } from './tags.ts';

// kbit/s by index; 0 stands for indices that are not used: a free rate (no length in the header) and the reserved one.
const ratesOfVersion1 = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 0];
const ratesOfVersion2 = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160, 0];
const sampleRates = [44_100, 48_000, 32_000, 0];

/**
 * The header of an MPEG audio frame of layer III, versions 1, 2 and 2.5. Layers I and II are no MP3; a text in UTF-16
 * begins like layer I.
 */
export function readMp3Frame(bytes: Buffer, at: number): Frame | null {
  if (bytes[at] !== 0xff || at + 4 > bytes.length) return null;
  const [kind, rates, last] = [bytes.readUInt8(at + 1), bytes.readUInt8(at + 2), bytes.readUInt8(at + 3)];
  const version = (kind >> 3) & 3;
  if (kind >> 5 !== 7 || ((kind >> 1) & 3) !== 1 || version === 1) return null;
  const isVersion1 = version === 3;
  const bitRate = (isVersion1 ? ratesOfVersion1 : ratesOfVersion2)[rates >> 4] ?? 0;
  const rateIndex = (rates >> 2) & 3;
  const sampleRate = (sampleRates[rateIndex] ?? 0) / { 3: 1, 2: 2, 0: 4 }[version as 0 | 2 | 3];
  const isReservedEmphasis = (last & 3) === 2;
  if (bitRate === 0 || sampleRate === 0 || isReservedEmphasis) return null;
  const bytesPerSecond = bitRate * 125;
  const samples = isVersion1 ? 1152 : 576;
  return {
    length: Math.floor((samples * bytesPerSecond) / sampleRate) + ((rates >> 1) & 1),
    form: (version << 2) | rateIndex,
  };
}

/** The header of an ADTS frame. */
export function readAdtsFrame(bytes: Buffer, at: number): Frame | null {
  if (bytes[at] !== 0xff || at + 7 > bytes.length) return null;
  const [kind, profile, channels] = [bytes.readUInt8(at + 1), bytes.readUInt8(at + 2), bytes.readUInt8(at + 3)];
  if ((kind & 0xf6) !== 0xf0 || ((profile >> 2) & 15) > 12) return null;
  const length = (bytes.readUIntBE(at + 3, 3) >> 5) & 0x1fff;
  const headerSize = kind & 1 ? 7 : 9;
  // The bit left out of the form is the encoder's own.
  return length > headerSize ? { length, form: (kind << 16) | ((profile & 0xfd) << 8) | (channels & 0xc0) } : null;
}

/**
 * The frames of a file without any tag.
 * @throws AudioRefusedError `damaged` when there is no frame
 */
export function cleanFrames(bytes: Buffer, readFrame: ReadFrame): Buffer {
  const frames = collectFrames(cutTrailingTags(bytes), skipLeadingTags(bytes), readFrame);
  if (frames.length === 0) throw new AudioRefusedError('damaged', 'no frame of sound');
  return Buffer.concat(frames);
}

// Frames of sound, without what files put around them.
import { bigEndian, concat } from './audio-tags.ts';

/** Frames of 128 kbit/s, one channel; what follows the header is silence and a pattern that decoders pass over. */
export function makeMp3Frames(count: number, { header = 'fffb90c4', length = 417 } = {}): Buffer {
  return Buffer.concat(
    Array.from({ length: count }, (_, i) =>
      concat(Buffer.from(header, 'hex'), Buffer.alloc(17), Buffer.alloc(length - 21, `p${i}`)),
    ),
  );
}

/** A frame of AAC that sounds of nothing, one channel. */
export const aacSilence = Buffer.from([0x00, 0xc8, 0x00, 0x80, 0x23, 0x80]);

export function makeAdtsFrames(count: number): Buffer {
  const size = 7 + aacSilence.length;
  return Buffer.concat(
    Array(count).fill(concat(Buffer.from([0xff, 0xf1, 0x50, 0x40, size >> 3, ((size & 7) << 5) | 0x1f, 0xfc]), aacSilence)),
  );
}

export function makeAmrFrames(first: number, size: number, count: number): Buffer {
  return Buffer.concat(Array.from({ length: count }, (_, i) => concat(Buffer.from([first]), Buffer.alloc(size - 1, i))));
}

export function makeStreamInfo(): Buffer {
  // 44 100 Hz, one channel, 16 bits, length unknown.
  return concat(bigEndian(192, 2), bigEndian(192, 2), Buffer.alloc(6), Buffer.from('0ac440f000000000', 'hex'), Buffer.alloc(16));
}

/** Frames of 192 samples as they are. */
export function makeFlacFrames(count: number): Buffer[] {
  return Array.from({ length: count }, (_, i) => {
    const header = Buffer.from([0xff, 0xf8, 0x19, 0x08, i]);
    const start = concat(header, bigEndian(sumBits(header, 8, 0x07), 1), Buffer.from([0x02]));
    const samples = Buffer.concat(Array.from({ length: 192 }, (_, n) => bigEndian((n * 40 + i) & 0x7fff, 2)));
    const frame = concat(start, samples);
    return concat(frame, bigEndian(sumBits(frame, 16, 0x8005), 2));
  });
}

// Bit by bit, to have nothing in common with what is tested.
function sumBits(bytes: Buffer, width: number, polynomial: number): number {
  let sum = 0;
  for (const byte of bytes) {
    for (let bit = 7; bit >= 0; bit--) {
      const carry = ((sum >> (width - 1)) & 1) ^ ((byte >> bit) & 1);
      sum = ((sum << 1) & (2 ** width - 1)) ^ (carry ? polynomial : 0);
    }
  }
  return sum;
}

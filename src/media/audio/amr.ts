// AMR and AMR-WB: a line of text, then frames whose first byte tells their length. The format has no place for tags.
import { AudioRefusedError } from './refusal.ts';
import { cutTrailingTags } from './tags.ts';

/** The first line of each kind. */
export const amrHeads = { amr: '#!AMR\n', awb: '#!AMR-WB\n' } as const;

// Bytes of a frame with its first byte, by the type in that byte; 0: no such type.
const frameSizes = {
  amr: [13, 14, 16, 18, 20, 21, 27, 32, 6, 0, 0, 0, 0, 0, 0, 1],
  awb: [18, 24, 33, 37, 41, 47, 51, 59, 61, 6, 0, 0, 0, 0, 1, 1],
};

/**
 * The file up to its last whole frame: what programs for other formats appended is cut off.
 * @throws AudioRefusedError `damaged` when there is no frame
 */
export function cleanAmr(bytes: Buffer, kind: keyof typeof amrHeads): Buffer {
  const untagged = cutTrailingTags(bytes);
  const start = amrHeads[kind].length;
  let at = start;
  for (;;) {
    const size = measureFrame(untagged, at, kind);
    if (size === 0 || at + size > untagged.length) break;
    at += size;
  }
  if (at === start) throw new AudioRefusedError('damaged', 'no frame of sound');
  return Buffer.from(untagged.subarray(0, at));
}

function measureFrame(bytes: Buffer, at: number, kind: keyof typeof amrHeads): number {
  const head = bytes[at];
  const hasPadding = head === undefined || (head & 0x83) !== 0;
  return hasPadding ? 0 : (frameSizes[kind][(head >> 3) & 15] ?? 0);
}

// Where the sound of an MP4 track lies: its sample tables give chunks by offset and samples by size.
import { type Box, requireChild } from './boxes.ts';
import { readBig } from './bytes.ts';
import { AudioRefusedError } from './refusal.ts';

/** Offsets in the file. */
export interface Range {
  start: number;
  end: number;
}

/** Length of one sample and of all; the sizes may be equal for all, then they stand there once. */
interface Sizes {
  count: number;
  sizeOf(sample: number): number;
  equal: number;
}

/**
 * The places of a track's chunks, in the order of the table.
 * @param track a `trak` box
 * @throws AudioRefusedError `damaged` when tables are missing or end too early
 */
export function listSampleRanges(bytes: Buffer, track: Box): Range[] {
  const stbl = ['mdia', 'minf', 'stbl'].reduce((box, type) => requireChild(bytes, box, type), track);
  const sizes = readSizes(bytes, stbl);
  const samplesPerChunk = readRuns(bytes, stbl);
  const ranges: Range[] = [];
  let sample = 0;
  for (const [index, start] of readOffsets(bytes, stbl).entries()) {
    const last = Math.min(sample + samplesPerChunk(index), sizes.count);
    let length = 0;
    if (sizes.equal > 0) length = (last - sample) * sizes.equal;
    else for (let i = sample; i < last; i++) length += sizes.sizeOf(i);
    sample = last;
    ranges.push({ start, end: start + length });
  }
  if (sample < sizes.count) throw new AudioRefusedError('damaged', 'samples without a chunk');
  return ranges;
}

function readSizes(bytes: Buffer, stbl: Box): Sizes {
  const box = requireChild(bytes, stbl, 'stsz', 'stz2');
  const count = readBig(bytes, box.content + 8, 4);
  const table = box.content + 12;
  const isFixed = box.type === 'stsz';
  const equal = isFixed ? readBig(bytes, box.content + 4, 4) : 0;
  const bits = isFixed ? 32 : readBig(bytes, box.content + 7, 1);
  if (![4, 8, 16, 32].includes(bits)) throw new AudioRefusedError('damaged', 'sizes of no known width');
  if (equal === 0) requireTable(box, table + Math.ceil((count * bits) / 8));
  const sizeOf = (sample: number) => {
    if (bits !== 4) return readBig(bytes, table + (sample * bits) / 8, bits / 8);
    const pair = readBig(bytes, table + (sample >> 1), 1);
    return sample % 2 === 0 ? pair >> 4 : pair & 15;
  };
  return { count, sizeOf, equal };
}

// Runs of chunks with equally many samples, by the number of the first chunk, counted from 1.
function readRuns(bytes: Buffer, stbl: Box): (chunk: number) => number {
  const box = requireChild(bytes, stbl, 'stsc');
  const count = readBig(bytes, box.content + 4, 4);
  const table = box.content + 8;
  requireTable(box, table + count * 12);
  let run = 0;
  return (chunk) => {
    while (run < count && readBig(bytes, table + run * 12, 4) <= chunk + 1) run++;
    return run === 0 ? 0 : readBig(bytes, table + (run - 1) * 12 + 4, 4);
  };
}

function readOffsets(bytes: Buffer, stbl: Box): number[] {
  const box = requireChild(bytes, stbl, 'stco', 'co64');
  const count = readBig(bytes, box.content + 4, 4);
  const width = box.type === 'stco' ? 4 : 8;
  requireTable(box, box.content + 8 + count * width);
  // The upper half of a long offset is zero in any file that fits.
  return Array.from({ length: count }, (_, i) => readBig(bytes, box.content + 8 + i * width + width - 4, 4));
}

function requireTable(box: Box, end: number): void {
  if (end > box.end) throw new AudioRefusedError('damaged', 'a table is broken off');
}

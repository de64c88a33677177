// MP4, M4A, 3GP, QuickTime: a tree of boxes. Nothing moves, because sample tables point into the file by offset: what tells
// something becomes a `free` box of the same length, filled with zeros. Kept is what the tree below names, not what a list
// of known tags leaves over.
import { type Box, listBoxes, listTopBoxes, readBox, requireChild } from './boxes.ts';
import { hasText, readBig } from './bytes.ts';
import { listSampleRanges } from './mp4-samples.ts';
import { AudioRefusedError } from './refusal.ts';
import { cutTrailingTags } from './tags.ts';

/** What to do with a box: leave it, look into it, or change it. */
type Rule = 'keep' | ((bytes: Buffer, box: Box) => void) | Rules;

interface Rules {
  [type: string]: Rule;
}

const sampleEntries = new Set(['mp4a', 'alac', 'samr', 'sawb', 'sawp', 'Opus', 'fLaC']);

// Of a sample entry, what the decoder needs to know. QuickTime repeats some of it in `wave`, which does not hold another.
const extensions = new Set(['esds', 'damr', 'alac', 'dOps', 'dfLa', 'chan', 'btrt', 'wave']);
const extensionsOfWave = new Set(['esds', 'damr', 'alac', 'chan', 'frma', 'enda', 'mp4a', 'samr', 'sawb']);

const keepAll = (...types: string[]): Rules => Object.fromEntries(types.map((type) => [type, 'keep']));
const stbl: Rule = {
  stsd: cleanDescriptions,
  ...keepAll('stts', 'ctts', 'cslg', 'stsc', 'stsz', 'stz2', 'stco', 'co64', 'stss', 'sgpd', 'sbgp'),
};
const trak: Rule = {
  tkhd: blankTimes,
  edts: { elst: 'keep' },
  mdia: {
    mdhd: blankTimes,
    hdlr: blankName,
    minf: { smhd: 'keep', dinf: { dref: requireOwnData }, stbl },
  },
};
const file: Rules = {
  ...keepAll('ftyp', 'styp', 'sidx', 'mdat'),
  moov: { mvhd: blankTimes, trak, mvex: { mehd: 'keep', trex: 'keep' } },
  moof: { mfhd: 'keep', traf: keepAll('tfhd', 'tfdt', 'trun', 'sgpd', 'sbgp') },
  mfra: { tfra: 'keep', mfro: 'keep' },
};

/**
 * The file with every box blanked that isn't needed to play its sound: `udta`, `meta`, `uuid`, `free`, tracks of texts and
 * places and of codecs that few players know, and the bytes of `mdat` that belong to no sound. Times of recording and names of
 * handlers become zero. What is no box ends the file.
 * @throws AudioRefusedError `video` when it has a picture track (also one of still pictures), `damaged` when tracks or samples don't fit
 * into the file, `unsupported` for forms that can't be followed to their samples
 */
export function cleanMp4(bytes: Buffer): Buffer {
  const untagged = cutTrailingTags(bytes);
  const boxes = listTopBoxes(untagged);
  const cleaned = Buffer.from(untagged.subarray(0, boxes.at(-1)?.end));
  const [moov, second] = boxes.filter(({ type }) => type === 'moov');
  if (!moov || second || !boxes.some(({ type }) => type === 'mdat'))
    throw new AudioRefusedError('damaged', 'not one list of tracks, or no media data');
  const children = listBoxes(cleaned, moov.content, moov.end);
  const tracks = children.filter(({ type }) => type === 'trak').map((box) => ({ box, handler: readHandler(cleaned, box) }));
  if (tracks.some(({ handler }) => handler === 'vide')) throw new AudioRefusedError('video', 'a picture track');
  const heard = tracks.filter(({ handler }) => handler === 'soun').map(({ box }) => box);
  if (heard.length === 0) throw new AudioRefusedError('damaged', 'no sound track');
  // An iPhone records in AAC, and beside it in a codec for sound in space.
  const sounds = heard.filter((track) => isPlayable(cleaned, track));
  if (sounds.length === 0) throw new AudioRefusedError('unsupported', 'another codec in MP4');
  const others = tracks.map(({ box }) => box).filter((box) => !sounds.includes(box));
  if (children.some(({ type }) => type === 'mvex')) {
    // The samples of fragments are told apart by their fragments alone, which fill the file: one of a wrong length would swallow others.
    if (others.length > 0) throw new AudioRefusedError('unsupported', 'fragments of several kinds');
    if (cleaned.length < untagged.length) throw new AudioRefusedError('damaged', 'a fragment does not fit');
    if (boxes.some((box) => box.type === 'mdat' && readBig(cleaned, box.start, 4) === 0))
      throw new AudioRefusedError('unsupported', 'a fragment without an end');
  } else {
    blankUnused(cleaned, boxes, sounds);
  }
  for (const box of others) blankBox(cleaned, box);
  applyRules(cleaned, boxes, file);
  return cleaned;
}

function readHandler(bytes: Buffer, track: Box): string {
  const { content, end } = requireChild(bytes, requireChild(bytes, track, 'mdia'), 'hdlr');
  return bytes.toString('latin1', content + 8, Math.min(content + 12, end));
}

function isPlayable(bytes: Buffer, track: Box): boolean {
  const { content, end } = ['mdia', 'minf', 'stbl', 'stsd'].reduce((box, type) => requireChild(bytes, box, type), track);
  return listBoxes(bytes, content + 8, end).every(({ type }) => sampleEntries.has(type));
}

function applyRules(bytes: Buffer, boxes: Box[], rules: Rules): void {
  for (const box of boxes) {
    const rule = Object.hasOwn(rules, box.type) ? rules[box.type] : undefined;
    if (rule === undefined) blankBox(bytes, box);
    else if (typeof rule === 'function') rule(bytes, box);
    else if (rule !== 'keep') applyRules(bytes, listBoxes(bytes, box.content, box.end), rule);
  }
}

function blankBox(bytes: Buffer, { start, content, end }: Box): void {
  bytes.write('free', start + 4, 'latin1');
  bytes.fill(0, content, end);
}

// Zero everything in the media data that no sample of the sounds covers.
function blankUnused(bytes: Buffer, boxes: Box[], sounds: Box[]): void {
  const data = boxes.filter(({ type }) => type === 'mdat');
  const ranges = sounds
    .flatMap((track) => listSampleRanges(bytes, track))
    .filter(({ start, end }) => end > start)
    .sort((a, b) => a.start - b.start);
  let next = 0;
  for (const { content, end } of data) {
    let at = content;
    for (let range = ranges[next]; range && range.start < end; range = ranges[++next]) {
      if (range.start < content || range.end > end) throw new AudioRefusedError('damaged', 'a sample outside of the media data');
      bytes.fill(0, at, range.start);
      at = Math.max(at, range.end);
    }
    bytes.fill(0, at, end);
  }
  if (ranges.length === 0 || next < ranges.length) throw new AudioRefusedError('damaged', 'samples outside of the media data');
}

// Version and flags, then creation and change, of 4 bytes each or (version 1) of 8.
function blankTimes(bytes: Buffer, { content, end }: Box): void {
  const size = readBig(bytes, content, 1) === 1 ? 16 : 8;
  bytes.fill(0, content + 4, Math.min(content + 4 + size, end));
}

// Behind the handler's type: three numbers and a name, which some programs fill with their user's.
function blankName(bytes: Buffer, { content, end }: Box): void {
  bytes.fill(0, content + 12, end);
}

// An entry with anything but its flag names a file elsewhere.
function requireOwnData(bytes: Buffer, { content, end }: Box): void {
  for (const entry of listBoxes(bytes, content + 8, end)) {
    if (entry.end - entry.start !== 12 || readBig(bytes, entry.content, 4) !== 1)
      throw new AudioRefusedError('unsupported', 'sound in another file');
  }
}

function cleanDescriptions(bytes: Buffer, { content, end }: Box): void {
  // Version 1 of this box, as ISO has it, changes what version 1 of an entry means.
  const isIso = readBig(bytes, content, 1) === 1;
  for (const entry of listBoxes(bytes, content + 8, end)) {
    const version = readBig(bytes, entry.content + 8, 2);
    const extra = version === 2 ? 36 : version === 1 && !isIso ? 16 : 0;
    cleanExtensions(bytes, entry.content + 28 + extra, entry.end, extensions);
  }
}

function cleanExtensions(bytes: Buffer, start: number, end: number, kept: ReadonlySet<string>): void {
  let at = start;
  // QuickTime ends the list with a zero in place of a box.
  while (at + 8 <= end && readBig(bytes, at, 4) !== 0) {
    const box = readBox(bytes, at, end);
    if (!kept.has(box.type)) blankBox(bytes, box);
    else if (box.type === 'wave') cleanExtensions(bytes, box.content, box.end, extensionsOfWave);
    else if (box.type === 'dfLa') blankFlacBlocks(bytes, box);
    at = box.end;
  }
  bytes.fill(0, at, end);
}

// The blocks of a FLAC file: all but the first become padding.
function blankFlacBlocks(bytes: Buffer, { content, end }: Box): void {
  const padding = 1;
  for (let at = content + 4; at < end; ) {
    const [kind, size] = [readBig(bytes, at, 1), readBig(bytes, at + 1, 3)];
    if (at + 4 + size > end) throw new AudioRefusedError('damaged', 'a block does not fit');
    if (kind % 0x80 !== 0) {
      bytes.writeUInt8((kind & 0x80) | padding, at);
      bytes.fill(0, at + 4, at + 4 + size);
    }
    at += 4 + size;
  }
}

/** Whether the file begins as all of this family do. */
export function isMp4(bytes: Buffer): boolean {
  return hasText(bytes, 4, 'ftyp');
}

// Files that nobody wrote on purpose: valid ones changed at random places, and megabytes made to be slow. Either a refusal or
// a file without the planted texts, nothing else. The seed is fixed: a failure repeats.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AudioRefusedError } from '../../src/media/audio/refusal.ts';
import { type AudioKind, cleanAudio } from '../../src/media/audio.ts';
import { audioKinds, makeAudio, makeWav, riffChunk } from '../support/audio.ts';
import { makeAdtsFrames, makeFlacFrames, makeMp3Frames } from '../support/audio-frames.ts';
import { box, makeMp4, makeScatteredMp4, sampleEntry } from '../support/audio-mp4.ts';
import { makeOgg, sumOggPage } from '../support/audio-ogg.ts';
import { concat, makeApe, makeId3v1, makeId3v2, makeLyrics, planted } from '../support/audio-tags.ts';
import { makeDice } from '../support/dice.ts';

const runsPerFile = Number(process.env.EIGENSCHAFT_ANFRAGEN ?? 1000);

// One change at a time, and nothing inserted: two could plant the texts in the sound itself (a longer last frame before a tag
// without its mark). For the same reason only formats that sum their sound get holes.
function mutate(kind: AudioKind, file: Buffer, random: () => number): Buffer {
  const at = Math.floor(random() * file.length);
  const below = (limit: number) => Math.floor(random() * limit);
  const changed = Buffer.from(file);
  switch (below(kind === 'oga' || kind === 'flac' ? 6 : 5)) {
    case 0:
      return changed.subarray(0, at);
    case 1:
      changed.writeUInt8(file.readUInt8(at) ^ (1 << below(8)), at);
      return changed;
    case 2:
      return changed.fill([0, 0xff, 0x7f, 1][below(4)] ?? 0, at, Math.min(at + 1 + below(4), file.length));
    case 3:
      return changed.fill(Buffer.from(Array.from({ length: 8 }, () => below(256))), at, Math.min(at + 8, file.length));
    case 4: {
      // Where a format has its lengths and types: among the first bytes.
      const early = below(Math.min(file.length, 120));
      changed.writeUInt8(below(256), early);
      return changed;
    }
    default:
      return concat(file.subarray(0, at), file.subarray(at + 1 + below(200)));
  }
}

// Else every change of an Ogg file would end at the check sum.
function repairOgg(file: Buffer): Buffer {
  const starts: number[] = [];
  for (let at = file.indexOf('OggS'); at >= 0; at = file.indexOf('OggS', at + 1)) starts.push(at);
  for (const [i, start] of starts.entries()) {
    const page = file.subarray(start, starts[i + 1] ?? file.length);
    if (page.length >= 27) sumOggPage(page);
  }
  return file;
}

/** What is stored of a file, or null when it is refused; every other error is a fault. */
function cleanOrRefuse(file: Buffer): Buffer | null {
  try {
    return Buffer.from(cleanAudio(file).bytes);
  } catch (error) {
    if (!(error instanceof AudioRefusedError)) throw error;
    return null;
  }
}

const files: [what: string, kind: AudioKind, file: Buffer][] = [
  ...audioKinds.map((kind): [string, AudioKind, Buffer] => [kind, kind, makeAudio(kind, { tags: true })]),
  [
    'mp3 with all tags',
    'mp3',
    concat(makeId3v2({ picture: 300 }), makeMp3Frames(5), makeLyrics(), makeApe(), makeId3v1({ extended: true })),
  ],
  ['wav with chunks', 'wav', makeWav({ tags: true, before: [riffChunk('bext', Buffer.from(planted.join()))] })],
  ['m4a, tracks first', 'm4a', makeMp4({ tags: true, order: 'tracks first', long: true })],
  ['m4a, open end', 'm4a', makeMp4({ tags: true, order: 'open end' })],
  ['m4a, fragments', 'm4a', makeMp4({ tags: true, fragmented: true })],
  ['vorbis', 'oga', makeOgg({ tags: true, codec: 'vorbis' })],
  ['speex', 'oga', makeOgg({ tags: true, codec: 'speex' })],
  ['flac in ogg', 'oga', makeOgg({ tags: true, codec: 'flac' })],
];

describe('changed at random', () => {
  for (const [what, kind, file] of files) {
    it(what, () => {
      const random = makeDice(4).roll;
      let [accepted, refused] = [0, 0];
      for (let run = 0; run < runsPerFile; run++) {
        let changed = mutate(kind, file, random);
        if (kind === 'oga' && random() < 0.8) changed = repairOgg(Buffer.from(changed));
        const bytes = cleanOrRefuse(changed);
        if (bytes) accepted++;
        else refused++;
        const left = planted.filter((text) => bytes?.includes(text));
        assert.deepEqual(left, [], `run ${run}`);
      }
      assert.ok(accepted > 20 && refused > 20, `both happen: ${accepted} accepted, ${refused} refused`);
    });
  }
});

describe('random bytes behind each beginning', () => {
  for (const [what, , file] of files) {
    it(what, () => {
      const random = makeDice(5).roll;
      for (let run = 0; run < 300; run++) {
        const start = Math.floor(random() * Math.min(file.length, 200));
        const noise = Buffer.from(Array.from({ length: 300 }, () => Math.floor(random() * 256)));
        cleanOrRefuse(concat(file.subarray(0, start), noise));
      }
    });
  }
});

describe('a mebibyte made to be slow is answered', () => {
  const size = 1_048_576;
  const filled = (head: Buffer | string, pattern: Buffer | string) => {
    const begin = Buffer.from(head as string, 'latin1');
    return concat(begin, Buffer.alloc(size - begin.length, pattern as string, 'latin1'));
  };
  const nest = (type: string, depth: number) => {
    const nested = Buffer.alloc(depth * 8);
    for (let i = 0; i < depth; i++) nested.writeUInt32BE((depth - i) * 8, i * 8) && nested.write(type, i * 8 + 4, 'latin1');
    return nested;
  };
  const flacFrame = makeFlacFrames(1)[0] ?? Buffer.alloc(0);
  const rows: [string, Buffer][] = [
    ['sync bytes', filled(makeId3v2(), Buffer.from([0xff]))],
    ['headers of MP3 out of step', filled(makeId3v2(), Buffer.from('fffb90c400', 'hex'))],
    ['headers of ADTS out of step', filled(makeAdtsFrames(2), Buffer.from('fff15040017ffc00', 'hex'))],
    ['empty ID3 tags', filled('', 'ID3\x04\0\0\0\0\0\0')],
    ['begins of ID3', filled(makeMp3Frames(2), 'ID3')],
    ['ends of Lyrics3', filled(makeMp3Frames(2), 'LYRICSEND')],
    ['empty Lyrics3', filled(makeMp3Frames(2), 'LYRICSBEGINLYRICSEND')],
    ['footers of APE', filled(makeMp3Frames(2), makeApe({ version: 1000 }).subarray(-32))],
    ['old tags', filled(makeMp3Frames(2), makeId3v1())],
    ['empty frames of AMR', filled('#!AMR\n', Buffer.from([0x7c]))],
    ['empty chunks', filled('RIFF\0\0\x10\0WAVE', 'junk\0\0\0\0')],
    ['empty blocks of FLAC', filled(makeAudio('flac').subarray(0, 4), Buffer.from([1, 0, 0, 0]))],
    ['zeros behind a frame of FLAC', filled(concat(makeAudio('flac').subarray(0, 42), flacFrame), Buffer.alloc(1))],
    ['headers of FLAC frames', filled(makeAudio('flac').subarray(0, 42), flacFrame.subarray(0, 6))],
    ['begins of pages', filled(makeOgg(), 'OggS')],
    ['empty pages', filled('', sumOggPage(concat('OggS\0\x02', Buffer.alloc(21))))],
    ['pages of empty packets', filled(makeOgg({ codec: 'flac' }).subarray(0, 79), emptyPackets())],
    ['recordings whose comment has no bytes', shortOggs()],
    ['empty boxes', filled(box('ftyp'), box('free'))],
    ['empty boxes behind a file', filled(makeMp4(), box('free'))],
    ['nested boxes', concat(box('ftyp'), box('mdat'), nest('moov', 130_000))],
    ['nested descriptions', makeMp4({ entry: sampleEntry('mp4a', nest('wave', 130_000)) })],
    ['chunks in no order', makeScatteredMp4()],
    ['empty tracks', concat(box('ftyp'), box('mdat'), box('moov', Buffer.alloc(1_000_000, box('trak'))))],
  ];
  for (const [what, file] of rows) {
    it(what, () => {
      const bytes = cleanOrRefuse(file);
      assert.ok(!bytes || bytes.length <= file.length, `${bytes?.length} of ${file.length} bytes`);
    });
  }
});

function emptyPackets(): Buffer {
  const page = concat('OggS\0\0', Buffer.alloc(20), Buffer.from([255]), Buffer.alloc(255));
  page.writeUInt32LE(77, 14);
  return sumOggPage(page);
}

// One behind the other, of which each gets a comment that is longer than its own.
function shortOggs(): Buffer {
  const head = Buffer.from('OpusHead\x01\x01\0\0\0\0\0\0\0\0\0', 'latin1');
  const pages = [head, Buffer.from('OpusTags'), Buffer.from('x')].map((packet, i) => {
    const page = concat('OggS', Buffer.alloc(22), Buffer.from([1, packet.length]), packet);
    page.writeUInt8(i === 0 ? 2 : 0, 5);
    return sumOggPage(page);
  });
  const recording = Buffer.concat(pages);
  return Buffer.alloc(Math.floor(1_048_576 / recording.length) * recording.length, recording);
}

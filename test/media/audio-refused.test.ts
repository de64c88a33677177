// Uploads that are no audio, or such that can't be freed of what they tell: each with its reason.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { AudioRefusedError, type RefusalReason } from '../../src/media/audio/refusal.ts';
import { cleanAudio } from '../../src/media/audio.ts';
import { flacBlock, makeFlac, makeWav, riffChunk, wavSound } from '../support/audio.ts';
import { makeFlacFrames, makeMp3Frames } from '../support/audio-frames.ts';
import { box, makeMp4, sampleEntry } from '../support/audio-mp4.ts';
import { makeOgg, sumOggPage } from '../support/audio-ogg.ts';
import { littleEndian, makeId3v2, planted } from '../support/audio-tags.ts';

const note = Buffer.from(planted.join());
const wav = makeWav();

/** The file with other bytes in one place. */
function change(file: Buffer, at: number, bytes: Buffer): Buffer {
  assert.ok(at > 0 && at + bytes.length <= file.length);
  const changed = Buffer.from(file);
  bytes.copy(changed, at);
  return changed;
}

const firstOggPage = (content: string) =>
  sumOggPage(
    Buffer.concat([
      Buffer.from('OggS\0\x02'),
      Buffer.alloc(20),
      Buffer.from([1, content.length]),
      Buffer.from(content, 'latin1'),
    ]),
  );

const headOf = (ogg: Buffer, pages: number) => {
  let end = 0;
  for (let page = 0; page <= pages; page++) end = ogg.indexOf('OggS', end + (page > 0 ? 1 : 0));
  return ogg.subarray(0, end);
};

const announceHeaders = (speex: Buffer) => {
  const first = headOf(speex, 1);
  return Buffer.concat([sumOggPage(change(first, 28 + 68, Buffer.from([1]))), speex.subarray(first.length)]);
};

const otherFiles: [what: string, bytes: Buffer][] = [
  ['PNG', Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')],
  ['JPEG', Buffer.from('ffd8ffe000104a46494600010100', 'hex')],
  ...[
    ...['<html>', '<svg/>', 'GIF89a', '%PDF-1.7', 'MZ', 'PK\x03\x04', '\0\0\0', '\xff', 'RIFF', 'ADIF\0\0\0\0'],
    ...['FORM\0\0\0\0AIFF', '#!AMR_MC1.0\n'],
  ].map((text): [string, Buffer] => [JSON.stringify(text), Buffer.from(text, 'latin1')]),
  ['zeros', Buffer.alloc(900)],
  [
    'UTF-16 text, which begins like layer I',
    Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('Notiz'.repeat(90), 'utf16le')]),
  ],
  ['a frame of MP3 that no other follows', Buffer.concat([makeMp3Frames(1), note])],
  ['MP2', makeMp3Frames(5, { header: 'fffd90c4' })],
  ['RF64', Buffer.concat([Buffer.from('RF64'), wav.subarray(4)])],
  ['AVI', change(wav, 8, Buffer.from('AVI '))],
];

const damaged: [what: string, bytes: Buffer][] = [
  ['ID3 without sound', makeId3v2()],
  ['ID3 that reaches beyond the end', Buffer.concat([Buffer.from('ID3\x04\0\0\x7f\x7f\x7f\x7f', 'latin1'), makeMp3Frames(3)])],
  ['AMR without sound', Buffer.from('#!AMR\n')],
  ['AMR with text for sound', Buffer.from('#!AMR-WB\nErika')],
  ['WAV that is broken off', wav.subarray(0, -100)],
  ['WAV without sound', riffChunk('RIFF', Buffer.concat([Buffer.from('WAVE'), wav.subarray(12, 36)]))],
  ['WAV without a format', riffChunk('RIFF', Buffer.concat([Buffer.from('WAVE'), riffChunk('data', wavSound)]))],
  ['WAV whose format is too short', makeWav({ format: Buffer.from([1, 0, 1, 0]) })],
  [
    'WAV whose sound swallows a part of the next chunk',
    change(makeWav({ tags: true }), makeWav({ tags: true }).indexOf('data') + 4, littleEndian(wavSound.length + 30, 4)),
  ],
  ['FLAC without frames', makeFlac().subarray(0, 42)],
  ['FLAC without stream info', Buffer.concat([Buffer.from('fLaC'), flacBlock(4, note, true), ...makeFlacFrames(3)])],
  ['FLAC whose only frame is broken', change(makeFlac().subarray(0, 435), 300, Buffer.from('xxx'))],
  ['FLAC with a long rest that is no frame', Buffer.concat([makeFlac(), Buffer.alloc(70_000, 'x')])],
  ['Ogg with a broken page', change(makeOgg(), makeOgg().length - 3, Buffer.from('xxx'))],
  ['Ogg without sound', headOf(makeOgg(), 2)],
  ['Ogg without comments', headOf(makeOgg(), 1)],
  ['Ogg with text between pages', Buffer.concat([makeOgg(), note, makeOgg()])],
  ['Ogg of version 1', change(makeOgg(), 4, Buffer.from([1]))],
  [
    'MP4 of pictures alone (HEIC)',
    Buffer.concat([box('ftyp', Buffer.from('heic')), box('meta', Buffer.alloc(40)), box('mdat', note)]),
  ],
  ['MP4 that is broken off', makeMp4({ order: 'tracks first' }).subarray(0, -20)],
  ['MP4 without tracks', Buffer.concat([box('ftyp'), box('moov'), box('mdat', note)])],
  ['MP4 without media data', Buffer.concat([box('ftyp'), box('moov')])],
  ['MP4 with two lists of tracks', Buffer.concat([makeMp4(), box('moov')])],
  ['MP4 with a sample outside of the media data', change(makeMp4(), makeMp4().indexOf('stco') + 12, Buffer.from([0, 0, 0, 9]))],
  ['MP4 with a table that is too long', change(makeMp4(), makeMp4().indexOf('stsz') + 12, Buffer.from([0x7f, 0, 0, 0]))],
  [
    'MP4 with a box of gigabytes',
    change(makeMp4({ long: true }), makeMp4({ long: true }).indexOf('mdat') + 4, Buffer.from([0, 0, 0, 1])),
  ],
];

const unsupported: [what: string, bytes: Buffer][] = [
  ['WAV with MP3 inside', makeWav({ format: Buffer.concat([littleEndian(0x55, 2), Buffer.alloc(28)]) })],
  [
    'Ogg with streams side by side',
    Buffer.concat([headOf(makeOgg(), 1), makeOgg({ serial: 9 }).subarray(headOf(makeOgg(), 1).length)]),
  ],
  ['Ogg with another codec', firstOggPage('fishead\0')],
  ['Speex with further headers', announceHeaders(makeOgg({ codec: 'speex' }))],
  ['MP4 with fragments of several kinds', makeMp4({ fragmented: true, secondTrack: 'text' })],
  ['MP4 with an encrypted codec', makeMp4({ entry: sampleEntry('enca') })],
  ['MP4 with its sound elsewhere', change(makeMp4(), makeMp4().indexOf('url ') + 4, Buffer.alloc(4))],
];

const cases: [RefusalReason, [what: string, bytes: Buffer][]][] = [
  ['empty', [['no bytes', Buffer.alloc(0)]]],
  ['unknown', otherFiles],
  ['damaged', damaged],
  ['unsupported', unsupported],
  [
    'video',
    [
      ['MP4 with pictures', makeMp4({ secondTrack: 'vide' })],
      ['Ogg with Theora', firstOggPage('\x80theora')],
    ],
  ],
];

for (const [reason, files] of cases) {
  for (const [what, bytes] of files) {
    it(`${reason}: ${what}`, () => {
      assert.throws(
        () => cleanAudio(bytes),
        (error) => {
          assert.ok(error instanceof AudioRefusedError, String(error));
          assert.equal(error.reason, reason, error.message);
          assert.equal(error.code, 'AUDIO_REFUSED');
          assert.ok(!planted.some((text) => error.message.includes(text)));
          return true;
        },
      );
    });
  }
}

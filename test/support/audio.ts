// Small audio files, built byte by byte: one second or less of silence or of a pattern, that players play.
import type { AudioKind } from '../../src/media/audio.ts';
import { makeAdtsFrames, makeAmrFrames, makeFlacFrames, makeMp3Frames, makeStreamInfo } from './audio-frames.ts';
import { makeMp4 } from './audio-mp4.ts';
import { makeOgg } from './audio-ogg.ts';
import { bigEndian, concat, littleEndian, makeApe, makeId3v1, makeId3v2, makeVorbisComment, planted } from './audio-tags.ts';

export const audioKinds: readonly AudioKind[] = ['mp3', 'wav', 'aac', 'amr', 'awb', 'm4a', 'oga', 'flac'];

/**
 * A file of this kind.
 * @param tags whether it tells the planted place and name in the usual tags of its kind; without, it is as cleaning leaves it
 */
export function makeAudio(kind: AudioKind, { tags = false } = {}): Buffer {
  const [before, after] = tags ? [[makeId3v2()], [makeApe(), makeId3v1()]] : [[], []];
  switch (kind) {
    case 'mp3':
      return concat(...before, makeMp3Frames(20), ...after);
    case 'aac':
      return concat(...before, makeAdtsFrames(30), ...after);
    case 'amr':
      return concat('#!AMR\n', makeAmrFrames(0x3c, 32, 30), ...after);
    case 'awb':
      return concat('#!AMR-WB\n', makeAmrFrames(0x44, 61, 30), ...after);
    case 'wav':
      return makeWav({ tags });
    case 'flac':
      return concat(...before, makeFlac({ tags }), ...after);
    case 'oga':
      return makeOgg({ tags });
    case 'm4a':
      return makeMp4({ tags });
  }
}

export function riffChunk(id: string, content: Buffer): Buffer {
  return concat(Buffer.from(id), littleEndian(content.length, 4), content, Buffer.alloc(content.length % 2));
}

const pcm = Buffer.concat(
  [1, 1]
    .map((n) => littleEndian(n, 2))
    .concat(
      [8_000, 16_000].map((n) => littleEndian(n, 4)),
      [2, 16].map((n) => littleEndian(n, 2)),
    ),
);

export interface WavOptions {
  tags?: boolean;
  format?: Buffer;
  /** Chunks in front of and behind the sound. */
  before?: Buffer[];
  after?: Buffer[];
}

export const wavSound = Buffer.from(Int16Array.from({ length: 800 }, (_, i) => 8_000 * Math.sin(i / 5)).buffer);

export function makeWav({ tags = false, format = pcm, before = [], after = [] }: WavOptions = {}): Buffer {
  const list = riffChunk(
    'LIST',
    concat('INFO', riffChunk('IART', Buffer.from(planted[1])), riffChunk('ICMT', Buffer.from(planted[0]))),
  );
  const tagged = tags ? [riffChunk('id3 ', makeId3v2()), riffChunk('iXML', Buffer.from(planted.join()))] : [];
  return riffChunk(
    'RIFF',
    concat(
      'WAVE',
      riffChunk('fmt ', format),
      ...before,
      ...(tags ? [list] : []),
      riffChunk('data', wavSound),
      ...after,
      ...tagged,
    ),
  );
}

export function flacBlock(type: number, content: Buffer, isLast = false): Buffer {
  return concat(Buffer.from([type | (isLast ? 0x80 : 0)]), bigEndian(content.length, 3), content);
}

export function makeFlac({ tags = false } = {}): Buffer {
  const note = Buffer.from(planted.join());
  const blocks = tags
    ? [
        flacBlock(0, makeStreamInfo()),
        flacBlock(4, makeVorbisComment()),
        flacBlock(6, note),
        flacBlock(2, concat('riff', note)),
        flacBlock(5, note),
        flacBlock(3, Buffer.alloc(18)),
        flacBlock(1, note, true),
      ]
    : [flacBlock(0, makeStreamInfo(), true)];
  return concat('fLaC', ...blocks, ...makeFlacFrames(20));
}

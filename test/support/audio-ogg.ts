// Ogg files of the four codecs. Opus and FLAC can be played; Vorbis and Speex have the right headers around invented sound.
import { makeFlacFrames, makeStreamInfo } from './audio-frames.ts';
import { bigEndian, concat, littleEndian, makeVorbisComment } from './audio-tags.ts';

export type OggCodec = 'opus' | 'vorbis' | 'speex' | 'flac';

export interface OggOptions {
  tags?: boolean;
  codec?: OggCodec;
  /** Bytes of a picture among the comments: with more than 65 000 they take several pages. */
  picture?: number;
  serial?: number;
  /** Bytes of Vorbis' set-up. */
  setup?: number;
  /** Which page of sound says that it is the last, counted from the end; none when there is no such page. */
  endFlag?: number;
}

interface Parts {
  first: Buffer;
  /** Those with and those without comments. */
  headers: (comment: Buffer) => Buffer[];
  sound: Buffer[];
}

const emptyComment = Buffer.alloc(8);
const opusSilence = Buffer.from([0xf8, 0xff, 0xfe]);

function partsOf(codec: OggCodec, tags: boolean, setup: number): Parts {
  switch (codec) {
    case 'opus':
      return {
        first: concat('OpusHead\x01\x01', littleEndian(0, 2), littleEndian(48_000, 4), Buffer.alloc(3)),
        headers: (comment) => [concat('OpusTags', comment)],
        sound: Array(50).fill(opusSilence),
      };
    case 'vorbis':
      return {
        first: concat(
          '\x01vorbis',
          Buffer.alloc(4),
          Buffer.from([1]),
          littleEndian(44_100, 4),
          Buffer.alloc(12),
          Buffer.from([0xb8, 1]),
        ),
        headers: (comment) => [
          concat('\x03vorbis', comment, Buffer.from([1])),
          concat('\x05vorbis', Buffer.alloc(setup, 'setup')),
        ],
        sound: Array.from({ length: 20 }, (_, i) => Buffer.alloc(90, `sound ${i}`)),
      };
    case 'speex':
      return {
        first: concat(
          Buffer.from('Speex   1.2'.padEnd(28, '\0')),
          littleEndian(1, 4),
          littleEndian(80, 4),
          littleEndian(8_000, 4),
          Buffer.alloc(40),
        ),
        headers: (comment) => [comment],
        sound: Array.from({ length: 20 }, (_, i) => Buffer.alloc(38, `speex ${i}`)),
      };
    case 'flac':
      return {
        first: concat('\x7fFLAC\x01\x00', bigEndian(tags ? 2 : 1, 2), 'fLaC', Buffer.from([0, 0, 0, 34]), makeStreamInfo()),
        headers: (comment) => [
          concat(Buffer.from([tags ? 4 : 0x84]), bigEndian(comment.length, 3), comment),
          ...(tags ? [concat(Buffer.from([0x86]), bigEndian(comment.length, 3), comment)] : []),
        ],
        sound: makeFlacFrames(5),
      };
  }
}

export function makeOgg({
  tags = false,
  codec = 'opus',
  picture = 0,
  serial = 77,
  setup = 700,
  endFlag = 0,
}: OggOptions = {}): Buffer {
  const { first, headers, sound } = partsOf(codec, tags, setup);
  const heads = [...paginate([first]), ...paginate(headers(tags ? makeVorbisComment({ picture }) : emptyComment))];
  const pages = [...heads, ...sound.flatMap((packet) => paginate([packet]))];
  return Buffer.concat(
    pages.map(({ lacing, body, continued }, i) => {
      const isLast = i === pages.length - 1 - endFlag;
      const flags = (continued ? 1 : 0) | (i === 0 ? 2 : 0) | (isLast ? 4 : 0);
      const granule = lacing.every((size) => size === 255)
        ? Buffer.alloc(8, 0xff)
        : littleEndian(Math.max(0, i + 1 - heads.length) * 960, 6);
      const page = concat(
        'OggS\0',
        Buffer.from([flags]),
        concat(granule, Buffer.alloc(8 - granule.length)),
        littleEndian(serial, 4),
        littleEndian(i, 4),
        Buffer.alloc(4),
        Buffer.from([lacing.length, ...lacing]),
        body,
      );
      return sumOggPage(page);
    }),
  );
}

interface PagePart {
  lacing: number[];
  body: Buffer;
  continued: boolean;
}

function paginate(packets: Buffer[]): PagePart[] {
  const segments = packets.flatMap((packet) =>
    Array.from({ length: Math.floor(packet.length / 255) + 1 }, (_, i) => packet.subarray(i * 255, i * 255 + 255)),
  );
  return Array.from({ length: Math.ceil(segments.length / 255) }, (_, i) => {
    const part = segments.slice(i * 255, i * 255 + 255);
    return {
      lacing: part.map(({ length }) => length),
      body: Buffer.concat(part),
      continued: segments[i * 255 - 1]?.length === 255,
    };
  });
}

/** The page with its check sum set. Bit by bit, to have nothing in common with what is tested. */
export function sumOggPage(page: Buffer): Buffer {
  page.writeUInt32LE(0, 22);
  let sum = 0n;
  for (const byte of page) {
    for (let bit = 7; bit >= 0; bit--) {
      const carry = ((sum >> 31n) & 1n) ^ BigInt((byte >> bit) & 1);
      sum = ((sum << 1n) & 0xffff_ffffn) ^ (carry ? 0x04c1_1db7n : 0n);
    }
  }
  page.writeUInt32LE(Number(sum), 22);
  return page;
}

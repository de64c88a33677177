// MP4 files of one second of silence in AAC, with tags in every place that phones and programs use.
import { aacSilence } from './audio-frames.ts';
import { bigEndian, concat, planted } from './audio-tags.ts';

export interface Mp4Options {
  tags?: boolean;
  brand?: string;
  /** Where the sound lies: in front of the tracks, behind them, or behind them in a box without a size. */
  order?: 'sound first' | 'tracks first' | 'open end';
  /** Sizes and offsets of 64 bits, times too. */
  long?: boolean;
  /** Bytes between the chunks that belong to no sample. */
  leftover?: Buffer;
  /** A second track with this handler, and this entry in place of the one for AAC; its samples are the planted texts. */
  secondTrack?: string;
  secondEntry?: Buffer;
  /** The sound comes in a fragment. */
  fragmented?: boolean;
  /** In place of the entry for AAC. */
  entry?: Buffer;
}

const zeros = (size: number) => Buffer.alloc(size);
const text = planted.join(' ');
const samples = Array.from({ length: 44 }, () => aacSilence);
const samplesPerChunk = 11;

export function box(type: string, ...content: Buffer[]): Buffer {
  const body = Buffer.concat(content);
  return concat(bigEndian(body.length + 8, 4), Buffer.from(type, 'latin1'), body);
}

function longBox(type: string, ...content: Buffer[]): Buffer {
  const body = Buffer.concat(content);
  return concat(bigEndian(1, 4), Buffer.from(type), zeros(4), bigEndian(body.length + 16, 4), body);
}

function full(type: string, ...content: Buffer[]): Buffer {
  return box(type, zeros(4), ...content);
}

/** Version and flags, then creation and change, then the rest. */
function timed(type: string, long: boolean, rest: Buffer): Buffer {
  const recorded = Buffer.from(long ? 'WHEN-WAS-IT-MADE' : 'WHENMADE');
  return box(type, Buffer.from([long ? 1 : 0, 0, 0, 3]), recorded, rest);
}

function makeEntry(): Buffer {
  const config = Buffer.from([0x05, 2, 0x12, 0x08]);
  const decoder = concat(Buffer.from([0x04, 13 + config.length, 0x40, 0x15]), zeros(11), config);
  const esds = concat(Buffer.from([0x03, 3 + decoder.length + 3]), zeros(3), decoder, Buffer.from([0x06, 1, 2]));
  return sampleEntry('mp4a', full('esds', esds));
}

export function sampleEntry(type: string, ...children: Buffer[]): Buffer {
  const fields = concat(
    zeros(6),
    bigEndian(1, 2),
    zeros(8),
    bigEndian(1, 2),
    bigEndian(16, 2),
    zeros(4),
    bigEndian(44_100, 2),
    zeros(2),
  );
  return box(type, fields, ...children);
}

function makeTrack(
  options: Mp4Options,
  id: number,
  handler: string,
  sizes: number[],
  chunks: number[],
  perChunk: number,
): Buffer {
  const { tags = false, long = false, fragmented = false } = options;
  const count = fragmented ? 0 : sizes.length;
  const offsets = fragmented ? [] : chunks;
  const width = long ? 8 : 4;
  const stbl = box(
    'stbl',
    full('stsd', bigEndian(1, 4), options.entry ?? makeEntry()),
    full('stts', bigEndian(count > 0 ? 1 : 0, 4), ...(count > 0 ? [bigEndian(count, 4), bigEndian(1024, 4)] : [])),
    full('stsc', bigEndian(count > 0 ? 1 : 0, 4), ...(count > 0 ? [1, perChunk, 1].map((n) => bigEndian(n, 4)) : [])),
    full('stsz', zeros(4), bigEndian(count, 4), ...sizes.slice(0, count).map((size) => bigEndian(size, 4))),
    full(
      long ? 'co64' : 'stco',
      bigEndian(offsets.length, 4),
      ...offsets.map((at) => concat(zeros(width - 4), bigEndian(at, 4))),
    ),
  );
  const duration = long ? zeros(8) : zeros(4);
  return box(
    'trak',
    timed('tkhd', long, concat(bigEndian(id, 4), zeros(4), duration, zeros(60))),
    box(
      'mdia',
      timed('mdhd', long, concat(bigEndian(44_100, 4), duration, Buffer.from([0x55, 0xc4, 0, 0]))),
      full('hdlr', zeros(4), Buffer.from(handler), zeros(12), Buffer.from(`${tags ? planted[1] : ''}\0`)),
      box(
        'minf',
        full('smhd', zeros(4)),
        box('dinf', full('dref', bigEndian(1, 4), box('url ', Buffer.from([0, 0, 0, 1])))),
        stbl,
        ...(tags ? [box('udta', Buffer.from(text))] : []),
      ),
    ),
    ...(tags ? [box('udta', box('©xyz', Buffer.from(text))), full('meta', Buffer.from(text))] : []),
  );
}

/** Everything of this name is where a known program puts it. */
function makeTags(): Buffer[] {
  return [
    box(
      'udta',
      box('©xyz', bigEndian(text.length, 2), Buffer.from([0x15, 0xc7]), Buffer.from(text)),
      full('loci', Buffer.from(`\x15\xc7${text}\0`, 'latin1'), zeros(14)),
      full(
        'meta',
        full('hdlr', zeros(4), Buffer.from('mdirappl'), zeros(9)),
        box('ilst', box('©ART', box('data', zeros(8), Buffer.from(text)))),
      ),
    ),
    full('meta', box('keys', Buffer.from(text))),
  ];
}

export function makeMp4(options: Mp4Options = {}): Buffer {
  const {
    tags = false,
    brand = 'M4A ',
    order = 'sound first',
    long = false,
    leftover = zeros(0),
    secondTrack,
    fragmented = false,
  } = options;
  const chunks = Array.from({ length: samples.length / samplesPerChunk }, (_, i) =>
    Buffer.concat(samples.slice(i * samplesPerChunk, (i + 1) * samplesPerChunk)),
  );
  const note = Buffer.from(secondTrack === undefined ? '' : text);
  const media = concat(...chunks.flatMap((chunk) => [chunk, leftover]), note);
  const ftyp = box('ftyp', Buffer.from(`${brand}\0\0\0\0${brand}mp42isom`));
  const xmp = box('uuid', Buffer.from('be7acfcb97a942e89c71999491e3afac', 'hex'), Buffer.from(`<x:xmpmeta>${text}</x:xmpmeta>`));
  const between = Buffer.concat(tags ? [box('free', Buffer.from(text)), xmp, full('meta', Buffer.from(text))] : []);
  const behind = tags && order !== 'open end' ? [box('skip', Buffer.from(text)), box('udta', Buffer.from(text))] : [];

  const makeMoov = (mediaAt: number) => {
    const step = samplesPerChunk * aacSilence.length + leftover.length;
    const offsets = chunks.map((_, i) => mediaAt + i * step);
    const sizes = samples.map(({ length }) => length);
    return box(
      'moov',
      timed('mvhd', long, concat(bigEndian(44_100, 4), zeros(long ? 8 : 4), zeros(80))),
      makeTrack(options, 1, 'soun', sizes, offsets, samplesPerChunk),
      ...(secondTrack === undefined
        ? []
        : [
            makeTrack(
              { ...options, entry: options.secondEntry ?? makeEntry() },
              2,
              secondTrack,
              [note.length],
              [mediaAt + chunks.length * step],
              1,
            ),
          ]),
      ...(fragmented ? [box('mvex', full('trex', ...[1, 1, 1024, 0, 0].map((n) => bigEndian(n, 4))))] : []),
      ...(tags ? makeTags() : []),
    );
  };

  const mdat = order === 'open end' ? concat(zeros(4), 'mdat', media) : (long ? longBox : box)('mdat', media);
  const head = mdat.length - media.length;
  if (fragmented) {
    const fragment = (dataAt: number) =>
      box(
        'moof',
        full('mfhd', bigEndian(1, 4)),
        box(
          'traf',
          box('tfhd', Buffer.from([0, 2, 0, 0]), bigEndian(1, 4)),
          box(
            'trun',
            Buffer.from([0, 0, 2, 1]),
            bigEndian(samples.length, 4),
            bigEndian(dataAt, 4),
            ...samples.map(({ length }) => bigEndian(length, 4)),
          ),
          ...(tags ? [box('udta', Buffer.from(text))] : []),
        ),
      );
    return concat(ftyp, makeMoov(0), between, fragment(fragment(0).length + head), mdat, ...behind);
  }
  if (order === 'sound first') return concat(ftyp, between, mdat, makeMoov(ftyp.length + between.length + head), ...behind);
  const moovSize = makeMoov(0).length;
  return concat(ftyp, makeMoov(ftyp.length + moovSize + between.length + head), between, mdat, ...behind);
}

/** A mebibyte of a file whose chunks, a byte each, are told in no order. */
export function makeScatteredMp4(): Buffer {
  const count = 250_000;
  const media = zeros(8000);
  const make = (mediaAt: number) => {
    const offsets = Buffer.alloc(4 * count);
    // Multiplied by this, numbers that follow each other are scattered (Knuth).
    for (let i = 0; i < count; i++) offsets.writeUInt32BE(mediaAt + ((Math.imul(i, 0x9e37_79b1) >>> 0) % media.length), 4 * i);
    const stbl = box(
      'stbl',
      full('stsd', bigEndian(1, 4), makeEntry()),
      full('stsc', ...[1, 1, 1, 1].map((n) => bigEndian(n, 4))),
      full('stsz', bigEndian(1, 4), bigEndian(count, 4)),
      full('stco', bigEndian(count, 4), offsets),
    );
    const hdlr = full('hdlr', zeros(4), Buffer.from('soun'), zeros(13));
    const moov = box('moov', box('trak', box('mdia', hdlr, box('minf', stbl))));
    return concat(box('ftyp', Buffer.from('M4A \0\0\0\0')), moov, box('mdat'));
  };
  const head = make(make(0).length);
  head.writeUInt32BE(8 + media.length, head.length - 8);
  return concat(head, media);
}

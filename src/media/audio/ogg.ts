// Ogg: pages that carry packets. The second packet of every codec is the comment; an empty one takes its place, so the pages
// behind get new numbers and check sums. Their content stays.
import { hasText, readLittle } from './bytes.ts';
import { AudioRefusedError } from './refusal.ts';

const pageHeader = 27;
const sumAt = 22;
const continued = 1;
const firstOfStream = 2;
const lastOfStream = 4;

interface Page {
  flags: number;
  /** Position in the sound, as it stands in the file. */
  granule: Buffer;
  serial: number;
  sequence: number;
  /** Lengths of the segments; 255 means that the packet goes on. */
  lacing: Buffer;
  body: Buffer;
}

interface Codec {
  /** What the first packet begins with. */
  magic: string;
  /** Whether this is the last packet before the sound; the first packet of the stream is not counted. */
  isLastHeader(packet: Buffer, index: number): boolean;
  /** The first packet and those that follow, without what they tell. */
  clean(first: Buffer, packets: Buffer[]): Buffer[];
}

const noGranule = Buffer.alloc(8, 0xff);
const startGranule = Buffer.alloc(8);
const lastBlock = 0x80;
// FLAC may have as many as it has blocks; nobody has more than a handful.
const mostHeaders = 1_000;

const codecs: Codec[] = [
  {
    magic: '\x01vorbis',
    isLastHeader: (_packet, index) => index === 1,
    clean: (first, [comment, setup]) => [
      requirePacket(first, '\x01vorbis', 30),
      Buffer.concat([requirePacket(comment, '\x03vorbis').subarray(0, 7), Buffer.alloc(8), Buffer.from([1])]),
      requirePacket(setup, '\x05vorbis'),
    ],
  },
  {
    magic: 'OpusHead',
    isLastHeader: () => true,
    clean: (first, [comment]) => [
      requirePacket(first, 'OpusHead', first[18] === 0 ? 19 : 21 + (first[9] ?? 0)),
      Buffer.concat([requirePacket(comment, 'OpusTags').subarray(0, 8), Buffer.alloc(8)]),
    ],
  },
  {
    magic: 'Speex   ',
    isLastHeader: () => true,
    clean(first) {
      // Further header packets are announced here, and nobody knows what is in them.
      if (readLittle(first, 68, 4) !== 0) throw new AudioRefusedError('unsupported', 'Speex with further headers');
      return [requirePacket(first, 'Speex   ', 80), Buffer.alloc(8)];
    },
  },
  {
    magic: '\x7fFLAC',
    isLastHeader: (packet) => (packet[0] ?? 0) >= lastBlock,
    clean(first) {
      const head = Buffer.from(requirePacket(first, '\x7fFLAC', 51));
      const packetsThatFollow = 1;
      head.writeUInt16BE(packetsThatFollow, 7);
      return [head, Buffer.from([lastBlock | 4, 0, 0, 8, ...Buffer.alloc(8)])];
    },
  },
];

/**
 * The file with empty comments, and with the end of a recording where it is. Recordings one behind the other are taken, several at
 * once are not.
 * @throws AudioRefusedError `damaged` for broken pages or headers, `video` for Theora, `unsupported` for other codecs and
 * for streams side by side
 */
export function cleanOgg(bytes: Buffer): Buffer {
  const streams: Page[][] = [];
  for (const page of readPages(bytes)) {
    const current = streams.at(-1);
    if (page.flags & firstOfStream) streams.push([page]);
    else if (current?.[0]?.serial === page.serial) current.push(page);
    else throw new AudioRefusedError('unsupported', 'several streams at once');
  }
  if (streams.length === 0) throw new AudioRefusedError('damaged', 'no page');
  const cleaned = Buffer.concat(streams.flatMap(cleanStream).map(writePage));
  // An empty comment is as short as one may be: where it is longer than what it stands for, that was none.
  if (cleaned.length > bytes.length) throw new AudioRefusedError('damaged', 'a comment that is too short');
  return cleaned;
}

function cleanStream(pages: Page[]): Page[] {
  const [first] = pages;
  if (first && hasText(first.body, 0, '\x80theora')) throw new AudioRefusedError('video', 'Theora');
  const codec = codecs.find(({ magic }) => first && hasText(first.body, 0, magic));
  if (!first || !codec) throw new AudioRefusedError('unsupported', 'another codec in Ogg');
  const { packets, pageCount } = readHeaders(pages, codec);
  const sound = pages.slice(pageCount);
  if (sound.length === 0) throw new AudioRefusedError('damaged', 'no sound');
  const [head = Buffer.alloc(0), ...others] = codec.clean(first.body, packets);
  const headers = [...writePackets([head], first, 0, firstOfStream), ...writePackets(others, first, 1, 0)];
  const moved = headers.length - pageCount;
  const renumber = (page: Page, index: number): Page => ({
    ...page,
    // A recorder that died has not told the end, one that went on has told it before: a player stops there.
    flags: (page.flags & continued) | (index === sound.length - 1 ? lastOfStream : 0),
    sequence: (page.sequence + moved) >>> 0,
  });
  return [...headers, ...sound.map(renumber)];
}

// The sound begins on a page of its own: all four codecs demand it.
function readHeaders(pages: Page[], codec: Codec): { packets: Buffer[]; pageCount: number } {
  const packets: Buffer[] = [];
  let open: Buffer[] = [];
  let pageCount = 1;
  let isComplete = false;
  while (!isComplete) {
    const page = pages[pageCount++];
    if (!page) throw new AudioRefusedError('damaged', 'the headers are broken off');
    let at = 0;
    for (const length of page.lacing) {
      if (isComplete || packets.length > mostHeaders) throw new AudioRefusedError('damaged', 'sound among the headers');
      open.push(page.body.subarray(at, at + length));
      at += length;
      if (length === 255) continue;
      const packet = Buffer.concat(open);
      isComplete = codec.isLastHeader(packet, packets.length);
      packets.push(packet);
      open = [];
    }
  }
  return { packets, pageCount };
}

function requirePacket(packet: Buffer | undefined, magic: string, length?: number): Buffer {
  if (!packet || !hasText(packet, 0, magic) || (length !== undefined && packet.length !== length))
    throw new AudioRefusedError('damaged', 'a header is broken');
  return packet;
}

function readPages(bytes: Buffer): Page[] {
  const pages: Page[] = [];
  let at = 0;
  while (hasText(bytes, at, 'OggS') && at + pageHeader <= bytes.length) {
    const lacing = bytes.subarray(at + pageHeader, at + pageHeader + bytes.readUInt8(at + 26));
    const bodyAt = at + pageHeader + bytes.readUInt8(at + 26);
    const end = bodyAt + lacing.reduce((sum, length) => sum + length, 0);
    // A recorder that died leaves half a page.
    if (end > bytes.length) break;
    const page = bytes.subarray(at, end);
    if (bytes[at + 4] !== 0 || sumPage(page) !== page.readUInt32LE(sumAt))
      throw new AudioRefusedError('damaged', 'a page is broken');
    pages.push({
      flags: page.readUInt8(5),
      granule: page.subarray(6, 14),
      serial: page.readUInt32LE(14),
      sequence: page.readUInt32LE(18),
      lacing,
      body: bytes.subarray(bodyAt, end),
    });
    at = end;
  }
  // Behind the last page something may hang, but not in between: what follows would be lost without a word.
  if (bytes.indexOf('OggS', at + 1) >= 0) throw new AudioRefusedError('damaged', 'pages that do not join');
  return pages;
}

// Packets on as few pages as hold them.
function writePackets(packets: Buffer[], { serial }: Page, sequence: number, flags: number): Page[] {
  const body = Buffer.concat(packets);
  const lacing = packets.flatMap((packet) => [...Array(Math.floor(packet.length / 255)).fill(255), packet.length % 255]);
  const pages: Page[] = [];
  let at = 0;
  let goesOn = false;
  for (let segment = 0; segment < lacing.length; segment += 255) {
    const part = Buffer.from(lacing.slice(segment, segment + 255));
    const length = part.reduce((sum, size) => sum + size, 0);
    pages.push({
      flags: flags | (goesOn ? continued : 0),
      granule: part.some((size) => size < 255) ? startGranule : noGranule,
      serial,
      sequence: sequence + pages.length,
      lacing: part,
      body: body.subarray(at, at + length),
    });
    at += length;
    goesOn = part.at(-1) === 255;
  }
  return pages;
}

function writePage({ flags, granule, serial, sequence, lacing, body }: Page): Buffer {
  const header = Buffer.alloc(pageHeader);
  header.write('OggS', 'latin1');
  header.writeUInt8(flags, 5);
  granule.copy(header, 6);
  header.writeUInt32LE(serial, 14);
  header.writeUInt32LE(sequence, 18);
  header.writeUInt8(lacing.length, 26);
  const page = Buffer.concat([header, lacing, body]);
  page.writeUInt32LE(sumPage(page), sumAt);
  return page;
}

// Computed with zeros in place of the sum itself.
function sumPage(page: Buffer): number {
  let sum = 0;
  for (let at = 0; at < page.length; at++) {
    const byte = at >= sumAt && at < sumAt + 4 ? 0 : (page[at] ?? 0);
    sum = (sum << 8) ^ (sums[(sum >>> 24) ^ byte] ?? 0);
  }
  return sum >>> 0;
}

const sums = Array.from({ length: 256 }, (_, byte) => {
  let sum = byte << 24;
  for (let bit = 0; bit < 8; bit++) sum = (sum << 1) ^ (sum < 0 ? 0x04c1_1db7 : 0);
  return sum;
});

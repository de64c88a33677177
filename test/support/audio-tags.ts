// Tags as programs write them, with what must not get out planted in them.

/** Texts that no accepted file may hold any more. */
export const planted = ['49.4690N 7.6820E', 'Erika Mustermann'] as const;
const note = `${planted[0]};${planted[1]}`;

/** One behind the other; texts of one byte per character. */
export function concat(...parts: (Uint8Array | string)[]): Buffer {
  return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : part)));
}

export interface Id3Options {
  /** 2, 3 or 4. */
  version?: number;
  footer?: boolean;
  /** Bytes of a picture, to make it long. */
  picture?: number;
}

export function makeId3v2({ version = 4, footer = false, picture = 0 }: Id3Options = {}): Buffer {
  const frame = (id: string, content: Buffer) =>
    version === 2
      ? concat(Buffer.from(id.slice(0, 3)), bigEndian(content.length, 3), content)
      : concat(
          Buffer.from(id),
          version === 4 ? syncsafe(content.length) : bigEndian(content.length, 4),
          Buffer.alloc(2),
          content,
        );
  const frames = concat(
    frame('TPE1', Buffer.from(`\0${note}`)),
    frame('TXXX', Buffer.from(`\0location\0${note}`)),
    // Sync bytes of MPEG audio and UTF-16 are found in tags too.
    frame('COMM', concat(Buffer.from([1, 0xff, 0xfe]), Buffer.from(note, 'utf16le'))),
    ...(picture > 0 ? [frame('APIC', Buffer.alloc(picture, Buffer.from([0xff, 0xfb, 0x90, 0xc4, 0, 1, 2])))] : []),
  );
  const head = (mark: string) => concat(Buffer.from(mark), Buffer.from([version, 0, footer ? 0x10 : 0]), syncsafe(frames.length));
  return concat(head('ID3'), frames, ...(footer ? [head('3DI')] : []));
}

export function makeId3v1({ extended = false } = {}): Buffer {
  const tag = Buffer.alloc(128);
  tag.write(`TAG${planted[0]}`, 'latin1');
  tag.write(planted[1], 33, 'latin1');
  const before = Buffer.alloc(227);
  before.write(`TAG+${note}`, 'latin1');
  return concat(...(extended ? [before] : []), tag);
}

/** Version 1 has a footer only. */
export function makeApe({ version = 2000 } = {}): Buffer {
  const value = Buffer.from(note);
  const item = concat(littleEndian(value.length, 4), Buffer.alloc(4), 'Artist\0', value);
  const hasHeader = version === 2000;
  const mark = (isHeader: boolean) =>
    concat(
      'APETAGEX',
      littleEndian(version, 4),
      littleEndian(item.length + 32, 4),
      littleEndian(1, 4),
      littleEndian(hasHeader ? 0x8000_0000 + (isHeader ? 0x2000_0000 : 0) : 0, 4),
      Buffer.alloc(8),
    );
  return concat(...(hasHeader ? [mark(true)] : []), item, mark(false));
}

export function makeLyrics({ version = 2 } = {}): Buffer {
  if (version === 1) return Buffer.from(`LYRICSBEGIN${note}LYRICSEND`);
  const content = `LYRICSBEGININD0000200LYR${String(note.length).padStart(5, '0')}${note}`;
  return Buffer.from(`${content}${String(content.length).padStart(6, '0')}LYRICS200`);
}

/** The comments of Vorbis, Opus, Speex and FLAC; `picture` makes them that many bytes longer. */
export function makeVorbisComment({ picture = 0 } = {}): Buffer {
  const texts = [`GEO_LOCATION=${planted[0]}`, `ARTIST=${planted[1]}`, `METADATA_BLOCK_PICTURE=${'A'.repeat(picture)}`];
  const sized = (text: string) => concat(littleEndian(text.length, 4), Buffer.from(text));
  return concat(sized(`Recorder of ${planted[1]}`), littleEndian(texts.length, 4), ...texts.map(sized));
}

export function bigEndian(value: number, size: number): Buffer {
  const bytes = Buffer.alloc(size);
  bytes.writeUIntBE(value, 0, size);
  return bytes;
}

export function littleEndian(value: number, size: number): Buffer {
  const bytes = Buffer.alloc(size);
  bytes.writeUIntLE(value, 0, size);
  return bytes;
}

function syncsafe(value: number): Buffer {
  return Buffer.from([21, 14, 7, 0].map((shift) => (value >> shift) & 0x7f));
}

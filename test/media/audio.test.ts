// Audio uploads: recognised by their bytes, freed of place and person, the sound untouched (S1.8); else refused, with the reason.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AudioRefusedError, type RefusalReason } from '../../src/media/audio/refusal.ts';
import { type AudioKind, cleanAudio } from '../../src/media/audio.ts';
import { audioKinds, flacBlock, makeAudio, makeFlac, makeWav, riffChunk, wavSound } from '../support/audio.ts';
import { aacSilence, makeAdtsFrames, makeFlacFrames, makeMp3Frames, makeStreamInfo } from '../support/audio-frames.ts';
import { box, makeMp4, sampleEntry } from '../support/audio-mp4.ts';
import { makeOgg, type OggCodec, sumOggPage } from '../support/audio-ogg.ts';
import { bigEndian, concat, littleEndian, makeApe, makeId3v1, makeId3v2, makeLyrics, planted } from '../support/audio-tags.ts';
import { makeDice } from '../support/dice.ts';

const note = Buffer.from(planted.join());

/** Fails when a planted text is left, in one byte or two per character. */
function assertSilentOn(bytes: Buffer): void {
  for (const text of planted) {
    assert.ok(!bytes.includes(text), `${text} is left`);
    assert.ok(!bytes.includes(Buffer.from(text, 'utf16le')), `${text} is left in UTF-16`);
  }
}

/** One row: what arrives, and what is stored. */
type Row = [what: string, arrives: Buffer, stored: Buffer];

function testRows(kind: AudioKind, rows: Row[]): void {
  for (const [what, arrives, stored] of rows) {
    it(what, () => {
      const cleaned = cleanAudio(arrives);
      assert.equal(cleaned.kind, kind);
      assertSilentOn(cleaned.bytes);
      assert.ok(cleaned.bytes.equals(stored), 'the stored bytes are others');
    });
  }
}

describe('each kind', () => {
  for (const kind of audioKinds) {
    it(`S1.8 ${kind} is recognised, loses its tags and keeps its sound`, () => {
      const tagged = makeAudio(kind, { tags: true });
      for (const text of planted) assert.ok(tagged.includes(text), `the fixture tells ${text}`);
      const before = Buffer.from(tagged);
      const cleaned = cleanAudio(tagged);
      assert.equal(cleaned.kind, kind);
      assertSilentOn(cleaned.bytes);
      assert.ok(tagged.equals(before), 'the argument is not changed');
      // MP4 keeps its length; its own tests compare the sound.
      if (kind !== 'm4a') assert.ok(cleaned.bytes.equals(makeAudio(kind)));
      assert.ok(cleanAudio(cleaned.bytes).bytes.equals(cleaned.bytes), 'a second cleaning changes nothing');
    });
  }
});

describe('MP3', () => {
  const frames = makeMp3Frames(12);
  const slow = makeMp3Frames(6, { header: 'fff340c4', length: 104 });
  testRows('mp3', [
    ...[2, 3, 4].map((version): Row => [`ID3v2.${version}`, concat(makeId3v2({ version }), frames), frames]),
    [
      'ID3v2 with a footer, twice, and zeros behind',
      concat(makeId3v2({ footer: true }), makeId3v2(), Buffer.alloc(500), frames),
      frames,
    ],
    ['a picture full of sync bytes', concat(makeId3v2({ picture: 40_000 }), frames), frames],
    [
      'a tag whose length is too short',
      concat('ID3\x04\0\0\0\0\0\x05', note, makeId3v2({ picture: 3_001 }).subarray(10), frames),
      frames,
    ],
    ['ID3v2 at the end, with its footer', concat(frames, makeId3v2({ footer: true })), frames],
    ['ID3v2 at the end, without', concat(frames, makeId3v2({ picture: 5_000 })), frames],
    ['ID3v1', concat(frames, makeId3v1()), frames],
    ['ID3v1 extended', concat(frames, makeId3v1({ extended: true })), frames],
    ['APE version 2', concat(frames, makeApe()), frames],
    ['APE version 1 and ID3v1', concat(frames, makeApe({ version: 1000 }), makeId3v1()), frames],
    ['Lyrics3 versions 1 and 2', concat(frames, makeLyrics({ version: 1 }), makeLyrics(), makeId3v1()), frames],
    [
      'all of them',
      concat(makeId3v2(), frames, makeApe(), makeLyrics(), makeId3v1({ extended: true }), makeId3v2({ footer: true })),
      frames,
    ],
    [
      'files joined with their tags',
      concat(makeId3v2(), frames, makeId3v1(), makeId3v2({ picture: 3_000 }), frames),
      concat(frames, frames),
    ],
    ['files of two sample rates joined', concat(frames, slow), concat(frames, slow)],
    ['a last frame that is broken off', concat(frames, frames.subarray(0, 200)), frames],
    ['text between frames', concat(frames, note, frames), concat(frames, frames)],
    ['one single frame', makeMp3Frames(1), makeMp3Frames(1)],
  ]);
});

describe('AAC', () => {
  const frames = makeAdtsFrames(30);
  testRows('aac', [
    ['ID3v2 in front and behind', concat(makeId3v2({ version: 3 }), frames, makeId3v2()), frames],
    ['APE and ID3v1', concat(frames, makeApe(), makeId3v1()), frames],
  ]);
});

describe('AMR', () => {
  for (const kind of ['amr', 'awb'] as const) {
    const file = makeAudio(kind);
    testRows(kind, [
      ['tags of other formats behind', concat(file, makeId3v1(), makeId3v2(), makeApe()), file],
      ['a last frame that is broken off', concat(file, file.subarray(file.length - 1), Buffer.from([0x3c, 1, 2])), file],
    ]);
  }
});

describe('WAV', () => {
  const extensible = concat(littleEndian(0xfffe, 2), makeWav().subarray(22, 36), littleEndian(22, 2), Buffer.alloc(22, 1));
  const clean = makeWav();
  const sized = (file: Buffer, riff: number, data: number) => {
    const changed = Buffer.from(file);
    changed.writeUInt32LE(riff >>> 0, 4);
    changed.writeUInt32LE(data >>> 0, changed.indexOf('data') + 4);
    return changed;
  };
  const chunks = (...ids: string[]) => ids.map((id) => riffChunk(id, note));
  const dataAt = clean.indexOf('data') + 8;
  // Of an odd length, without the byte that fills it up.
  const oddSound = wavSound.subarray(0, -1);
  const oddNote = concat(note, note.length % 2 === 0 ? 'x' : '');
  const unfilled = (id: string, content: Buffer) => concat(id, littleEndian(content.length, 4), content);
  const oddWav = (...behind: Buffer[]) =>
    unfilled('RIFF', concat('WAVE', clean.subarray(12, dataAt - 8), unfilled('data', oddSound), ...behind));
  const cleanOdd = riffChunk('RIFF', concat('WAVE', clean.subarray(12, dataAt - 8), riffChunk('data', oddSound)));
  // Sizes as recorders leave them that never came back to their header: of the whole, of the sound.
  const neverWritten = {
    'no sizes': [0, 0],
    'the sizes of a header without sound': [dataAt - 8, 0],
    'the largest sizes': [0xffff_ffff, 0xffff_ffff],
    'the size of the whole alone': [clean.length - 8, 0],
    'the size of the whole, and the largest of the sound': [clean.length - 8, 0xffff_ffff],
    'the size of the sound alone': [0, wavSound.length],
  } as const;
  testRows('wav', [
    ...Object.entries(neverWritten).map(([what, [riff, data]]): Row => [what, sized(clean, riff, data), clean]),
    ['no sizes, and chunks behind the sound', sized(makeWav({ after: chunks('LIST', 'id3 ', 'LIST') }), 0, 0), clean],
    ['no sizes, and chunks around it', sized(makeWav({ before: chunks('bext'), after: chunks('iXML') }), 0, 0), clean],
    ['no sizes, and tags of other formats behind', concat(sized(clean, 0, 0), makeApe(), makeId3v1()), clean],
    ['no sizes, nor the number of samples', sized(makeWav({ before: [riffChunk('fact', Buffer.alloc(4))] }), 0, 0), clean],
    ...(
      [
        ['a line end', [riffChunk('LIST', concat('INFO', note)), Buffer.from('\n')]],
        ['four letters', [riffChunk('LIST', concat('INFO', note)), Buffer.from('abcd')]],
        ['zeros', [riffChunk('LIST', concat('INFO', note)), Buffer.alloc(512)]],
        ['nothing, cut off', [riffChunk('LIST', concat('INFO', note)).subarray(0, -2)]],
        ['nothing, cut off, text at once', [riffChunk('bext', concat(note, note)).subarray(0, -2)]],
        ['zeros, of iXML', [riffChunk('iXML', note), Buffer.alloc(99)]],
      ] as const
    ).flatMap(([what, behind]): Row[] =>
      [0, 0xffff_ffff].map((size) => [
        `sizes of ${size}, and a chunk with ${what} behind`,
        concat(sized(clean, size, size), ...behind),
        clean,
      ]),
    ),
    ['an odd sound that a letter fills up', oddWav(concat('~', riffChunk('LIST', note))), cleanOdd],
    ['no sizes, an odd sound', sized(oddWav(), 0, 0), cleanOdd],
    ['an odd sound that nothing fills up', oddWav(), cleanOdd],
    ['an odd sound that nothing fills up, with a chunk behind', oddWav(riffChunk('LIST', note)), cleanOdd],
    [
      'odd chunks that nothing fills up',
      makeWav({ before: [unfilled('bext', oddNote)], after: [unfilled('LIST', oddNote)] }),
      clean,
    ],
    ['an odd sound, filled up', cleanOdd, cleanOdd],
    [
      'RF64, whose sizes are elsewhere',
      concat(
        'RF64',
        sized(makeWav({ before: [riffChunk('ds64', Buffer.alloc(28))], after: chunks('LIST') }), -1, -1).subarray(4),
      ),
      clean,
    ],
    ['chunks in front of the sound', makeWav({ before: chunks('bext', 'LIST', 'id3 ', 'ID3 ', 'JUNK', 'odd!') }), clean],
    ['chunks behind the sound', makeWav({ after: chunks('iXML', '_PMX', 'cart', 'axml', 'LIST', 'cue ') }), clean],
    ['a second sound and a second format', makeWav({ after: chunks('data', 'fmt ') }), clean],
    ['something behind the file', concat(clean, note), clean],
    ['a wrong length of the whole', sized(makeWav({ after: chunks('LIST') }), 4_000, wavSound.length), clean],
    ['the lengths of a writer to a pipe', sized(clean, 0xffff_ffff, 0xffff_ffff), clean],
    ['text behind a PCM format', makeWav({ format: concat(clean.subarray(20, 36), note) }), clean],
    ['text behind an extensible format', makeWav({ format: concat(extensible, note) }), makeWav({ format: extensible })],
    [
      'the number of samples, with text',
      makeWav({ before: [riffChunk('fact', concat(littleEndian(800, 4), note))] }),
      makeWav({ before: [riffChunk('fact', littleEndian(800, 4))] }),
    ],
  ]);
});

describe('FLAC', () => {
  const clean = makeFlac();
  testRows('flac', [
    ['ID3 with a footer and zeros in front', concat(makeId3v2({ footer: true }), Buffer.alloc(30), clean), clean],
    ['a long tag behind it', concat(clean, makeId3v2({ footer: true, picture: 90_000 })), clean],
    ['ID3 around it', concat(makeId3v2({ picture: 500 }), makeFlac({ tags: true }), makeId3v1({ extended: true })), clean],
    ['text behind the last frame', concat(clean, note), clean],
    ['zeros and text behind the last frame', concat(clean, makeApe().subarray(0, 90)), clean],
    ['a last frame that is broken off', concat(clean, makeFlacFrames(21).at(-1)?.subarray(0, 300) ?? note), clean],
  ]);
});

describe('Ogg', () => {
  for (const codec of ['opus', 'vorbis', 'speex', 'flac'] satisfies OggCodec[]) {
    const clean = makeOgg({ codec });
    testRows('oga', [
      [`${codec}: comments`, makeOgg({ codec, tags: true }), clean],
      [`${codec}: comments over several pages, with a picture`, makeOgg({ codec, tags: true, picture: 150_000 }), clean],
      [
        `${codec}: recordings one behind the other`,
        concat(makeOgg({ codec, tags: true }), makeOgg({ codec, tags: true, serial: 8 })),
        concat(clean, makeOgg({ codec, serial: 8 })),
      ],
      [`${codec}: something behind the last page`, concat(makeOgg({ codec, tags: true }), makeId3v1()), clean],
      [`${codec}: no end`, makeOgg({ codec, tags: true, endFlag: 99 }), clean],
      [`${codec}: an end too early`, makeOgg({ codec, tags: true, endFlag: 2 }), clean],
    ]);
  }

  testRows('oga', [
    [
      'a set-up of Vorbis over several pages',
      makeOgg({ codec: 'vorbis', tags: true, setup: 100_000 }),
      makeOgg({ codec: 'vorbis', setup: 100_000 }),
    ],
  ]);

  it('leaves out half a page at the end', () => {
    const whole = makeOgg({ endFlag: 1 });
    const cut = cleanAudio(makeOgg({ tags: true }).subarray(0, -10)).bytes;
    assert.ok(cut.equals(whole.subarray(0, whole.lastIndexOf('OggS'))));
  });
});

describe('MP4', () => {
  const sound = Buffer.concat(Array(44).fill(aacSilence));
  const times = ['WHEN', 'MADE'];
  const flacEntry = sampleEntry(
    'fLaC',
    box('dfLa', Buffer.alloc(4), flacBlock(0, makeStreamInfo()), flacBlock(4, note, true)),
    box('udta', note),
  );
  const quickTimeEntry = sampleEntry(
    'mp4a',
    box('wave', box('frma', Buffer.from('mp4a')), box('note', note), Buffer.alloc(8)),
    Buffer.alloc(4),
  );
  const count = (file: Buffer, text: string) => file.toString('latin1').split(text).length - 1;
  const addToTracks = (file: Buffer, child: Buffer) => {
    const moov = file.indexOf('moov') - 4;
    return concat(file.subarray(0, moov), box('moov', file.subarray(moov + 8), child));
  };
  const files: [string, Buffer][] = [
    ['sound in front of the tracks', makeMp4({ tags: true })],
    ['tracks in front of the sound', makeMp4({ tags: true, order: 'tracks first' })],
    ['sound up to the end of the file', makeMp4({ tags: true, order: 'open end' })],
    ['lengths, offsets and times of 64 bits', makeMp4({ tags: true, long: true })],
    ['sound in fragments', makeMp4({ tags: true, fragmented: true })],
    ['3GP', makeMp4({ tags: true, brand: '3gp4' })],
    ['QuickTime', makeMp4({ tags: true, brand: 'qt  ', entry: quickTimeEntry })],
    ['comments in the description of FLAC', makeMp4({ tags: true, entry: flacEntry })],
    ['a last box too short for its times', addToTracks(makeMp4(), box('mvhd', Buffer.alloc(1)))],
    [
      'tags of other formats behind the last box',
      concat(makeMp4({ tags: true }), makeLyrics({ version: 1 }), makeLyrics(), makeApe(), makeId3v1({ extended: true })),
    ],
  ];
  for (const [what, file] of files) {
    it(`S1.8 ${what}: tags and times are gone, the sound is where it was`, () => {
      const { kind, bytes } = cleanAudio(file);
      assert.equal(kind, 'm4a');
      assertSilentOn(bytes);
      for (const text of times) assert.ok(!bytes.includes(text));
      assert.equal(bytes.indexOf(sound), file.indexOf(sound));
      assert.ok(bytes.includes('stco') || bytes.includes('co64'));
    });
  }

  it('blanks what no sample uses, and the track of a text with its samples', () => {
    const file = makeMp4({ tags: true, leftover: note, secondTrack: 'text', order: 'tracks first' });
    const { bytes } = cleanAudio(file);
    assertSilentOn(bytes);
    assert.equal(bytes.length, file.length);
    const first = file.indexOf(aacSilence);
    const chunk = Buffer.concat(Array(11).fill(aacSilence));
    for (let i = 0; i < 4; i++) {
      const at = first + i * (chunk.length + note.length);
      assert.ok(bytes.subarray(at, at + chunk.length).equals(chunk), `chunk ${i}`);
      assert.ok(bytes.subarray(at + chunk.length, at + chunk.length + note.length).equals(Buffer.alloc(note.length)));
    }
    assert.equal(bytes.toString('latin1').split('trak').length, 2);
  });

  it('blanks a second sound track of a codec that it does not know, with its samples', () => {
    const spatial = { secondTrack: 'soun', secondEntry: sampleEntry('apac', box('dapa', note)) };
    for (const aac of [{}, { entry: quickTimeEntry }]) {
      const alone = cleanAudio(makeMp4({ brand: 'qt  ', ...aac })).bytes;
      const file = makeMp4({ tags: true, brand: 'qt  ', ...aac, ...spatial });
      const { kind, bytes } = cleanAudio(file);
      assert.equal(kind, 'm4a');
      assertSilentOn(bytes);
      assert.equal(bytes.length, file.length);
      assert.equal(bytes.indexOf(sound), file.indexOf(sound));
      const samplesEnd = bytes.indexOf(sound) + sound.length;
      assert.ok(bytes.subarray(samplesEnd, samplesEnd + 20).equals(Buffer.alloc(20)));
      for (const text of ['trak', 'mp4a']) assert.equal(count(bytes, text), count(alone, text));
      assert.equal(count(bytes, 'apac'), 0);
    }
  });

  const random = makeDice(6).roll;
  const noise = Buffer.from(Array.from({ length: 300 }, () => Math.floor(random() * 256)));
  const promise = (type: string) => concat(Buffer.from([0x40, 0, 0, 0]), type, note);
  const tails = {
    '4 bytes': Buffer.from('\0\0\0\x04'),
    '7 bytes': Buffer.from('trailer'),
    zeros: Buffer.alloc(300),
    '300 bytes of noise': noise,
    'noise and a tag': concat(noise, makeId3v1()),
    ...Object.fromEntries(
      ['free', 'mdat', 'moov', 'uuid', '\0\0\0\0'].map((type) => [
        `${JSON.stringify(type)} that promises a gigabyte`,
        promise(type),
      ]),
    ),
    'a long box that promises more': concat(Buffer.from([0, 0, 0, 1]), 'free', Buffer.from([0, 0, 0, 1, 0, 0, 0, 0]), note),
    'a box that ends before it begins': concat(Buffer.from([0, 0, 0, 5]), 'free', note),
  };
  for (const [what, tail] of Object.entries(tails))
    it(`cuts off ${what} behind the last box`, () => {
      for (const order of ['sound first', 'tracks first'] as const) {
        const { bytes } = cleanAudio(concat(makeMp4({ tags: true, order }), tail));
        assert.ok(bytes.equals(cleanAudio(makeMp4({ tags: true, order })).bytes), order);
      }
    });

  it('keeps every other byte', () => {
    const plain = makeMp4();
    const cleaned = cleanAudio(plain).bytes;
    const changed = [...plain.keys()].filter((at) => plain[at] !== cleaned[at]);
    const expected = [...plain.toString('latin1').matchAll(/WHENMADE/g)].flatMap(({ index }) =>
      Array.from({ length: 8 }, (_, i) => index + i),
    );
    assert.deepEqual(changed, expected);
  });
});

const wav = makeWav();

/** The file with other bytes in one place. */
function change(file: Buffer, at: number, bytes: Buffer): Buffer {
  assert.ok(at > 0 && at + bytes.length <= file.length);
  const changed = Buffer.from(file);
  bytes.copy(changed, at);
  return changed;
}

const firstOggPage = (content: string) =>
  sumOggPage(concat('OggS\0\x02', Buffer.alloc(20), Buffer.from([1, content.length]), Buffer.from(content, 'latin1')));

const headOf = (ogg: Buffer, pages: number) => {
  let end = 0;
  for (let page = 0; page <= pages; page++) end = ogg.indexOf('OggS', end + (page > 0 ? 1 : 0));
  return ogg.subarray(0, end);
};

const announceHeaders = (speex: Buffer) => {
  const first = headOf(speex, 1);
  return concat(sumOggPage(change(first, 28 + 68, Buffer.from([1]))), speex.subarray(first.length));
};

const otherFiles: [what: string, bytes: Buffer][] = [
  ['PNG', Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')],
  ['JPEG', Buffer.from('ffd8ffe000104a46494600010100', 'hex')],
  ...[
    ...['<html>', '<svg/>', 'GIF89a', '%PDF-1.7', 'MZ', 'PK\x03\x04', '\0\0\0', '\xff', 'RIFF', 'ADIF\0\0\0\0'],
    ...['FORM\0\0\0\0AIFF', '#!AMR_MC1.0\n'],
  ].map((text): [string, Buffer] => [JSON.stringify(text), Buffer.from(text, 'latin1')]),
  ['zeros', Buffer.alloc(900)],
  ['UTF-16 text, which begins like layer I', concat(Buffer.from([0xff, 0xfe]), Buffer.from('Notiz'.repeat(90), 'utf16le'))],
  ['a frame of MP3 that no other follows', concat(makeMp3Frames(1), note)],
  ['MP2', makeMp3Frames(5, { header: 'fffd90c4' })],
  ['RIFX', concat('RIFX', wav.subarray(4))],
  ['AVI', change(wav, 8, Buffer.from('AVI '))],
];

const emptyWav = (behind: Buffer[]) =>
  riffChunk('RIFF', concat('WAVE', wav.subarray(12, 36), riffChunk('data', Buffer.alloc(0)), ...behind));

/** Without its last bytes, which its length does not count any more. */
function shortenData(file: Buffer): Buffer {
  const at = file.indexOf('mdat') - 4;
  return change(file.subarray(0, -20), at, bigEndian(file.readUInt32BE(at) - 20, 4));
}

const damaged: [what: string, bytes: Buffer][] = [
  ['ID3 without sound', makeId3v2()],
  ['ID3 that reaches beyond the end', concat('ID3\x04\0\0\x7f\x7f\x7f\x7f', makeMp3Frames(3))],
  ['AMR without sound', Buffer.from('#!AMR\n')],
  ['AMR with text for sound', Buffer.from('#!AMR-WB\nErika')],
  ['WAV that is broken off', wav.subarray(0, -100)],
  ['WAV without sizes, without sound', change(wav.subarray(0, -wavSound.length), 4, Buffer.alloc(4)).fill(0, 40, 44)],
  ['WAV whose sound is empty, with a chunk behind', emptyWav([riffChunk('LIST', note), riffChunk('id3 ', note)])],
  ['WAV without sound', riffChunk('RIFF', concat('WAVE', wav.subarray(12, 36)))],
  ['WAV without a format', riffChunk('RIFF', concat('WAVE', riffChunk('data', wavSound)))],
  ['WAV whose format is too short', makeWav({ format: Buffer.from([1, 0, 1, 0]) })],
  [
    'WAV whose sound swallows a part of the next chunk',
    change(makeWav({ tags: true }), makeWav({ tags: true }).indexOf('data') + 4, littleEndian(wavSound.length + 30, 4)),
  ],
  ['FLAC without frames', makeFlac().subarray(0, 42)],
  ['FLAC without stream info', concat('fLaC', flacBlock(4, note, true), ...makeFlacFrames(3))],
  ['FLAC whose only frame is broken', change(makeFlac().subarray(0, 435), 300, Buffer.from('xxx'))],
  ['FLAC with a long rest that is no frame', concat(makeFlac(), Buffer.alloc(70_000, 'x'))],
  ['Ogg with a broken page', change(makeOgg(), makeOgg().length - 3, Buffer.from('xxx'))],
  ['Ogg without sound', headOf(makeOgg(), 2)],
  ['Ogg without comments', headOf(makeOgg(), 1)],
  ['Ogg with text between pages', concat(makeOgg(), note, makeOgg())],
  ['Ogg of version 1', change(makeOgg(), 4, Buffer.from([1]))],
  ['MP4 of pictures alone (HEIC)', concat(box('ftyp', Buffer.from('heic')), box('meta', Buffer.alloc(40)), box('mdat', note))],
  ['MP4 that is broken off', makeMp4({ order: 'tracks first' }).subarray(0, -20)],
  ['MP4 that is broken off within its tracks', makeMp4().subarray(0, -20)],
  ['MP4 that is broken off within its tracks, with noise behind', concat(makeMp4().subarray(0, -20), note)],
  ['MP4 whose media data is shorter than its samples', shortenData(makeMp4({ order: 'tracks first' }))],
  ['MP4 with a fragment that is broken off', makeMp4({ fragmented: true }).subarray(0, -20)],
  ['MP4 without tracks', concat(box('ftyp'), box('moov'), box('mdat', note))],
  ['MP4 without media data', concat(box('ftyp'), box('moov'))],
  ['MP4 with two lists of tracks', concat(makeMp4(), box('moov'))],
  ['MP4 with a sample outside of the media data', change(makeMp4(), makeMp4().indexOf('stco') + 12, Buffer.from([0, 0, 0, 9]))],
  ['MP4 with a table that is too long', change(makeMp4(), makeMp4().indexOf('stsz') + 12, Buffer.from([0x7f, 0, 0, 0]))],
  [
    'MP4 with a box of gigabytes',
    change(makeMp4({ long: true }), makeMp4({ long: true }).indexOf('mdat') + 4, Buffer.from([0, 0, 0, 1])),
  ],
];

const unsupported: [what: string, bytes: Buffer][] = [
  ['WAV with MP3 inside', makeWav({ format: concat(littleEndian(0x55, 2), Buffer.alloc(28)) })],
  ['Ogg with streams side by side', concat(headOf(makeOgg(), 1), makeOgg({ serial: 9 }).subarray(headOf(makeOgg(), 1).length))],
  ['Ogg with another codec', firstOggPage('fishead\0')],
  ['Speex with further headers', announceHeaders(makeOgg({ codec: 'speex' }))],
  ['MP4 with fragments of several kinds', makeMp4({ fragmented: true, secondTrack: 'text' })],
  ['MP4 whose only sound is of an unknown codec', makeMp4({ entry: sampleEntry('apac') })],
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

describe('what is refused', () => {
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
});

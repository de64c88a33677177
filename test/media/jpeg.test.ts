// What is read from a JPEG's header, and what is refused for it; and the search for the best quality below a size, on sizes as mozjpeg
// makes them, and on others.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  countLeastBits,
  findRefusal,
  type Jpeg,
  type JpegFrame,
  type JpegRefusal,
  maxKeptPixels,
  maxPixels,
  readJpeg,
} from '../../src/media/jpeg.ts';
import { readOrientation } from '../../src/media/orientation.ts';
import { encodeBelow } from '../../src/media/quality.ts';
import { claimFrame, claimSize, makeBomb, makeInks, makeJpeg, stackJpeg, strangers } from '../support/photo.ts';
import { buildExif, buildSegment } from '../support/photo-metadata.ts';

const halves = { horizontal: 2, vertical: 2 };
const whole = { horizontal: 1, vertical: 1 };

function makeHeader(frame: Partial<JpegFrame>, rest: Partial<Jpeg> = {}): Jpeg {
  return {
    frame: { coding: 'baseline', bits: 8, width: 4000, height: 3000, components: [halves, whole, whole], ...frame },
    orientation: 1,
    segments: [],
    scans: 1,
    scanBytes: 40_000_000,
    parts: [],
    end: 'complete',
    ...rest,
  };
}

/** With bytes before its scan that the decoder complains of first, and passes over. */
function strayBefore(jpeg: Buffer): Buffer {
  const scan = jpeg.indexOf(Buffer.from([0xff, 0xda]));
  return Buffer.concat([jpeg.subarray(0, scan), Buffer.alloc(4, 1), jpeg.subarray(scan)]);
}

describe('a JPEG is read', () => {
  it('as what it is: coding, size, components, orientation, end', async () => {
    const recipe = { width: 40, height: 24, orientation: 6, personal: true };
    for (const [progressive, coding] of [
      [false, 'baseline'],
      [true, 'progressive'],
    ] as const) {
      const jpeg = readJpeg(await makeJpeg({ ...recipe, progressive }));
      assert.deepEqual(jpeg?.frame, { coding, bits: 8, width: 40, height: 24, components: [halves, whole, whole] });
      assert.deepEqual([jpeg.orientation, jpeg.end, jpeg.scans > 1], [6, 'complete', progressive]);
    }
    assert.deepEqual(readJpeg(await makeJpeg({ ...recipe, gray: true }))?.frame?.components.length, 1);
  });

  it('past fill bytes before a marker and restart markers in the data', async () => {
    const jpeg = stackJpeg(await makeJpeg({ width: 64, height: 16, noise: 40 }), 12);
    const filled = Buffer.concat([jpeg.subarray(0, 2), Buffer.from([0xff, 0xff, 0xff]), jpeg.subarray(2)]);
    assert.equal(readJpeg(filled)?.end, 'complete');
    assert.equal(readJpeg(filled)?.frame?.height, 192);
    assert.equal(findRefusal(readJpeg(filled)), null);
  });

  it('without looking behind its end', async () => {
    const jpeg = await makeJpeg({ width: 16, height: 16 });
    assert.deepEqual(readJpeg(Buffer.concat([jpeg, Buffer.alloc(5_000, 0xff), jpeg])), readJpeg(jpeg));
  });

  it('in one pass and without a fault, whatever was cut off or changed', async () => {
    const jpeg = await makeJpeg({ width: 48, height: 48, noise: 30, personal: true, orientation: 3 });
    for (let length = 0; length <= jpeg.length; length++) findRefusal(readJpeg(jpeg.subarray(0, length)));
    const change = fc.record({ at: fc.nat(jpeg.length - 1), to: fc.integer({ min: 0, max: 255 }) });
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 8 }), (changes) => {
        const copy = Buffer.from(jpeg);
        for (const { at, to } of changes) copy[at] = to;
        const read = readJpeg(copy);
        findRefusal(read);
        assert.ok(!read || (read.orientation >= 1 && read.orientation <= 8));
      }),
      { numRuns: 2_000 },
    );
    for (const filling of [0x00, 0xff, 0xd0, 0xe1]) {
      const endless = Buffer.concat([Buffer.from([0xff, 0xd8, 0xff]), Buffer.alloc(200_000, filling)]);
      assert.equal(readJpeg(endless)?.frame, null);
    }
    const empty = Array.from({ length: 200_000 }, () => Buffer.from([0xff, 0xe5, 0, 2]));
    const many = readJpeg(Buffer.concat([Buffer.from([0xff, 0xd8]), ...empty]));
    assert.ok(many && many.segments.length < 10_000 && many.end === 'nonsense');
  });
});

describe('the orientation', () => {
  const exif = (orientation: number) => buildExif(orientation).subarray(4);
  const change = (segment: Buffer, at: number, to: number) => {
    const copy = Buffer.from(segment);
    copy[at] = to;
    return copy;
  };
  // Of the segment: 6 bytes of name, 8 of TIFF header, 2 of count, then tag (16), type (18), count (20), value (24).
  const cases: [what: string, segment: Buffer, orientation: number | null][] = [
    ['big-endian', exif(5), 5],
    ['little-endian', exif(6), 6],
    ['0', exif(0), null],
    ['9', exif(9), null],
    ['as a 32-bit number', change(exif(6), 18, 4), 6],
    ['as a text', change(exif(6), 18, 2), null],
    ['under another tag', change(exif(6), 16, 0x13), null],
    ['in a directory beyond the end', change(exif(6), 11, 0xff), null],
    ['in another byte order', change(exif(6), 6, 0x4d), null],
    ['of another magic number', change(exif(6), 8, 43), null],
    ['with more entries promised than there are', change(exif(6), 15, 0xff), 6],
    ['cut off', exif(6).subarray(0, 20), null],
    ['only the name', Buffer.from('Exif\0\0'), null],
    ['of XMP', Buffer.from('http://ns.adobe.com/xap/1.0/\0<x:xmpmeta/>'), null],
    ['nothing', Buffer.alloc(0), null],
  ];
  for (const [what, segment, orientation] of cases) {
    it(`${what} is ${orientation ?? 'not known'}`, () => assert.equal(readOrientation(segment), orientation));
  }

  it('is that of the first EXIF segment, also behind XMP', async () => {
    const jpeg = await makeJpeg({ width: 16, height: 16 });
    const xmp = buildSegment(0xe1, Buffer.from('http://ns.adobe.com/xap/1.0/\0'));
    const marked = Buffer.concat([jpeg.subarray(0, 2), xmp, buildExif(8), buildExif(3), jpeg.subarray(2)]);
    assert.equal(readJpeg(marked)?.orientation, 8);
  });
});

describe('a header is refused', () => {
  const makeScans = (scans: number, size = {}) => makeHeader({ coding: 'progressive', ...size }, { scans });
  const cases: [what: string, header: Jpeg | null, refusal: JpegRefusal | null][] = [
    ['of a phone', makeHeader({}), null],
    ['of extended coding', makeHeader({ coding: 'extended' }), null],
    ['of progressive coding', makeScans(10), null],
    ['of one component', makeHeader({ components: [whole] }), null],
    ['of no JPEG', null, 'no_jpeg'],
    ['of lossless coding', makeHeader({ coding: 'lossless' }), 'unsupported'],
    ['of hierarchical coding', makeHeader({ coding: 'hierarchical' }), 'unsupported'],
    ['of arithmetic coding', makeHeader({ coding: 'arithmetic' }), 'unsupported'],
    ['of 12 bits', makeHeader({ bits: 12 }), 'unsupported'],
    ['of two components', makeHeader({ components: [whole, whole] }), 'unsupported'],
    ['of four inks', makeHeader({ components: [whole, whole, whole, whole] }), 'cmyk'],
    ['without a width', makeHeader({ width: 0 }), 'unsupported'],
    ['without a height', makeHeader({ height: 0 }), 'unsupported'],
    ['of 250 megapixels', makeHeader({ width: 10_000, height: maxPixels / 10_000 }), null],
    ['of a row more', makeHeader({ width: 10_000, height: maxPixels / 10_000 + 1 }), 'too_many_pixels'],
    ['of 60 megapixels in ten scans', makeScans(10, { width: 10_000, height: maxKeptPixels / 10_000 }), null],
    ['of a row more in ten scans', makeScans(10, { width: 10_000, height: maxKeptPixels / 10_000 + 1 }), 'too_many_pixels'],
    ['of a row more, progressive', makeScans(1, { width: 10_000, height: maxKeptPixels / 10_000 + 1 }), 'too_many_pixels'],
    [
      'of a row more, a scan for each component',
      makeHeader({ width: 10_000, height: maxKeptPixels / 10_000 + 1 }, { scans: 3 }),
      'too_many_pixels',
    ],
    ['without an end', makeHeader({}, { end: 'early' }), 'truncated'],
    ['without a frame nor an end', { ...makeHeader({}), frame: null, end: 'early' }, 'truncated'],
    ['without a frame', { ...makeHeader({}), frame: null }, 'damaged'],
    ['without sense', makeHeader({}, { end: 'nonsense' }), 'damaged'],
    ['of 60 megapixels with twenty scans', makeScans(20, { width: 7_500, height: 8_000 }), null],
    ['of 60 megapixels with thirty scans', makeScans(30, { width: 7_500, height: 8_000 }), 'damaged'],
    ['of 12 megapixels with a hundred scans', makeScans(100, { width: 4_000, height: 3_000 }), null],
    ['with a thousand scans', makeScans(1_000), 'damaged'],
  ];
  for (const [what, header, refusal] of cases) {
    it(`${what}: ${refusal ?? 'not'}`, () => assert.equal(findRefusal(header), refusal));
  }

  it('in files: each with the reason for it', async () => {
    const jpeg = await makeJpeg({ width: 64, height: 64, noise: 60 });
    const scan = Buffer.of(0xff, 0xda);
    const files: [what: string, file: Buffer, refusal: JpegRefusal | null][] = [
      ['a picture', jpeg, null],
      ['arithmetic coding', claimFrame(jpeg, { marker: 0xc9 }), 'unsupported'],
      ['lossless coding', claimFrame(jpeg, { marker: 0xc3 }), 'unsupported'],
      ['hierarchical coding', claimFrame(jpeg, { marker: 0xc5 }), 'unsupported'],
      ['12 bits', claimFrame(jpeg, { bits: 12 }), 'unsupported'],
      ['three inks', await makeInks(3), null],
      ['four inks', await makeInks(4), 'cmyk'],
      ['two inks', await makeInks(2), 'unsupported'],
      ['no height', claimSize(jpeg, 64, 0), 'unsupported'],
      ['65500 x 65500 in 700 bytes', await makeBomb(65_500, 65_500), 'too_many_pixels'],
      ['8000 x 6000 in 700 bytes', await makeBomb(8_000, 6_000), 'truncated'],
      ['8000 x 6000 in 700 bytes, progressive', await makeBomb(8_000, 6_000, true), 'truncated'],
      ['with stray bytes before its only scan', strayBefore(await makeBomb(7_700, 7_700)), 'truncated'],
      ['two frames', Buffer.concat([jpeg.subarray(0, jpeg.indexOf(scan)), jpeg.subarray(2)]), 'damaged'],
      ...Object.entries(strangers).map(([what, file]): [string, Buffer, JpegRefusal] => [what, file, 'no_jpeg']),
    ];
    for (const [what, file, refusal] of files) assert.equal(findRefusal(readJpeg(file)), refusal, what);
  });

  it('never for having little data, when nothing but one colour is in the picture', async () => {
    for (const recipe of [{}, { progressive: true }, { gray: true }, { gray: true, progressive: true }]) {
      for (const [width, height] of [
        [1, 1],
        [1_001, 17],
        [1_600, 1_200],
      ] as const) {
        const jpeg = readJpeg(await makeJpeg({ width, height, plain: true, ...recipe }));
        assert.equal(findRefusal(jpeg), null, JSON.stringify({ width, height, ...recipe }));
        if (width !== 1_600) continue;
        assert.ok(jpeg?.frame && jpeg.scanBytes * 8 < 4 * countLeastBits(jpeg.frame), 'the bound is of use');
      }
    }
  });
});

const range = { lowest: 50, highest: 95, guess: 75 };

async function search(sizeOf: (quality: number) => number, limit: number, trials: number, enough = limit) {
  const tried: number[] = [];
  const result = await encodeBelow({
    ...range,
    limit,
    enough,
    trials,
    async encode(quality) {
      tried.push(quality);
      return new Uint8Array(sizeOf(quality));
    },
  });
  return { result, tried };
}

describe('the search for a quality', () => {
  // Measured: 12 megapixels of noise and gradients at 2048 pixels; the steps at 80 and 90 are finer colour.
  const measured: [quality: number, size: number][] = [
    [50, 66_942],
    [60, 84_850],
    [70, 113_963],
    [75, 139_588],
    [79, 165_000],
    [80, 199_742],
    [85, 258_180],
    [89, 330_000],
    [90, 425_550],
    [91, 454_486],
    [92, 502_012],
    [93, 597_111],
    [95, 760_000],
  ];
  const sizeOf = (quality: number) => {
    const upper = measured.findIndex(([known]) => known >= quality);
    const [highQuality, high] = measured[upper] ?? [0, 0];
    const [lowQuality, low] = measured[Math.max(upper - 1, 0)] ?? [0, 0];
    return highQuality === lowQuality
      ? high
      : Math.round(low + ((high - low) * (quality - lowQuality)) / (highQuality - lowQuality));
  };

  for (const limit of [70_000, 100_000, 139_588, 139_589, 190_000, 220_000, 350_000, 430_000, 500_000, 900_000]) {
    it(`finds the best below ${limit} bytes in a photo's sizes`, async () => {
      const { result, tried } = await search(sizeOf, limit, 6);
      const best = Math.max(...Array.from({ length: 46 }, (_, index) => 50 + index).filter((q) => sizeOf(q) < limit));
      assert.ok(result.bytes && result.bytes.length < limit);
      assert.equal(result.quality, best, `tried ${tried.join(', ')}`);
    });
  }

  it('is content with the first that is large enough', async () => {
    const { result, tried } = await search(sizeOf, 145_000, 6, 139_000);
    assert.deepEqual([result.bytes?.length, tried], [139_588, [75]]);
    assert.deepEqual((await search(sizeOf, 145_000, 6, 140_000)).tried.length > 1, true);
  });

  it('says how large the smallest is when none is small enough', async () => {
    assert.deepEqual((await search(sizeOf, 50_000, 6)).result, { bytes: null, least: 66_942 });
  });

  it('stays below the limit and within its trials, whatever the sizes', async () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 3_000 }), { minLength: 46, maxLength: 46 });
    await fc.assert(
      fc.asyncProperty(
        sizes,
        fc.integer({ min: 1, max: 3_000 }),
        fc.integer({ min: 1, max: 9 }),
        async (anySizes, limit, trials) => {
          const { result, tried } = await search((quality) => anySizes[quality - 50] ?? 0, limit, trials);
          assert.ok(tried.length <= trials && tried.every((quality) => quality >= 50 && quality <= 95));
          assert.equal(new Set(tried).size, tried.length);
          if (result.bytes) assert.ok(result.bytes.length < limit);
          else assert.ok(tried.every((quality) => (anySizes[quality - 50] ?? 0) >= limit));
        },
      ),
    );
  });
});

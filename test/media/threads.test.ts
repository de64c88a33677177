// Photos and sound files through real threads: what comes out, what is refused, and what happens when a thread fails.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Worker } from 'node:worker_threads';
import { runInScope } from '../../src/guard/request.ts';
import { AudioRefusedError } from '../../src/media/audio/refusal.ts';
import { cleanAudio } from '../../src/media/audio.ts';
import { type JpegRefusal, readJpeg } from '../../src/media/jpeg.ts';
import {
  createMediaThreads,
  type MediaThreads,
  type MediaThreadsOptions,
  MediaUnavailableError,
  PhotoRefusedError,
} from '../../src/media/threads.ts';
import { makeAudio } from '../support/audio.ts';
import {
  claimFrame,
  claimSize,
  corners,
  makeBomb,
  makeInks,
  makeJpeg,
  readColor,
  readPicture,
  stackJpeg,
  strangers,
} from '../support/photo.ts';
import { buildSegment, makeProfile, makeSteps, planted, primaries } from '../support/photo-metadata.ts';

const dir = await mkdtemp(join(tmpdir(), 'sighting-photo-'));
const pool = createMediaThreads({ workers: 1, jobMs: 120_000 });
after(async () => {
  await pool.close();
  await rm(dir, { recursive: true });
});

const jpeg = await makeJpeg({ width: 256, height: 256, noise: 60 });
const large = stackJpeg(jpeg, 8);
const middle = Math.floor(large.length / 2);
const wide = await makeJpeg({ width: 4_200, height: 640, noise: 30 });
const eoi = Buffer.of(0xff, 0xd9);
/** Its end marker again, a little before its end. */
const cutShort = (bytes: Buffer) => Buffer.concat([bytes.subarray(0, -500), eoi]);
/** The first share of the data of its scans, without EOI. */
function cutScan(bytes: Buffer, share: number): Buffer {
  const scan = bytes.indexOf('\xff\xda', 'latin1');
  return bytes.subarray(0, scan + Math.round(share * (bytes.length - 2 - scan)));
}
function insertBefore(bytes: Buffer, marker: string, inserted: Buffer): Buffer {
  const at = bytes.indexOf(marker, 0, 'latin1');
  return Buffer.concat([bytes.subarray(0, at), inserted, bytes.subarray(at)]);
}
/** With other bytes from so many behind the beginning of this marker. */
function overwrite(bytes: Buffer, marker: string, at: number, ...values: number[]): Buffer {
  const copy = Buffer.from(bytes);
  copy.set(values, copy.indexOf(marker, 'latin1') + at);
  return copy;
}
const fourInks = await makeInks(4);
const bombs = { gigapixels: await makeBomb(65_500, 65_500), megapixels: await makeBomb(8_000, 6_000) };

let files = 0;
async function writePhoto(bytes: Uint8Array): Promise<string> {
  files++;
  const path = join(dir, String(files));
  await writeFile(path, bytes);
  return path;
}

const compressFile = (pool: MediaThreads, path: string) => pool.run((files) => files.compress(path));

async function compress(bytes: Uint8Array): Promise<Uint8Array> {
  return await compressFile(pool, await writePhoto(bytes));
}

const requireRefused = (bytes: Uint8Array, ...reasons: JpegRefusal[]) =>
  assert.rejects(compress(bytes), (error) => error instanceof PhotoRefusedError && reasons.includes(error.reason));

/** A pool of its own, which is closed after the test; `threads` are those that it has started. */
function openPool(t: { after(close: () => Promise<void>): void }, options: MediaThreadsOptions) {
  const threads: Worker[] = [];
  const note = (worker: Worker) => threads.push(worker);
  process.on('worker', note);
  const own = createMediaThreads({ workers: 1, ...options });
  t.after(async () => {
    process.off('worker', note);
    await own.close();
  });
  return { own, threads };
}

/** The next thread to be started, by whatever pool. */
async function expectThread(): Promise<Worker> {
  const [thread] = await once(process, 'worker');
  return thread as Worker;
}

async function requireClean(bytes: Uint8Array): Promise<void> {
  assert.ok(bytes.length < 500_000, `${bytes.length} bytes`);
  const jpeg = readJpeg(bytes);
  assert.equal(jpeg?.end, 'complete');
  const foreign = jpeg.segments.filter((kind) => (kind >= 0xe0 && kind <= 0xef) || kind === 0xfe);
  assert.deepEqual(foreign, [], 'no metadata segment');
  assert.deepEqual(listTablePrecisions(Buffer.from(bytes)), new Set([0]), 'tables in 8 bits');
  for (const secret of planted) assert.equal(Buffer.from(bytes).indexOf(secret), -1, `found ${secret.toString('hex')}`);
}

/** Of the quantisation tables: 0 for 8 bits, 1 for 16. */
function listTablePrecisions(jpeg: Buffer): Set<number> {
  const precisions = new Set<number>();
  for (let at = 2; jpeg[at + 1] !== 0xda; at += 2 + jpeg.readUInt16BE(at + 2)) {
    if (jpeg[at + 1] !== 0xdb) continue;
    for (let table = at + 4; table < at + 2 + jpeg.readUInt16BE(at + 2); ) {
      const precision = jpeg.readUInt8(table) >> 4;
      precisions.add(precision);
      table += 1 + 64 * (precision + 1);
    }
  }
  return precisions;
}

describe('a photo', () => {
  for (let orientation = 1; orientation <= 8; orientation++) {
    it(`S1.8 of orientation ${orientation} comes out upright, without a trace of its metadata`, async () => {
      const recipe = { width: 320, height: 200, orientation, personal: true };
      const original = await makeJpeg(recipe);
      for (const secret of planted.slice(0, 2)) assert.ok(original.includes(secret), 'the original tells');
      const bytes = await compress(original);
      await requireClean(bytes);
      const [width, height] = orientation > 4 ? [200, 320] : [320, 200];
      assert.deepEqual(await readPicture(bytes), { width, height, corners });
    });
  }

  it('S1.8 contains the place in its original bytes: what the tests look for is there', async () => {
    const both = Buffer.concat([
      await makeJpeg({ width: 16, height: 16, orientation: 1, personal: true }),
      await makeJpeg({ width: 16, height: 16, orientation: 2, personal: true }),
    ]);
    for (const secret of planted) assert.ok(both.includes(secret), secret.toString('hex'));
  });

  const kinds: [what: string, recipe: Parameters<typeof makeJpeg>[0], size: [width: number, height: number]][] = [
    ['of one pixel', { width: 1, height: 1 }, [1, 1]],
    ['of odd size', { width: 333, height: 77 }, [333, 77]],
    ['of the longest side', { width: 2_048, height: 64 }, [2_048, 64]],
    ['of one pixel more', { width: 2_049, height: 64 }, [2_048, 64]],
    ['of twice the size', { width: 4_096, height: 128 }, [2_048, 64]],
    ['turned and too high', { width: 4_000, height: 96, orientation: 6 }, [49, 2_048]],
    ['one pixel high', { width: 6_000, height: 1 }, [2_048, 1]],
    ['of progressive coding', { width: 640, height: 480, progressive: true, noise: 20 }, [640, 480]],
    ['in grey', { width: 640, height: 480, gray: true, noise: 20 }, [640, 480]],
  ];
  for (const [what, recipe, [width, height]] of kinds) {
    it(`S3.7 ${what} is accepted, and never enlarged`, async () => {
      const bytes = await compress(await makeJpeg({ ...recipe, personal: true }));
      await requireClean(bytes);
      const picture = await readPicture(bytes);
      assert.deepEqual([picture.width, picture.height], [width, height]);
      if (width > 1 && height > 1 && !recipe.gray) assert.deepEqual(picture.corners, corners);
    });
  }

  it('with stray bytes between its segments, or a film behind its end, is accepted', async () => {
    const small = await makeJpeg({ width: 64, height: 48 });
    const stray = Buffer.concat([small.subarray(0, 20), Buffer.alloc(9), small.subarray(20), Buffer.alloc(3_000, 0x47)]);
    assert.deepEqual(await readPicture(await compress(stray)), { width: 64, height: 48, corners });
  });

  it('that only a low quality makes small enough keeps its size', async () => {
    const bytes = await compress(await makeJpeg({ width: 1_300, height: 1_200, noise: 160 }));
    await requireClean(bytes);
    const { width, height } = await readPicture(bytes);
    assert.deepEqual([width, height, bytes.length > 450_000], [1_300, 1_200, true]);
  });

  it('that no quality makes small enough loses pixels', async () => {
    const bytes = await compress(await makeJpeg({ width: 1_450, height: 1_450, noise: 255 }));
    await requireClean(bytes);
    const { width, height } = await readPicture(bytes);
    assert.ok(width < 1_450 && width > 800 && width === height, `${width} x ${height}`);
  });

  it('of 24 megapixels and 12 MiB is made as good as 500 000 bytes allow', async () => {
    const strip = await makeJpeg({ width: 6_000, height: 256, noise: 40, quality: 90 });
    const original = stackJpeg(strip, 16, 12 * 1024 * 1024);
    assert.equal(original.length, 12 * 1024 * 1024);
    const bytes = await compress(original);
    await requireClean(bytes);
    assert.ok(bytes.length > 400_000, `${bytes.length} bytes`);
    const { width, height } = await readPicture(bytes);
    assert.deepEqual([width, height], [2_048, 1_398]);
  });

  it('S3.7 of 50 megapixels is accepted', async () => {
    const original = stackJpeg(await makeJpeg({ width: 8_192, height: 128, plain: true }), 48);
    const bytes = await compress(original);
    await requireClean(bytes);
    const { width, height } = await readPicture(bytes);
    assert.deepEqual([width, height], [2_048, 1_536]);
  });

  const largest: [what: string, width: number, height: number, times: number, size: [number, number]][] = [
    ['64 megapixels', 9_248, 432, 16, [2_048, 1_531]],
    ['108 megapixels', 12_000, 752, 12, [2_048, 1_540]],
    ['200 megapixels', 16_320, 1_024, 12, [2_048, 1_542]],
    ['a panorama of 62', 16_382, 944, 4, [2_048, 472]],
  ];
  for (const [what, width, height, times, size] of largest) {
    it(`of ${what} is accepted`, async () => {
      const bytes = await compress(stackJpeg(await makeJpeg({ width, height, plain: true }), times));
      await requireClean(bytes);
      const picture = await readPicture(bytes);
      assert.deepEqual([picture.width, picture.height], size);
    });
  }

  it('with stray bytes in hundreds of places is accepted', async () => {
    const small = await makeJpeg({ width: 64, height: 48 });
    const strays = Array.from({ length: 300 }, () => Buffer.from([0, 0, 0xff, 0xfe, 0, 3, 0x47]));
    const bytes = await compress(Buffer.concat([small.subarray(0, 20), ...strays, small.subarray(20)]));
    await requireClean(bytes);
    assert.deepEqual(await readPicture(bytes), { width: 64, height: 48, corners });
  });
});

describe('the colours of a photo', () => {
  const red = [200, 80, 60] as const;
  const { srgb, displayP3, adobeRgb } = primaries;
  const p3 = makeProfile(displayP3);
  const shades = makeProfile([], 1);
  const cases: [what: string, profile: Buffer | undefined, color: number[], gray?: boolean][] = [
    ['without a profile stay', undefined, [...red]],
    ['of sRGB stay', makeProfile(srgb), [...red]],
    ['of DisplayP3 are those of a screen', p3, [216, 69, 50]],
    ['of Adobe RGB are those of a screen', makeProfile(adobeRgb, 2.2), [230, 79, 56]],
    ['of a profile with red and blue exchanged are exchanged', makeProfile([...srgb].reverse()), [60, 80, 200]],
    [
      'of a profile in several segments are those of a screen',
      makeProfile(displayP3, undefined, [['desc', Buffer.alloc(100_000)]]),
      [216, 69, 50],
    ],
    ['in grey without a profile stay', undefined, [114, 114, 114], true],
    ['in grey with a linear profile are lighter', shades, [178, 178, 178], true],
    ['in grey with a profile of colours stay', p3, [114, 114, 114], true],
    ['with a profile of shades stay', shades, [...red]],
    [
      'of a profile of zeros stay',
      makeProfile([
        [0, 0, 0],
        [0, 0, 0],
        [0, 0, 0],
      ]),
      [...red],
    ],
    ['of a profile that is none stay', Buffer.from('GEHEIM'), [...red]],
    ['of a profile that was cut off stay', p3.subarray(0, 300), [...red]],
    ['of a profile with an unknown curve stay', overwrite(p3, 'para', 9, 77), [...red]],
    ['of a profile of 100 000 steps stay', makeProfile(displayP3, undefined, [['D2B1', makeSteps(100_000)]]), [...red]],
  ];
  for (const [what, profile, color, gray = false] of cases) {
    it(what, async () => {
      for (const size of [
        { width: 64, height: 48 },
        { width: 2_304, height: 64, orientation: 6 },
      ]) {
        const bytes = await compress(await makeJpeg({ ...size, color: red, quality: 95, gray, profile }));
        await requireClean(bytes);
        const seen = await readColor(bytes);
        assert.ok(
          color.every((value, channel) => Math.abs(value - (seen[channel] ?? 0)) <= 4),
          `${seen}`,
        );
      }
    });
  }
});

describe('a photo whose file is not as it should be', () => {
  const random = Buffer.from(Array.from({ length: 2 ** 21 }, (_, index) => (Math.imul(index + 1, 2_654_435_761) >>> 13) & 255));
  const film = Buffer.concat([Buffer.from('\0\0\0\x18ftypmp42\0\0\0\0mp42isomGEHEIM', 'latin1'), random]);
  const trailers: [what: string, trailer: Buffer][] = [
    ['', Buffer.alloc(0)],
    [' and a film behind', film],
    [' and a preview behind', Buffer.concat([jpeg, random])],
    [' and zeros behind', Buffer.alloc(2 ** 21)],
    [' and letters behind', Buffer.alloc(2 ** 21, 'G')],
  ];
  const small = { width: 640, height: 480, noise: 30 };
  const baseline = makeJpeg({ ...small, width: 4_000 });
  const photos: [what: string, photo: Promise<Buffer>][] = [
    ['', baseline],
    [' in restart intervals', makeJpeg(small).then((photo) => stackJpeg(photo, 2))],
    [' in grey', makeJpeg({ ...small, gray: true })],
    [' of progressive coding', makeJpeg({ ...small, progressive: true })],
    [' of one colour', makeJpeg({ ...small, noise: 0, color: [200, 80, 60] })],
  ];
  for (const [kind, made] of photos) {
    for (const [behind, trailer] of trailers) {
      it(`without its last two bytes${kind}${behind} is accepted as it was, and refused when a tenth of its data is missing`, async () => {
        const photo = await made;
        const bytes = await compress(Buffer.concat([photo.subarray(0, -2), trailer]));
        assert.ok(Buffer.from(bytes).equals(await compress(photo)));
        // The data of one colour may be just such filling.
        if (kind === ' of one colour' && behind !== '') return;
        // What follows is read as data, as far as it may be some.
        await requireRefused(Buffer.concat([cutScan(photo, 0.9), trailer]), 'truncated', 'damaged');
      });
    }
  }

  const replaceHead = (photo: Buffer, segment: Buffer) => Buffer.concat([photo.subarray(0, 2), segment, photo.subarray(20)]);
  const adobe = (transform: number) =>
    buildSegment(0xee, Buffer.concat([Buffer.from('Adobe'), Buffer.of(0, 100, 0, 0, 0, 0, transform)]));
  const oddities: [what: string, change: (photo: Buffer) => Buffer][] = [
    ['whose scan says that it ends with the first coefficient', (photo) => overwrite(photo, 'ÿÚ', 12, 0)],
    ['whose scan says that it is a progressive one', (photo) => overwrite(photo, 'ÿÚ', 11, 1, 5, 0x21)],
    ['with stray bytes before its scan', (photo) => insertBefore(photo, 'ÿÚ', Buffer.alloc(4, 1))],
    ['with stray bytes before its frame', (photo) => insertBefore(photo, 'ÿÀ', Buffer.alloc(4, 1))],
    ['with a JFIF of an unknown version', (photo) => overwrite(photo, 'ÿà', 9, 7)],
    ['with colours of an unknown number', (photo) => replaceHead(photo, adobe(9))],
    [
      'with a fill byte before each marker',
      (photo) => insertBefore(insertBefore(photo, 'ÿÚ', Buffer.of(0xff)), 'ÿÀ', Buffer.of(0xff)),
    ],
    [
      'with its height again behind the scan',
      (photo) => insertBefore(photo, 'ÿÙ', buildSegment(0xdc, photo.subarray(photo.indexOf('ÿÀ', 'latin1') + 5).subarray(0, 2))),
    ],
  ];
  for (const [what, change] of oddities) {
    it(`${what} is accepted as it was, and refused when half of its data is missing`, async () => {
      const photo = await baseline;
      const odd = change(photo);
      assert.ok(!odd.equals(photo));
      assert.ok(Buffer.from(await compress(odd)).equals(await compress(photo)));
      await requireRefused(Buffer.concat([cutScan(odd, 0.5), eoi]), 'truncated');
    });
  }
});

describe('a picture is refused', () => {
  const kinds: Record<string, string> = { GIF: 'gif', PNG: 'png', WebP: 'webp', HEIC: 'heic', AVIF: 'avif' };
  const refused: [what: string, file: Buffer, reason: string][] = [
    ...Object.entries(strangers).map(([what, file]): [string, Buffer, string] => [what, file, kinds[what] ?? 'no_jpeg']),
    ['of arithmetic coding', claimFrame(jpeg, { marker: 0xc9 }), 'unsupported'],
    ['of 12 bits', claimFrame(jpeg, { bits: 12 }), 'unsupported'],
    ['of four inks', fourInks, 'cmyk'],
    ['of 65500 x 65500 pixels in 700 bytes', bombs.gigapixels, 'too_many_pixels'],
    ['of 8000 x 6000 pixels in 700 bytes', bombs.megapixels, 'truncated'],
    ['whose end was cut off', large.subarray(0, middle), 'truncated'],
    [
      'that ends too soon, with an end marker',
      Buffer.concat([large.subarray(0, middle), Buffer.from([0xff, 0xd9])]),
      'truncated',
    ],
    ['whose end was overwritten by zeros', Buffer.concat([large.subarray(0, middle), Buffer.alloc(middle)]), 'truncated'],
    ['whose last rows are missing', cutShort(jpeg), 'truncated'],
    ['that is scaled, and whose last rows are missing', cutShort(wide), 'truncated'],
    ['of twice the height that it has', claimSize(jpeg, 256, 512), 'truncated'],
    ['without its tables', Buffer.concat([jpeg.subarray(0, 2), jpeg.subarray(jpeg.indexOf('\xff\xc0', 'latin1'))]), 'damaged'],
  ];
  for (const [what, file, reason] of refused) {
    it(`S3.7 ${what}: ${reason}`, async () => {
      await assert.rejects(compress(file), (error) => error instanceof PhotoRefusedError && error.reason === reason);
    });
  }

  it('and the next photo is accepted by the same thread', async (t) => {
    const { own, threads } = openPool(t, {});
    for (const file of [large.subarray(0, middle), cutShort(jpeg), cutShort(wide)]) {
      await assert.rejects(compressFile(own, await writePhoto(file)), PhotoRefusedError);
      await compressFile(own, await writePhoto(jpeg));
    }
    assert.equal(threads.length, 1);
  });
});

interface Given {
  own: MediaThreads;
  threads: Worker[];
  path: string;
  compress(): Promise<Uint8Array>;
}

describe('a thread', () => {
  const photo = makeJpeg({ width: 320, height: 240 }).then(writePhoto);
  /** A test with a pool of its own, which starts so many threads; `compress` makes the usual photo smaller. */
  const itStarts = (count: number, what: string, options: MediaThreadsOptions, run: (given: Given) => Promise<unknown>) =>
    it(what, async (t) => {
      const { own, threads } = openPool(t, options);
      const path = await photo;
      await run({ own, threads, path, compress: () => compressFile(own, path) });
      assert.equal(threads.length, count);
    });

  itStarts(2, 'that dies takes its photo with it, and the next photo gets a new one', {}, async ({ compress }) => {
    const killed = expectThread().then(async (thread) => {
      await once(thread, 'online');
      await thread.terminate();
    });
    await Promise.all([assert.rejects(compress(), MediaUnavailableError), killed]);
    await requireClean(await compress());
  });

  itStarts(2, 'that fails on a file is replaced, and the cause is told', {}, async ({ own, compress }) => {
    await assert.rejects(
      compressFile(own, join(dir, 'missing')),
      (error) => error instanceof MediaUnavailableError && (error.cause as { code?: string }).code === 'ENOENT',
    );
    await requireClean(await compress());
  });

  itStarts(2, 'S3.7 that takes too long is ended', { jobMs: 1 }, async ({ compress }) => {
    const ended = expectThread().then((thread) => once(thread, 'exit'));
    await Promise.all([assert.rejects(compress(), MediaUnavailableError), ended]);
    await assert.rejects(compress(), MediaUnavailableError);
  });

  itStarts(2, 'without work ends, and another is started when there is some', { idleMs: 1 }, async ({ threads, compress }) => {
    await compress();
    const [thread] = threads;
    assert.ok(thread);
    await once(thread, 'exit');
    await compress();
  });

  itStarts(2, 'ends after so many files, and the next photo gets a new one', { fileLimit: 3 }, async ({ compress }) => {
    for (let n = 0; n < 4; n++) await requireClean(await compress());
  });

  itStarts(1, 'that got more work in time goes on', { idleMs: 1 }, async ({ compress }) => {
    await Promise.all([compress(), compress()]);
  });

  itStarts(1, 'does one photo at a time, in the order of arrival', { workers: 1 }, async ({ compress }) => {
    const done: number[] = [];
    await Promise.all([0, 1, 2, 3, 4].map((number) => compress().then(() => done.push(number))));
    assert.deepEqual(done, [0, 1, 2, 3, 4]);
  });

  itStarts(1, 'begins with the first file', {}, async ({ threads, compress }) => {
    await sleep(50);
    assert.equal(threads.length, 0);
    await compress();
  });

  itStarts(
    1,
    'makes all files of a request in one place, before those that wait',
    { workers: 1 },
    async ({ own, path, compress }) => {
      const done: string[] = [];
      const many = own.run(async (files) => {
        for (let n = 0; n < 3; n++) {
          await files.compress(path);
          done.push('many');
        }
      });
      await Promise.all([many, compress().then(() => done.push('other'))]);
      assert.deepEqual(done, ['many', 'many', 'many', 'other']);
    },
  );

  itStarts(2, 'leaves one to others, however many photos a network sends', { workers: 2 }, async ({ compress }) => {
    const done: string[] = [];
    const send = (network: string) => runInScope(network, () => compress().then(() => done.push(network)));
    await Promise.all([...Array.from({ length: 30 }, () => send('many')), send('other')]);
    assert.ok(done.indexOf('other') < 30, done.join());
  });

  itStarts(1, 'makes nothing of a photo whose sender has gone meanwhile', { workers: 1 }, async ({ compress }) => {
    const first = compress();
    let hasLeft = false;
    const second = runInScope('gone', (scope) => {
      scope.hasLeft = () => hasLeft;
      return compress();
    });
    hasLeft = true;
    await assert.rejects(second, { code: 'MEDIA_UNAVAILABLE' });
    await first;
  });

  it('that is not free in time: the photo is turned away, the one before it is not', async (t) => {
    const { own } = openPool(t, { waitMs: 1 });
    const path = await photo;
    const first = compressFile(own, path);
    await assert.rejects(compressFile(own, path), { code: 'OVERLOADED' });
    await requireClean(await first);
    await requireClean(await compressFile(own, path));
  });

  itStarts(1, 'ends when the pool is closed, and its photo and the waiting ones fail', {}, async ({ own, compress }) => {
    const ended = expectThread().then(async (thread) => {
      await Promise.all([own.close(), once(thread, 'exit')]);
    });
    await Promise.all([
      assert.rejects(compress(), MediaUnavailableError),
      assert.rejects(compress(), MediaUnavailableError),
      ended,
    ]);
    await assert.rejects(compress(), MediaUnavailableError);
  });

  it('keeps no process alive', { timeout: 60_000 }, async () => {
    const program = join(dir, 'program.mjs');
    await writeFile(
      program,
      `import { createMediaThreads } from ${JSON.stringify(new URL('../../src/media/threads.ts', import.meta.url).href)};
      const bytes = await createMediaThreads({ idleMs: 3_600_000 }).run((files) => files.compress(${JSON.stringify(await photo)}));
      process.stdout.write(String(bytes.length));`,
    );
    const tsx = import.meta.resolve('tsx');
    const { stdout } = await promisify(execFile)(process.execPath, ['--import', tsx, program]);
    assert.ok(Number(stdout) > 0);
  });

  itStarts(1, 'cleans a sound as it is cleaned anywhere, after a photo and before one', {}, async ({ own, compress }) => {
    await compress();
    const file = makeAudio('m4a', { tags: true });
    const { kind, bytes } = await own.run(async (files) => files.clean(await writePhoto(file)));
    const expected = cleanAudio(file);
    assert.equal(kind, expected.kind);
    assert.ok(expected.bytes.equals(bytes));
    await assert.rejects(
      own.run(async (files) => files.clean(await writePhoto(Buffer.from('no sound')))),
      (error) => error instanceof AudioRefusedError && error.reason === 'unknown',
    );
    await compress();
  });

  it('leaves the file as it is', async () => {
    const bytes = await readFile(await photo);
    await compressFile(pool, await photo);
    assert.ok(bytes.equals(await readFile(await photo)));
  });
});

// One client that wants to stop the service: expensive expressions, pictures and bodies. Others don't notice.
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { AudioRefusedError } from '../../src/media/audio/refusal.ts';
import { cleanAudio } from '../../src/media/audio.ts';
import { makeScatteredMp4 } from '../support/audio-mp4.ts';
import { makeId3v2 } from '../support/audio-tags.ts';
import { onPostgres } from '../support/database.ts';
import { listenAsService } from '../support/listen.ts';
import { claimFrame, makeBomb, makeInks, makeJpeg, stackJpeg, strangers } from '../support/photo.ts';
import { startTestService, type TestService, toFormData } from '../support/service.ts';

const mebibyte = 1024 * 1024;
let service: TestService;
let port: number;
before(async () => {
  service = await startTestService();
  port = await listenAsService(service.app.fetch);
  await service.makeReleased();
});

/** How long others wait for a list, from now until `work` is done: the median and the longest, in milliseconds. */
async function measureOthers(work: Promise<unknown>): Promise<{ median: number; longest: number; count: number }> {
  let isOver = false;
  const done = work.finally(() => {
    isOver = true;
  });
  const times: number[] = [];
  while (!isOver || times.length < 5) {
    const start = performance.now();
    // Another address each time, so that none is answered from memory.
    const { status } = await service.request(`/sichtbeobachtungen?limit=5&x=${Math.random()}`);
    assert.equal(status, 200);
    times.push(performance.now() - start);
    await sleep(20);
  }
  await done;
  times.sort((a, b) => a - b);
  return { median: times[times.length >> 1] ?? 0, longest: times.at(-1) ?? 0, count: times.length };
}

describe('catastrophic expressions', { skip: !onPostgres && 'the embedded database refuses them before they run' }, () => {
  it('S3.2 are cut off on a pool of their own; the latency of others does not move', async () => {
    const outcomes: { status: number; ms: number }[] = [];
    const attack = async (n: number) => {
      // Alone, and without a limit, four seconds.
      const expression = `(x?y?z?a?b?c?d?e?){1,${240 + n}}q`;
      const start = performance.now();
      const { status } = await service.request(`/arten?name_regexp_ci=${encodeURIComponent(expression)}`);
      outcomes.push({ status, ms: performance.now() - start });
    };
    const { median, longest } = await measureOthers(Promise.all([1, 2].map(attack)));
    assert.ok(
      outcomes.some(({ ms }) => ms > 400),
      `no expression was expensive: ${JSON.stringify(outcomes)}`,
    );
    // What is not cut off is answered with 200. When it is cut off is the pool's setting to say: PostgreSQL looks at the time between long
    // steps.
    for (const { status, ms } of outcomes) assert.ok([400, 503].includes(status), `${status} after ${ms} ms`);
    assert.notEqual(service.deps.regexpSql, service.deps.sql);
    assert.equal((await service.deps.regexpSql`show statement_timeout`)[0]?.statement_timeout, '500ms');
    assert.ok(median < 200 && longest < 1000, `others waited ${median} ms, at most ${longest} ms`);
  });
});

describe('pictures that are made to be expensive', () => {
  it('S3.7 are refused or handled within 2 s each; the latency of others does not move', async () => {
    const jpeg = await makeJpeg({ width: 256, height: 256, noise: 60 });
    const large = stackJpeg(jpeg, 8);
    const pictures: [what: string, bytes: Buffer, status: number][] = [
      ['65500 x 65500 pixels in 700 bytes', await makeBomb(65_500, 65_500), 400],
      ['8000 x 6000 pixels in 700 bytes', await makeBomb(8_000, 6_000), 400],
      ['truncated', large.subarray(0, large.length / 2), 400],
      ['four inks', await makeInks(4), 400],
      ['arithmetic coding', claimFrame(jpeg, { marker: 0xc9 }), 400],
      ['progressive', await makeJpeg({ width: 640, height: 480, progressive: true }), 201],
      ...Object.entries(strangers)
        .filter(([, bytes]) => bytes.length > 0)
        .map(([what, bytes]): [string, Buffer, number] => [what, bytes, 400]),
    ];
    // The first one starts the worker.
    const form = { art: '2', lat: '5530000', datum: '1.9.2026' };
    await service.request('/sichtbeobachtungen', { as: 'melder', form: { ...form, lon: '410000', foto: new Blob([jpeg]) } });
    const sendAll = async () => {
      for (const [n, [what, bytes, expected]] of pictures.entries()) {
        const foto = new File([new Uint8Array(bytes)], 'x.jpg', { type: 'image/jpeg' });
        const start = performance.now();
        const fields = toFormData({ ...form, lon: String(411_000 + n), foto });
        const { status, text } = await service.request('/sichtbeobachtungen', { as: 'melder', form: fields });
        assert.equal(status, expected, `${what}: ${text}`);
        assert.ok(performance.now() - start < 2000, `${what} took ${performance.now() - start} ms`);
      }
    };
    const { median, longest } = await measureOthers(sendAll());
    assert.ok(median < 200 && longest < 1000, `others waited ${median} ms, at most ${longest} ms`);
  });
});

describe('sound files that are made to be expensive', () => {
  const form = { art: '2', lat: '5530000', lon: '413000', datum: '3.9.2026' };
  const post = (file: Buffer) =>
    service.request('/sichtbeobachtungen', { as: 'melder', form: { ...form, audio: new Blob([new Uint8Array(file)]) } });
  const files: [what: string, bytes: Buffer][] = [
    ['chunks in no order', makeScatteredMp4()],
    ['sync bytes', Buffer.concat([makeId3v2(), Buffer.alloc(mebibyte - makeId3v2().length, 0xff)])],
  ];
  for (const [what, file] of files) {
    it(`S3.7 ${what} cost the thread that answers less than half of what they take`, async () => {
      const measure = async (work: () => unknown) => {
        const before = process.threadCpuUsage();
        await work();
        const { user, system } = process.threadCpuUsage(before);
        return user + system;
      };
      // What is done once: the login, the first thread.
      await post(file);
      const answering = await measure(() => post(file));
      const cleaning = await measure(() => {
        try {
          cleanAudio(file);
        } catch (error) {
          if (!(error instanceof AudioRefusedError)) throw error;
        }
      });
      assert.ok(answering < cleaning / 2, `${answering} µs beside ${cleaning} µs of cleaning`);
    });
  }
});

describe('bodies', () => {
  it('S3.6 a photo of 12 MiB and a sound of 1 MiB are accepted, one byte more is not', async () => {
    const photo = stackJpeg(await makeJpeg({ width: 640, height: 480 }), 1, 12 * mebibyte);
    const sound = Buffer.alloc(mebibyte);
    sound.write('RIFF');
    sound.writeUInt32LE(mebibyte - 8, 4);
    sound.write('WAVEfmt ', 8);
    sound.set([16, 0, 0, 0, 1, 0, 1, 0, 0x44, 0xac, 0, 0, 0x88, 0x58, 1, 0, 2, 0, 16, 0], 16);
    sound.write('data', 36);
    sound.writeUInt32LE(mebibyte - 44, 40);
    assert.deepEqual([photo.length, sound.length], [12 * mebibyte, mebibyte]);
    for (const [n, [name, bytes]] of Object.entries({ foto: photo, audio: sound }).entries()) {
      for (const [more, expected] of [
        [0, 201],
        [1, 413],
      ] as const) {
        const file = new Blob([new Uint8Array(bytes), new Uint8Array(more)]);
        const form = { art: '2', lat: '5530000', datum: '2.9.2026', lon: String(412_000 + 10 * n + more), [name]: file };
        const { status, text } = await service.request('/sichtbeobachtungen', { as: 'melder', form });
        assert.equal(status, expected, `${name} with ${more} more: ${text}`);
      }
    }
  });

  for (const isChunked of [false, true]) {
    it(`S3.6 of 200 MB ${isChunked ? 'without' : 'with'} a length are cut off early, and memory stays flat`, async () => {
      const token = await service.tokenOf('melder');
      const total = 200 * mebibyte;
      const head = [
        'POST /api/v2/sichtbeobachtungen HTTP/1.1',
        'Host: n.test',
        'X-Auth-User: melder',
        `X-Auth-Token: ${token}`,
        'Content-Type: multipart/form-data; boundary=b',
        isChunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${total}`,
      ];
      const socket = connect(port, '127.0.0.1');
      const closed = new Promise<void>((resolve) => socket.on('error', () => {}).on('close', () => resolve()));
      let answer = '';
      socket.on('data', (chunk) => {
        answer += chunk;
      });
      socket.write(`${head.join('\r\n')}\r\n\r\n`);
      const start = '--b\r\nContent-Disposition: form-data; name="foto"; filename="x.jpg"\r\n\r\n';
      const wrap = (bytes: Buffer) =>
        isChunked ? Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]) : bytes;
      const piece = wrap(Buffer.alloc(mebibyte, 'x'));
      const used = () => process.memoryUsage.rss() / mebibyte;
      const before = used();
      let most = 0;
      let sent = 0;
      socket.write(wrap(Buffer.from(start)));
      while (!socket.destroyed && sent < total && answer === '') {
        sent += mebibyte;
        if (!socket.write(piece))
          await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), closed, sleep(2000)]);
        most = Math.max(most, used() - before);
      }
      await Promise.race([closed, sleep(2000)]);
      socket.destroy();
      assert.match(answer, /^HTTP\/1\.1 413/);
      assert.ok(sent < total / 2, `${sent / mebibyte} MB were taken`);
      assert.ok(most < 80, `${most.toFixed()} MB more memory`);
    });
  }
});
